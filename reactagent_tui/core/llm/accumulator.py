"""Folds the deltas of one reply into one message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, assert_never

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
from reactagent_tui.core.llm.calls import CallAssembler, CallProgress, OpenCall
from reactagent_tui.core.llm.surrogates import join_surrogates
from reactagent_tui.core.messages import AssistantMessage, AssistantPart, StopReason, TextPart, ThinkingPart, ToolCall
from reactagent_tui.core.usage import Usage

_BROKEN_OFF: frozenset[StopReason] = frozenset({"interrupted", "cut", "error"})


@dataclass(slots=True)
class _OpenText:
    pieces: list[str] = field(default_factory=list[str])
    signature: str | None = None


@dataclass(slots=True)
class _OpenThinking:
    pieces: list[str] = field(default_factory=list[str])
    field: str | None = None
    signature: str | None = None
    redacted: str | None = None

    @property
    def is_sealed(self) -> bool:
        return self.signature is not None or self.redacted is not None


_OpenPart: TypeAlias = _OpenText | _OpenThinking | OpenCall


class Accumulator:
    """One reply while it streams. Pieces are kept in lists and joined once."""

    __slots__ = ("_calls", "_details", "_finish", "_open", "_parts", "_usage")

    def __init__(self, new_id: Callable[[], str] | None = None) -> None:
        """`new_id` makes ids for calls that came without one."""
        self._parts: list[_OpenPart] = []
        self._open: _OpenPart | None = None
        """The part that the next piece of its kind joins."""
        self._calls = CallAssembler(new_id)
        self._details: dict[tuple[object, ...], dict[str, Any]] = {}
        self._usage: Usage | None = None
        self._finish: StopReason | None = None

    def add(self, delta: StreamDelta) -> None:
        """Take the next delta."""
        match delta:
            case StreamText():
                self._add_text(delta)
            case StreamThinking():
                self._add_thinking(delta)
            case StreamToolCall():
                if (opened := self._calls.add(delta)) is not None:
                    self._parts.append(opened)
                    self._open = opened
            case StreamUsage():
                self._usage = delta.usage
            case StreamFinish():
                self._finish = delta.reason
            case StreamReclassify():
                self._reclassify()
            case StreamProgress():
                pass
            case _:
                assert_never(delta)

    @property
    def text_so_far(self) -> str:
        """The visible text; joins it, so ask once in a while, not per delta."""
        return "".join(piece for part in self._parts if isinstance(part, _OpenText) for piece in part.pieces)

    def calls_so_far(self) -> tuple[CallProgress, ...]:
        """The calls that have begun, with the characters of their arguments so far."""
        return self._calls.progress()

    @property
    def usage(self) -> Usage | None:
        """The newest usage that was reported."""
        return self._usage

    @property
    def finish_state(self) -> StopReason | None:
        """What the provider gave as its reason to stop; None while it has not."""
        return self._finish

    def message(
        self, provider: str, model: str, *, interrupted: bool = False, stop_reason: StopReason | None = None
    ) -> AssistantMessage:
        """The reply as it stands.

        `interrupted`, or a `stop_reason` of interrupted, cut or error: text and thinking are kept, calls dropped,
        for none of them was started and none may be.
        """
        given: StopReason | None = "interrupted" if interrupted else stop_reason
        refused = self._finish == "refusal"  # a call that was already written is part of what the model takes back
        calls = {} if given in _BROKEN_OFF or refused else self._calls.finished()
        parts = self._finished_parts(calls)
        reason = given or _decide(self._finish, tuple(calls.values()))
        return AssistantMessage(parts, provider, model, reason, self._usage)

    def _add_text(self, delta: StreamText) -> None:
        part = self._open
        if not isinstance(part, _OpenText) or part.signature is not None or delta.signature is not None:
            if not delta.text and delta.signature is None:
                return
            part = _OpenText(signature=delta.signature)
            self._parts.append(part)
            self._open = part
        part.pieces.append(delta.text)

    def _add_thinking(self, delta: StreamThinking) -> None:
        for detail in delta.details:
            self._merge_detail(detail)
        part = self._open
        joins = isinstance(part, _OpenThinking) and not part.is_sealed and delta.redacted is None
        if not isinstance(part, _OpenThinking) or not joins or (delta.text and part.field != delta.field):
            if not (delta.text or delta.details or delta.signature is not None or delta.redacted is not None):
                return
            part = _OpenThinking(field=delta.field, redacted=delta.redacted)
            self._parts.append(part)
            self._open = part
        part.pieces.append(delta.text)
        if delta.signature is not None:
            part.signature = delta.signature

    def _merge_detail(self, detail: Mapping[str, Any]) -> None:
        """Structured reasoning comes in fragments of (type, index): texts are joined, the last of all else wins."""
        key = (detail.get("type"), detail.get("index"))
        if detail.get("index") is None:
            key = (*key, detail.get("id"), len(self._details) if detail.get("data") else 0)
        known = self._details.get(key)
        if known is None:
            self._details[key] = dict(detail)
            return
        for name, value in detail.items():
            if name in ("text", "summary", "data") and isinstance(value, str) and isinstance(known.get(name), str):
                known[name] += value
            elif value is not None:
                known[name] = value

    def _reclassify(self) -> None:
        merged: list[_OpenPart] = []
        for part in self._parts:
            if isinstance(part, _OpenText):
                part = _OpenThinking(part.pieces, "think")
            previous = merged[-1] if merged else None
            if (
                isinstance(part, _OpenThinking)
                and isinstance(previous, _OpenThinking)
                and part.field == previous.field
                and not (part.is_sealed or previous.is_sealed)
            ):
                previous.pieces += part.pieces
            else:
                merged.append(part)
        self._parts = merged
        self._open = merged[-1] if merged else None

    def _finished_parts(self, calls: Mapping[OpenCall, ToolCall]) -> tuple[AssistantPart, ...]:
        parts: list[AssistantPart] = []
        details = tuple(_encodable(detail) for detail in self._details.values())
        for part in self._parts:
            match part:
                case _OpenText():
                    parts.append(TextPart(_joined(part.pieces), part.signature))
                case _OpenThinking():
                    text = _joined(part.pieces)
                    parts.append(ThinkingPart(text, part.field, part.signature, part.redacted, details))
                    details = ()
                case OpenCall():
                    if (call := calls.get(part)) is not None:
                        parts.append(call)
                case _:
                    assert_never(part)
        return tuple(parts)


def _joined(pieces: list[str]) -> str:
    if len(pieces) > 1:
        pieces[:] = ["".join(pieces)]
    return join_surrogates(pieces[0]) if pieces else ""


def _encodable(detail: Mapping[str, Any]) -> Mapping[str, Any]:
    """A structured reasoning block whose strings can be encoded."""
    return {key: join_surrogates(value) if isinstance(value, str) else value for key, value in detail.items()}


def _decide(finish: StopReason | None, calls: tuple[ToolCall, ...]) -> StopReason:
    """The content decides: servers say `stop` with calls and `tool_calls` without any."""
    match finish:
        case None | "stop" | "tool_calls":
            return "tool_calls" if calls else "stop"
        case "unknown" if calls and all(call.arguments is not None for call in calls):
            return "tool_calls"
        case reason:
            return reason
