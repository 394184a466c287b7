"""A `ModelRequest` as the body of an OpenAI Responses call: nothing is stored there, all goes along every time.

Reasoning comes back encrypted and goes back unmodified, in its place before the item it led to; the server refuses
it alone. Ids of items are not sent: they name things that the server, told to store nothing, does not have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, assert_never, cast

from reactagent_tui.core.llm.attachments import IMAGES, not_sent, sendable
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec
from reactagent_tui.core.llm.openai_payload import arguments_text
from reactagent_tui.core.llm.surrogates import join_in_json
from reactagent_tui.core.llm.wire_values import as_object, as_objects
from reactagent_tui.core.messages import (
    AssistantMessage,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserMessage,
)

Wire = dict[str, Any]
REASONING = "reasoning"
"""`ThinkingPart.field` of reasoning that came as an item; the item itself is the part's signature."""
ENCRYPTED_REASONING = "reasoning.encrypted_content"
SUMMARY = "reasoning.summary"
"""Names of the two options in `WireRules.unsupported`, beside plain body keys such as `include`."""

_PHASE = "phase:"
_LEAST_OUTPUT = 16
"""Tokens; the API refuses a smaller limit."""


def to_payload(request: ModelRequest, info: ModelInfo, images: Mapping[str, str] | None = None) -> Wire:
    """The request body, keys in a stable order. `images` maps attachment paths to data URLs.

    Stop strings are left out: this API has none.
    """
    rules = info.rules
    body: Wire = {"model": request.model}
    if request.system:
        body["instructions"] = request.system
    body["input"] = _input(request, info, images or {})
    body |= {"store": False, "stream": True, "include": [ENCRYPTED_REASONING]}
    if request.tools and rules.supports_tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
        if request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice
    if request.max_output is not None:
        body["max_output_tokens"] = max(request.max_output, _LEAST_OUTPUT)
    if request.temperature is not None:
        body["temperature"] = request.temperature
    body |= _options({**info.extra, **request.extra}, rules.unsupported)
    return {key: value for key, value in body.items() if value is not None and key not in rules.unsupported}


def item_signature(item: Mapping[str, Any]) -> str | None:
    """A finished reasoning item as the text that is kept and sent back; None when it holds nothing to send back."""
    encrypted, content = item.get("encrypted_content"), as_objects(item.get("content"))
    if item.get("status") == "incomplete" or not (encrypted or content):
        return None
    kept: Wire = {"type": REASONING}
    if not encrypted and item.get("id"):  # servers that encrypt nothing may insist on the id
        kept["id"] = item["id"]
    kept["summary"] = as_objects(item.get("summary"))
    if content:
        kept["content"] = content
    if encrypted:
        kept["encrypted_content"] = encrypted
    return json.dumps(join_in_json(kept), ensure_ascii=False, separators=(",", ":"))


def phase_signature(phase: str) -> str:
    """The signature of the text of a message that the server labelled: commentary or final answer."""
    return _PHASE + phase


# What the model is shown


def _input(request: ModelRequest, info: ModelInfo, images: Mapping[str, str]) -> list[Wire]:
    items: list[Wire] = []
    for message in request.messages:
        match message:
            case UserMessage():
                items.append({"type": "message", "role": "user", "content": _user_content(message, images)})
            case AssistantMessage():
                own = message.provider in ("", info.provider) and message.model in ("", info.name, request.model)
                items += _AssistantItems(own=own).of(message)
            case ToolResult():
                items.append({"type": "function_call_output", "call_id": message.call_id, "output": message.text})
            case _:
                assert_never(message)
    return items


def _user_content(message: UserMessage, images: Mapping[str, str]) -> list[Wire]:
    text = message.text
    sent: list[Wire] = []
    for file in message.attachments:
        if sendable(file, images, IMAGES) is not None:
            sent.append({"type": "input_image", "image_url": images[file.path], "detail": "auto"})
        else:
            text += not_sent(file)
    return [{"type": "input_text", "text": text}, *sent] if text or not sent else sent


class _AssistantItems:
    """One reply as items, in the order in which its parts came."""

    __slots__ = ("_items", "_own", "_reasoning", "_text")

    def __init__(self, *, own: bool) -> None:
        self._own = own
        self._items: list[Wire] = []
        self._reasoning: list[Wire] = []
        """Waits for the item that it led to: alone it is refused."""
        self._text: list[str] = []

    def of(self, message: AssistantMessage) -> list[Wire]:
        for part in message.parts:
            match part:
                case TextPart():
                    self._add_text(part)
                case ThinkingPart():
                    self._end_text()
                    if self._own and (item := _reasoning_item(part)) is not None:
                        self._reasoning.append(item)
                case ToolCall():
                    self._end_text()
                    self._add(_call(part, own=self._own))
                case _:
                    assert_never(part)
        self._end_text()
        return self._items

    def _add_text(self, part: TextPart) -> None:
        self._text.append(part.text)
        if part.signature is not None and part.signature.startswith(_PHASE):
            self._end_text(part.signature.removeprefix(_PHASE) if self._own else None)

    def _end_text(self, phase: str | None = None) -> None:
        text = "".join(self._text)
        self._text.clear()
        if not text.strip():
            return
        if any(item["type"] == "message" for item in self._items):
            text = text.removeprefix("\n\n")  # the gap that was put between two messages for the eye
        item: Wire = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        if phase:
            item["phase"] = phase
        self._add(item)

    def _add(self, item: Wire) -> None:
        self._items += self._reasoning
        self._reasoning.clear()
        self._items.append(item)


def _reasoning_item(part: ThinkingPart) -> Wire | None:
    """The item that `item_signature` kept; None for reasoning that came any other way."""
    if part.field != REASONING or not part.signature:
        return None
    try:
        item: object = json.loads(part.signature)
    except (ValueError, RecursionError):
        return None
    fields = as_object(item)
    return dict(fields) if fields.get("type") == REASONING else None


def _call(call: ToolCall, *, own: bool) -> Wire:
    wire: Wire = {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments_text(call),
    }
    return {**call.extra, **wire} if own else wire


def _tool(spec: ToolSpec) -> Wire:
    """`strict` is said because it is on unless refused, and then asks more of a schema than JSON Schema does."""
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": cast("Wire", spec.parameters),
        "strict": False,
    }


# Options


def _options(extra: Mapping[str, Any], unsupported: tuple[str, ...]) -> Wire:
    """Body keys from the config, with the names that chat completions give them put where this API wants them."""
    options = dict(extra)
    effort, verbosity = options.pop("reasoning_effort", None), options.pop("verbosity", None)
    limits = [options.pop(name, None) for name in ("max_completion_tokens", "max_tokens")]
    if limit := next((value for value in limits if value is not None), None):
        options.setdefault("max_output_tokens", limit)
    if verbosity is not None:
        options["text"] = {"verbosity": verbosity, **as_object(options.get("text"))}
    if "reasoning" not in options or isinstance(options["reasoning"], dict):
        options["reasoning"] = _reasoning_options(as_object(options.get("reasoning")), effort, unsupported)
    return options


def _reasoning_options(given: Mapping[str, Any], effort: object, unsupported: tuple[str, ...]) -> Wire | None:
    """Effort as asked for, and a summary to show, unless thinking is off or the model gives none."""
    options: Wire = {}
    if effort is not None:
        options["effort"] = effort
    options |= {"summary": "auto", **given}
    if SUMMARY in unsupported or (options.get("effort") == "none" and "summary" not in given):
        del options["summary"]
    return {key: value for key, value in options.items() if value is not None} or None
