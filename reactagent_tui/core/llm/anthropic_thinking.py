"""The switch for thinking, as each generation of Claude understands it, and what goes not with it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from reactagent_tui.core.llm.anthropic_models import ClaudeTraits, ThinkingMode

THINKING_KEY = "thinking"
STYLE_KEY = "thinking_style"
SAMPLING = ("temperature", "top_p", "top_k")

Wire = dict[str, Any]

_BUDGETS: Mapping[object, int] = {"low": 4_096, "medium": 12_000, "high": 24_000, "max": 32_000}
_SMALLEST = 1_024
_ROOM = 1_024
"""Tokens that must be left for the answer."""


def apply_thinking(body: Wire, settings: Mapping[str, Any], traits: ClaudeTraits) -> None:
    """Add what `settings` ask for, and take out or soften what the API refuses beside it."""
    body |= _keys(
        settings, traits, cast("int", body["max_tokens"]), cast("Mapping[str, Any]", body.get("output_config"))
    )
    mode = cast("Mapping[str, Any]", body.get("thinking") or {}).get("type")
    if mode == "enabled" and not _turn_has_thinking(body["messages"]):
        del body["thinking"]  # a model switched in mid-turn: the API wants thinking from the turn's start, or none
        return
    if mode in ("enabled", "adaptive"):
        for name in SAMPLING:
            body.pop(name, None)
    if mode == "enabled" and cast("Mapping[str, Any]", body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        del body["tool_choice"]


def _keys(settings: Mapping[str, Any], traits: ClaudeTraits, max_tokens: int, output: Mapping[str, Any] | None) -> Wire:
    wish: object = settings.get(THINKING_KEY)
    if isinstance(wish, Mapping):
        return {"thinking": dict(cast("Mapping[str, Any]", wish))}
    if wish is None and traits.always_thinks:
        wish = True
    if wish is None:
        return {}
    if wish is False or wish in ("off", "none"):
        return {"thinking": {"type": "disabled"}} if traits.can_switch_off else {}
    match _mode(settings, traits):
        case "adaptive":
            keys: Wire = {"thinking": {"type": "adaptive", "display": "summarized"}}
            return keys if wish is True else keys | {"output_config": {**(output or {}), "effort": wish}}
        case "budget":
            budget = min(_BUDGETS.get(wish, _BUDGETS["medium"]), max_tokens - _ROOM)
            return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= _SMALLEST else {}
        case "none":
            return {}


def _mode(settings: Mapping[str, Any], traits: ClaudeTraits) -> ThinkingMode:
    style: object = settings.get(STYLE_KEY)
    if style == "adaptive":
        return "adaptive"
    return "budget" if style == "enabled" else traits.thinking


def _turn_has_thinking(messages: list[Wire]) -> bool:
    """False when the calls since the user spoke last began without thinking."""
    first: list[Wire] = []
    for message in reversed(messages):
        kinds = [block["type"] for block in message["content"]]
        if message["role"] == "assistant":
            first = message["content"]
        elif "tool_result" not in kinds:
            break
    return not first or first[0]["type"] in ("thinking", "redacted_thinking")
