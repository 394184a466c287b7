"""Chunks of Gemini's `streamGenerateContent` as stream deltas. Pure.

There is no closing event: the reply is over when the body ends after a reason to stop. A reason that is a failure
is kept until all that came with it, the usage above all, was handed out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from reactagent_tui.core.errors import BadRequestError, NotAnApiError, ProviderError, ServerError, StreamCutError
from reactagent_tui.core.llm.api_errors import Asked, error_from_object
from reactagent_tui.core.llm.base import (
    StreamDelta,
    StreamFinish,
    StreamText,
    StreamThinking,
    StreamToolCall,
    StreamUsage,
)
from reactagent_tui.core.llm.gemini_payload import CALL_ID, SIGNATURE
from reactagent_tui.core.llm.sse import JSON_EVENT, SseEvent
from reactagent_tui.core.llm.surrogates import SurrogateJoiner
from reactagent_tui.core.llm.wire_values import as_count, as_object, as_objects, parse_object
from reactagent_tui.core.messages import StopReason
from reactagent_tui.core.usage import Usage

THOUGHT = "thought"
SIGNED_THOUGHT = "thought+signature"
"""`ThinkingPart.field`. Two names, so that a signed thought is never joined with the unsigned one before it."""

_REASONS: Mapping[str, StopReason] = {"STOP": "stop", "MAX_TOKENS": "length"}
_WITHHELD = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
        "LANGUAGE",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    }
)
"""A filter kept the rest back; the same request would meet it again."""
_KNOWN = frozenset({"candidates", "promptFeedback", "usageMetadata", "error"})
_BROKEN = frozenset(
    {
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MALFORMED_RESPONSE",
        "MISSING_THOUGHT_SIGNATURE",
        "OTHER",
        "IMAGE_OTHER",
        "NO_IMAGE",
    }
)
"""The model went wrong: another try often does better."""


@dataclass(slots=True)
class GeminiState:
    """What must be remembered between the chunks of one reply."""

    asked: Asked = field(default_factory=lambda: Asked(""))
    may_retry: bool = True
    """A broken or empty reply is worth one more try of the same request; False on that second try."""
    finished: bool = False
    """A reason to stop was given."""
    is_broken: bool = False
    """The reply came to nothing, by the model's fault."""
    response_id: str | None = None
    failure: ProviderError | None = None
    """What the reply ended with, raised once its last deltas were handed out."""
    _stopped_well: bool = False
    _has_text: bool = False
    _has_thought: bool = False
    _calls: int = 0
    _text: SurrogateJoiner = field(default_factory=SurrogateJoiner)
    _thinking: SurrogateJoiner = field(default_factory=SurrogateJoiner)
    _usage: Usage | None = None

    def text(self, text: str, signature: str | None = None) -> list[StreamDelta]:
        """Text as it came; with a signature it is a part of its own, even when empty."""
        shown = self._text.feed(text)
        if signature is not None:
            shown += self._text.flush()
        self._has_text = self._has_text or not (not shown or shown.isspace())
        return [StreamText(shown, signature)] if shown or signature is not None else []

    def thinking(self, text: str, signature: str | None = None) -> list[StreamDelta]:
        self._has_thought = True
        shown = self._thinking.feed(text)
        if signature is not None:
            return [StreamThinking(shown + self._thinking.flush(), SIGNED_THOUGHT, signature)]
        return [StreamThinking(shown, THOUGHT)] if shown else []

    def call(self, call: Mapping[str, Any], signature: str | None) -> list[StreamDelta]:
        """A call; it always comes whole, so each is one of its own, whatever ids and names say."""
        arguments = call.get("args")
        extra = {SIGNATURE: signature} if signature is not None else {}
        given = call.get("id")
        call_id = given if isinstance(given, str) and given else None
        if call_id is not None:
            extra[CALL_ID] = call_id
        index = self._calls
        self._calls += 1
        return [
            StreamToolCall(
                index,
                call_id,
                str(call.get("name") or ""),
                json.dumps({} if arguments is None else arguments, ensure_ascii=False),
                extra,
            )
        ]

    def usage(self, data: Mapping[str, Any]) -> list[StreamDelta]:
        """The usage in a chunk, when it says something new: every chunk repeats it, growing."""
        usage = usage_of(data)
        if usage is None or usage == self._usage:
            return []
        self._usage = usage
        return [StreamUsage(usage)]

    def finish(self, raw: str, candidate: Mapping[str, Any]) -> list[StreamDelta]:
        """The model gave its reason to stop."""
        self.finished = True
        said = _reason_in_words(raw, candidate)
        if raw in _WITHHELD:
            if self._has_text:
                return [*self.flush(), StreamFinish("content_filter", raw)]
            self.failure = BadRequestError(f"Gemini withheld its reply: {said}")
            return []
        if raw in _BROKEN:
            self.failure = self._broken(f"Gemini broke off its reply: {said}")
            return []
        reason = _REASONS.get(raw, "unknown")
        self._stopped_well = reason == "stop"
        return [*self.flush(), StreamFinish(reason, raw)]

    def flush(self) -> list[StreamDelta]:
        """What was held back because it might have gone on."""
        deltas: list[StreamDelta] = []
        if rest := self._thinking.flush():
            deltas.append(StreamThinking(rest, THOUGHT))
        if rest := self._text.flush():
            deltas.append(StreamText(rest))
        return deltas

    def verdict(self) -> ServerError | None:
        """What is wrong with a reply that came to its end: it may be empty, which a second try often is not."""
        is_empty = not (self._has_text or self._has_thought or self._calls)
        return (
            self._broken("Gemini sent an empty reply") if is_empty and self._stopped_well and self.may_retry else None
        )

    def _broken(self, said: str) -> ServerError:
        self.is_broken = True
        return ServerError(said, retryable=self.may_retry)


def fold(events: Iterable[SseEvent], state: GeminiState, deltas: list[StreamDelta]) -> bool:
    """Append the deltas of these events to `deltas`; True when the server said that the reply is over.

    Raises ProviderErrors for errors inside the stream; what came before them is in `deltas` then.
    """
    for name, text in events:
        if text.startswith("[DONE]"):  # proxies add it
            return True
        if name == "error":
            raise error_from_object(parse_object(text) or text, state.asked)
        for chunk in _document(text, state.asked) if name == JSON_EVENT else as_objects([parse_object(text)]):
            deltas += from_event(chunk, state)
            if state.failure is not None:
                raise state.failure
    return False


def from_event(data: Mapping[str, Any], state: GeminiState) -> list[StreamDelta]:
    """The deltas of one chunk. Raises ProviderErrors for error objects; see `GeminiState.failure` for the rest."""
    if data.get("error"):
        raise error_from_object(data, state.asked)
    if isinstance(response_id := data.get("responseId"), str) and response_id:
        state.response_id = response_id
    candidate = next(iter(as_objects(data.get("candidates"))), None)
    deltas: list[StreamDelta] = []
    if candidate is not None:
        for part in as_objects(as_object(candidate.get("content")).get("parts")):
            deltas += _part(part, state)
    deltas += state.usage(data)
    reason = None if candidate is None else candidate.get("finishReason")
    if candidate is not None and reason and reason != "FINISH_REASON_UNSPECIFIED":
        deltas += state.finish(str(reason), candidate)
    elif candidate is None and (feedback := as_object(data.get("promptFeedback"))).get("blockReason"):
        state.finished = True
        state.failure = BadRequestError(f"Gemini blocked the prompt: {_block_in_words(feedback)}")
    return deltas


def usage_of(data: Mapping[str, Any]) -> Usage | None:
    """The token counts of a chunk in buckets that do not overlap; None when it has none."""
    raw = as_object(data.get("usageMetadata"))
    if not raw:
        return None
    prompt, cached, answer, thoughts, total, by_tools = (
        _count(raw.get(name))
        for name in (
            "promptTokenCount",
            "cachedContentTokenCount",
            "candidatesTokenCount",
            "thoughtsTokenCount",
            "totalTokenCount",
            "toolUsePromptTokenCount",
        )
    )
    output = answer + thoughts
    if answer >= thoughts > 0 and total == prompt + by_tools + answer:  # some gateways count thoughts as answer
        output = answer
    cached = min(cached, prompt)
    return Usage(input=prompt - cached + by_tools, cache_read=cached, output=output, reasoning=thoughts)


def _part(part: Mapping[str, Any], state: GeminiState) -> list[StreamDelta]:
    given = part.get(SIGNATURE) or part.get("thought_signature")
    signature = given if isinstance(given, str) else None
    if call := as_object(part.get("functionCall") or part.get("function_call")):
        return state.call(call, signature)
    text = part.get("text")
    if not isinstance(text, str):
        text = _other_in_words(part)
    return state.thinking(text, signature) if part.get("thought") is True else state.text(text, signature)


def _other_in_words(part: Mapping[str, Any]) -> str:
    """Parts that only appear when the configuration asks for them."""
    if code := as_object(part.get("executableCode")):
        return f"\n```{str(code.get('language') or '').lower()}\n{code.get('code') or ''}\n```\n"
    if result := as_object(part.get("codeExecutionResult")):
        return f"\n```\n{result.get('output') or result.get('outcome') or ''}\n```\n"
    if data := as_object(part.get("inlineData")):
        return f"\n[{data.get('mimeType') or 'data'}, not shown]\n"
    return ""


def _reason_in_words(raw: str, candidate: Mapping[str, Any]) -> str:
    said = candidate.get("finishMessage")
    words = f"{raw}: {said}" if isinstance(said, str) and said else raw
    return words + _ratings(candidate.get("safetyRatings"))


def _block_in_words(feedback: Mapping[str, Any]) -> str:
    said = feedback.get("blockReasonMessage")
    words = f"{feedback['blockReason']}: {said}" if said else str(feedback["blockReason"])
    return words + _ratings(feedback.get("safetyRatings"))


def _ratings(value: object) -> str:
    """The categories that the filter named."""
    named = [
        f"{str(rating.get('category')).removeprefix('HARM_CATEGORY_').lower()} {str(rating.get('probability')).lower()}"
        for rating in as_objects(value)
        if rating.get("blocked") is True or rating.get("probability") in ("MEDIUM", "HIGH")
    ]
    return f" ({', '.join(named)})" if named else ""


def _document(text: str, asked: Asked) -> list[Mapping[str, Any]]:
    """The chunks of a body that is one JSON document: an array of them without `alt=sse`, or a whole reply."""
    try:
        value: object = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        raise StreamCutError(f"the answer of {asked.url} is not whole: {text[-80:]!r}", retryable=True) from error
    chunks = as_objects(cast("object", value) if isinstance(value, list) else [value])
    if chunks and not any(_KNOWN & chunk.keys() for chunk in chunks):
        raise NotAnApiError(f"{asked.url} answered with JSON that is no model's reply: {text[:200]}")
    return chunks


def _count(value: object) -> int:
    return as_count(value) or 0
