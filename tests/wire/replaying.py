"""Plays a recorded-style stream through parser, events and accumulator, cut wherever a test wants it cut."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from reactagent_tui.core.errors import ProviderError, StreamCutError
from reactagent_tui.core.llm.accumulator import Accumulator
from reactagent_tui.core.llm.base import StreamDelta
from reactagent_tui.core.llm.openai_events import ChatState, fold
from reactagent_tui.core.llm.sse import SseParser
from reactagent_tui.core.messages import AssistantMessage

FOLDER = Path(__file__).parent


def stream_bytes(name: str) -> bytes:
    """The body of the recorded answer."""
    return (FOLDER / f"{name}.sse").read_bytes()


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


def numbered_accumulator() -> Accumulator:
    """An accumulator that numbers the ids it has to make."""
    numbers = count(1)
    return Accumulator(new_id=lambda: f"made_{next(numbers)}")


def replay(pieces: Iterable[bytes]) -> Replayed:
    """One answer that arrives in these pieces."""
    parser, state, accumulator = SseParser(), ChatState(), numbered_accumulator()
    deltas: list[StreamDelta] = []
    error: ProviderError | None = None
    try:
        over = any(fold(parser.feed(piece), state, deltas) for piece in pieces)
        over = over or fold(parser.close(), state, deltas)
        if not over and not state.finished:
            raise StreamCutError("cut", retryable=True)
    except ProviderError as caught:
        error = caught
    for delta in (*deltas, *state.flush()):
        accumulator.add(delta)
    message = accumulator.message("p", "m", stop_reason=None if error is None else "error")
    return Replayed(message, error)
