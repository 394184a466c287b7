"""Plays a recorded-style stream of the Responses API through parser, events and accumulator."""

from __future__ import annotations

from collections.abc import Iterable

from reactagent_tui.core.errors import ProviderError, StreamCutError
from reactagent_tui.core.llm.base import StreamDelta
from reactagent_tui.core.llm.responses_events import ResponsesState, fold
from reactagent_tui.core.llm.sse import SseParser
from tests.wire.replaying import FOLDER, Replayed, numbered_accumulator

RESPONSES = FOLDER / "responses"


def responses_bytes(name: str) -> bytes:
    """The body of the recorded answer."""
    return (RESPONSES / f"{name}.sse").read_bytes()


def replay_responses(pieces: Iterable[bytes]) -> Replayed:
    """One answer that arrives in these pieces."""
    parser, state, accumulator = SseParser(), ResponsesState(), numbered_accumulator()
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
    return Replayed(accumulator.message("p", "m", stop_reason=None if error is None else "error"), error)
