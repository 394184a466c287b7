"""Header, queue and status line: every state, what goes first when it is narrow, nothing sent while idle."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial

import pytest

from reactagent_tui.core.events import QueuedMessage
from reactagent_tui.core.money import CostTotals, Money
from reactagent_tui.locales import Translator
from reactagent_tui.tui.widgets.line_layout import bar, cut, cut_left, sparkline
from reactagent_tui.tui.widgets.status_bar import (
    Activity,
    Idle,
    NextCall,
    Retrying,
    Running,
    StatusBar,
    Stopping,
    WaitingForServer,
    WaitingForUser,
)
from tests.fakes.panel_gallery import Gallery, usage_event

NOW = 1000.0


def line(bar_: StatusBar, width: int = 118) -> str:
    return bar_.paint(width, 1)[0].plain.rstrip()


@pytest.mark.parametrize(
    ("activity", "text"),
    [
        (Idle(), "enter send · @ file · / command"),
        (Running(4, NOW - 12), "step 4 · 12 s · esc stop · ctrl+s pause"),
        (Running(4, NOW - 12, pausing=True), "pauses after step 4 · 12 s · esc stop · ctrl+s go on"),
        (Stopping(NOW - 1), "stopping · 1.0 s"),
        (WaitingForUser(NOW - 5), "○ needs your answer · 5.0 s · esc no and stop"),
        (Retrying(2, 5, NOW + 8, "429 [/]"), "retry 2 of 5 in 8.0 s · 429 [/] · esc stop"),
        (WaitingForServer("queued", NOW - 3), "in the server's queue · 3.0 s · esc stop"),
        (WaitingForServer("prefill", NOW - 3, 0.5), "reading the prompt · ▓▓▓▓▓░░░░░ 50 % · 3.0 s"),
        (WaitingForServer("loading", NOW - 3), "loading the model · 3.0 s · esc stop"),
        (WaitingForServer("stalled", NOW - 45), "no data from the server · 45 s · esc stop"),
        (WaitingForServer("paced", NOW - 3, until=NOW + 12), "keeping your rate limit · goes on in 12 s · esc stop"),
        (WaitingForServer("paced", NOW - 3), "waiting for another call to end · 3.0 s · esc stop"),
    ],
)
def test_every_state_says_what_happens_and_which_key_helps(activity: Activity, text: str) -> None:
    status = StatusBar(Translator("en"), clock=lambda: NOW)
    status.show_activity(activity)
    assert text in line(status)
    assert line(status).endswith("? help")
    assert status.needs_tick is not isinstance(activity, Idle)
    for width in range(1, 120):
        assert status.paint(width, 1)[0].cell_length <= max(width, 1)


async def test_price_tag_and_narrow_form() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)):
        app.fill()
        assert line(app.status).endswith("next ≈ 28k in (25k cached) $0.0090   ? help")
        app.status.show_usage(True)
        assert line(app.status, 80).startswith(" ◐ step 4 · 15 s · esc stop")
        assert line(app.status, 58).endswith("↑41.2k ⟳38k ↓1.3k $0.184 ctx 21 %")
        assert "15 s" in line(app.status, 20)
        assert "ctx" not in line(app.status, 18)


async def test_the_narrow_form_has_a_word_where_nothing_is_paid() -> None:
    app = Gallery()
    async with app.run_test(size=(80, 24)):
        app.fill()
        app.status.show_usage(True)
        totals = CostTotals(turn_cost=Money(Decimal(0), "free"), session_cost=Money(Decimal(0), "free"), calls=2)
        app.status.update_usage(replace(usage_event(), totals=totals))
        assert " local ctx 21 %" in line(app.status, 80)
        assert "$0" not in line(app.status, 80)
        app.status.update_usage(replace(usage_event(), totals=replace(totals, calls=0)))
        assert " $0 ctx 21 %" in line(app.status, 80), "nothing was asked yet"


def test_a_tag_without_a_price_names_no_money_and_a_plan_is_marked() -> None:
    status = StatusBar(Translator("en"), clock=lambda: NOW)
    for cost, text in (
        (Money(None, "unknown"), "next ≈ 41.2k in   ? help"),
        (Money(Decimal(0), "free"), "next ≈ 41.2k in   ? help"),
        (Money(Decimal("0.02"), "estimated"), "next ≈ 41.2k in $0.020   ? help"),
        (Money(Decimal("0.02"), "notional"), "next ≈ 41.2k in $0.020 plan   ? help"),
    ):
        status.set_next(NextCall(41_200, 0, cost))
        assert line(status).endswith(text)
        assert "next" not in line(status, 20)


async def test_beside_the_figures_of_a_narrow_screen_the_tag_takes_room_from_the_hints() -> None:
    app = Gallery()
    async with app.run_test(size=(80, 24)):
        app.fill()
        app.status.show_usage(True)
        app.status.show_activity(Idle())
        app.status.set_next(NextCall(41_200, 38_000, Money(Decimal("0.02"), "estimated")))
        assert line(app.status, 80).startswith(" enter send  ↑")
        assert line(app.status, 80).endswith("next ≈ 41.2k in $0.020")
        assert line(app.status, 120).endswith("next ≈ 41.2k in (38k cached) $0.020   ? help")
        assert "next" not in line(app.status, 60)


def test_hints_go_first_then_times_never_the_state() -> None:
    status = StatusBar(Translator("en"), clock=lambda: NOW)
    status.show_activity(WaitingForUser(NOW - 5))
    assert line(status, 34) == " ○ needs your answer · 5.0 s"
    assert line(status, 24) == " ○ needs your answer"


def test_the_spinner_turns_and_stands_still_with_reduced_motion() -> None:
    for reduced, glyphs in ((False, 4), (True, 1)):
        status = StatusBar(Translator("en"), clock=lambda: NOW, reduced_motion=reduced)
        status.show_activity(Running(1, NOW))
        seen = set()
        for quarter in range(8):
            status.tick(NOW + quarter / 4)
            seen.add(line(status)[1])
        assert len(seen) == glyphs


async def test_a_flash_is_gone_after_its_time() -> None:
    app = Gallery()
    async with app.run_test(size=(80, 24)):
        app.status.flash("press ctrl+c again to quit [/]\x1b[31m", 2)
        assert line(app.status) == " press ctrl+c again to quit [/]"
        assert app.status.needs_tick
        app.status.tick(app.clock.now + 1.9)
        assert "ctrl+c" in line(app.status)
        app.status.tick(app.clock.now + 2)
        assert "ctrl+c" not in line(app.status)
        assert not app.status.needs_tick


async def test_a_tick_that_changes_nothing_sends_nothing() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)) as pilot:
        app.fill()
        app.status.show_activity(Idle())
        await pilot.pause()
        refreshed: list[str] = []
        for widget in (app.status, app.usage, app.tools, app.header, app.queue):
            note = partial(refreshed.append, type(widget).__name__)
            widget.refresh = lambda *_, note=note, **__: note()  # type: ignore[method-assign]
        app.status.tick(app.clock.now + 1)
        app.usage.tick(app.clock.now + 1)
        app.header.set_title("fix the flaky test")
        assert refreshed == []
        app.tools.tick(app.clock.now + 1)
        assert refreshed == ["ToolSidebar"]


async def test_the_header_drops_the_branch_then_the_folder() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)):
        app.fill()
        assert app.header.paint(100, 1)[0].plain.rstrip().endswith("deepseek-chat · ~/src/shop · main ±2")
        assert app.header.paint(50, 1)[0].plain.rstrip().endswith("deepseek-chat · ~/src/shop")
        assert app.header.paint(40, 1)[0].plain.rstrip().endswith("deepseek-chat")
        app.header.set_title("[/b] 数据\nsecond")
        for width in range(1, 80):
            assert app.header.paint(width, 1)[0].cell_length <= max(width, 2)
        assert "[/b] 数据" in app.header.paint(100, 1)[0].plain
        assert "second" not in app.header.paint(100, 1)[0].plain


async def test_the_queue_shows_the_newest_three_lines_and_hides_empty() -> None:
    app = Gallery()
    async with app.run_test(size=(80, 24)) as pilot:
        assert not app.queue.display
        items = [QueuedMessage(str(n), f"text [/{n}]\nmore", "steer" if n % 2 else "follow_up") for n in range(5)]
        app.queue.update_queue(items[:2])
        await pilot.pause()
        assert app.queue.size.height == 2
        app.queue.update_queue(items)
        await pilot.pause()
        shown = [line_.plain.split() for line_ in app.queue.paint(78, 3)]
        assert shown == [
            ["3", "more"],
            ["next", "text", "[/3]", "more"],
            ["queued", "text", "[/4]", "more", "↑", "edit"],
        ]
        app.queue.update_queue(())
        assert not app.queue.display


async def test_the_whole_main_screen_is_a_handful_of_widgets_and_follows_a_resize() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)) as pilot:
        app.fill()
        assert len(list(app.screen.walk_children())) < 20
        for size in ((20, 6), (60, 16), (200, 50), (1, 1), (99, 30), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        app.status.update_usage(usage_event(9))
        assert app.usage.size.width == 37


def test_cuts_count_cells() -> None:
    assert [cut("数据数据", 5), cut("abc", 3), cut("abcd", 3), cut("a", 0), cut("abc", 1)] == [
        "数据…",
        "abc",
        "ab…",
        "",
        "…",
    ]
    assert [cut_left("~/src/shop", 6), cut_left("数据数据", 4), cut_left("ab", 0)] == ["…/shop", "…据", ""]


def test_bars_and_sparklines() -> None:
    assert [bar(0, 4), bar(0.01, 4), bar(0.5, 4), bar(3, 4)] == [("", "░░░░"), ("▓", "░░░"), ("▓▓", "░░"), ("▓▓▓▓", "")]
    assert sparkline([0, 1, 2, 4, 8], 4) == "▂▃▅█"
    assert sparkline([0, 0], 4) == "▁▁"
    assert sparkline([], 4) == ""
