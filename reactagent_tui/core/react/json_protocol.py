"""The JSON action protocol: every reply is one object with `thought` and either an action or `final_answer`.

A reply that is not JSON is the answer. The server is asked for JSON in the form it takes (`response_format`), or
only in the prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, assert_never

from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, StreamDelta, ToolSpec
from reactagent_tui.core.messages import AssistantMessage, Message, ToolCall
from reactagent_tui.core.prompt.composer import template
from reactagent_tui.core.react.json_stream import JsonStream, object_in
from reactagent_tui.core.react.protocol import Reading, ReplyReader
from reactagent_tui.core.react.replies import Act, Direct, Final, Malformed, NoAction, ParsedReply, reply_of_json
from reactagent_tui.core.react.text_input import ToolNames
from reactagent_tui.core.react.text_live import LivePiece
from reactagent_tui.core.react.text_protocol import WrittenReader, reading_of, shown, tool_list
from reactagent_tui.core.react.written_history import with_written_replies, without_calls

JsonForm = Literal["json_object", "json_schema", "prompt"]
NOT_JSON = "Your reply was not one valid JSON object, so nothing was run. Send it again as one JSON object."
NO_ACTION = "Your reply has neither `action` nor `final_answer`. Decide by your last thought and send one of them."
_LINE_OBJECT = re.compile(r"^[ \t]*(\{)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class JsonProtocol:
    """One JSON object per reply."""

    form: JsonForm = "json_object"

    def prepare(self, messages: Sequence[Message]) -> Sequence[Message]:
        return with_written_replies(messages, write_object)

    def request(
        self,
        info: ModelInfo,
        system: str,
        messages: tuple[Message, ...],
        tools: tuple[ToolSpec, ...],
        *,
        failures: int = 0,
    ) -> ModelRequest:
        """After a failure the model is asked without `response_format`: some answer nothing at all under it."""
        taught = template("protocol_json", tools=tool_list(tools))
        form = response_format("prompt" if failures else self.form, tools)
        return ModelRequest(
            model=info.name,
            system=f"{system}\n\n{taught}" if system else taught,
            messages=without_calls(messages, write_object),
            max_output=info.max_output,
            extra={**info.extra, **form},
        )

    def reader(self, tools: Sequence[ToolSpec], *, failures: int = 0) -> ReplyReader:
        return JsonReader(ToolNames.of(tools), failures=failures)


def response_format(form: JsonForm, tools: Sequence[ToolSpec]) -> Mapping[str, Any]:
    """The body key that asks for JSON; nothing when only the prompt asks."""
    match form:
        case "prompt":
            return {}
        case "json_object":
            return {"response_format": {"type": "json_object"}}
        case "json_schema":
            schema = {"name": "step", "strict": False, "schema": reply_schema(tools)}
            return {"response_format": {"type": "json_schema", "json_schema": schema}}
        case _:
            assert_never(form)


def reply_schema(tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """What a reply looks like."""
    action = {"type": "string", "enum": [tool.name for tool in tools]}
    step = {"type": "object", "properties": {"action": action, "action_input": {"type": "object"}}}
    properties: dict[str, Any] = {"thought": {"type": "string"}}
    if tools:
        properties |= {"action": action, "action_input": {"type": "object"}}
        properties["actions"] = {"type": "array", "items": step}
    properties["final_answer"] = {"type": "string"}
    return {"type": "object", "properties": properties, "required": ["thought"], "additionalProperties": False}


class JsonReader(WrittenReader):
    """One reply of the JSON protocol."""

    def __init__(self, tools: ToolNames, *, failures: int) -> None:
        self._tools = tools
        self._failures = failures
        self._stream = JsonStream()
        self._value: dict[str, Any] | None = None

    @property
    def is_over(self) -> bool:
        return self._stream.is_over

    def _read(self, text: str) -> Iterable[LivePiece]:
        return self._stream.feed(text)

    def _forget(self) -> None:
        self._stream = JsonStream()

    def _think(self, text: str) -> None:
        """An object inside the thinking is no reply."""

    def flush(self) -> Iterator[StreamDelta]:
        pieces, self._value = self._stream.finish()
        yield from map(shown, pieces)

    def reading(self, message: AssistantMessage) -> Reading:
        reply = self._reply()
        if isinstance(reply, NoAction | Malformed) and not self._failures:
            nudge = NO_ACTION if isinstance(reply, NoAction) else NOT_JSON
            thinking = reading_of(reply, message, self._tools, failures=0, accept_direct=True).message
            return Reading(thinking, nudge)
        if isinstance(reply, Malformed):
            reply = Direct(self._text)
        return reading_of(reply, message, self._tools, failures=2 if self._failures else 0, accept_direct=True)

    @property
    def _text(self) -> str:
        return "".join(self._stream.text).strip()

    def _reply(self) -> ParsedReply:
        text = self._text
        if not text:
            return Malformed("empty")
        if self._value is not None:
            return reply_of_json(self._value, self._tools) or Direct(text)
        if self._stream.is_plain:
            return self._prose(text)
        return self._broken(text)

    def _prose(self, text: str) -> ParsedReply:
        """A reply that does not begin like JSON is the answer, unless our own object stands on a line of it."""
        for found in _LINE_OBJECT.finditer(text):
            value = object_in(text[found.start(1) :])
            reply = None if value is None else reply_of_json(value, self._tools)
            if isinstance(reply, Final):
                return reply
            if isinstance(reply, Act):
                return Malformed("empty", text)
        return Direct(text)

    def _broken(self, text: str) -> ParsedReply:
        """Almost JSON: an answer is worth saving; an action is not run on a guess."""
        from json_repair import repair_json

        try:
            found: object = repair_json(text[text.find("{") :], return_objects=True)
        except (ValueError, RecursionError, IndexError):
            found = None
        value = found if isinstance(found, dict) else {}
        reply = reply_of_json(value, self._tools) if value else None
        if isinstance(reply, Final):
            return reply
        if reply is None:
            return Direct(text)
        return Malformed("empty", str(value.get("thought") or ""))


def write_object(thought: str, answer: str, calls: Sequence[ToolCall]) -> str:
    """An assistant message the way the model should have written it."""
    value: dict[str, Any] = {"thought": thought} if thought else {}
    steps = [{"action": call.name, "action_input": dict(call.arguments or {})} for call in calls]
    if len(steps) == 1:
        value |= steps[0]
    elif steps:
        value["actions"] = steps
    if answer:
        value["final_answer"] = answer
    return json.dumps(value, ensure_ascii=False)
