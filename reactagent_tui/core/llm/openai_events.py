"""Chunks of an OpenAI-style chat completion as stream deltas, in every dialect that was seen. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from reactagent_tui.core.errors import NotAnApiError, ProviderError, ServerError
from reactagent_tui.core.llm.api_errors import Asked, error_from_object
from reactagent_tui.core.llm.base import (
    StreamDelta,
    StreamFinish,
    StreamProgress,
    StreamReclassify,
    StreamText,
    StreamThinking,
    StreamToolCall,
    StreamUsage,
)
from reactagent_tui.core.llm.openai_payload import DETAILS_FIELD, INLINE_THINKING
from reactagent_tui.core.llm.openai_usage import usage_of
from reactagent_tui.core.llm.sse import JSON_EVENT, SseEvent
from reactagent_tui.core.llm.surrogates import SurrogateJoiner
from reactagent_tui.core.llm.think_filter import Piece, ThinkFilter
from reactagent_tui.core.llm.wire_values import as_object, as_objects, as_text, parse_document, parse_object
from reactagent_tui.core.messages import StopReason

_REASONS: Mapping[str, StopReason] = {
    "stop": "stop",
    "end": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
}
_FAILED = frozenset({"error", "insufficient_system_resource", "network_error"})
_MODEL_FAILED = ("malformed_function_call", "unexpected_tool_call", "malformed_response")
"""Gemini's words for a reply that went wrong, as gateways pass them on, alone or inside a sentence."""
_THOUGHT_TAGS = re.compile(r"</?(?:thought|think|thinking)>")
_CALL_KEYS = frozenset({"index", "id", "type", "function"})


@dataclass(slots=True)
class ChatState:
    """What must be remembered between the chunks of one reply."""

    asked: Asked = field(default_factory=lambda: Asked(""))
    finished: bool = False
    """A reason to stop was given."""
    failure: ProviderError | None = None
    """What the reply ended with, raised once all that came in the same chunk was handed out."""
    has_calls: bool = False
    think: ThinkFilter = field(default_factory=ThinkFilter)
    _text: SurrogateJoiner = field(default_factory=SurrogateJoiner)
    _thinking: SurrogateJoiner = field(default_factory=SurrogateJoiner)
    _thinking_field: str | None = None
    _usage: object = None
    _refused: bool = False

    def text(self, text: str) -> list[StreamDelta]:
        """Text as it came -> deltas that can be shown."""
        text = self._text.feed(text)
        return _deltas_of(self.think.feed(text)) if text else []

    def thinking(self, text: str, name: str, details: tuple[Mapping[str, Any], ...] = ()) -> list[StreamDelta]:
        self._thinking_field = name
        text = self._thinking.feed(text)
        return [StreamThinking(text, name, details=details)] if text or details else []

    def thought(self, text: str) -> list[StreamDelta]:
        """Text that is marked as a thought (Gemini's compatible endpoint), with or without tags around it."""
        return self.thinking(_THOUGHT_TAGS.sub("", text), INLINE_THINKING)

    def usage(self, data: Mapping[str, Any]) -> list[StreamDelta]:
        """The usage in a chunk, when it says something new."""
        usage = usage_of(data)
        if usage is None or usage == self._usage:
            return []
        self._usage = usage
        return [StreamUsage(usage)]

    def refusal(self, text: str) -> list[StreamDelta]:
        self._refused = True
        return self.text(text)

    def finish(self, raw: str, native: str = "") -> list[StreamDelta]:
        """The model is done, or failed. `native`: the reason in its maker's own words."""
        words = f"{raw} {native}".lower()
        if raw in _FAILED or any(failed in words for failed in _MODEL_FAILED):
            said = f"{raw!r}, of the model itself {native!r}" if native and native != raw else repr(raw)
            text = f"the provider broke off the reply (finish_reason {said})"
            self.failure = ServerError(text, status=500, retryable=True)
            return self.flush()
        self.finished = True
        reason = _REASONS.get(raw.lower().partition(":")[0], "unknown")  # Google: `content_filter: SAFETY`
        if self._refused and reason == "stop":
            reason = "refusal"
        return [*self.flush(), StreamFinish(reason, raw)]

    def flush(self) -> list[StreamDelta]:
        """What was held back because it might have gone on."""
        deltas: list[StreamDelta] = []
        if rest := self._thinking.flush():
            deltas.append(StreamThinking(rest, self._thinking_field))
        pieces = self.think.feed(self._text.flush())
        return deltas + _deltas_of(pieces + self.think.flush())


def fold(events: Iterable[SseEvent], state: ChatState, deltas: list[StreamDelta]) -> bool:
    """Append the deltas of these events to `deltas`; True when the reply is over, whatever may follow.

    Raises ProviderErrors for error events; what came before them is in `deltas` then.
    """
    for name, text in events:
        if text.startswith("[DONE]"):
            return True
        if name == "error":
            raise error_from_object(parse_object(text) or text, state.asked)
        if name == JSON_EVENT:
            _take(_document(text, state.asked), state, deltas)
            return True
        if (data := parse_object(text)) is not None:
            _take(data, state, deltas)
    return False


def _take(data: Mapping[str, Any], state: ChatState, deltas: list[StreamDelta]) -> None:
    """One chunk: what it brings first, then the error that it tells; tokens of a failed reply cost money as well."""
    try:
        deltas += from_event(data, state)
    except ProviderError:
        deltas += state.usage(data)
        raise
    if state.failure is not None:
        raise state.failure


def from_event(data: Mapping[str, Any], state: ChatState) -> list[StreamDelta]:
    """The deltas of one chunk, or of a whole completion. Raises ProviderErrors for error objects."""
    if data.get("error"):
        raise error_from_object(data, state.asked)
    choice = _first_choice(data.get("choices"))
    if choice is None:
        return _without_choices(data, state)
    delta = as_object(choice.get("delta"))
    finish = choice.get("finish_reason")
    if not finish and len(delta) == 1 and data.get("usage") is None:
        text = delta.get("content")
        if type(text) is str and "prompt_progress" not in data:
            return state.text(text)  # the hot path: one more piece of text
    deltas = _message_deltas(delta or as_object(choice.get("message")), state)
    deltas += _progress(data)
    deltas += state.usage(data)
    if finish:
        deltas += state.finish(str(finish), as_text(choice.get("native_finish_reason")))
    return deltas


def _document(text: str, asked: Asked) -> Mapping[str, Any]:
    """A completion that came as one JSON document. Raises StreamCutError or NotAnApiError for anything else."""
    fields = parse_document(text, asked)
    if not ("choices" in fields or fields.get("error") or fields.get("message") or fields.get("detail")):
        raise NotAnApiError(f"{asked.url} answered with JSON that is no model's reply: {text[:200]}")
    return fields


def _without_choices(data: Mapping[str, Any], state: ChatState) -> list[StreamDelta]:
    """Usage, progress, a ping, or an error in a shape of its own."""
    is_error = data.get("object") == "error" or data.get("type") == "error"
    if is_error or (data.get("message") and data.get("code") and "usage" not in data) or data.get("detail"):
        raise error_from_object(data, state.asked)
    return [*_progress(data), *state.usage(data)]


def _message_deltas(delta: Mapping[str, Any], state: ChatState) -> list[StreamDelta]:
    deltas = _reasoning(delta, state)
    content = delta.get("content")
    google = as_object(as_object(delta.get("extra_content")).get("google"))
    if isinstance(content, str):
        if content:
            is_thought = google.get("thought") is True
            deltas += state.thought(content) if is_thought else state.text(content)
    elif isinstance(content, list):
        for part in cast("list[object]", content):
            deltas += _content_part(part, state)
    if isinstance(refusal := delta.get("refusal"), str) and refusal:
        deltas += state.refusal(refusal)
    if calls := as_objects(delta.get("tool_calls")):
        state.has_calls = True
        deltas += [_call(call) for call in calls]
    elif function := as_object(delta.get("function_call")):
        deltas.append(_call({"index": 0, "function": function}))
    elif state.has_calls and google.get("thought_signature"):  # alone, after the call that it belongs to
        deltas.append(StreamToolCall(extra={"extra_content": delta["extra_content"]}))
    return deltas


def _reasoning(delta: Mapping[str, Any], state: ChatState) -> list[StreamDelta]:
    """Thinking in whichever field it comes; servers that fill two fill them with the same text."""
    details = as_objects(delta.get(DETAILS_FIELD))
    for name in ("reasoning_content", "reasoning"):
        text = delta.get(name)
        if isinstance(text, str) and text:
            return state.thinking(text, name, tuple(details))
    if not details:
        return []
    text = "".join(str(detail.get("text") or detail.get("summary") or "") for detail in details)
    return state.thinking(text, DETAILS_FIELD, tuple(details))


def _content_part(part: object, state: ChatState) -> list[StreamDelta]:
    """Content as a list of parts (Mistral): text, or thinking with parts of its own."""
    if isinstance(part, str):
        return state.text(part)
    fields = as_object(part)
    if fields.get("type") == "thinking":
        inner = fields.get("thinking")
        texts = [inner] if isinstance(inner, str) else [str(piece.get("text") or "") for piece in as_objects(inner)]
        return state.thinking("".join(texts), "thinking")
    return state.text(fields["text"]) if isinstance(fields.get("text"), str) else []


def _call(call: Mapping[str, Any]) -> StreamToolCall:
    function = as_object(call.get("function"))
    arguments = function.get("arguments")
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    index = call.get("index")
    return StreamToolCall(
        index if isinstance(index, int) else None,
        _text_or_none(call.get("id")),
        _text_or_none(function.get("name")),
        arguments,
        {key: value for key, value in call.items() if key not in _CALL_KEYS and value is not None},
    )


def _first_choice(value: object) -> Mapping[str, Any] | None:
    choices = cast("list[object]", value) if isinstance(value, list) else []
    first = choices[0] if choices else None
    return cast("dict[str, Any]", first) if isinstance(first, dict) else None


def _text_or_none(value: object) -> str | None:
    return None if value is None or value == "" else str(value)


def _progress(data: Mapping[str, Any]) -> list[StreamDelta]:
    """llama.cpp tells how far it has read the prompt."""
    fields = as_object(data.get("prompt_progress"))
    if not fields:
        return []
    total, done = fields.get("total"), fields.get("processed")
    share = min(done / total, 1.0) if isinstance(total, int) and isinstance(done, int) and total > 0 else None
    millis = fields.get("time_ms")
    return [StreamProgress("prefill", millis / 1000 if isinstance(millis, int | float) else 0.0, share)]


def _deltas_of(pieces: list[Piece]) -> list[StreamDelta]:
    deltas: list[StreamDelta] = []
    for kind, text in pieces:
        if kind == "text":
            deltas.append(StreamText(text))
        elif kind == "thinking":
            deltas.append(StreamThinking(text, INLINE_THINKING))
        else:
            deltas.append(StreamReclassify())
    return deltas
