"""Full-screen lists: filter at once, keys in order, preview, result; help and ledger on top of the same."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from textual.screen import Screen

from reactagent_tui.core.display import DisplayBlock, TextBlock
from reactagent_tui.core.money import Money
from reactagent_tui.tui.screens.help import HelpScreen
from reactagent_tui.tui.screens.ledger import LedgerScreen, sorted_lines, total_cost
from reactagent_tui.tui.screens.picker import PickerItem, PickerKey, PickerResult, PickerScreen, matching
from reactagent_tui.tui.widgets.filter_head import Lines
from tests.fakes.panel_gallery import HELP, LEDGER, MODELS, Gallery


def preview(item: PickerItem) -> list[DisplayBlock]:
    return [TextBlock(f"about {item.label}\n" + "\n".join(f"row {n}" for n in range(100)))]


def shown(screen: Screen[object], part: str) -> str:
    lines = screen.query_one(f"#{part}", Lines)
    return "\n".join(line.plain.rstrip() for line in lines.paint(lines.size.width, lines.size.height))


class Results(Gallery):
    """Keeps what a screen dismissed with, and what it posted."""

    def on_picker_screen_action_pressed(self, message: PickerScreen.ActionPressed) -> None:
        self.messages.append((message.item_id, message.action))

    def open(self, screen: PickerScreen) -> PickerScreen:
        self.results: list[PickerResult | None] = []
        self.push_screen(screen, self.results.append)
        return screen


async def test_typing_filters_at_once_and_enter_chooses() -> None:
    app = Results()
    async with app.run_test(size=(120, 30)) as pilot:
        screen = app.open(PickerScreen(app.t, "models", MODELS, preview=preview))
        await pilot.pause()
        assert screen.highlighted == MODELS[0]
        assert "about deepseek-chat" in shown(screen, "picker-preview")
        await pilot.press("d", "e", "x", "backspace", "down", "enter")
        assert app.results == [PickerResult("b")]


async def test_escape_goes_back_with_nothing() -> None:
    app = Results()
    async with app.run_test(size=(120, 30)) as pilot:
        app.open(PickerScreen(app.t, "models", MODELS))
        await pilot.press("z", "z", "enter")
        assert app.results == []
        assert "Nothing matches" in shown(app.screen, "picker-list")
        await pilot.press("escape")
        assert app.results == [None]


async def test_extra_keys_close_with_their_action_or_stay() -> None:
    app = Results()
    async with app.run_test(size=(120, 30)) as pilot:
        keys = (PickerKey("ctrl+x", "delete", "ctrl+x delete"), PickerKey("ctrl+o", "pin", "ctrl+o pin", stays=True))
        screen = app.open(PickerScreen(app.t, "sessions", MODELS, keys=keys))
        await pilot.press("down", "ctrl+o")
        assert "ctrl+x delete" in shown(screen, "picker-keys")
        assert app.messages == [("b", "pin")]
        assert app.results == []
        await pilot.press("ctrl+x")
        assert app.results == [PickerResult("b", "delete")]


async def test_a_long_list_scrolls_with_its_cursor_and_the_preview_by_itself() -> None:
    app = Results()
    items = [PickerItem(str(n), f"item {n}", group=f"group {n // 50}") for n in range(2000)]
    async with app.run_test(size=(100, 20)) as pilot:
        screen = app.open(PickerScreen(app.t, "x", items, preview=preview))
        await pilot.press("ctrl+end")
        assert "item 1999" in shown(screen, "picker-list")
        await pilot.press("ctrl+down", "ctrl+down")
        assert "row 1" in shown(screen, "picker-preview").splitlines()[0]
        await pilot.press("ctrl+home")
        assert shown(screen, "picker-list").splitlines()[:2] == [" group 0", "   item 0"]


async def test_a_click_moves_and_a_double_click_chooses() -> None:
    app = Results()
    async with app.run_test(size=(120, 30)) as pilot:
        screen = app.open(PickerScreen(app.t, "models", MODELS))
        await pilot.pause()
        row = (
            shown(screen, "picker-list")
            .splitlines()
            .index(next(x for x in shown(screen, "picker-list").splitlines() if "reasoner" in x))
        )
        await pilot.click("#picker-list", offset=(5, row))
        assert screen.highlighted == MODELS[1]
        assert app.results == []
        await pilot.click("#picker-list", offset=(5, row), times=2)
        assert app.results == [PickerResult("b")]


async def test_set_items_keeps_the_cursor_on_its_item() -> None:
    app = Results()
    async with app.run_test(size=(120, 30)) as pilot:
        screen = app.open(PickerScreen(app.t, "models", MODELS))
        await pilot.press("down", "down")
        screen.set_items(list(reversed(MODELS)))
        assert screen.highlighted == MODELS[2]


@pytest.mark.parametrize("size", [(20, 6), (60, 16), (200, 50), (1, 1)])
async def test_any_size_and_foreign_text_hold(size: tuple[int, int]) -> None:
    foreign = "[/b] $x {y} \x1b[31m数据"
    items = [PickerItem("a", foreign, foreign, foreign, current=True)]
    app = Results()
    async with app.run_test(size=size) as pilot:
        screen = app.open(PickerScreen(app.t, foreign, items, preview=lambda item: [TextBlock(foreign)]))
        await pilot.press("[", "/")
        await pilot.resize_terminal(120, 30)
        await pilot.pause()
        assert "[/b] $x {y} 数据" in shown(screen, "picker-list")
        assert "[/b] $x {y} 数据" in shown(screen, "picker-preview")
        assert not screen.has_class("-narrow")


def test_the_filter_wants_every_word_and_puts_prefixes_first() -> None:
    items = [PickerItem("1", "old chat"), PickerItem("2", "Chat new"), PickerItem("3", "other", words="CHAT")]
    assert [item.id for item in matching(items, "chat")] == ["2", "1", "3"]
    assert [item.id for item in matching(items, "new chat")] == ["2"]
    assert matching(items, "  ") == items


async def test_help_lists_keys_and_commands_and_enter_does_nothing() -> None:
    app = Gallery()
    async with app.run_test(size=(100, 24)) as pilot:
        await app.push_screen(HelpScreen(app.t, HELP))
        await pilot.press("m", "o", "d", "e", "l", "enter")
        assert isinstance(app.screen, HelpScreen)
        assert "/model  change the model" in shown(app.screen, "picker-list")
        assert "Takes a name or opens a list." in shown(app.screen, "picker-preview")


async def test_the_ledger_pins_totals_that_follow_the_filter_and_sorts() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 30)) as pilot:
        screen = LedgerScreen(app.t, LEDGER)
        await app.push_screen(screen)
        total = shown(screen, "ledger-total")
        assert total.split()[:2] == ["5", "calls"]
        assert "1 without a price" in total
        assert total.endswith("~$0.153")
        await pilot.press("tab")
        assert screen.rows[0].model == "claude-sonnet"
        await pilot.press(*"deepseek")
        assert [row.time for row in screen.rows] == ["14:03:40", "14:03:21"]
        assert shown(screen, "ledger-total").endswith("$0.035")
        await pilot.press("x")
        assert "Nothing matches" in shown(screen, "ledger-table")


@pytest.mark.parametrize("width", [20, 60, 80, 120, 200])
async def test_ledger_columns_fit_and_the_cost_stays(width: int) -> None:
    app = Gallery()
    async with app.run_test(size=(width, 16)) as pilot:
        screen = LedgerScreen(app.t, LEDGER)
        await app.push_screen(screen)
        await pilot.pause()
        table = screen.query_one("#ledger-table", Lines)
        lines = table.paint(width, 10)
        assert all(line.cell_length <= width for line in lines)
        assert "~$0.118" in lines[3].plain
        assert screen.query_one("#ledger-total", Lines).paint(width, 1)[0].plain.rstrip().endswith("~$0.153")


def test_totals_keep_currencies_apart_and_never_invent_a_zero() -> None:
    line = LEDGER[0]
    euro = replace(line, cost=Money(Decimal("1.5"), "reported", "EUR"))
    assert total_cost([line, euro]) == "€1.50 + $0.0042"
    assert total_cost([replace(line, cost=Money(None, "unknown"))]) == "—"
    assert sorted_lines(LEDGER, "time")[0] == LEDGER[-1]
    assert sorted_lines(LEDGER, "model")[0].model == "claude-sonnet"
