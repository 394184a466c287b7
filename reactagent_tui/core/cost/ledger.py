"""One row per model call, written when the call starts and completed when it ends. The header is their sum, always.

Used by one task loop; nothing here waits or locks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from reactagent_tui.core.cost.cache_tag import CacheTag
from reactagent_tui.core.cost.ledger_row import Cause, LedgerRow
from reactagent_tui.core.cost.pricing import PriceBook, Quote
from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.money import CostTotals, Money
from reactagent_tui.core.usage import Usage

BURN_WINDOW = timedelta(minutes=5)
_NO_TOKENS = Usage()
_NOTHING_BILLED = Money(Decimal(0), "reported")
_SHORTEST_RATE = 0.2
"""Seconds of output before a speed means anything."""
_HELD_BACK = 8
"""Output tokens that may come after the last report of a reply that is complete: text that readers held back."""


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
    counted: int = 0
    """Output tokens, by our own count, that had come when the provider reported last."""
    first: float | None = None
    ended: float | None = None
    left_alone: bool = False
    """Closed by the watchdog; whoever opened it still runs and may know better."""
    held: bool = False
    """It waits on our side: nothing was sent."""


class Ledger:
    """The calls of one session."""

    def __init__(
        self,
        session_id: str,
        price_book: PriceBook,
        *,
        on_row: Callable[[LedgerRow], None] | None = None,
        today: Callable[[], Tally | None] = lambda: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_row` gets every row when it is opened, when it is closed, and when a late report corrects it.

        `today`: what all sessions spent since midnight, this one's running calls left out; None while nobody knows.
        """
        self._session_id = session_id
        self._prices = price_book
        self._on_row = on_row
        self._today = today
        self._now = now
        self._clock = clock
        self._calls: dict[str, _Call] = {}
        self._open: dict[str, _Call] = {}
        self._ended: list[_Call] = []
        """In the order of their ends."""
        self._last_id = 0
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
        self, step: int, cause: Cause, info: ModelInfo, sent_estimate: int, agent: tuple[str, ...] = (), raw: int = 0
    ) -> str:
        """A call goes out: books what is sent as an estimate, freezes the price, returns the call's id.

        `raw`: the estimate before its correction for this model, kept for those who correct later ones.
        """
        started = self._now()
        quote = self._prices.quote(info, started)
        usage = Usage(input=sent_estimate)
        row = LedgerRow(
            call_id=self._new_id(),
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
            sent_raw=raw,
            estimated=True,
        )
        call = _Call(row, quote, self._clock())
        self._calls[row.call_id] = self._open[row.call_id] = call
        self._tell(row)
        return row.call_id

    def refused(self, call_id: str) -> LedgerRow:
        """The server refused this request and gets it in another form: the refused one becomes a row of its own."""
        call = self._calls[call_id]
        row = replace(call.row, call_id=self._new_id(), first_token=None)
        again = self._calls[row.call_id] = self._open[row.call_id] = _Call(row, call.quote, self._clock())
        return self.close_call(again.row.call_id, failed=True)

    def hold(self, call_id: str) -> None:
        """The call waits on our side (its own rate limit, a server that loads): nothing of it counts as sent."""
        call = self._calls[call_id]
        if call.ended is None and not call.held:
            call.held = True
            self._tell(self._live_row(call))

    def release(self, call_id: str) -> None:
        """A held call goes out: what is sent is booked again, and its clock starts."""
        call = self._calls[call_id]
        if call.ended is None and call.held:
            call.held = False
            call.started = self._clock()
            call.row = replace(call.row, started=self._now())
            self._tell(call.row)

    def progress(self, call_id: str, output_estimate: int) -> None:
        """So many tokens came so far, by our own count. Cheap: call it for every delta."""
        call = self._calls[call_id]
        if call.ended is not None and not call.left_alone:
            return
        if call.first is None and output_estimate > 0 and call.ended is None:
            call.first = self._clock()
            call.row = replace(call.row, first_token=self._now())
        call.output_estimate = max(call.output_estimate, output_estimate)

    def usage(self, call_id: str, usage: Usage) -> None:
        """The provider reported; the newest report holds. One that comes after the end corrects the row.

        A report of nothing at all is none: some servers fill the fields with zeros.
        """
        if not usage.total and usage.cost_usd is None:
            return
        call = self._calls[call_id]
        call.reported, call.counted = usage, call.output_estimate
        if call.ended is not None:
            self._forget(call.row)
            so_far = _usage_so_far(call) if call.left_alone else usage
            call.row = self._booked(call, so_far, reported=not call.left_alone)
            self._book(call.row)

    def close_call(
        self,
        call_id: str,
        *,
        interrupted: bool = False,
        failed: bool = False,
        cut: bool = False,
        sent: bool = True,
        finished: bool = False,
        cache_tag: CacheTag = "",
    ) -> LedgerRow:
        """The call ended. A second close changes nothing.

        `sent=False`: nothing ever reached the provider. `failed`: it refused; with `cut`, the connection broke, and
        what was sent may have been read. `finished`: the model had given its reason to stop.
        """
        call = self._calls[call_id]
        if call.ended is None:
            call.ended = self._clock()
            call.row = replace(call.row, ended=self._now(), interrupted=interrupted)
            del self._open[call_id]
            self._ended.append(call)
        elif call.left_alone:
            call.left_alone = False
            self._forget(call.row)
        else:
            return call.row
        sent = sent and not call.held
        call.row = replace(call.row, failed=failed, sent=sent, cache_tag=cache_tag)
        free = not sent or (failed and not cut and not call.output_estimate)
        broken = (interrupted or failed) and not finished
        usage, reported = _final_usage(call, broken=broken, free=free)
        call.row = self._booked(call, usage, reported=reported)
        self._book(call.row)
        return call.row

    def close_all(self) -> None:
        """Every open call is over, interrupted: the watchdog's way out. What is known of it later corrects it."""
        for call_id, call in tuple(self._open.items()):
            self.close_call(call_id, interrupted=True)
            call.left_alone = True

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
        today = self._whole_day()
        return CostTotals(
            turn_usage=turn.usage,
            turn_cost=turn.cost,
            session_usage=session.usage,
            session_cost=session.cost,
            calls=session.calls,
            tokens_estimated=session.estimated > 0,
            turn_other=turn.other_costs,
            session_other=session.other_costs,
            today_cost=None if today is None else today.cost,
            today_other=() if today is None else today.other_costs,
            turn_notional=turn.notional,
            session_notional=session.notional,
        )

    def run_totals(self) -> CostTotals:
        """What the run that books here has used, as sums of its turn: those of the main agent are the turn's."""
        return self.totals()

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
        for row in map(LedgerRow.ended_anyhow, latest.values()):
            quote = Quote(
                () if row.price is None else (replace(row.price, tier=0),),
                row.cost.state == "free",
                row.cost.state == "notional",
            )
            call = self._calls[row.call_id] = _Call(row, quote, 0.0, ended=0.0)
            self._ended.append(call)
            self._session_sum.add(row.usage, row.cost, estimated=row.estimated)
            self._last_id = max(self._last_id, _number_of(row.call_id))
            if row.turn > self._turn:
                self._turn, self._turn_sum = row.turn, Tally()
            if row.turn == self._turn:
                self._turn_sum.add(row.usage, row.cost, estimated=row.estimated)

    def _new_id(self) -> str:
        self._last_id += 1
        return f"m{self._last_id}"

    def _whole_day(self) -> Tally | None:
        """What everybody spent today, with this session's running calls as they stand."""
        today = self._today()
        if today is None or not self._open:
            return today
        today = today.copy()
        date = self._now().astimezone().date()
        for row in map(self._live_row, self._open.values()):
            if row.started.astimezone().date() == date:
                today.add(row.usage, row.cost, estimated=row.estimated)
        return today

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


def _number_of(call_id: str) -> int:
    digits = call_id.removeprefix("m")
    return int(digits) if digits.isdecimal() else 0


def _usage_so_far(call: _Call) -> Usage:
    """The last report, and by our own count what came after it or what it did not tell."""
    if call.held:
        return _NO_TOKENS
    told, counted = call.reported, call.output_estimate
    if told is None:
        return Usage(input=call.row.sent_estimate, output=counted)
    output = told.output + counted - call.counted if call.counted else max(told.output, counted)
    return replace(told, input=told.input if told.prompt else call.row.sent_estimate, output=output)


def _final_usage(call: _Call, *, broken: bool, free: bool) -> tuple[Usage, bool]:
    """The tokens to book, and whether the provider reported them, all of them.

    An interrupted call was read by the provider, so its input is billed. A report in the middle of a broken call counts
    the input; the output may have gone on, and a report that came before the output does not count it.
    """
    told = call.reported
    if told is None and free:
        return _NO_TOKENS, True
    if told is None or broken:
        return _usage_so_far(call), False
    early = call.output_estimate - call.counted > _HELD_BACK or (call.output_estimate > 0 and not told.output)
    return (_usage_so_far(call), False) if early or not told.prompt else (told, True)


def _overlap(start: datetime, end: datetime, window_start: datetime, window_end: datetime) -> Decimal:
    """Share of the time from `start` to `end` that lies inside the window; a moment counts whole."""
    if end <= start:
        return Decimal(1 if window_start <= end <= window_end else 0)
    inside = min(end, window_end) - max(start, window_start)
    return Decimal(str(max(inside.total_seconds(), 0.0))) / Decimal(str((end - start).total_seconds()))
