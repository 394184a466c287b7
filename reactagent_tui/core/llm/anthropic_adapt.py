"""What a 400 of the Messages API asks to send differently: the changed request, the changed model. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from reactagent_tui.core.llm.anthropic_cache import CACHE_KEY, cache_ttl
from reactagent_tui.core.llm.anthropic_payload import to_payload
from reactagent_tui.core.llm.anthropic_thinking import SAMPLING, STYLE_KEY, THINKING_KEY
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest
from reactagent_tui.core.messages import AssistantMessage, Message, ThinkingPart

Adapted: TypeAlias = tuple[ModelRequest, ModelInfo]
_Rule: TypeAlias = Callable[[str, ModelRequest, ModelInfo], Adapted | None]

_SMALLEST_REPLY = 1_024
"""Tokens; with less room than that the window is full."""
_NOT_TAKEN = re.compile(
    r"not supported|unsupported|deprecated|not permitted|unexpected|cannot|may only|not allowed", re.I
)
_OVER_LIMIT = re.compile(r"max_tokens\D{0,20}(\d+) > (\d+)")
_OVER_WINDOW = re.compile(r"exceed context limit\D{0,20}(\d+) \+ (\d+) > (\d+)")
_TOUCHED = re.compile(
    r"cannot be modified|invalid .?signature|signature\W{0,3} in .?thinking|thinking\.signature", re.IGNORECASE
)
_MISSED = re.compile(r"thinking.{0,80}must be passed back", re.IGNORECASE | re.DOTALL)
_NO_START = re.compile(r"must start with a thinking block|expected .?(?:redacted_)?thinking", re.IGNORECASE)
_FORCED = re.compile(r"thinking.{0,60}tool_choice", re.IGNORECASE | re.DOTALL)


def adapted(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    """What to send instead after this refusal; None when nothing of what was sent can be changed here.

    What is true of the model is changed in `info`, what is true of this history in the request.
    """
    sent = to_payload(request, info)
    for rule in _RULES:
        changed = rule(said, request, info)
        if changed is not None and to_payload(*changed) != sent:
            return changed
    return None


def _shorter_reply(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    if match := _OVER_WINDOW.search(said):
        room = int(match.group(3)) - int(match.group(1))
        known = request.max_output
        return (replace(request, max_output=room), info) if room >= _SMALLEST_REPLY and room != known else None
    if (match := _OVER_LIMIT.search(said)) and (most := int(match.group(2))) > 0 and most != info.max_output:
        return request, replace(info, max_output=most)
    return None


def _without_old_thinking(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    """Blocks that this server did not sign (another account, a proxy in between): the history goes without."""
    if not _TOUCHED.search(said):
        return None
    messages = tuple(_without_thinking(message) for message in request.messages)
    return (replace(request, messages=messages), info) if messages != request.messages else None


def _with_old_thinking(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    if not _MISSED.search(said) or info.rules.reasoning_replay == "always":
        return None
    return request, replace(info, rules=replace(info.rules, reasoning_replay="always"))


def _without_thinking_now(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    """The turn began without thinking: so it goes on."""
    if not _NO_START.search(said) or THINKING_KEY in request.extra:
        return None
    return replace(request, extra={**request.extra, THINKING_KEY: None}), info


def _free_choice(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    if request.tool_choice != "required" or not _FORCED.search(said):
        return None
    return replace(request, tool_choice="auto"), info


def _without_sampling(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    names = tuple(name for name in SAMPLING if re.search(rf"\b{name}\b", said))
    return _leaving_out(names, request, info) if _NOT_TAKEN.search(said) else None


def _other_style(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    """`enabled` where only `adaptive` is known, or the other way round; after that, and for `disabled`, no switch."""
    if not re.search(r"thinking|budget_tokens", said) or not _NOT_TAKEN.search(said):
        return None
    sent = to_payload(request, info).get("thinking")
    if sent is None:
        return None
    if STYLE_KEY in info.extra or sent.get("type") == "disabled":
        return _leaving_out(("thinking",), request, info)
    return request, _with_extra(info, {STYLE_KEY: "enabled" if sent.get("type") == "adaptive" else "adaptive"})


def _without_parameter(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    if not _NOT_TAKEN.search(said):
        return None
    names = tuple(name for name in ("tool_choice", "stop_sequences") if name in said)
    if re.search(r"output_config|\beffort\b", said):
        names = (*names, "output_config")
    if "cache_control" in said and cache_ttl({**info.extra, **request.extra}) is not None:
        return request, _with_extra(info, {CACHE_KEY: False})
    return _leaving_out(names, request, info)


def _leaving_out(names: tuple[str, ...], request: ModelRequest, info: ModelInfo) -> Adapted | None:
    new = tuple(name for name in names if name not in info.rules.unsupported)
    if not new:
        return None
    return request, replace(info, rules=replace(info.rules, unsupported=(*info.rules.unsupported, *new)))


def _with_extra(info: ModelInfo, more: dict[str, Any]) -> ModelInfo:
    return replace(info, extra={**info.extra, **more})


def _without_thinking(message: Message) -> Message:
    if not isinstance(message, AssistantMessage):
        return message
    parts = tuple(part for part in message.parts if not isinstance(part, ThinkingPart))
    return message if parts == message.parts else replace(message, parts=parts)


_RULES: tuple[_Rule, ...] = (
    _shorter_reply,
    _without_old_thinking,
    _with_old_thinking,
    _without_thinking_now,
    _free_choice,
    _without_sampling,
    _other_style,
    _without_parameter,
)
