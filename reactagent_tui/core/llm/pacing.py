"""Keeps to a rate limit of one's own: calls to one endpoint wait for their turn instead of being refused.

`SlidingWindow` is the arithmetic, pure. A `Pacer` is the queue before one endpoint, shared by everything in the process
that calls it: first come, first served, in one event loop, no lock.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class RateLimit:
    """What an endpoint may be asked for; None: no limit of that kind."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrent: int | None = None

    def stricter(self, other: RateLimit) -> RateLimit:
        """The limit that keeps both."""
        return RateLimit(
            _smaller(self.requests_per_minute, other.requests_per_minute),
            _smaller(self.tokens_per_minute, other.tokens_per_minute),
            _smaller(self.concurrent, other.concurrent),
        )

    @property
    def is_none(self) -> bool:
        """Nothing is limited."""
        return self == RateLimit()


def _smaller(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


@dataclass(slots=True, eq=False)
class Booking:
    """A call that went out at `at`; `tokens` is our estimate until the provider reports."""

    at: float
    tokens: int


class SlidingWindow:
    """What went out within the last `span` seconds. Times are the caller's; they never go back."""

    def __init__(self, limit: RateLimit, span: float = MINUTE) -> None:
        self.limit = limit
        self._span = span
        self._booked: deque[Booking] = deque()

    def delay(self, sizes: Iterable[int], now: float) -> float:
        """Seconds until the last of these calls may go when each goes as early as it may; 0: now. Sizes are tokens."""
        self._forget(now)
        out = [(booking.at, booking.tokens) for booking in self._booked]
        at = now
        for size in sizes:
            at = max(at, self._earliest(out, size))
            out.append((at, size))
        return at - now

    def book(self, tokens: int, now: float) -> Booking:
        """A call of so many tokens goes out now."""
        booking = Booking(now, tokens)
        self._booked.append(booking)
        return booking

    def _earliest(self, out: list[tuple[float, int]], size: int) -> float:
        """When a call of `size` tokens fits behind the calls in `out`, oldest first."""
        earliest = 0.0
        requests, tokens = self.limit.requests_per_minute, self.limit.tokens_per_minute
        if requests is not None and len(out) >= requests:
            earliest = out[len(out) - requests][0] + self._span
        if tokens is not None:
            room = tokens - min(size, tokens)  # larger than the whole limit: it goes when it is alone
            taken = sum(booked for _, booked in out)
            for at, booked in out:
                if taken <= room:
                    break
                taken -= booked
                earliest = max(earliest, at + self._span)
        return earliest

    def _forget(self, now: float) -> None:
        while self._booked and self._booked[0].at + self._span <= now:
            self._booked.popleft()


@dataclass(slots=True, eq=False)
class Ticket:
    """One call's place in the queue of a pacer, then its slot. `close` it in every case; twice does no harm."""

    pacer: Pacer
    tokens: int
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _booking: Booking | None = None
    _closed: bool = False

    def start(self) -> bool:
        """Go out when it is this call's turn: False, or the request is booked and a slot is taken."""
        return self._booking is not None or self.pacer.admit(self)

    @property
    def left(self) -> float | None:
        """Seconds until it may go; None: when another call ends, which nobody knows."""
        return self.pacer.left(self)

    async def changed(self, seconds: float) -> None:
        """Wait until something changed for this call, at most so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass
        self._changed.clear()

    def wake(self) -> None:
        """Look again whether it is your turn."""
        self._changed.set()

    def correct(self, tokens: int) -> None:
        """The provider reported what the call really took."""
        if self._booking is not None and self._booking.tokens != tokens:
            self._booking.tokens = tokens
            self.pacer.wake_first()

    def close(self) -> None:
        """Leave the queue, or give the slot back. What went out stays booked: the provider counted it too."""
        if not self._closed:
            self._closed = True
            self.pacer.leave(self, had_slot=self._booking is not None)

    def admitted(self, booking: Booking) -> None:
        """The pacer lets it go."""
        self._booking = booking


class Pacer:
    """The queue before one endpoint."""

    def __init__(self, limit: RateLimit, *, clock: Callable[[], float] = time.monotonic, span: float = MINUTE) -> None:
        self._window = SlidingWindow(limit, span)
        self._clock = clock
        self._queue: deque[Ticket] = deque()
        self._running = 0

    @property
    def limit(self) -> RateLimit:
        return self._window.limit

    def tighten(self, limit: RateLimit) -> None:
        """Keep this limit as well: two entries of the configuration name the same endpoint."""
        self._window.limit = self._window.limit.stricter(limit)

    def join(self, tokens: int) -> Ticket:
        """Stand at the end of the queue with a call of so many tokens."""
        ticket = Ticket(self, tokens)
        self._queue.append(ticket)
        return ticket

    def admit(self, ticket: Ticket) -> bool:
        """Let the call go if it is the first in the queue and the limit allows it."""
        now = self._clock()
        if not self._queue or self._queue[0] is not ticket or not self._has_slot():
            return False
        if self._window.delay((ticket.tokens,), now) > 0:
            return False
        self._queue.popleft()
        self._running += 1
        ticket.admitted(self._window.book(ticket.tokens, now))
        self.wake_first()
        return True

    def left(self, ticket: Ticket) -> float | None:
        """Seconds until this call may go, those before it included; None while all slots are taken."""
        place = self._queue.index(ticket)
        limit = self.limit.concurrent
        if limit is not None and self._running + place >= limit:
            return None
        ahead = [self._queue[number].tokens for number in range(place + 1)]
        return self._window.delay(ahead, self._clock())

    def leave(self, ticket: Ticket, *, had_slot: bool) -> None:
        """A call is over, or does not want to go any more."""
        if had_slot:
            self._running -= 1
        else:
            self._queue.remove(ticket)
        self.wake_first()

    def wake_first(self) -> None:
        """The first in the queue looks again."""
        if self._queue:
            self._queue[0].wake()

    def _has_slot(self) -> bool:
        return self.limit.concurrent is None or self._running < self.limit.concurrent


class Pacers:
    """The pacers of a process, one for each endpoint (or for one model there)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[tuple[str, str, str], Pacer] = {}

    def at(self, limit: RateLimit, *, api_base: str, api_key: str, model: str = "") -> Pacer:
        """The pacer of an endpoint; `model` "": shared by all models there."""
        key = (api_base.rstrip("/"), api_key, model)
        pacer = self._known.get(key)
        if pacer is None:
            pacer = self._known[key] = Pacer(limit, clock=self._clock)
        else:
            pacer.tighten(limit)
        return pacer
