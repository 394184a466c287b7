"""One exchange read to its end, whatever the API: deltas in the order they came, failures after them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from typing import Generic, Protocol, TypeVar

from reactagent_tui.core.errors import NotAnApiError, NotFoundError, ProviderError, StreamCutError
from reactagent_tui.core.llm.api_errors import Asked, is_missing_model
from reactagent_tui.core.llm.base import StreamDelta, StreamProgress, StreamText, StreamThinking, StreamToolCall
from reactagent_tui.core.llm.exchange import Exchange
from reactagent_tui.core.llm.sse import SseEvent


class WireState(Protocol):
    """What an API remembers between the events of one reply."""

    @property
    def asked(self) -> Asked:
        """What was asked of whom."""
        ...

    @property
    def finished(self) -> bool:
        """The model gave its reason to stop."""
        ...

    def flush(self) -> list[StreamDelta]:
        """What was held back because it might have gone on."""
        ...


_State = TypeVar("_State", bound=WireState)
_CONTENT = (StreamText, StreamThinking, StreamToolCall)


class WireReply(Generic[_State]):
    """Call `read` until `is_over`; a failure is kept in `failure` until all that came before it was handed out.

    `fold(events, state, deltas)` appends the deltas of events, returns True when the reply is over and raises
    ProviderErrors.
    """

    __slots__ = ("_fold", "_prefill", "exchange", "failure", "has_content", "is_over", "state")

    def __init__(
        self,
        exchange: Exchange,
        state: _State,
        fold: Callable[[Iterable[SseEvent], _State, list[StreamDelta]], bool],
    ) -> None:
        self.exchange = exchange
        self.state = state
        self._fold = fold
        self._prefill: StreamProgress | None = None
        self.has_content = False
        self.is_over = False
        self.failure: ProviderError | None = None

    async def read(self) -> list[StreamDelta]:
        """The deltas of the next network read, neighbours joined."""
        deltas: list[StreamDelta] = []
        closed = False
        try:
            batch = await self.exchange.read()
            if isinstance(batch, StreamProgress):
                return [batch if self._prefill is None else replace(self._prefill, seconds=batch.seconds)]
            if batch is None:
                self.is_over = closed = True
            else:
                self.is_over = self._fold(batch, self.state, deltas)
        except ProviderError as error:
            self.failure = error
        if self.failure is not None:
            self.is_over = True
        if self.is_over:
            deltas += self.state.flush()
        if self.state.finished or self.is_over:
            self.exchange.finish_seen()
        if has_content(deltas):
            self.has_content = True
            self.exchange.content_seen()
        elif not self.has_content:
            deltas = self._on_one_clock(deltas)
        if self.is_over and self.failure is None:
            self.failure = cut(self.state, closed=closed, has_content=self.has_content)
        if self.failure is not None:
            self.failure.request_id = self.failure.request_id or self.exchange.request_id
        return merged(deltas) if len(deltas) > 1 else deltas

    def _on_one_clock(self, deltas: list[StreamDelta]) -> list[StreamDelta]:
        """Progress of the server with our own time; from then on the signs of waiting repeat how far it is."""
        seen = [delta for delta in deltas if isinstance(delta, StreamProgress)]
        if not seen:
            return deltas
        self._prefill = replace(seen[-1], seconds=self.exchange.elapsed)
        return [*(delta for delta in deltas if not isinstance(delta, StreamProgress)), self._prefill]


def cut(state: WireState, *, closed: bool, has_content: bool) -> StreamCutError | None:
    """What is wrong with the end of a reply, if anything is.

    The connection was closed before the model gave its reason to stop, or the server said that the reply is over
    and there is nothing in it (gateways do, with `choices: null`).
    """
    if state.finished or (has_content and not closed):
        return None
    how = "ended before the model said that it was done" if closed else "was over before anything came"
    return StreamCutError(f"the reply from {state.asked.url} {how}", retryable=True)


def has_content(deltas: Iterable[StreamDelta]) -> bool:
    """Is there anything in them that the model said?"""
    return any(isinstance(delta, _CONTENT) for delta in deltas)


def merged(deltas: list[StreamDelta]) -> list[StreamDelta]:
    """Runs of text, and of thinking in one field, as one delta each: whoever listens works once per read.

    Whatever carries a signature stands alone.
    """
    result: list[StreamDelta] = []
    for kind, group in groupby(deltas, _kind):
        run = list(group)
        if kind is None or len(run) == 1:
            result += run
        elif isinstance(kind, tuple):
            thinking = [delta for delta in run if isinstance(delta, StreamThinking)]
            details = tuple(detail for delta in thinking for detail in delta.details)
            result.append(StreamThinking("".join([delta.text for delta in thinking]), kind[0], details=details))
        else:
            result.append(StreamText("".join([delta.text for delta in run if isinstance(delta, StreamText)])))
    return result


def _kind(delta: StreamDelta) -> str | tuple[str | None] | None:
    """Equal for deltas that may be joined; None for those that stand alone."""
    if isinstance(delta, StreamText):
        return "text" if delta.signature is None else None
    if isinstance(delta, StreamThinking) and delta.signature is None and delta.redacted is None:
        return (delta.field,)
    return None


def is_elsewhere(error: ProviderError) -> bool:
    """The API is not at this address."""
    return isinstance(error, NotAnApiError) or (isinstance(error, NotFoundError) and not is_missing_model(error))
