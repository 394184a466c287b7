"""A `ModelRequest` as the body of an Anthropic Messages request. Pure.

Four keys of `extra` are read here and not sent as they are: `thinking` (true, false, an effort, or Anthropic's own
object), `thinking_style` (`enabled` or `adaptive`, for a model whose name does not tell), `cache` (`5m`, `1h`, or
false for no marks) and `betas` (names for the header). `tools` of `extra` (server tools) join the tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, assert_never, cast

from reactagent_tui.core.llm.anthropic_cache import CACHE_KEY, cache_ttl, mark_breakpoints
from reactagent_tui.core.llm.anthropic_models import traits_of
from reactagent_tui.core.llm.anthropic_thinking import SAMPLING, STYLE_KEY, THINKING_KEY, apply_thinking
from reactagent_tui.core.llm.attachments import IMAGES, PDF, not_sent, sendable
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec, WireRules
from reactagent_tui.core.messages import (
    AssistantMessage,
    Attachment,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserMessage,
)

Wire = dict[str, Any]

BETAS_KEY = "betas"
_OWN_KEYS = (THINKING_KEY, STYLE_KEY, CACHE_KEY, BETAS_KEY, "tools")
_BROKEN_OFF: frozenset[StopReason] = frozenset({"interrupted", "lost", "cut", "error"})
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
_UNIONS = ("oneOf", "anyOf", "allOf")


def to_payload(request: ModelRequest, info: ModelInfo, images: Mapping[str, str] | None = None) -> Wire:
    """The request body, keys in a stable order. `images` maps attachment paths to data URLs."""
    settings: Wire = {**info.extra, **request.extra}
    traits = traits_of(request.model)
    body: Wire = {"model": request.model, "max_tokens": _max_tokens(request, info)}
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if stops := [stop for stop in request.stop if stop.strip()]:
        body["stop_sequences"] = stops
    if request.system.strip():
        body["system"] = [_text(request.system)]
    messages = _messages(request, info, images or {})
    _add_tools(body, request, info, messages, cast("list[Wire]", settings.get("tools") or []))
    body["messages"] = messages
    body |= {key: value for key, value in settings.items() if key not in _OWN_KEYS}
    apply_thinking(body, settings, traits)
    body["stream"] = True
    unsupported = info.rules.unsupported if traits.sampling else (*info.rules.unsupported, *SAMPLING)
    body = {key: value for key, value in body.items() if value is not None and key not in unsupported}
    if "cache_control" not in body and (ttl := cache_ttl(settings)) is not None:
        mark_breakpoints(body, ttl)
    return body


def beta_names(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Names from the configuration for the header `anthropic-beta`."""
    value: object = settings.get(BETAS_KEY) or ()
    names = value.split(",") if isinstance(value, str) else cast("Iterable[object]", value)
    return tuple(name for each in names if (name := str(each).strip()))


def _max_tokens(request: ModelRequest, info: ModelInfo) -> int:
    """The limit that the API insists on: as asked, as configured, or what the model can write."""
    most = info.max_output or min(traits_of(request.model).output, max(1, info.context_size // 2))
    return most if request.max_output is None else min(request.max_output, info.max_output or request.max_output)


# Tools


def _add_tools(
    body: Wire, request: ModelRequest, info: ModelInfo, messages: list[Wire], server_tools: list[Wire]
) -> None:
    tools = [_tool(spec) for spec in request.tools] if info.rules.supports_tools else []
    tools += [dict(tool) for tool in server_tools]
    choice = request.tool_choice
    if not tools:  # calls in the history want tools beside them, even when none may be called
        tools = [_bare_tool(name) for name in _called_names(messages)]
        choice = "none"
    if not tools:
        return
    body["tools"] = tools
    if choice != "auto":
        body["tool_choice"] = {"type": "any" if choice == "required" else "none"}


def _tool(spec: ToolSpec) -> Wire:
    schema = {"type": "object", **{key: value for key, value in spec.parameters.items() if key not in _UNIONS}}
    return {"name": spec.name, "description": spec.description, "input_schema": schema}


def _bare_tool(name: str) -> Wire:
    return {"name": name, "description": "Not available now.", "input_schema": {"type": "object"}}


def _called_names(messages: list[Wire]) -> list[str]:
    blocks = (block for message in messages for block in message["content"])
    return list(dict.fromkeys(block["name"] for block in blocks if block["type"] == "tool_use"))


# Messages


def _messages(request: ModelRequest, info: ModelInfo, images: Mapping[str, str]) -> list[Wire]:
    """Roles alternate; the results of a message's calls come first in the message after it."""
    wire: list[Wire] = []
    for message in request.messages:
        match message:
            case UserMessage():
                _add(wire, "user", _user_content(message, images))
            case AssistantMessage():
                _add(wire, "assistant", _assistant_content(message, request, info))
            case ToolResult():
                _add(wire, "user", [_result(message)])
            case _:
                assert_never(message)
    return wire


def _add(wire: list[Wire], role: str, content: list[Wire]) -> None:
    if not content:
        return
    if wire and wire[-1]["role"] == role:
        wire[-1]["content"] += content
    else:
        wire.append({"role": role, "content": content})


def _text(text: str) -> Wire:
    return {"type": "text", "text": text}


def _user_content(message: UserMessage, images: Mapping[str, str]) -> list[Wire]:
    """Files first, as the models like it; then the text. Never empty, never a blank text."""
    sent: list[Wire] = []
    text = message.text
    for file in message.attachments:
        block = _file_block(file, images)
        if block is not None:
            sent.append(block)
        else:
            text += not_sent(file)
    if text.strip() or not sent:
        sent.append(_text(text if text.strip() else "(empty)"))
    return sent


def _file_block(file: Attachment, images: Mapping[str, str]) -> Wire | None:
    sent = sendable(file, images, (*IMAGES, PDF))
    if sent is None:
        return None
    kind = "document" if sent[0] == PDF else "image"
    return {"type": kind, "source": {"type": "base64", "media_type": sent[0], "data": sent[1]}}


def _result(message: ToolResult) -> Wire:
    text = message.text if message.text.strip() else "(no output)"
    block: Wire = {"type": "tool_result", "tool_use_id": message.call_id, "content": text}
    if message.is_error:
        block["is_error"] = True
    return block


def _assistant_content(message: AssistantMessage, request: ModelRequest, info: ModelInfo) -> list[Wire]:
    if message.is_empty:
        return []
    own = message.provider in ("", info.provider) and message.model in ("", info.name, request.model)
    whole = message.stop_reason not in _BROKEN_OFF
    unsigned = _wants_unsigned(request.model, info.rules, calls=bool(message.tool_calls))
    content: list[Wire] = []
    for part in message.parts:
        match part:
            case TextPart():
                if part.text.strip():
                    content.append(_text(part.text))
            case ThinkingPart():
                if own and whole and (block := _thinking(part, unsigned=unsigned)) is not None:
                    content.append(block)
            case ToolCall():
                content.append(_call(part))
            case _:
                assert_never(part)
    if not own:
        content.sort(key=lambda block: block["type"] == "tool_use")  # others may speak after their calls
    if unsigned and not any(map(_is_thinking, content)):
        content.insert(0, {"type": "thinking", "thinking": "", "signature": ""})
    return content


def _thinking(part: ThinkingPart, *, unsigned: bool) -> Wire | None:
    """Signed blocks go back as they came; unsigned ones only to servers that want their reasoning without it."""
    if part.redacted is not None:
        return {"type": "redacted_thinking", "data": part.redacted} if part.redacted else None
    if part.signature:
        return {"type": "thinking", "thinking": part.text, "signature": part.signature}
    if not unsigned or not part.text:
        return None
    return {"type": "thinking", "thinking": part.text, "signature": ""}


def _wants_unsigned(model: str, rules: WireRules, *, calls: bool) -> bool:
    """Servers of other makers never sign their reasoning, and miss it even when it is empty; Claude takes no such."""
    if "claude" in model.lower():
        return False
    return rules.reasoning_replay == "always" or (rules.reasoning_replay == "tool_turns" and calls)


def _is_thinking(block: Mapping[str, Any]) -> bool:
    """A block that may be neither changed nor marked."""
    return block["type"] in ("thinking", "redacted_thinking")


def _call(call: ToolCall) -> Wire:
    name = _NO_NAME.sub("_", call.name)[:64] or "unknown_tool"
    return {"type": "tool_use", "id": call.id, "name": name, "input": dict(call.arguments or {})}
