"""Events of an OpenAI Responses stream as stream deltas. Pure.

A reply is a list of items (reasoning, message, function call). Their texts stream as deltas; the `done` events and
the closing `response` repeat all of it, and are used only for what did not stream: gateways leave out either half.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reactagent_tui.core.errors import NotAnApiError
from reactagent_tui.core.llm.api_errors import Asked, error_from_object
from reactagent_tui.core.llm.base import StreamDelta, StreamFinish, StreamText, StreamThinking, StreamToolCall
from reactagent_tui.core.llm.openai_events import ChatState
from reactagent_tui.core.llm.responses_payload import REASONING, item_signature, phase_signature
from reactagent_tui.core.llm.sse import JSON_EVENT, SseEvent
from reactagent_tui.core.llm.wire_values import as_object, as_objects, as_text, parse_document, parse_object
from reactagent_tui.core.messages import StopReason

_MESSAGE, _CALL = "message", "function_call"
_GAP = "\n\n"
_CALL_KEYS = frozenset({"type", "id", "call_id", "name", "arguments", "status"})
_INCOMPLETE: Mapping[str, StopReason] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}


@dataclass(slots=True, eq=False)
class _Item:
    """An output item that has begun. `slot` is its place in the order of appearance."""

    slot: int
    kind: str
    seen: set[tuple[str, object]] = field(default_factory=set[tuple[str, object]])
    """The texts of it that have begun to stream, by kind and index."""
    channel: str | None = None
    """Of a reasoning item: what is shown of it, its summary or its text. Never both: they say the same."""
    is_done: bool = False


@dataclass(slots=True)
class ResponsesState(ChatState):
    """What must be remembered between the events of one reply."""

    items: list[_Item] = field(default_factory=list[_Item])
    _by_id: dict[str, _Item] = field(default_factory=dict[str, _Item])
    _by_index: dict[object, _Item] = field(default_factory=dict[object, _Item])
    _text_shown: bool = False
    _thinking_shown: bool = False

    def item(self, data: Mapping[str, Any], kind: str) -> _Item:
        """The item that an event is about; opened when its beginning was not sent.

        By id before index (some gateways number every item 0), by index before order (others make up an id per event).
        """
        found = self._by_id.get(data.get("item_id") or "") or self._by_index.get(data.get("output_index"))
        if found is None and self.items and not (data.get("item_id") and "output_index" in data):
            found = self.items[-1]
        return found if found is not None and found.kind == kind else self.open(data, kind)

    def known(self, data: Mapping[str, Any], kind: str, item_id: str) -> _Item | None:
        """The item of an event that carries the item itself."""
        found = self._by_id.get(item_id) or self._by_index.get(data.get("output_index"))
        return found if found is not None and found.kind == kind else None

    def open(self, data: Mapping[str, Any], kind: str, item_id: str = "") -> _Item:
        item = _Item(len(self.items), kind)
        self.items.append(item)
        if name := item_id or data.get("item_id"):
            self._by_id[str(name)] = item
        if (index := data.get("output_index")) is not None:
            self._by_index[index] = item
        return item

    def message_text(self, item: _Item, key: tuple[str, object], text: str) -> list[StreamDelta]:
        """Text for the user; a gap goes before that of a further message."""
        if not item.seen and self._text_shown:
            text = _GAP + text
        item.seen.add(key)
        self._text_shown = True
        return self.refusal(text) if key[0] == "refusal" else self.text(text)

    def reasoning(self, item: _Item, channel: str, part: object, text: str) -> list[StreamDelta]:
        """Thinking to show; parts of it are paragraphs of their own."""
        item.channel = item.channel or channel
        if item.channel != channel or not text:
            return []
        key = (channel, part)
        if key not in item.seen and self._thinking_shown:
            text = _GAP + text
        item.seen.add(key)
        self._thinking_shown = True
        return self.thinking(text, REASONING)

    def sealed(self, signature: str | None) -> list[StreamDelta]:
        """The end of a reasoning item; with what goes back to the server, if anything does."""
        rest = self._thinking.flush()
        return [StreamThinking(rest, REASONING, signature)] if rest or signature else []

    def close(self, reason: StopReason, raw: str) -> list[StreamDelta]:
        self.finished = True
        if self._refused and reason == "stop":
            reason = "refusal"
        return [*self.flush(), StreamFinish(reason, raw)]


def fold(events: Iterable[SseEvent], state: ResponsesState, deltas: list[StreamDelta]) -> bool:
    """Append the deltas of these events to `deltas`; True when the reply is over, whatever may follow.

    Raises ProviderErrors for failures; what came before them, their usage included, is in `deltas` then.
    """
    for name, text in events:
        if text.startswith("[DONE]"):
            return True
        if name == JSON_EVENT:
            data = _document(text, state.asked)
        elif name == "error":
            raise error_from_object(parse_object(text) or text, state.asked)
        elif (data := parse_object(text)) is None:
            continue
        if "response" in data:
            deltas += state.usage(as_object(data["response"]))
        deltas += from_event(data, state)
        if state.finished:
            return True
    return False


def from_event(data: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    """The deltas of one event. Raises ProviderErrors for failures; events that nobody knows give nothing."""
    kind = data.get("type")
    if (handle := _HANDLERS.get(kind if isinstance(kind, str) else "")) is not None:
        return handle(data, state)
    if kind == "error" or data.get("error") or (kind is None and data.get("message") and data.get("code")):
        raise error_from_object(data, state.asked)
    return []


def _document(text: str, asked: Asked) -> Mapping[str, Any]:
    """A body that came as one JSON document, in the form of the event that closes a stream."""
    fields = parse_document(text, asked)
    if "output" in fields or fields.get("object") == "response":
        return {"type": "response.completed", "response": fields}
    if fields.get("error") or fields.get("message") or fields.get("detail"):
        raise error_from_object(fields, asked)
    raise NotAnApiError(f"{asked.url} answered with JSON that is no model's reply: {text[:200]}")


# Pieces of an item


def _text_delta(data: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    text = data.get("delta")
    if not isinstance(text, str) or not text:
        return []
    item = state.item(data, _MESSAGE)
    return state.message_text(item, ("text", data.get("content_index") or 0), text)


def _text_done(data: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    return _message_part(state.item(data, _MESSAGE), "text", data.get("content_index") or 0, data.get("text"), state)


def _refusal_delta(data: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    text = as_text(data.get("delta"))
    key = ("refusal", data.get("content_index") or 0)
    return state.message_text(state.item(data, _MESSAGE), key, text) if text else []


def _refusal_done(data: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    item = state.item(data, _MESSAGE)
    return _message_part(item, "refusal", data.get("content_index") or 0, data.get("refusal"), state)


def _message_part(item: _Item, kind: str, index: object, whole: object, state: ResponsesState) -> list[StreamDelta]:
    """The whole text of a part, when none of it streamed."""
    text = as_text(whole)
    return [] if not text or (kind, index) in item.seen else state.message_text(item, (kind, index), text)


def _summary_delta(data: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    item = state.item(data, REASONING)
    return state.reasoning(item, "summary", data.get("summary_index"), as_text(data.get("delta")))


def _reasoning_delta(data: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    item = state.item(data, REASONING)
    return state.reasoning(item, "text", data.get("content_index"), as_text(data.get("delta")))


def _arguments_delta(data: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    text = as_text(data.get("delta"))
    return _arguments(state.item(data, _CALL), text) if text else []


def _arguments_done(data: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    item = state.item(data, _CALL)
    return [] if item.seen else _arguments(item, data.get("arguments"))


def _arguments(item: _Item, value: object) -> list[StreamDelta]:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    if not text:
        return []
    item.seen.add(("arguments", 0))
    return [StreamToolCall(item.slot, arguments=text)]


# Whole items


def _item_added(data: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    fields = as_object(data.get("item"))
    kind = as_text(fields.get("type"))
    item = state.open(data, kind, as_text(fields.get("id")))
    return [_call_head(item, fields)] if kind == _CALL else []


def _item_done(data: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    return _finish_item(data, as_object(data.get("item")), state)


def _finish_item(data: Mapping[str, Any], fields: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    kind, item_id = as_text(fields.get("type")), as_text(fields.get("id"))
    item = state.known(data, kind, item_id) or state.open(data, kind, item_id)
    if item.is_done:
        return []
    item.is_done = True
    match kind:
        case "message":
            return _finish_message(item, fields, state)
        case "function_call":
            return [_call_head(item, fields), *([] if item.seen else _arguments(item, fields.get("arguments")))]
        case "reasoning":
            return _finish_reasoning(item, fields, state)
        case _:
            return []


def _finish_message(item: _Item, fields: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    deltas: list[StreamDelta] = []
    if not item.seen:
        for index, part in enumerate(as_objects(fields.get("content"))):
            kind = "refusal" if part.get("type") == "refusal" else "text"
            deltas += _message_part(item, kind, index, part.get(kind), state)
    deltas += state.flush()
    phase = as_text(fields.get("phase"))
    return [*deltas, StreamText("", phase_signature(phase))] if phase and item.seen else deltas


def _finish_reasoning(item: _Item, fields: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    deltas: list[StreamDelta] = []
    if item.channel is None:
        summary, content = as_objects(fields.get("summary")), as_objects(fields.get("content"))
        for index, part in enumerate(summary or content):
            channel = "summary" if summary else "text"
            deltas += state.reasoning(item, channel, index, as_text(part.get("text")))
    return [*deltas, *state.sealed(item_signature(fields))]


def _call_head(item: _Item, fields: Mapping[str, Any]) -> StreamToolCall:
    extra = {key: value for key, value in fields.items() if key not in _CALL_KEYS and value is not None}
    call_id = as_text(fields.get("call_id")) or as_text(fields.get("id"))
    return StreamToolCall(item.slot, call_id or None, as_text(fields.get("name")) or None, extra=extra)


# The end


def _closed(data: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    """The reply is over, one way or another. Raises the error of a reply that failed."""
    response = as_object(data.get("response"))
    status = response.get("status")
    if data["type"] == "response.failed" or status in ("failed", "cancelled") or response.get("error"):
        error = as_object(response.get("error")) or {"message": f"the reply ended as {status or 'failed'}"}
        raise error_from_object({"error": error}, state.asked)
    deltas = [*_what_did_not_stream(response, state), *state.usage(response)]
    if data["type"] == "response.incomplete" or status == "incomplete":
        raw = as_text(as_object(response.get("incomplete_details")).get("reason")) or "incomplete"
        return deltas + state.close(_INCOMPLETE.get(raw, "unknown"), raw)
    return deltas + state.close("stop", "completed")


def _what_did_not_stream(response: Mapping[str, Any], state: ResponsesState) -> list[StreamDelta]:
    """What only the closing event has: the rest of items that stayed open, and items of a kind that never streamed.

    Not every unknown item: a gateway that numbers and names them anew would have them all shown twice.
    """
    streamed = {item.kind for item in state.items}
    deltas: list[StreamDelta] = []
    for index, fields in enumerate(as_objects(response.get("output"))):
        data = {"output_index": index}
        kind, item_id = as_text(fields.get("type")), as_text(fields.get("id"))
        if kind not in streamed or state.known(data, kind, item_id) is not None:
            deltas += _finish_item(data, fields, state)
    return deltas


_HANDLERS: Mapping[str, Callable[[Mapping[str, Any], ResponsesState], list[StreamDelta]]] = {
    "response.output_text.delta": _text_delta,
    "response.output_text.done": _text_done,
    "response.refusal.delta": _refusal_delta,
    "response.refusal.done": _refusal_done,
    "response.reasoning_summary_text.delta": _summary_delta,
    "response.reasoning_text.delta": _reasoning_delta,
    "response.reasoning.delta": _reasoning_delta,  # an older name of it that gateways still send
    "response.function_call_arguments.delta": _arguments_delta,
    "response.function_call_arguments.done": _arguments_done,
    "response.output_item.added": _item_added,
    "response.output_item.done": _item_done,
    "response.completed": _closed,
    "response.done": _closed,
    "response.incomplete": _closed,
    "response.failed": _closed,
}
