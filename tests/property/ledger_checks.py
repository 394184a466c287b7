"""What must hold after every fuzzed session, worked out without the ledger's own sums; and the figures over all."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from reactagent_tui.core.cost.ledger import Ledger, LedgerRow
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.events import AgentEvent, RunEnded, UsageUpdated
from reactagent_tui.core.money import CostTotals, Money
from reactagent_tui.core.sessions.store import SessionFile
from reactagent_tui.core.usage import Usage
from reactagent_tui.tui.presenter import format_money
from tests.fakes.billing_server import Bill
from tests.property.ledger_cases import FREE, MYSTERY, NOWHERE, rate

BUCKETS = ("input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning")
UNKNOWN = (MYSTERY, NOWHERE)


@dataclass(frozen=True, slots=True)
class Estimate:
    """One row that was never reported, against the bill."""

    error: float
    """Share of the bill; 0.1 is 10 % off, in either direction."""
    output_error: float | None
    calibrated: bool
    """An earlier call of this model in this session was reported."""
    kind: str


@dataclass
class Figures:
    """Sums over all runs."""

    failures: list[str] = field(default_factory=list[str])
    runs: int = 0
    rows: Counter[str] = field(default_factory=Counter[str])
    stops: Counter[str] = field(default_factory=Counter[str])
    endings: Counter[str] = field(default_factory=Counter[str])
    estimates: list[Estimate] = field(default_factory=list[Estimate])
    requests: int = 0

    @staticmethod
    def told_price(tokens: int) -> Decimal:
        """What the server says a call cost."""
        return Decimal(tokens * 3) / 1_000_000

    def median(self, *, calibrated: bool | None = None) -> float:
        """Median error of the estimates."""
        chosen = [e.error for e in self.estimates if calibrated is None or e.calibrated is calibrated]
        return statistics.median(chosen) if chosen else 0.0

    def report(self) -> str:
        lines = [
            f"requests {self.requests}, rows {self.rows.total()}: "
            + ", ".join(f"{name} {count}" for name, count in sorted(self.rows.items())),
            "stops: " + ", ".join(f"{name} {count}" for name, count in sorted(self.stops.items())),
            "ends: " + ", ".join(f"{name} {count}" for name, count in sorted(self.endings.items())),
        ]
        for title, chosen in (
            ("all estimates", self.estimates),
            ("  after a report", self._calibrated),
            ("  before any", [e for e in self.estimates if not e.calibrated]),
            *((f"  {kind}", [e for e in self.estimates if e.kind == kind]) for kind in sorted(self._kinds())),
        ):
            lines.append(f"{title}: {_spread([e.error for e in chosen])}")
        for title, chosen in (("output alone", self.estimates), ("  after a report", self._calibrated)):
            lines.append(f"{title}: {_spread([e.output_error for e in chosen if e.output_error is not None])}")
        lines.append(f"failures: {len(self.failures)}")
        return "\n".join([*lines, *self.failures[:40]])

    @property
    def _calibrated(self) -> list[Estimate]:
        return [e for e in self.estimates if e.calibrated]

    def _kinds(self) -> set[str]:
        return {e.kind for e in self.estimates}


def _spread(errors: Sequence[float]) -> str:
    if not errors:
        return "none"
    ranked = sorted(errors)
    shares = ", ".join(f"p{p} {ranked[min(len(ranked) - 1, len(ranked) * p // 100)]:.1%}" for p in (25, 75, 90, 99))
    return f"{len(errors)}, median {statistics.median(ranked):.1%}, {shares}, worst {ranked[-1]:.1%}"


@dataclass
class Checks:
    """The checks of one run."""

    seed: int
    figures: Figures
    reported: set[str] = field(default_factory=set[str])

    def fail(self, what: str) -> None:
        self.figures.failures.append(f"seed {self.seed}: {what}")

    def same(self, what: str, left: Any, right: Any) -> None:
        if left != right:
            self.fail(f"{what}: {left} is not {right}")

    # -- while it runs ----------------------------------------------------------------------

    def event(self, event: AgentEvent, ledger: Ledger) -> None:
        """Figures when they are shown."""
        match event:
            case UsageUpdated():
                self._header("shown header", event.totals, ledger)
                row = next(row for row in ledger.rows if row.call_id == event.model_call_id)
                self.same("shown tokens", event.call_usage, row.usage)
                self.same("shown money", event.call_cost, row.cost)
                if event.final and row.ended is None:
                    self.fail(f"the last figures of {row.call_id} came before its end")
            case RunEnded():
                rows = [row for row in ledger.rows if row.turn == ledger.turn]
                self.same("tokens of the turn", tokens(event.usage), summed(rows)[0])
                if event.cost.amount:
                    self.same("money of the turn", event.cost.amount, summed(rows)[1].get(event.cost.currency))
                self.same("state of the turn", event.cost.state, summed(rows)[2])
            case _:
                pass

    def _header(self, what: str, totals: CostTotals, ledger: Ledger) -> None:
        rows = ledger.rows
        of_turn = [row for row in rows if row.turn == ledger.turn]
        self.same(
            f"{what}, session", header(totals.session_usage, totals.session_cost, totals.session_other), summed(rows)
        )
        self.same(f"{what}, turn", header(totals.turn_usage, totals.turn_cost, totals.turn_other), summed(of_turn))
        self.same(f"{what}, calls", totals.calls, len(rows))
        self.same(f"{what}, estimated", totals.tokens_estimated, any(row.estimated for row in rows))

    def after(self, ledger: Ledger, bills: Sequence[Bill]) -> None:
        """After a turn."""
        self._header("header", ledger.totals(), ledger)
        open_rows = [row.call_id for row in ledger.rows if row.ended is None]
        self.same("open rows after the turn", open_rows, [])
        self.same("requests with a row", len([row for row in ledger.rows if row.sent]), len(bills))

    def crashed(self, file: SessionFile, ledger: Ledger) -> None:
        """What a new process would find if this one died now."""
        again = restored(file, ledger)
        self.same("rows on disk", len(again.rows), len(ledger.rows))
        for row in again.rows:
            if row.sent and not row.failed and not row.usage.total:
                self.fail(f"{row.call_id} would be forgotten by a crash")

    def resumed(self, before: Ledger, after: Ledger) -> None:
        self.same("rows after a resume", after.rows, before.rows)
        self._header("header after a resume", after.totals(), after)

    def from_disk(self, file: SessionFile, ledger: Ledger) -> None:
        again = restored(file, ledger)
        self.same("rows of the file", again.rows, ledger.rows)
        self.same("header of the file", shown(again.totals()), shown(ledger.totals()))
        self.same("bad lines", file.bad_lines, [])

    # -- the bill ---------------------------------------------------------------------------

    def at_the_end(self, ledger: Ledger, bills: Sequence[Bill]) -> None:
        """Each request against its row."""
        self.figures.runs += 1
        self.figures.requests += len(bills)
        seen: set[str] = set()
        for row, bill in self.pairs(ledger, bills):
            if row is None:
                assert bill is not None
                self.fail(f"request {bill.number} ({bill.model}) has no row")
            elif bill is None:
                self._unsent(row)
            else:
                self._row(row, bill, calibrated=row.model in seen)
                if bill.told_whole and not row.estimated:
                    seen.add(row.model)

    @staticmethod
    def pairs(ledger: Ledger, bills: Sequence[Bill]) -> list[tuple[LedgerRow | None, Bill | None]]:
        """Calls of one model never overlap: the n-th that was sent is the n-th that was received."""
        pairs: list[tuple[LedgerRow | None, Bill | None]] = [(row, None) for row in ledger.rows if not row.sent]
        for model in {row.model for row in ledger.rows} | {bill.model for bill in bills}:
            rows = sorted((r for r in ledger.rows if r.model == model and r.sent), key=lambda r: r.ended or r.started)
            theirs = [bill for bill in bills if bill.model == model]
            size = max(len(rows), len(theirs))
            pairs += zip(rows + [None] * (size - len(rows)), theirs + [None] * (size - len(theirs)), strict=True)
        return pairs

    def _unsent(self, row: LedgerRow) -> None:
        self.figures.rows["never sent"] += 1
        if row.sent:
            self.fail(f"{row.call_id} says it was sent; the server received nothing")
        self.same(f"{row.call_id} never sent", (row.usage, row.cost.amount, row.estimated), (Usage(), 0, False))

    def _row(self, row: LedgerRow, bill: Bill, *, calibrated: bool) -> None:
        name = f"{row.call_id} ({row.model}, request {bill.number})"
        self._price(name, row, bill)
        if not row.usage.total:
            self.figures.rows["refused"] += 1
            self.same(f"{name} is booked as refused", (bill.refused, row.failed), (True, True))
            return
        if not row.estimated:
            self.figures.rows["reported"] += 1
            if bill.told is None or not bill.told_whole:
                self.fail(f"{name} is called reported, but the server did not report")
            cached = bill.cached
            wanted = (bill.prompt - cached, cached, 0, 0, bill.output, bill.reasoning)
            self.same(f"{name} tokens", tokens(row.usage), wanted)
            return
        if bill.told_whole and not row.interrupted and not row.failed:
            self.fail(f"{name} was reported in full and is booked as an estimate")
        if bill.refused:
            self.figures.rows["stopped before the refusal was read"] += 1
            return
        self.figures.rows["estimated"] += 1
        if not row.usage.prompt:
            self.fail(f"{name} sent something and is booked with no input")
        kind = "interrupted" if row.interrupted else "failed" if row.failed else "no usage"
        off = abs(row.usage.total - bill.total) / bill.total
        of_output = abs(row.usage.output - bill.output) / bill.output if bill.output else None
        self.figures.estimates.append(Estimate(off, of_output, calibrated, kind))

    def _price(self, name: str, row: LedgerRow, bill: Bill) -> None:
        if row.usage.cost_usd is not None:
            self.same(f"{name} told money", row.cost.amount, bill.cost)
            return
        if row.model in UNKNOWN:
            if row.usage.total:
                self.same(f"{name} unknown price", (row.cost, format_money(row.cost)), (Money(None, "unknown"), "—"))
            return
        if row.model == FREE:
            self.same(f"{name} free", (row.cost.amount, row.cost.state), (Decimal(0), "free"))
            return
        rates = rate(row.model, row.started.hour)
        assert rates is not None
        usage = row.usage
        amount = usage.input * rates["input"] + usage.cache_read * rates["cache_read"]
        amount += (usage.output - usage.reasoning) * rates["output"] + usage.reasoning * rates["reasoning"]
        state = "estimated" if row.estimated else "reported"
        self.same(f"{name} money", (row.cost.amount, row.cost.state), (amount / 1_000_000, state))
        self.same(f"{name} currency", row.cost.currency, "CNY" if row.model == "fz-yuan" else "USD")

    def show(self, ledger: Ledger, bills: Sequence[Bill]) -> None:
        """Every row beside its bill."""
        for row, bill in self.pairs(ledger, bills):
            if row is not None:
                flags = [name for name in ("interrupted", "failed", "estimated", "sent") if getattr(row, name)]
                print(f"{row.call_id:4} turn {row.turn} {row.cause:9} {row.model:10} {' '.join(flags):28}", end=" ")
                print(f"{tokens(row.usage)} {row.cost.amount} {row.cost.state}", end="   ")
            print("—" if bill is None else f"#{bill.number} {bill.prompt} ({bill.cached}) {bill.output} {bill.told}")


def restored(file: SessionFile, like: Ledger) -> Ledger:
    """A ledger from a session file, as a new process makes it."""
    ledger = Ledger(file.id, PriceBook())
    ledger.restore(LedgerRow.from_record(record["row"]) for record in file.usage_rows)
    return ledger


def tokens(usage: Usage) -> tuple[int, ...]:
    return tuple(getattr(usage, name) for name in BUCKETS)


def summed(rows: Sequence[LedgerRow]) -> tuple[tuple[int, ...], dict[str, Decimal], str]:
    """Tokens per bucket, money per currency, worst state: added up in the plainest way."""
    amounts: dict[str, Decimal] = {}
    for row in rows:
        if row.cost.amount:
            amounts[row.cost.currency] = amounts.get(row.cost.currency, Decimal(0)) + row.cost.amount
    states = {row.cost.state for row in rows}
    worst = next((state for state in ("unknown", "estimated", "reported") if state in states), "free")
    counts = tuple(sum(getattr(row.usage, name) for row in rows) for name in BUCKETS)
    return counts, amounts, worst


def header(usage: Usage, cost: Money, other: Sequence[Money]) -> tuple[tuple[int, ...], dict[str, Decimal], str]:
    """The same of what is shown."""
    amounts = {money.currency: money.amount for money in (cost, *other) if money.amount}
    return tokens(usage), amounts, cost.state


def shown(totals: CostTotals) -> tuple[Any, ...]:
    return (
        header(totals.session_usage, totals.session_cost, totals.session_other),
        totals.calls,
        totals.tokens_estimated,
    )
