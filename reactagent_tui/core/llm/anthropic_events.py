"""Events of an Anthropic Messages stream as stream deltas. Pure; unknown events, blocks and deltas are passed over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reactagent_tui.core.errors import NotAnApiError
from reactagent_tui.core.llm.anthropic_blocks import BlockStream
from reactagent_tui.core.llm.anthropic_usage import UsageCounts
from reactagent_tui.core.llm.api_errors import Asked, error_from_object
from reactagent_tui.core.llm.base import StreamDelta, StreamFinish, StreamText, StreamUsage
from reactagent_tui.core.llm.sse import JSON_EVENT, SseEvent
from reactagent_tui.core.llm.wire_values import as_object, as_objects, as_text, parse_document, parse_object
from reactagent_tui.core.messages import StopReason
from reactagent_tui.core.usage import Usage

_REASONS: Mapping[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "stop": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
PAUSED = "pause_turn"


@dataclass(slots=True)
class MessageState:
    """What must be remembered between the events of one reply."""

    asked: Asked = field(default_factory=lambda: Asked(""))
    spent: Usage = field(default_factory=Usage)
    """Usage of earlier requests of the same reply (it was paused): part of every usage told from now on."""
    blocks: BlockStream = field(default_factory=BlockStream)
    counts: UsageCounts = field(default_factory=UsageCounts)
    finished: bool = False
    """A reason to stop was given."""
    paused: bool = False
    """The server stopped in the middle of its own tools: the same request, with the reply so far, goes on."""
    total: Usage | None = None
    """The newest usage told."""
    has_text: bool = False

    def flush(self) -> list[StreamDelta]:
        """What was held back because it might have gone on."""
        return self.blocks.stop_all() if self.finished else self.blocks.flush()

    def usage(self, raw: Mapping[str, Any]) -> list[StreamDelta]:
        """The usage in an event, when it says something new."""
        if not raw:
            return []
        total = self.spent + self.counts.take(raw)
        if total == self.total or not total.total:
            return []
        self.total = total
        return [StreamUsage(total)]

    def finish(self, delta: Mapping[str, Any]) -> list[StreamDelta]:
        """The model is done, or pauses."""
        raw = as_text(delta.get("stop_reason"))
        if not raw:
            return []
        self.finished = True
        deltas = self.blocks.stop_all()
        if raw == PAUSED and not self.blocks.calls and self.blocks.raw():
            self.paused = True
            return deltas
        reason = _REASONS.get(raw, "unknown")
        if reason == "refusal":
            deltas += self._why_refused(as_object(delta.get("stop_details")))
        return [*deltas, StreamFinish(reason, raw)]

    def _why_refused(self, details: Mapping[str, Any]) -> list[StreamDelta]:
        why = as_text(details.get("explanation"))
        return [StreamText(f"\n\n{why}" if self.has_text else why)] if why else []


def fold(events: Iterable[SseEvent], state: MessageState, deltas: list[StreamDelta]) -> bool:
    """Append the deltas of these events to `deltas`; True when the reply is over, whatever may follow.

    Raises ProviderErrors for error events; what came before them is in `deltas` then.
    """
    for name, text in events:
        if text.startswith("[DONE]"):
            return True
        if name == "error":
            raise error_from_object(parse_object(text) or text, state.asked)
        if name == JSON_EVENT:
            deltas += _whole_message(parse_document(text, state.asked), text, state)
            return True
        data = parse_object(text)
        if data is None:
            continue
        if "type" not in data and name:
            data = {**data, "type": name}
        deltas += from_event(data, state)
        if data.get("type") == "message_stop":
            return True
    return False


def from_event(data: Mapping[str, Any], state: MessageState) -> list[StreamDelta]:
    """The deltas of one event. Raises ProviderErrors for error objects."""
    match data.get("type"):
        case "content_block_delta":
            return _noting_text(state, state.blocks.piece(data.get("index"), as_object(data.get("delta"))))
        case "content_block_start":
            return _noting_text(state, state.blocks.start(data.get("index"), as_object(data.get("content_block"))))
        case "content_block_stop":
            return state.blocks.stop(data.get("index"))
        case "message_start":
            return state.usage(as_object(as_object(data.get("message")).get("usage")))
        case "message_delta":
            return [*state.usage(as_object(data.get("usage"))), *state.finish(as_object(data.get("delta")))]
        case _:
            if data.get("error"):
                raise error_from_object(data, state.asked)
            return []


def _noting_text(state: MessageState, deltas: list[StreamDelta]) -> list[StreamDelta]:
    if not state.has_text and any(isinstance(delta, StreamText) for delta in deltas):
        state.has_text = True
    return deltas


def _whole_message(data: Mapping[str, Any], text: str, state: MessageState) -> list[StreamDelta]:
    """A reply that came as one JSON document. Raises ProviderErrors for an error, or for anything else."""
    content = data.get("content")
    if not isinstance(content, list):
        if data.get("error") or data.get("message") or data.get("detail"):
            raise error_from_object(data, state.asked)
        raise NotAnApiError(f"{state.asked.url} answered with JSON that is no model's reply: {text[:200]}")
    deltas: list[StreamDelta] = []
    for index, block in enumerate(as_objects(data.get("content"))):
        deltas += _noting_text(state, state.blocks.start(index, block))
        deltas += state.blocks.stop(index)
    deltas += state.usage(as_object(data.get("usage")))
    return deltas + state.finish(data)
