"""How a call can end, and what is booked then."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from reactagent_tui.core.config.schema import PriceEntry
from reactagent_tui.core.cost.ledger import Ledger, LedgerRow
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.money import Money
from reactagent_tui.core.usage import Usage

INFO = ModelInfo("house", "dollars", "openai-chat", 1000)
PRICES = PriceBook({"dollars": PriceEntry(input=Decimal(1_000_000), output=Decimal(2_000_000))})


def opened(rows: list[LedgerRow] | None = None) -> tuple[Ledger, str]:
    """A ledger with one call of 100 tokens."""
    ledger = Ledger("s", PRICES, on_row=None if rows is None else rows.append)
    ledger.begin_turn()
    return ledger, ledger.open_call(1, "step", INFO, 100)


def test_a_report_of_zeros_is_no_report() -> None:
    ledger, call = opened()
    ledger.progress(call, 7)
    ledger.usage(call, Usage())
    row = ledger.close_call(call)
    assert (row.usage, row.estimated, row.cost.amount) == (Usage(input=100, output=7), True, Decimal(114))


def test_a_report_without_the_prompt_is_only_half_of_one() -> None:
    ledger, call = opened()
    ledger.usage(call, Usage(output=9))
    row = ledger.close_call(call)
    assert (row.usage, row.estimated) == (Usage(input=100, output=9), True)


@pytest.mark.parametrize("output", [0, 1])
def test_a_report_that_came_before_the_reply_does_not_count_it(output: int) -> None:
    ledger, call = opened()
    ledger.usage(call, Usage(input=90, output=output))
    ledger.progress(call, 40)
    row = ledger.close_call(call)
    assert (row.usage, row.estimated) == (Usage(input=90, output=40), True)


def test_what_comes_after_a_running_report_is_added_to_it() -> None:
    ledger, call = opened()
    ledger.progress(call, 50)
    ledger.usage(call, Usage(input=90, output=30))  # this model's tokens are larger than ours
    ledger.progress(call, 60)
    assert ledger.close_call(call, interrupted=True).usage == Usage(input=90, output=40)


def test_text_that_was_held_back_does_not_spoil_a_report() -> None:
    ledger, call = opened()
    ledger.progress(call, 50)
    ledger.usage(call, Usage(input=90, output=52))
    ledger.progress(call, 54)
    row = ledger.close_call(call)
    assert (row.usage.output, row.estimated) == (52, False)


def test_a_stop_after_the_whole_report_leaves_it_reported() -> None:
    ledger, call = opened()
    ledger.progress(call, 50)
    ledger.usage(call, Usage(input=90, output=52))
    row = ledger.close_call(call, interrupted=True, finished=True)
    assert (row.interrupted, row.estimated, row.cost) == (True, False, Money(Decimal(194), "reported"))


def test_a_stop_between_finish_and_report_is_an_estimate() -> None:
    ledger, call = opened()
    ledger.progress(call, 50)
    row = ledger.close_call(call, interrupted=True, finished=True)
    assert (row.usage, row.estimated) == (Usage(input=100, output=50), True)


def test_a_connection_that_broke_is_no_refusal() -> None:
    ledger, call = opened()
    cut = ledger.close_call(call, failed=True, cut=True)
    assert (cut.usage, cut.cost) == (Usage(input=100), Money(Decimal(100), "estimated"))
    never = ledger.close_call(ledger.open_call(1, "retry", INFO, 100), failed=True, cut=True, sent=False)
    assert (never.usage, never.cost.amount, never.sent) == (Usage(), 0, False)
    assert LedgerRow.from_record(never.to_record()) == never


def test_a_refused_form_of_a_request_has_a_row_of_its_own() -> None:
    rows: list[LedgerRow] = []
    ledger, call = opened(rows)
    refused = ledger.refused(call)
    assert (refused.call_id, refused.failed, refused.usage, refused.cost.amount) == ("m2", True, Usage(), 0)
    ledger.usage(call, Usage(input=90, output=1))
    ledger.close_call(call)
    assert [row.cost.amount for row in ledger.rows] == [92, 0]
    assert ledger.totals().turn_cost == Money(Decimal(92), "reported")
    again = Ledger("s", PriceBook())
    again.restore(rows)
    assert again.rows == ledger.rows


def test_what_the_watchdog_closed_is_corrected_by_whoever_still_runs() -> None:
    ledger, call = opened()
    unsent = ledger.open_call(1, "sub_agent", INFO, 10)
    ledger.progress(call, 5)
    ledger.close_all()
    assert ledger.totals().turn_cost.amount == 120
    ledger.progress(call, 20)
    ledger.usage(call, Usage(input=90, output=18))
    assert ledger.rows[0].estimated
    ledger.progress(call, 30)
    assert ledger.close_call(call, interrupted=True).usage == Usage(input=90, output=28)
    assert not ledger.close_call(unsent, interrupted=True, sent=False).sent
    assert ledger.totals().turn_cost == Money(Decimal(90 + 56), "estimated")
    ledger.close_call(call)
    assert ledger.totals().session_usage == Usage(input=90, output=28)


def test_a_lost_row_gives_its_id_to_nobody() -> None:
    ledger, first = opened()
    ledger.close_call(first)
    for _ in range(2):
        ledger.close_call(ledger.open_call(1, "step", INFO, 1))
    kept = [row for row in ledger.rows if row.call_id != "m2"]  # its lines were torn
    again = Ledger("s", PRICES)
    again.restore(kept)
    again.open_call(1, "step", INFO, 1)
    assert [row.call_id for row in again.rows] == ["m1", "m3", "m4"]
    assert again.totals().session_cost.amount == sum(row.cost.amount or 0 for row in again.rows)


def test_the_last_turn_is_still_the_turn_after_a_resume() -> None:
    ledger, call = opened()
    ledger.close_call(call)
    ledger.begin_turn()
    ledger.close_call(ledger.open_call(1, "step", INFO, 7))
    again = Ledger("s", PRICES)
    again.restore([*ledger.rows, replace(ledger.rows[0], call_id="m3")])
    assert again.totals().turn_cost.amount == 7
    assert again.totals().session_cost.amount == 207
    again.begin_turn()
    assert again.totals().turn_cost.amount == 0
