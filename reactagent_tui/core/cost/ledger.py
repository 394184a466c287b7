"""One row per model call, written when the call starts and completed when it ends. The header is their sum, always.

Used by one task loop; nothing here waits or locks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, cast

from reactagent_tui.core.cost.cache_tag import CACHE_TAGS, CacheTag
from reactagent_tui.core.cost.pricing import Price, PriceBook, Quote
from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.money import CostTotals, Money
from reactagent_tui.core.usage import Usage

Cause = Literal["step", "retry", "compaction", "sub_agent", "pipeline", "title", "reflection"]
BURN_WINDOW = timedelta(minutes=5)
_NO_TOKENS = Usage()
_NOTHING_BILLED = Money(Decimal(0), "reported")
_SHORTEST_RATE = 0.2
"""Seconds of output before a speed means anything."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One model call."""

    call_id: str
    session_id: str
    turn: int
    step: int
    agent: tuple[str, ...]
    """Names from the main agent's child down to the caller; empty: the main agent."""
    cause: Cause
    provider: str
    model: str
    usage: Usage
    price: Price | None
    """None: unknown, free, or told by the provider."""
    cost: Money
    started: datetime
    sent_estimate: int = 0
    first_token: datetime | None = None
    ended: datetime | None = None
    interrupted: bool = False
    failed: bool = False
    estimated: bool = False
    """The tokens are our own count; the provider has not reported them, or not all."""
    cache_tag: CacheTag = ""
    """Why less came from the cache than before."""

    @property
    def cache_share(self) -> float | None:
        """Part of the prompt that came from the cache, 0 to 1; None: the provider has not reported."""
        return None if self.estimated or not self.usage.prompt else self.usage.cache_read / self.usage.prompt

    def to_record(self) -> dict[str, Any]:
        """A JSON-ready dict; money as text."""
        return {
            "call_id": self.call_id,
            "session_id": self.session_id,
            "turn": self.turn,
            "step": self.step,
            "agent": list(self.agent),
            "cause": self.cause,
            "provider": self.provider,
            "model": self.model,
            "usage": self.usage.to_record(),
            "price": None if self.price is None else self.price.to_record(),
            "cost": None if self.cost.amount is None else str(self.cost.amount),
            "currency": self.cost.currency,
            "state": self.cost.state,
            "started": self.started.isoformat(),
            "first_token": None if self.first_token is None else self.first_token.isoformat(),
            "ended": None if self.ended is None else self.ended.isoformat(),
            "sent_estimate": self.sent_estimate,
            "interrupted": self.interrupted,
            "failed": self.failed,
            "estimated": self.estimated,
            "cache_tag": self.cache_tag,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> LedgerRow:
        """The row that `to_record` wrote. Raises KeyError, TypeError or ValueError on foreign records."""
        amount = record["cost"]
        price = record.get("price")
        return cls(
            call_id=record["call_id"],
            session_id=record["session_id"],
            turn=record["turn"],
            step=record["step"],
            agent=tuple(record.get("agent", ())),
            cause=cast(Cause, record["cause"]),
            provider=record["provider"],
            model=record["model"],
            usage=Usage.from_record(record["usage"]),
            price=None if price is None else Price.from_record(price),
            cost=Money(None if amount is None else Decimal(amount), record["state"], record.get("currency", "USD")),
            started=datetime.fromisoformat(record["started"]),
            sent_estimate=record.get("sent_estimate", 0),
            first_token=_moment(record.get("first_token")),
            ended=_moment(record.get("ended")),
            interrupted=record.get("interrupted", False),
            failed=record.get("failed", False),
            estimated=record.get("estimated", record["state"] == "estimated"),
            cache_tag=_known_tag(record.get("cache_tag")),
        )


def _known_tag(text: object) -> CacheTag:
    """A tag of a newer version counts as none."""
    known: CacheTag
    for known in CACHE_TAGS:
        if known == text:
            return known
    return ""


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


@dataclass(frozen=True, slots=True)
class CallFigures:
    """A call as it stands now."""

    usage: Usage
    cost: Money
    tokens_per_second: float | None = None
    first_token_seconds: float | None = None


@dataclass(slots=True)
class _Call:
    """What a row does not keep: how to price it, what was reported, and its clock."""

    row: LedgerRow
    quote: Quote
    started: float
    reported: Usage | None = None
    output_estimate: int = 0
    first: float | None = None
    ended: float | None = None


class Ledger:
    """The calls of one session."""

    def __init__(
        self,
        session_id: str,
        price_book: PriceBook,
        *,
        on_row: Callable[[LedgerRow], None] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_row` gets every row when it is opened, when it is closed, and when a late report corrects it."""
        self._session_id = session_id
        self._prices = price_book
        self._on_row = on_row
        self._now = now
        self._clock = clock
        self._calls: dict[str, _Call] = {}
        self._open: dict[str, _Call] = {}
        self._ended: list[_Call] = []
        """In the order of their ends."""
        self._turn = 0
        self._turn_sum = Tally()
        self._session_sum = Tally()

    @property
    def rows(self) -> tuple[LedgerRow, ...]:
        """Every row in the order of opening; an open call shows what it has cost so far."""
        return tuple(self._live_row(call) if call.ended is None else call.row for call in self._calls.values())

    @property
    def turn(self) -> int:
        """Number of the running turn, from 1."""
        return self._turn

    def newest(self) -> Iterator[LedgerRow]:
        """Rows of calls that ended, the newest first."""
        return (call.row for call in reversed(self._ended))

    def quote(self, info: ModelInfo) -> Quote:
        """What a call of this model would be priced with now."""
        return self._prices.quote(info, self._now())

    def can_price(self, info: ModelInfo) -> bool:
        """Is it known what calls of this model cost (nothing counts as known)?"""
        quote = self.quote(info)
        return quote.free or quote.notional or quote.price(Usage(input=1)) is not None

    def begin_turn(self) -> int:
        """A new prompt: the sums of the turn start again."""
        self._turn += 1
        self._turn_sum = Tally()
        return self._turn

    def open_call(
        self, step: int, cause: Cause, info: ModelInfo, sent_estimate: int, agent: tuple[str, ...] = ()
    ) -> str:
        """A call goes out: books what is sent as an estimate, freezes the price, returns the call's id."""
        started = self._now()
        quote = self._prices.quote(info, started)
        usage = Usage(input=sent_estimate)
        row = LedgerRow(
            call_id=f"m{len(self._calls) + 1}",
            session_id=self._session_id,
            turn=self._turn,
            step=step,
            agent=agent,
            cause=cause,
            provider=info.provider,
            model=info.name,
            usage=usage,
            price=quote.price(usage),
            cost=quote.money(usage, reported=False),
            started=started,
            sent_estimate=sent_estimate,
            estimated=True,
        )
        call = _Call(row, quote, self._clock())
        self._calls[row.call_id] = self._open[row.call_id] = call
        self._tell(row)
        return row.call_id

    def progress(self, call_id: str, output_estimate: int) -> None:
        """So many tokens came so far, by our own count. Cheap: call it for every delta."""
        call = self._calls[call_id]
        if call.ended is not None:
            return
        if call.first is None and output_estimate > 0:
            call.first = self._clock()
            call.row = replace(call.row, first_token=self._now())
        call.output_estimate = max(call.output_estimate, output_estimate)

    def usage(self, call_id: str, usage: Usage) -> None:
        """The provider reported; the newest report holds. One that comes after the end corrects the row."""
        call = self._calls[call_id]
        call.reported = usage
        if call.ended is not None:
            self._forget(call.row)
            call.row = self._booked(call, usage, reported=True)
            self._book(call.row)

    def close_call(
        self,
        call_id: str,
        *,
        interrupted: bool = False,
        failed: bool = False,
        sent: bool = True,
        cache_tag: CacheTag = "",
    ) -> LedgerRow:
        """The call ended. `sent=False`: nothing ever reached the provider. A second close changes nothing."""
        call = self._calls[call_id]
        if call.ended is not None:
            return call.row
        call.ended = self._clock()
        call.row = replace(call.row, ended=self._now(), interrupted=interrupted, failed=failed, cache_tag=cache_tag)
        usage, reported = _final_usage(call, broken=interrupted or failed, failed=failed, sent=sent)
        call.row = self._booked(call, usage, reported=reported)
        del self._open[call_id]
        self._ended.append(call)
        self._book(call.row)
        return call.row

    def close_all(self) -> None:
        """Every open call is over, interrupted: the watchdog's way out."""
        for call_id in tuple(self._open):
            self.close_call(call_id, interrupted=True)

    def figures(self, call_id: str) -> CallFigures:
        """Tokens, money and speed of a call as it stands."""
        call = self._calls[call_id]
        row = call.row if call.ended is not None else self._live_row(call)
        if call.first is None:
            return CallFigures(row.usage, row.cost)
        seconds = (self._clock() if call.ended is None else call.ended) - call.first
        speed = row.usage.output / seconds if seconds >= _SHORTEST_RATE and row.usage.output else None
        return CallFigures(row.usage, row.cost, speed, call.first - call.started)

    def totals(self) -> CostTotals:
        """The header: sums of the turn and of the session, calls that still run included."""
        turn, session = self._turn_sum, self._session_sum
        if self._open:
            turn, session = turn.copy(), session.copy()
            for row in map(self._live_row, self._open.values()):
                session.add(row.usage, row.cost, estimated=row.estimated)
                if row.turn == self._turn:
                    turn.add(row.usage, row.cost, estimated=row.estimated)
        return CostTotals(
            turn_usage=turn.usage,
            turn_cost=turn.cost,
            session_usage=session.usage,
            session_cost=session.cost,
            calls=session.calls,
            tokens_estimated=session.estimated > 0,
            turn_other=turn.other_costs,
            session_other=session.other_costs,
            turn_notional=turn.notional,
            session_notional=session.notional,
        )

    def burn_rate(self) -> Money | None:
        """Money per minute over the last five minutes (or since the first call, at least one minute); None: no call.

        The cost of a call is spread evenly over the time it took.
        """
        if not self._calls:
            return None
        now = self._now()
        rows = [self._live_row(call) for call in self._open.values()]
        for call in reversed(self._ended):
            if (call.row.ended or now) < now - BURN_WINDOW:
                break
            rows.append(call.row)
        oldest = min(row.started for row in rows) if rows else now
        span = max(min(now - oldest, BURN_WINDOW), timedelta(minutes=1))
        total = Tally()
        for row in rows:
            if row.cost.amount is not None:
                share = _overlap(row.started, row.ended or now, now - span, now)
                total.add(_NO_TOKENS, replace(row.cost, amount=row.cost.amount * share))
        cost = total.cost
        minutes = Decimal(str(span.total_seconds())) / 60
        return replace(cost, amount=None if cost.amount is None else cost.amount / minutes)

    def restore(self, rows: Iterable[LedgerRow]) -> None:
        """Rows of an earlier process, oldest first; the last record of a call holds. Nothing is priced again.

        A call that never ended (a crash) stays booked as the estimate it was opened with.
        """
        latest: dict[str, LedgerRow] = {}
        for row in rows:
            latest[row.call_id] = row
        for row in latest.values():
            if row.ended is None:
                row = replace(row, ended=row.started, interrupted=True)
            quote = Quote(
                () if row.price is None else (replace(row.price, tier=0),),
                row.cost.state == "free",
                row.cost.state == "notional",
            )
            call = self._calls[row.call_id] = _Call(row, quote, 0.0, ended=0.0)
            self._ended.append(call)
            self._session_sum.add(row.usage, row.cost, estimated=row.estimated)
            self._turn = max(self._turn, row.turn)

    def _live_row(self, call: _Call) -> LedgerRow:
        usage = _usage_so_far(call)
        return self._booked(call, usage, reported=False)

    def _booked(self, call: _Call, usage: Usage, *, reported: bool) -> LedgerRow:
        """The call's row with these tokens, priced by its own quote."""
        told = usage.cost_usd is not None
        cost = call.quote.money(usage, reported=reported)
        if cost.state == "unknown" and usage == _NO_TOKENS:
            cost = _NOTHING_BILLED
        price = None if told else call.quote.price(usage)
        return replace(call.row, usage=usage, price=price, cost=cost, estimated=not reported)

    def _book(self, row: LedgerRow) -> None:
        self._session_sum.add(row.usage, row.cost, estimated=row.estimated)
        if row.turn == self._turn:
            self._turn_sum.add(row.usage, row.cost, estimated=row.estimated)
        self._tell(row)

    def _forget(self, row: LedgerRow) -> None:
        self._session_sum.take_out(row.usage, row.cost, estimated=row.estimated)
        if row.turn == self._turn:
            self._turn_sum.take_out(row.usage, row.cost, estimated=row.estimated)

    def _tell(self, row: LedgerRow) -> None:
        if self._on_row is not None:
            self._on_row(row)


def _usage_so_far(call: _Call) -> Usage:
    if call.reported is None:
        return Usage(input=call.row.sent_estimate, output=call.output_estimate)
    return replace(call.reported, output=max(call.reported.output, call.output_estimate))


def _final_usage(call: _Call, *, broken: bool, failed: bool, sent: bool) -> tuple[Usage, bool]:
    """The tokens to book, and whether the provider reported them.

    A report in the middle of a broken call counts the input, the output may have gone on. A failure without any output
    is not billed; an interrupted call was read by the provider, so its input is.
    """
    if call.reported is not None:
        if broken and call.reported.cost_usd is None:
            return _usage_so_far(call), False
        return call.reported, True
    if not sent or (failed and not call.output_estimate):
        return _NO_TOKENS, True
    return _usage_so_far(call), False


def _overlap(start: datetime, end: datetime, window_start: datetime, window_end: datetime) -> Decimal:
    """Share of the time from `start` to `end` that lies inside the window; a moment counts whole."""
    if end <= start:
        return Decimal(1 if window_start <= end <= window_end else 0)
    inside = min(end, window_end) - max(start, window_start)
    return Decimal(str(max(inside.total_seconds(), 0.0))) / Decimal(str((end - start).total_seconds()))
