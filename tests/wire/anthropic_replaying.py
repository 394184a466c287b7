"""Plays a recorded-style Messages stream through parser, events and accumulator, cut wherever a test wants it cut."""

from __future__ import annotations

from collections.abc import Iterable

from reactagent_tui.core.errors import ProviderError, StreamCutError
from reactagent_tui.core.llm.anthropic_events import MessageState, fold
from reactagent_tui.core.llm.base import StreamDelta
from reactagent_tui.core.llm.sse import SseParser
from tests.wire.replaying import FOLDER, Replayed, numbered_accumulator

STREAMS = FOLDER / "anthropic"
PROVIDER, MODEL = "anthropic", "claude-sonnet-4-5"


def stream_bytes(name: str) -> bytes:
    """The body of the recorded answer."""
    return (STREAMS / f"{name}.sse").read_bytes()


def replay(pieces: Iterable[bytes], state: MessageState | None = None) -> Replayed:
    """One answer that arrives in these pieces."""
    parser, state, accumulator = SseParser(), state or MessageState(), numbered_accumulator()
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
    message = accumulator.message(PROVIDER, MODEL, stop_reason=None if error is None else "error")
    return Replayed(message, error)
