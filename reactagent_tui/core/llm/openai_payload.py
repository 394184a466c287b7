"""A `ModelRequest` as the body of an OpenAI-style chat completion, by the provider's wire rules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never, cast

from reactagent_tui.core.llm.anthropic_cache import CACHE_KEY, cache_ttl
from reactagent_tui.core.llm.attachments import IMAGES, not_sent, sendable
from reactagent_tui.core.llm.base import CacheMarks, ModelInfo, ModelRequest, ToolSpec, WireRules
from reactagent_tui.core.llm.chat_cache import mark_texts, marks_for
from reactagent_tui.core.llm.typed_schema import typed_parameters
from reactagent_tui.core.messages import AssistantMessage, ThinkingPart, ToolCall, ToolResult, UserMessage

Wire = dict[str, Any]
INLINE_THINKING = "think"
"""`ThinkingPart.field` of thinking that came in inline tags."""
DETAILS_FIELD = "reasoning_details"
_DEFAULT_FIELD = "reasoning_content"
SEEN = "I have the results."
"""Said for the assistant where a server wants it to speak between a tool result and the user."""


def to_payload(request: ModelRequest, info: ModelInfo, images: Mapping[str, str] | None = None) -> Wire:
    """The request body, keys in a stable order. `images` maps attachment paths to data URLs."""
    rules = info.rules
    body: Wire = {"model": request.model, "messages": _messages(request, info, images or {}), "stream": True}
    if rules.usage_in_stream:
        body["stream_options"] = {"include_usage": True}
    if rules.prompt_progress:
        body["return_progress"] = True
    if request.tools and rules.supports_tools:
        body["tools"] = [_tool(spec, rules) for spec in request.tools]
        if request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice
        if rules.parallel_calls is not None:
            body["parallel_tool_calls"] = rules.parallel_calls
        if rules.tool_stream:
            body["tool_stream"] = True
    if request.max_output is not None:
        body[rules.max_tokens_field] = request.max_output
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.stop:
        body["stop"] = list(request.stop)
    body |= info.extra
    body |= request.extra
    if marks := marks_for(request.model, rules.cache_marks):
        _mark_for_cache(body, marks)
    return {key: value for key, value in body.items() if value is not None and key not in rules.unsupported}


def _mark_for_cache(body: Wire, marks: CacheMarks) -> None:
    """`cache` of `extra` (`5m`, `1h`, or false for no marks) is read here and not sent."""
    ttl = cache_ttl(body)
    body.pop(CACHE_KEY, None)
    if ttl is not None and "cache_control" not in body:
        mark_texts(body["messages"], marks, ttl)


def _messages(request: ModelRequest, info: ModelInfo, images: Mapping[str, str]) -> list[Wire]:
    wire: list[Wire] = []
    if request.system:
        wire.append({"role": info.rules.system_role, "content": request.system})
    for message in request.messages:
        match message:
            case UserMessage():
                if info.rules.assistant_after_tool and wire and wire[-1]["role"] == "tool":
                    wire.append({"role": "assistant", "content": SEEN})
                _add_user(wire, {"role": "user", "content": _user_content(message, images)}, info.rules)
            case AssistantMessage():
                if (made := _assistant(message, request, info)) is not None:
                    wire.append(made)
            case ToolResult():
                wire.append({"role": "tool", "tool_call_id": message.call_id, "content": message.text})
            case _:
                assert_never(message)
    return wire


def _add_user(wire: list[Wire], message: Wire, rules: WireRules) -> None:
    previous = wire[-1] if wire else None
    is_system = len(wire) == 1 and rules.system_role == "user"
    if previous is None or previous["role"] != "user" or not (rules.merge_users or is_system):
        wire.append(message)
        return
    first, second = previous["content"], message["content"]
    if isinstance(first, str) and isinstance(second, str):
        previous["content"] = f"{first}\n\n{second}"
    else:
        previous["content"] = _as_parts(first) + _as_parts(second)


def _as_parts(content: str | list[Wire]) -> list[Wire]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _user_content(message: UserMessage, images: Mapping[str, str]) -> str | list[Wire]:
    """A plain string unless there is an image to send: strict servers take arrays for nothing else."""
    text = message.text
    sent: list[Wire] = []
    for file in message.attachments:
        if sendable(file, images, IMAGES) is not None:
            sent.append({"type": "image_url", "image_url": {"url": images[file.path]}})
        else:
            text += not_sent(file)
    if not sent:
        return text
    return [{"type": "text", "text": text}, *sent] if text else sent


def _assistant(message: AssistantMessage, request: ModelRequest, info: ModelInfo) -> Wire | None:
    own = message.provider in ("", info.provider) and message.model in ("", info.name, request.model)
    calls = message.tool_calls
    if message.is_empty:
        return None
    wire: Wire = {"role": "assistant", "content": message.text}
    if calls and not message.text:
        match info.rules.empty_content:
            case "null":
                wire["content"] = None
            case "omit":
                del wire["content"]
            case "empty":
                pass
            case _:
                assert_never(info.rules.empty_content)
    _replay_reasoning(wire, message, _replay_rules(request, info), own=own)
    if calls:
        wire["tool_calls"] = [_call(call, own=own) for call in calls]
    return wire


def _replay_rules(request: ModelRequest, info: ModelInfo) -> WireRules:
    """The rules of the model; where the request asks the server to keep old reasoning, all of it must go back."""
    thinking = cast("object", {**info.extra, **request.extra}.get("thinking"))
    wish = cast("Wire", thinking) if isinstance(thinking, dict) else {}
    keeps = wish.get("clear_thinking") is False or wish.get("keep") == "all"
    return replace(info.rules, reasoning_replay="always") if keeps else info.rules


def _replay_reasoning(wire: Wire, message: AssistantMessage, rules: WireRules, *, own: bool) -> None:
    """Thinking goes back by the provider's policy, in the field it came in; strict ones miss even an empty one."""
    calls = bool(message.tool_calls)
    if rules.reasoning_replay == "never" or (rules.reasoning_replay == "tool_turns" and not calls):
        return
    parts: Sequence[ThinkingPart] = [part for part in message.parts if isinstance(part, ThinkingPart)] if own else []
    details = [dict(detail) for part in parts for detail in part.details]
    if details and rules.reasoning_field in (None, DETAILS_FIELD):
        wire[DETAILS_FIELD] = details
        return
    came_in = next((part.field for part in parts if part.field), None)
    field = rules.reasoning_field or came_in or _DEFAULT_FIELD
    text = "".join(part.text for part in parts)
    if field == INLINE_THINKING:
        if text:
            wire["content"] = f"<think>{text}</think>\n\n{wire.get('content') or ''}"
    elif text or calls:
        wire[_DEFAULT_FIELD if field == DETAILS_FIELD else field] = text


def _call(call: ToolCall, *, own: bool) -> Wire:
    wire: Wire = {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments_text(call)},
    }
    return {**call.extra, **wire} if own else wire


def arguments_text(call: ToolCall) -> str:
    """The arguments as the text of a JSON object; `{}` when the model's own text was none."""
    return "{}" if call.arguments is None else json.dumps(dict(call.arguments), ensure_ascii=False)


def _tool(spec: ToolSpec, rules: WireRules) -> Wire:
    parameters = cast("Wire", spec.parameters)
    if rules.typed_schemas:
        parameters = typed_parameters(parameters)
    function = {"name": spec.name, "description": spec.description, "parameters": parameters}
    return {"type": "function", "function": function}
