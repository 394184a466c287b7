"""The content blocks of an Anthropic reply while they arrive: deltas out in block order, raw blocks kept. Pure.

Blocks are told apart by their index and may overlap: while the first open one streams, the deltas of later ones
wait, so that a signature never lands on another block than its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reactagent_tui.core.llm.base import StreamDelta, StreamText, StreamThinking, StreamToolCall
from reactagent_tui.core.llm.calls import parse_arguments
from reactagent_tui.core.llm.surrogates import SurrogateJoiner
from reactagent_tui.core.llm.wire_values import as_object, as_objects, as_text

THINKING_FIELD = "thinking"


@dataclass(slots=True, eq=False)
class Block:
    """One block. `call` numbers the client's tool calls of the whole reply."""

    start: Mapping[str, Any]
    call: int | None = None
    closed: bool = False
    waiting: list[StreamDelta] = field(default_factory=list[StreamDelta])
    texts: list[str] = field(default_factory=list[str])
    """Text, thinking, or the input of a call, as it came."""
    signature: list[str] = field(default_factory=list[str])
    citations: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    joiner: SurrogateJoiner = field(default_factory=SurrogateJoiner)

    @property
    def kind(self) -> str:
        return as_text(self.start.get("type"))

    def opening(self) -> list[StreamDelta]:
        """The deltas of its start: servers that do not stream put everything there."""
        match self.kind:
            case "text":
                return self.text(as_text(self.start.get("text")))
            case "thinking":
                self.signature.append(as_text(self.start.get("signature")))
                return self.thinking(as_text(self.start.get("thinking")))
            case "redacted_thinking":
                data = as_text(self.start.get("data"))
                return [StreamThinking("", THINKING_FIELD, redacted=data)] if data else []
            case "tool_use":
                call_id, name = as_text(self.start.get("id")), as_text(self.start.get("name"))
                return [StreamToolCall(self.call, call_id or None, name or None)]
            case _:
                return []

    def piece(self, delta: Mapping[str, Any]) -> list[StreamDelta]:
        """The deltas of one more piece; none for kinds that nobody knows."""
        match delta.get("type"):
            case "text_delta":
                return self.text(as_text(delta.get("text")))
            case "thinking_delta":
                return self.thinking(as_text(delta.get("thinking")))
            case "signature_delta":
                self.signature.append(as_text(delta.get("signature")))
            case "input_json_delta":
                return self.input(as_text(delta.get("partial_json")))
            case "citations_delta":
                self.citations += as_objects([delta.get("citation")])
            case _:
                pass
        return []

    def text(self, text: str) -> list[StreamDelta]:
        if not text:
            return []
        self.texts.append(text)
        return [StreamText(shown)] if (shown := self.joiner.feed(text)) else []

    def thinking(self, text: str) -> list[StreamDelta]:
        if not text:
            return []
        self.texts.append(text)
        return [StreamThinking(shown, THINKING_FIELD)] if (shown := self.joiner.feed(text)) else []

    def input(self, text: str) -> list[StreamDelta]:
        if not text:
            return []
        self.texts.append(text)
        return [] if self.call is None else [StreamToolCall(self.call, arguments=text)]

    def rest(self) -> list[StreamDelta]:
        """What was held back because it might have gone on."""
        held = self.joiner.flush()
        if not held:
            return []
        return [StreamThinking(held, THINKING_FIELD) if self.kind == "thinking" else StreamText(held)]

    def ending(self) -> list[StreamDelta]:
        """The deltas of its end: the seal of a thinking block, the input of a call that did not stream it."""
        deltas = self.rest()
        if self.kind == "thinking" and (signature := "".join(self.signature)):
            deltas.append(StreamThinking("", THINKING_FIELD, signature=signature))
        if self.call is not None and not self.texts and (given := as_object(self.start.get("input"))):
            deltas.append(StreamToolCall(self.call, arguments=json.dumps(given, ensure_ascii=False)))
        return deltas

    def raw(self) -> Mapping[str, Any] | None:
        """The block as the API takes it back; None for an empty text."""
        text = "".join(self.texts)
        match self.kind:
            case "text":
                if not text.strip():
                    return None
                cited = {"citations": self.citations} if self.citations else {}
                return {"type": "text", "text": text, **cited}
            case "thinking":
                return {"type": "thinking", "thinking": text, "signature": "".join(self.signature)}
            case _ if "input" in self.start:
                return {**self.start, "input": parse_arguments(text) or {} if text else self.start["input"]}
            case _:
                return self.start


class BlockStream:
    """The blocks of one reply."""

    __slots__ = ("_all", "_by_index", "_calls", "_current", "_open")

    def __init__(self, first_call: int = 0) -> None:
        """`first_call`: number of the first tool call, when a reply goes on that had calls before."""
        self._all: list[Block] = []
        self._open: list[Block] = []
        """Blocks whose deltas are not all out, in order; the first one streams."""
        self._by_index: dict[object, Block] = {}
        self._current: Block | None = None
        self._calls = first_call

    @property
    def calls(self) -> int:
        """Tool calls of the client so far."""
        return self._calls

    def start(self, index: object, start: Mapping[str, Any]) -> list[StreamDelta]:
        """A block begins."""
        block = Block(start)
        if block.kind == "tool_use":
            block.call = self._calls
            self._calls += 1
        self._all.append(block)
        self._open.append(block)
        self._by_index[index] = self._current = block
        return self._out(block, block.opening())

    def piece(self, index: object, delta: Mapping[str, Any]) -> list[StreamDelta]:
        """A block goes on; one that never began, as some servers have it, begins with its first text."""
        block = self._by_index.get(index, self._current if index is None else None)
        if block is None:
            kind = {"text_delta": "text", "thinking_delta": "thinking"}.get(as_text(delta.get("type")))
            if kind is None:
                return []
            deltas = self.start(index, {"type": kind})
            return deltas + self.piece(index, delta)
        return self._out(block, block.piece(delta)) if not block.closed else []

    def stop(self, index: object) -> list[StreamDelta]:
        """A block ends."""
        block = self._by_index.get(index, self._current if index is None else None)
        return [] if block is None else self._close(block)

    def stop_all(self) -> list[StreamDelta]:
        """The reply is done: so are all its blocks."""
        return [delta for block in tuple(self._open) for delta in self._close(block)]

    def flush(self) -> list[StreamDelta]:
        """What waits when a reply breaks off; half a signature or half an input is no whole one and stays here."""
        deltas: list[StreamDelta] = []
        for place, block in enumerate(self._open):
            deltas += [*block.waiting, *block.rest()] if place or not block.closed else block.waiting
            block.waiting = []
        self._open.clear()
        return deltas

    def raw(self) -> list[Mapping[str, Any]]:
        """All blocks as the API takes them back."""
        return [raw for block in self._all if (raw := block.raw()) is not None]

    def _out(self, block: Block, deltas: list[StreamDelta]) -> list[StreamDelta]:
        if self._open and self._open[0] is block:
            return deltas
        block.waiting += deltas
        return []

    def _close(self, block: Block) -> list[StreamDelta]:
        if block.closed:
            return []
        block.closed = True
        deltas = self._out(block, block.ending())
        while self._open and self._open[0].closed:
            self._open.pop(0)
            if self._open:
                deltas += self._open[0].waiting
                self._open[0].waiting = []
        return deltas
