"""Finds providers and what is known of models: by name, by address, by the name of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal
from urllib.parse import urlsplit

from reactagent_tui.core.llm.base import WireRules
from reactagent_tui.core.llm.presets import CUSTOM, PRESETS, Preset, ThinkingStyle

ASSUMED_WINDOW = 128_000
"""Tokens, when nobody knows the window of a model."""

Effort = Literal["low", "medium", "high", "max"]

_BY_NAME = {name: preset for preset in PRESETS for name in (preset.name, *preset.aliases)}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a model, whoever serves it."""

    window: int | None = None
    max_output: int | None = None
    price_as: str | None = None
    """The name it is billed under."""
    unsupported: tuple[str, ...] = ()


_THINKERS = (
    "o[134]*",
    "gpt-5*",
    "*reasoner*",
    "*thinking*",
    "*-r1*",
    "qwq*",
    "gemini-2.5-pro*",
    "gemini-[3-9]*",
    "kimi-k3*",
    "glm-4.[5-9]*",
    "glm-[5-9]*",
    "magistral*",
    "gpt-oss*",
)
"""Models that reason by themselves, by name."""
_FACTS: tuple[tuple[str, Facts], ...] = (
    ("gpt-5*-chat*", Facts(128_000, 16_384, unsupported=("include", "reasoning"))),
    ("gpt-5*", Facts(None, 128_000, unsupported=("temperature", "top_p", "stop"))),
    ("gpt-4.1*", Facts(1_047_576, 32_768, unsupported=("include", "reasoning"))),
    ("gpt-4o*", Facts(128_000, 16_384, unsupported=("include", "reasoning"))),
    ("o[134]*", Facts(200_000, 100_000, unsupported=("temperature", "top_p", "stop"))),
    ("claude-opus-4-1*", Facts(200_000, 32_000)),
    ("claude-*-4-5*", Facts(200_000, 64_000)),
    ("claude-3-7-sonnet*", Facts(200_000, 64_000)),
    ("claude-3-5-*", Facts(200_000, 8_192)),
    ("claude-*", Facts(None, None)),
    ("gemini-2.0-*", Facts(1_048_576, 8_192)),
    ("gemini-2.5-*", Facts(1_048_576, 65_536)),
    ("gemini-[3-9]*", Facts(1_048_576, 65_536)),
    # Old names that DeepSeek still accepts; served and billed as Flash.
    ("deepseek-chat", Facts(1_000_000, None, price_as="deepseek-v4-flash")),
    ("deepseek-reasoner", Facts(1_000_000, None, price_as="deepseek-v4-flash")),
    ("deepseek-flash*", Facts(1_000_000, None)),
    ("deepseek-v4*", Facts(1_000_000, None)),
    ("qwen-plus*", Facts(1_000_000, None)),
    ("qwen3-max*", Facts(262_144, None)),
    ("qwen3-coder-plus*", Facts(1_000_000, None)),
    ("glm-4.5*", Facts(131_072, None)),
    ("glm-4.[67]*", Facts(204_800, None)),
    ("kimi-k2*", Facts(262_144, None)),
    ("mistral-large*", Facts(131_072, None)),
    ("demo", Facts(ASSUMED_WINDOW, None)),
)


def preset_named(name: str) -> Preset | None:
    """The preset of that name or alias, in any case."""
    return _BY_NAME.get(name.strip().lower())


def preset_names() -> tuple[str, ...]:
    """Every name and alias that `provider:` understands."""
    return tuple(_BY_NAME)


def preset_for_address(api_base: str) -> Preset:
    """The preset whose server stands at this address, or `CUSTOM`."""
    try:
        parts = urlsplit(api_base)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return CUSTOM
    if is_loopback(host):
        return next((preset for preset in PRESETS if preset.port == port), CUSTOM) if port else CUSTOM
    for preset in PRESETS:
        if any(host == known or host.endswith(f".{known}") for known in preset.hosts):
            return preset
    return CUSTOM


def preset_for_model(model: str) -> Preset | None:
    """The provider that makes a model of this name."""
    name = model.lower()
    return next((preset for preset in PRESETS if any(fnmatchcase(name, glob) for glob in preset.models)), None)


def is_loopback(host: str) -> bool:
    """Does this host name mean this very machine?"""
    return host in ("localhost", "::1", "0.0.0.0", "host.docker.internal") or host.startswith("127.")


def facts_of(model: str) -> Facts:
    """What is known of a model, by its name without the prefix of a reseller."""
    name = model.lower().rpartition("/")[2]
    return next((facts for glob, facts in _FACTS if fnmatchcase(name, glob)), Facts())


def thinks(model: str) -> bool:
    """Is this model known to reason by itself?"""
    name = model.lower().rpartition("/")[2]
    return any(fnmatchcase(name, glob) for glob in _THINKERS) and not fnmatchcase(name, "gpt-5*-chat*")


def rules_for(preset: Preset, model: str) -> WireRules:
    """The wire rules of a model at a provider.

    An unknown server that serves a known maker's model gets that maker's rules for reasoning and length.
    """
    rules = preset.rules
    if preset is CUSTOM and (maker := preset_for_model(model.rpartition("/")[2])) is not None:
        theirs = maker.rules
        rules = replace(
            rules,
            reasoning_replay=theirs.reasoning_replay,
            reasoning_field=theirs.reasoning_field,
            max_tokens_field=theirs.max_tokens_field,
        )
    extra = tuple(name for name in facts_of(model).unsupported if name not in rules.unsupported)
    return replace(rules, unsupported=(*rules.unsupported, *extra)) if extra else rules


def thinking_body(style: ThinkingStyle, wish: bool | Effort) -> dict[str, Any] | None:
    """Body keys that turn thinking on, off or to a level; None when this provider has no such switch."""
    on = wish is not False
    level: Effort = "medium" if isinstance(wish, bool) else wish
    match style:
        case "type":
            body: dict[str, Any] = {"thinking": {"type": "enabled" if on else "disabled"}}
            return body | ({"reasoning_effort": level} if not isinstance(wish, bool) else {})
        case "enable":
            return {"enable_thinking": on}
        case "effort":
            return {"reasoning_effort": ("high" if level == "max" else level) if on else "none"}
        case "reasoning":
            effort = "high" if level == "max" else level
            return {"reasoning": {"effort": effort} if on else {"enabled": False}}
        case "template":
            return {"chat_template_kwargs": {"enable_thinking": on}}
        case "claude":
            return {"thinking": wish}
        case "none":
            return None
