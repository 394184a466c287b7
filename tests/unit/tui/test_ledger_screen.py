"""The ledger's views: groups that a key goes through, sums that stay, money that is never cut, a file that is told."""

from __future__ import annotations

import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from rich.cells import cell_len

from reactagent_tui.core.money import Money
from reactagent_tui.tui.screens.ledger import LedgerScreen
from reactagent_tui.tui.screens.ledger_table import VIEWS
from tests.fakes.chat_kit import chat_app
from tests.fakes.panel_gallery import LEDGER, Gallery

YUAN = replace(LEDGER[0], model="qwen-max", cost=Money(Decimal("3.2"), "reported", "CNY"))


def painted(screen: LedgerScreen, width: int = 118) -> list[str]:
    lines = [*screen._paint_head(width, 1), *screen._paint_table(width, 20)]
    return [line.plain for line in (*lines, *screen._paint_total(width, 1), *screen._paint_keys(width, 1))]


async def test_shift_tab_goes_through_the_groups_and_tab_still_sorts() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 30)) as pilot:
        screen = LedgerScreen(app.t, LEDGER)
        await app.push_screen(screen)
        titles = []
        for _ in VIEWS:
            titles.append(painted(screen)[0].split(" >")[0].strip())
            await pilot.press("shift+tab")
        assert titles == ["ledger", "ledger · by model", "ledger · by agent", "ledger · by cause"]
        await pilot.press("shift+tab")
        lines = [line.split() for line in painted(screen)]
        assert lines[1] == ["model", "calls", "in", "cached", "out", "cost", "reported", "estimated", "no", "price"]
        assert [group.name for group in screen.groups] == [
            "qwen-local",
            "house-model",
            "claude-sonnet",
            "deepseek-chat",
        ]
        await pilot.press("tab")
        assert [group.name for group in screen.groups][:2] == ["claude-sonnet", "deepseek-chat"]
        assert painted(screen)[2].split()[:7] == ["claude-sonnet", "1", "8.1k", "0", "900", "~$0.118", "~$0.118"]
        await pilot.press("tab")
        assert [group.name for group in screen.groups] == sorted(group.name for group in screen.groups)
        total = painted(screen)[-2].split()
        assert total == ["5", "calls", "88.8k", "25k", "3.3k", "~$0.153", "$0.035", "~$0.118", "1"]
        await pilot.press(*"claude")
        assert [group.name for group in screen.groups] == ["claude-sonnet"]
        assert painted(screen)[-2].split()[:2] == ["1", "call"]


async def test_money_in_two_currencies_is_never_cut_and_bars_do_not_compare_them() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 30)) as pilot:
        screen = LedgerScreen(app.t, [*LEDGER, YUAN])
        await app.push_screen(screen)
        for _ in VIEWS:
            for width in (120, 80, 60):
                lines = painted(screen, width)
                assert "~¥3.20 + $0.153" in lines[-2]
                assert all(cell_len(line) <= width for line in lines)
            bars = [line.count("━") for line in painted(screen, 160) if "¥" in line and "$" not in line]
            assert set(bars) <= {0}
            await pilot.press("shift+tab")


async def test_the_file_is_written_by_a_key_and_told(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        await kit.turn("what is 1+2?")
        await kit.pilot.press("f4")
        await kit.until(lambda: isinstance(kit.app.screen, LedgerScreen))
        screen = kit.app.screen
        assert isinstance(screen, LedgerScreen)
        await kit.pilot.press("ctrl+s")
        await kit.until(lambda: ".csv" in painted(screen, 300)[-1])
        file = next(name for name in os.listdir(clean_place) if name.startswith("reactagent-cost-"))
        assert str(clean_place / file) in painted(screen, 300)[-1]
        rows = len(screen.rows)
        await kit.pilot.press("down")
        assert ".csv" not in painted(screen, 300)[-1]
    assert len((clean_place / file).read_text().splitlines()) == rows + 1
