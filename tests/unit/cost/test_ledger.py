from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reactagent_tui.core.config.schema import PriceEntry
from reactagent_tui.core.cost.ledger import Ledger, LedgerRow
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.money import Money
from reactagent_tui.core.usage import Usage

DOLLARS = ModelInfo("house", "dollars", "openai-chat", 1000)
YUAN = ModelInfo("house", "yuan", "openai-chat", 1000)
MYSTERY = ModelInfo("house", "mystery", "openai-chat", 1000)
LOCAL = ModelInfo("ollama", "local", "openai-chat", 1000, local=True)
PRICES = {
    "dollars": PriceEntry(input=Decimal(1_000_000), output=Decimal(2_000_000), cache_read=Decimal(100_000)),
    "yuan": PriceEntry(input=Decimal(7_000_000), output=Decimal(7_000_000), currency="CNY"),
}
PLAN = ModelInfo("plan", "dollars", "openai-chat", 1000, notional=True)
PLAN_UNPRICED = ModelInfo("plan", "mystery", "openai-chat", 1000, notional=True)
MODELS = (DOLLARS, YUAN, MYSTERY, LOCAL, PLAN, PLAN_UNPRICED)


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime(2026, 9, 20, 12, 0, tzinfo=UTC) + timedelta(seconds=self.seconds)


def make(clock: Clock | None = None, on_row: Callable[[LedgerRow], None] | None = None) -> Ledger:
    clock = clock or Clock()
    return Ledger("s1", PriceBook(PRICES), on_row=on_row, now=clock.now, clock=clock.monotonic)


def test_a_held_call_counts_nothing_until_it_goes_out() -> None:
    clock, rows = Clock(), list[LedgerRow]()
    ledger = make(clock, rows.append)
    ledger.begin_turn()
    call = ledger.open_call(1, "step", DOLLARS, 100)
    ledger.hold(call)
    ledger.hold(call)
    assert ledger.totals().turn_cost.amount == 0
    assert ledger.figures(call).usage == Usage()
    assert rows[-1].usage == Usage()  # all that a crash would leave
    clock.seconds = 30
    ledger.release(call)
    ledger.release(call)
    assert len(rows) == 3
    assert ledger.totals().turn_cost == Money(Decimal(100), "estimated")
    clock.seconds = 31
    ledger.progress(call, 1)
    assert ledger.figures(call).first_token_seconds == 1.0  # without the wait
    row = ledger.close_call(call, interrupted=True)
    assert row.cost == Money(Decimal(102), "estimated")
    assert row.started == clock.now() - timedelta(seconds=1)


def test_a_call_that_ends_while_held_costs_nothing() -> None:
    ledger = make()
    ledger.begin_turn()
    for end in ({"interrupted": True}, {"failed": True}, {}):
        call = ledger.open_call(1, "step", DOLLARS, 100)
        ledger.hold(call)
        assert ledger.close_call(call, **end).cost == Money(Decimal(0), "reported")
        ledger.hold(call)
        ledger.release(call)
    call = ledger.open_call(1, "step", DOLLARS, 100)
    ledger.hold(call)
    ledger.close_all()
    assert ledger.totals().session_cost == Money(Decimal(0), "reported")


def test_a_call_from_estimate_to_report() -> None:
    clock, rows = Clock(), list[LedgerRow]()
    ledger = make(clock, rows.append)
    assert ledger.begin_turn() == 1
    call = ledger.open_call(1, "step", DOLLARS, 100)
    assert ledger.totals().turn_cost == Money(Decimal(100), "estimated")
    clock.seconds = 2
    ledger.progress(call, 1)
    clock.seconds = 4
    ledger.progress(call, 10)
    live = ledger.figures(call)
    assert live.cost == Money(Decimal(120), "estimated")
    assert (live.tokens_per_second, live.first_token_seconds) == (5.0, 2.0)
    assert ledger.totals().session_cost == live.cost
    ledger.usage(call, Usage(input=20, cache_read=60, output=12))
    row = ledger.close_call(call)
    assert row.cost == Money(Decimal(20 + 6 + 24), "reported")
    assert ledger.totals().turn_cost == row.cost
    assert (row.started, row.first_token, row.ended) == tuple(
        datetime(2026, 9, 20, 12, 0, second, tzinfo=UTC) for second in (0, 2, 4)
    )
    assert [seen.ended is None for seen in rows] == [True, False]
    assert row.price is not None
    assert row.price.source == "dollars"


def test_interrupted_calls_are_booked_as_estimates() -> None:
    ledger = make()
    ledger.begin_turn()
    call = ledger.open_call(1, "step", DOLLARS, 100)
    ledger.progress(call, 7)
    row = ledger.close_call(call, interrupted=True)
    assert (row.usage, row.cost) == (Usage(input=100, output=7), Money(Decimal(114), "estimated"))
    assert row.interrupted
    assert ledger.close_call(call) == row
    early = ledger.close_call(ledger.open_call(2, "step", DOLLARS, 100), interrupted=True, sent=False)
    assert early.cost == Money(Decimal(0), "reported")


def test_a_report_before_an_interrupt_counts_the_input() -> None:
    ledger = make()
    call = ledger.open_call(1, "step", DOLLARS, 100)
    ledger.usage(call, Usage(input=90, output=1))
    ledger.progress(call, 5)
    row = ledger.close_call(call, interrupted=True)
    assert (row.usage, row.cost.state) == (Usage(input=90, output=5), "estimated")


def test_a_late_report_corrects_the_row_and_the_header() -> None:
    rows: list[LedgerRow] = []
    ledger = make(on_row=rows.append)
    ledger.begin_turn()
    call = ledger.open_call(1, "step", DOLLARS, 100)
    ledger.close_call(call, interrupted=True)
    ledger.usage(call, Usage(input=80, output=3))
    assert ledger.totals().turn_cost == Money(Decimal(86), "reported")
    assert ledger.totals().session_usage == Usage(input=80, output=3)
    assert rows[-1].interrupted
    assert len(rows) == 3


def test_a_refused_call_costs_nothing_and_a_broken_one_what_came() -> None:
    ledger = make()
    refused = ledger.close_call(ledger.open_call(1, "step", MYSTERY, 100), failed=True)
    assert refused.cost == Money(Decimal(0), "reported")
    call = ledger.open_call(1, "retry", DOLLARS, 100)
    ledger.progress(call, 5)
    broken = ledger.close_call(call, failed=True)
    assert broken.cost == Money(Decimal(110), "estimated")
    assert ledger.totals().session_cost == broken.cost


def test_a_server_without_usage_stays_an_estimate() -> None:
    ledger = make()
    call = ledger.open_call(1, "step", DOLLARS, 100)
    ledger.progress(call, 5)
    assert ledger.close_call(call).cost == Money(Decimal(110), "estimated")
    assert ledger.totals().tokens_estimated


@pytest.mark.parametrize("info", [DOLLARS, MYSTERY])
def test_tokens_are_an_estimate_until_they_are_reported(info: ModelInfo) -> None:
    ledger = make()
    call = ledger.open_call(1, "step", info, 100)
    assert ledger.totals().tokens_estimated
    ledger.usage(call, Usage(input=90, output=3))
    assert not ledger.close_call(call).estimated
    assert not ledger.totals().tokens_estimated
    late = ledger.close_call(ledger.open_call(2, "step", info, 100), interrupted=True)
    assert late.estimated
    assert LedgerRow.from_record(late.to_record()) == late
    assert ledger.totals().tokens_estimated
    ledger.usage(late.call_id, Usage(input=90, output=3))
    assert not ledger.totals().tokens_estimated


def test_unknown_prices_are_said_and_the_rest_is_still_summed() -> None:
    ledger = make()
    ledger.begin_turn()
    for info in (MYSTERY, LOCAL):
        call = ledger.open_call(1, "step", info, 100)
        ledger.usage(call, Usage(input=10, output=10))
        ledger.close_call(call)
    assert ledger.totals().session_cost == Money(None, "unknown")
    call = ledger.open_call(2, "step", DOLLARS, 1)
    ledger.usage(call, Usage(input=10))
    ledger.close_call(call)
    assert ledger.totals().session_cost == Money(Decimal(10), "unknown")
    ledger.begin_turn()
    assert ledger.totals().turn_cost == Money(Decimal(0), "free")


def test_currencies_are_never_mixed() -> None:
    ledger = make()
    ledger.begin_turn()
    ledger.close_call(ledger.open_call(1, "step", MYSTERY, 5), failed=True)  # costs nothing, in no currency
    for info in (YUAN, DOLLARS, YUAN):
        call = ledger.open_call(1, "step", info, 1)
        ledger.usage(call, Usage(input=1))
        ledger.close_call(call)
    totals = ledger.totals()
    assert totals.session_cost == Money(Decimal(1), "reported")
    assert totals.session_other == (Money(Decimal(14), "reported", "CNY"),) == totals.turn_other
    only = make()
    call = only.open_call(1, "step", YUAN, 1)
    only.usage(call, Usage(input=1))
    only.close_call(call)
    assert only.totals().session_cost == Money(Decimal(7), "reported", "CNY")
    assert only.totals().session_other == ()


def test_what_a_plan_covers_is_shown_apart_and_never_counted_as_spent() -> None:
    ledger = make()
    ledger.begin_turn()
    for info in (PLAN, PLAN_UNPRICED):
        call = ledger.open_call(1, "step", info, 100)
        ledger.usage(call, Usage(input=10, output=10))
        row = ledger.close_call(call)
        assert LedgerRow.from_record(row.to_record()) == row
    totals = ledger.totals()
    assert (totals.turn_cost, totals.session_cost) == (Money(Decimal(0), "free"),) * 2
    assert totals.turn_notional == (Money(Decimal(30), "notional"),) == totals.session_notional
    assert totals.session_usage.total == 40
    assert ledger.can_price(PLAN)
    assert ledger.can_price(PLAN_UNPRICED)
    call = ledger.open_call(2, "step", DOLLARS, 5)
    live = ledger.totals()
    assert live.session_cost == Money(Decimal(5), "estimated")
    assert live.session_notional == totals.session_notional
    ledger.usage(call, Usage(input=7))
    ledger.close_call(call)
    assert ledger.totals().session_cost == Money(Decimal(7), "reported")
    burn = ledger.burn_rate()
    assert burn is not None
    assert burn.amount is not None
    assert burn.amount <= 7
    again = make()
    again.restore(ledger.rows)
    assert again.totals().session_notional == totals.session_notional
    again.usage("m1", Usage(input=100))
    assert again.totals().session_notional == (Money(Decimal(100), "notional"),)


def test_turns_are_summed_apart_and_agents_are_in_both() -> None:
    ledger = make()
    ledger.begin_turn()
    slow = ledger.open_call(1, "sub_agent", DOLLARS, 10, agent=("explore",))
    ledger.begin_turn()
    call = ledger.open_call(1, "step", DOLLARS, 1)
    assert ledger.totals().turn_cost.amount == 1
    assert ledger.totals().session_cost.amount == 11
    ledger.close_call(slow, interrupted=True)
    ledger.close_call(call, interrupted=True)
    assert ledger.totals().turn_cost.amount == 1
    assert ledger.totals().session_cost.amount == 11
    assert ledger.rows[0].agent == ("explore",)
    assert ledger.totals().calls == 2


def test_restored_rows_keep_their_price_and_ids_go_on() -> None:
    rows: list[LedgerRow] = []
    before = make(on_row=rows.append)
    before.begin_turn()
    call = before.open_call(1, "step", DOLLARS, 100)
    before.usage(call, Usage(input=50, output=5))
    before.close_call(call)
    before.open_call(2, "step", DOLLARS, 30)  # the process dies here
    stored = [LedgerRow.from_record(json.loads(json.dumps(row.to_record()))) for row in rows]
    assert stored == rows
    dearer = PriceBook({"*": PriceEntry(input=Decimal(9_000_000), output=Decimal(9))})
    after = Ledger("s1", dearer)
    after.restore(stored)
    assert after.totals().session_cost == Money(Decimal(60 + 30), "estimated")
    assert [row.interrupted for row in after.rows] == [False, True]
    assert after.turn == 1
    assert after.begin_turn() == 2
    assert after.open_call(1, "step", DOLLARS, 1) == "m3"
    assert after.totals().turn_cost.amount == 9


def test_close_all_is_the_watchdogs_way_out() -> None:
    ledger = make()
    for _ in range(3):
        ledger.open_call(1, "step", DOLLARS, 10)
    ledger.close_all()
    assert all(row.interrupted and row.ended for row in ledger.rows)


def test_burn_rate_spreads_a_call_over_its_time() -> None:
    clock = Clock()
    ledger = make(clock)
    assert ledger.burn_rate() is None
    call = ledger.open_call(1, "step", DOLLARS, 0)
    clock.seconds = 600
    ledger.usage(call, Usage(input=1_000))
    ledger.close_call(call)
    assert ledger.burn_rate() == Money(Decimal(100), "reported")  # half of it in the last 5 minutes
    clock.seconds = 600 + 150
    rate = ledger.burn_rate()
    assert rate is not None
    assert rate.amount == Decimal(50)
    clock.seconds = 2_000
    assert ledger.burn_rate() == Money(Decimal(0), "free")


def test_burn_rate_of_the_first_seconds_is_no_fantasy() -> None:
    clock = Clock()
    ledger = make(clock)
    call = ledger.open_call(1, "step", DOLLARS, 30)
    clock.seconds = 1
    ledger.close_call(call, interrupted=True)
    assert ledger.burn_rate() == Money(Decimal(30), "estimated")


usages = st.builds(
    Usage,
    input=st.integers(0, 500),
    cache_read=st.integers(0, 500),
    output=st.integers(0, 500),
    cost_usd=st.none() | st.decimals(0, 9, places=4),
)
actions = st.one_of(
    st.tuples(st.just("turn")),
    st.tuples(st.just("open"), st.sampled_from(MODELS), st.integers(0, 500)),
    st.tuples(st.just("progress"), st.integers(0, 20), st.integers(0, 500)),
    st.tuples(st.just("usage"), st.integers(0, 20), usages),
    st.tuples(st.just("close"), st.integers(0, 20), st.booleans(), st.booleans(), st.booleans()),
)


def play(ledger: Ledger, calls: list[str], action: tuple[Any, ...]) -> None:
    match action:
        case ("turn",):
            ledger.begin_turn()
        case ("open", info, sent):
            calls.append(ledger.open_call(len(calls), "step", info, sent))
        case (kind, index, *rest) if calls:
            call = calls[index % len(calls)]
            if kind == "progress":
                ledger.progress(call, *rest)
            elif kind == "usage":
                ledger.usage(call, *rest)
            else:
                ledger.close_call(call, interrupted=rest[0], failed=rest[1], sent=rest[2])


def summed(rows: list[LedgerRow]) -> tuple[Any, ...]:
    """The sum of rows, added up in the plainest way."""
    amounts: dict[str, Decimal] = {}
    for row in rows:
        if row.cost.amount and row.cost.state != "notional":
            amounts[row.cost.currency] = amounts.get(row.cost.currency, Decimal(0)) + row.cost.amount
    states = {row.cost.state for row in rows}
    worst = next((state for state in ("unknown", "estimated", "reported") if state in states), "free")
    tokens = tuple(sum(getattr(row.usage, name) for row in rows) for name in ("input", "cache_read", "output"))
    return amounts, worst, tokens, len(rows)


def shown(cost: Money, other: tuple[Money, ...], usage: Usage, calls: int) -> tuple[Any, ...]:
    amounts = {money.currency: money.amount for money in (cost, *other) if money.amount}
    return amounts, cost.state, (usage.input, usage.cache_read, usage.output), calls


@settings(max_examples=150, deadline=None)
@given(st.lists(actions, max_size=40))
def test_the_header_is_the_sum_of_the_rows_whatever_happens(sequence: list[tuple[Any, ...]]) -> None:
    told: dict[str, LedgerRow] = {}
    ledger = make(on_row=lambda row: told.__setitem__(row.call_id, row))
    calls: list[str] = []
    for action in sequence:
        play(ledger, calls, action)
        rows, totals = list(ledger.rows), ledger.totals()
        header = shown(totals.session_cost, totals.session_other, totals.session_usage, totals.calls)
        assert header == summed(rows)
        covered = sum(row.cost.amount or 0 for row in rows if row.cost.state == "notional")
        assert sum(money.amount or 0 for money in totals.session_notional) == covered
        of_turn = [row for row in rows if row.turn == ledger.turn]
        assert shown(totals.turn_cost, totals.turn_other, totals.turn_usage, len(of_turn)) == summed(of_turn)
    ledger.close_all()
    assert list(told.values()) == list(ledger.rows)
    again = make()
    again.restore(told.values())
    assert again.totals().session_cost == ledger.totals().session_cost


def test_a_tally_undoes_what_it_added() -> None:
    tally = Tally()
    tally.add(Usage(input=5, cost_usd=Decimal(2)), Money(Decimal(2), "estimated", "CNY"))
    copy = tally.copy()
    tally.take_out(Usage(input=5, cost_usd=Decimal(2)), Money(Decimal(2), "estimated", "CNY"))
    assert (tally.usage.total, tally.calls, tally.cost.amount, tally.cost.state) == (0, 0, 0, "free")
    assert copy.cost == Money(Decimal(2), "estimated", "CNY")


def test_an_unknown_call_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        make().progress("m9", 1)
