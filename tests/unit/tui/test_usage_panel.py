"""Numbers on the right: what is shown, how often it moves, the rate per minute, the budget."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from reactagent_tui.core.events import BudgetReached
from reactagent_tui.core.money import CostTotals, Money
from reactagent_tui.locales import Translator
from reactagent_tui.tui.widgets.usage_panel import UsagePanel, context_style
from tests.fakes.panel_gallery import Gallery, usage_event


def shown(app: Gallery, width: int = 37) -> str:
    return "\n".join(line.plain.rstrip() for line in app.usage.paint(width, 20))


async def test_the_panel_reads_as_drawn() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)) as pilot:
        assert "No tokens used yet." in shown(app)
        app.fill()
        await pilot.pause()
        lines = [line.split() for line in shown(app).splitlines()]
        assert lines[0][0] == "Context"
        assert lines[0][-2:] == ["21", "%"]
        assert lines[1] == ["27.1k", "of", "128k"]
        assert lines[2] == ["In", "41.2k", "cached", "38k"]
        assert lines[3] == ["Out", "1.3k", "thinking", "400"]
        assert lines[5] == ["Turn", "~$0.031", "84", "tok/s"]
        assert lines[6][:2] == ["Session", "$0.184"]
        assert lines[6][2].endswith("/min")
        assert lines[7] == ["Today", "…"]
        assert lines[8][0] == "Budget"
        assert lines[8][-1] == "$2.00"
        assert app.usage.size.height == len(lines) == 10


async def test_every_line_ends_at_the_same_column_in_any_width() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)):
        app.fill()
        for width in (1, 8, 20, 37, 90):
            assert all(line.cell_length <= max(width, 3) for line in app.usage.paint(width, 20)), width


async def test_numbers_move_at_most_ten_times_a_second_and_the_last_one_arrives() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)) as pilot:
        moves = 0
        paint = app.usage.paint

        def counting(width: int, height: int) -> object:
            nonlocal moves
            moves += 1
            return paint(width, height)

        app.usage.update_usage(usage_event(final=False))
        await pilot.pause()
        app.usage.paint = counting  # type: ignore[method-assign]
        for number in range(100):
            app.clock.now += 0.0005
            app.usage.update_usage(usage_event(cost=f"0.{200 + number}", final=False))
        assert moves == 0
        app.clock.now += 0.1
        app.usage.tick(app.clock.now)
        assert moves > 0
        assert "$0.299" in shown(app)
        app.usage.update_usage(usage_event(cost="0.5", final=True))
        assert "$0.500" in shown(app)


async def test_burn_rate_is_over_the_last_five_minutes() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)):
        app.usage.update_usage(usage_event(cost="0"))
        assert app.usage.burn_rate(app.clock.now) is None
        app.clock.now += 60
        app.usage.update_usage(usage_event(cost="0.06"))
        assert app.usage.burn_rate(app.clock.now) == Decimal("0.06")
        app.clock.now += 400
        app.usage.update_usage(usage_event(cost="0.06"))
        rate = app.usage.burn_rate(app.clock.now)
        assert rate is None or rate == 0


async def test_local_and_unknown_costs_are_words_not_zero() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)):
        free, unknown = Money(Decimal(0), "free"), Money(None, "unknown")
        totals = CostTotals(turn_cost=unknown, session_cost=free, calls=2)
        app.usage.update_usage(replace(usage_event(), totals=totals, call_cost=unknown, context_size=0))
        lines = shown(app).splitlines()
        assert lines[5].split()[:2] == ["Turn", "—"]
        assert lines[6].split()[:2] == ["Session", "local"]
        assert "$0.00" not in shown(app)


async def test_the_budget_bar_follows_the_session_and_hides_without_a_limit() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)):
        app.usage.update_usage(usage_event(cost="1.5"))
        assert "Budget" not in shown(app)
        app.usage.update_budget(
            BudgetReached(scope="session", limit=Decimal(2), spent=Money(Decimal("1.6"), "reported"), share=0.8)
        )
        line = next(line for line in shown(app).splitlines() if "Budget" in line)
        assert line.count("▓") / (line.count("▓") + line.count("░")) == pytest.approx(0.75, abs=0.05)
        app.usage.set_budget(None)
        assert "Budget" not in shown(app)


@pytest.mark.parametrize(
    ("share", "style"),
    [(0.0, ""), (0.69, ""), (0.70, "$warning"), (0.89, "$warning"), (0.90, "$error"), (1.4, "$error")],
)
def test_context_colours(share: float, style: str) -> None:
    assert context_style(share) == style


async def test_today_is_a_third_line_once_it_is_known() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)) as pilot:
        app.fill()
        assert shown(app).splitlines()[7].split() == ["Today", "…"]
        height = len(app.usage.paint(37, 20))
        event = usage_event()
        told = replace(event.totals, today_cost=Money(Decimal("1.5"), "estimated"))
        app.usage.update_usage(replace(event, totals=told))
        assert shown(app).splitlines()[7].split() == ["Today", "~$1.50"]
        app.usage.update_usage(event)  # an event that does not know it leaves it as it is
        assert shown(app).splitlines()[7].split() == ["Today", "~$1.50"]
        app.usage.update_today(Money(None, "unknown"), (Money(Decimal(3), "reported", "CNY"),))
        assert shown(app).splitlines()[7].split() == ["Today", "—", "+", "¥3.00"]
        await pilot.pause()
        assert app.usage.size.height == len(app.usage.paint(37, 20)) == height
        app.usage.show_totals(CostTotals(), 0, 1000)
        assert "Today" in shown(app)


def test_a_plan_is_shown_beside_what_was_spent() -> None:
    panel = UsagePanel(Translator("en"))
    covered = (Money(Decimal("0.12"), "notional"),)
    totals = CostTotals(calls=2, turn_notional=covered, session_notional=covered)
    panel.show_totals(totals, 100, 1000)
    lines = [line.plain for line in panel.paint(37, 8)]
    assert sum("≈$0.120 plan" in line for line in lines) == 2
    assert not any("$0 " in line or "local" in line for line in lines)
    panel.show_totals(replace(totals, session_cost=Money(Decimal("0.3"), "reported")), 100, 1000)
    assert any("$0.300" in line.plain and "+ ≈$0.120 plan" in line.plain for line in panel.paint(37, 8))
