"""Plays recorded-style answers of the four formats through parser, events and accumulator, in any pieces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from reactagent_tui.core.errors import ProviderError
from reactagent_tui.core.llm import anthropic_events, gemini_events, openai_events, responses_events
from reactagent_tui.core.llm.accumulator import Accumulator
from reactagent_tui.core.llm.api_errors import Asked
from reactagent_tui.core.llm.base import Endpoint, StreamDelta
from reactagent_tui.core.llm.exchange import Exchange
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.sse import SseEvent, SseParser
from reactagent_tui.core.llm.wire_reply import WireReply, cut, has_content
from reactagent_tui.core.messages import AssistantMessage

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came out: the message (calls dropped when it broke off), and the error."""

    message: AssistantMessage
    error: ProviderError | None

    @property
    def key(self) -> object:
        """Equal for equal outcomes."""
        error = self.error
        return self.message, error and (type(error), error.message, error.status, error.retryable)


@dataclass(frozen=True, slots=True)
class WireFormat:
    """One API: where its recorded answers are, and how they are read."""

    name: str
    folder: Path
    new_state: Callable[[Asked], Any]
    fold: Callable[[Iterable[SseEvent], Any, list[StreamDelta]], bool]
    provider: str = "p"
    model: str = "m"

    def paths(self) -> list[Path]:
        """Every recorded answer."""
        return sorted(path for path in self.folder.iterdir() if path.suffix in (".sse", ".json", ".html"))

    def read(self, name: str) -> bytes:
        """The body of a recorded answer, by its name without the suffix."""
        return next(path for path in self.paths() if path.stem == name).read_bytes()

    def replay(self, pieces: Iterable[bytes], state: Any = None) -> Replayed:
        """One streamed answer that arrives in these pieces."""
        parser, state = SseParser(), state or self.new_state(Asked(""))
        deltas: list[StreamDelta] = []
        error: ProviderError | None = None
        try:
            over = any(self.fold(parser.feed(piece), state, deltas) for piece in pieces)
            over = over or self.fold(parser.close(), state, deltas)
        except ProviderError as caught:
            over, error = True, caught
        deltas += state.flush()
        error = error or cut(state, closed=not over, has_content=has_content(deltas)) or _verdict(state)
        return self._outcome(deltas, error)

    def replay_body(self, pieces: Iterable[bytes]) -> Replayed:
        """The same through the exchange, which finds out whether the body is a stream, a document or a page."""
        return asyncio.run(self._read_body(list(pieces)))

    def partials(self, data: bytes) -> list[AssistantMessage]:
        """What is kept of the answer when the user stops it before its first event, after it, after its second…"""
        events = [*(parser := SseParser()).feed(data), *parser.close()]
        state, accumulator = self.new_state(Asked("")), numbered_accumulator()
        kept: list[AssistantMessage] = [accumulator.message(self.provider, self.model, interrupted=True)]
        for event in events:
            deltas: list[StreamDelta] = []
            try:
                self.fold([event], state, deltas)
            except ProviderError:
                break
            finally:
                for delta in deltas:
                    accumulator.add(delta)
                kept.append(accumulator.message(self.provider, self.model, interrupted=True))
        return kept

    async def _read_body(self, pieces: list[bytes]) -> Replayed:
        asked = Asked("http://test/v1")
        exchange = Exchange(_PlayedPool(pieces), Endpoint("http://test/v1"), asked, headers={}, payload={})
        reply = WireReply(exchange, self.new_state(asked), self.fold)
        deltas: list[StreamDelta] = []
        try:
            while not reply.is_over:
                deltas += await reply.read()
        finally:
            await exchange.close()
        return self._outcome(deltas, reply.failure or _verdict(reply.state))

    def _outcome(self, deltas: list[StreamDelta], error: ProviderError | None) -> Replayed:
        accumulator = numbered_accumulator()
        for delta in deltas:
            accumulator.add(delta)
        stop_reason = None if error is None else "error"
        return Replayed(accumulator.message(self.provider, self.model, stop_reason=stop_reason), error)


class _PlayedReply:
    """An answer without a server."""

    status = 200
    url = "http://test/v1"

    def __init__(self, pieces: list[bytes]) -> None:
        self.headers: dict[str, str] = {}
        self._pieces = iter(pieces)

    async def chunk(self) -> bytes | None:
        return next(self._pieces, None)

    async def close(self) -> None:
        return


class _PlayedPool(HttpPool):
    """Gives out one answer and opens nothing."""

    def __init__(self, pieces: list[bytes]) -> None:
        super().__init__()
        self._pieces = pieces

    async def open(self, *_: Any, **__: Any) -> Any:
        return _PlayedReply(self._pieces)


def _verdict(state: Any) -> ProviderError | None:
    """Gemini judges a reply that came to its end."""
    return state.verdict() if hasattr(state, "verdict") else None


def numbered_accumulator() -> Accumulator:
    """An accumulator that numbers the ids it has to make."""
    numbers = count(1)
    return Accumulator(new_id=lambda: f"made_{next(numbers)}")


def is_document(data: bytes) -> bool:
    """No stream: a JSON document, a page, or nothing at all."""
    return data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"", b"{", b"[", b"<")


CHAT = WireFormat("chat", FOLDER, openai_events.ChatState, openai_events.fold)
ANTHROPIC = WireFormat(
    "anthropic",
    FOLDER / "anthropic",
    anthropic_events.MessageState,
    anthropic_events.fold,
    "anthropic",
    "claude-sonnet-4-5",
)
GEMINI = WireFormat(
    "gemini", FOLDER / "gemini", gemini_events.GeminiState, gemini_events.fold, "gemini", "gemini-3-pro-preview"
)
RESPONSES = WireFormat("responses", FOLDER / "responses", responses_events.ResponsesState, responses_events.fold)
FORMATS = {each.name: each for each in (CHAT, ANTHROPIC, GEMINI, RESPONSES)}


def recorded() -> list[str]:
    """`format/name` of every recorded answer."""
    return [f"{each.name}/{path.stem}" for each in FORMATS.values() for path in each.paths()]


def format_of(fixture: str) -> WireFormat:
    """The format of a `format/name`."""
    return FORMATS[fixture.partition("/")[0]]


def bytes_of(fixture: str) -> bytes:
    """The body of a `format/name`; answers too large for a file are made."""
    name = fixture.partition("/")[2]
    return LARGE[fixture]() if fixture in LARGE else format_of(fixture).read(name)


def replayed(fixture: str) -> Replayed:
    """The whole answer in one piece."""
    data = bytes_of(fixture)
    kind = format_of(fixture)
    return kind.replay_body([data]) if is_document(data) else kind.replay([data])


LONG_TEXT = "0123456789 修复 🌍\n" * 70_000
"""About 1.5 MB in UTF-8."""


def _line(data: object, *, name: str = "") -> bytes:
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def _long_chat() -> bytes:
    return _line({"choices": [{"index": 0, "delta": {"content": LONG_TEXT}, "finish_reason": "stop"}]})


def _long_anthropic() -> bytes:
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": LONG_TEXT}}
    return _line(delta, name="content_block_delta") + _line({"type": "message_stop"})


def _long_gemini() -> bytes:
    return _line({"candidates": [{"content": {"parts": [{"text": LONG_TEXT}]}, "finishReason": "STOP"}]})


def _long_responses() -> bytes:
    closing = {"type": "response.completed", "response": {"status": "completed"}}
    return _line({"type": "response.output_text.delta", "delta": LONG_TEXT}) + _line(closing)


LARGE: dict[str, Callable[[], bytes]] = {
    "chat/long_line": _long_chat,
    "anthropic/long_line": _long_anthropic,
    "gemini/long_line": _long_gemini,
    "responses/long_line": _long_responses,
}
