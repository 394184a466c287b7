"""The checklist on screen: count, glyphs, what shows of a long list, and foreign text taken as it is."""

from __future__ import annotations

from textual.app import App, ComposeResult

from reactagent_tui.core.events import TodoItem
from reactagent_tui.locales import Translator
from reactagent_tui.tui.widgets.todo_panel import MOST_ROWS, TodoLine, TodoPanel

ITEMS = (TodoItem("reproduce", "done"), TodoItem("find the cause", "doing"), TodoItem("fix", "open"))


class Panels(App[None]):
    def compose(self) -> ComposeResult:
        t = Translator("en")
        self.panel, self.line = TodoPanel(t), TodoLine(t)
        yield self.panel
        yield self.line


def rows(widget: TodoPanel | TodoLine, width: int = 38) -> list[str]:
    return [line.plain.rstrip() for line in widget.paint(width, 20)]


async def test_heading_count_and_states() -> None:
    app = Panels()
    async with app.run_test(size=(60, 24)):
        assert not app.panel.display
        app.panel.update_todo(ITEMS)
        assert app.panel.display
        assert rows(app.panel) == ["", f" Todo{'1/3':>32}", " ● reproduce", " ◐ find the cause", " ○ fix"]
        app.panel.update_todo(())
        assert not app.panel.display


async def test_a_long_list_shows_what_is_being_done() -> None:
    app = Panels()
    async with app.run_test(size=(60, 30)):
        states = ["done"] * 20 + ["doing"] + ["open"] * 19
        app.panel.update_todo([TodoItem(f"item {n}", state) for n, state in enumerate(states)])  # type: ignore[arg-type]
        shown = rows(app.panel)[2:]
        assert len(shown) == MOST_ROWS
        assert shown[:2] == [" ● item 19", " ◐ item 20"]
        app.panel.update_todo([TodoItem(f"item {n}", "done") for n in range(40)])
        assert rows(app.panel)[-1] == " ● item 39"


async def test_the_line_stands_in_for_the_sidebar() -> None:
    app = Panels()
    async with app.run_test(size=(60, 24)):
        app.line.update_todo(ITEMS)
        assert not app.line.display
        app.line.show_instead(True)
        assert app.line.display
        (line,) = rows(app.line, 60)
        assert line.split() == ["◐", "find", "the", "cause", "Todo", "1/3"]
        app.line.update_todo((ITEMS[2],))
        assert "○ fix" in rows(app.line)[0]
        app.line.update_todo((ITEMS[0],))
        assert not app.line.display


async def test_foreign_text_is_literal_and_fits() -> None:
    app = Panels()
    async with app.run_test(size=(60, 24)):
        items = (TodoItem("[/b][bold \x1b]0;t\x07 数据" * 9, "doing"),)
        app.panel.update_todo(items)
        app.line.update_todo(items)
        app.line.show_instead(True)
        for width in (12, 20, 38, 120):
            for line in (*app.panel.paint(width, 20), *app.line.paint(width, 1)):
                assert line.cell_length <= width
                assert "\x1b" not in line.plain
        assert "[/b][bold" in rows(app.panel, 80)[2]
