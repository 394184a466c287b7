"""The tool list: order, bound, timers, selection by key and click."""

from __future__ import annotations

from reactagent_tui.tui.widgets.tool_sidebar import MOST_ENTRIES
from tests.fakes.panel_gallery import Gallery, call


def lines_of(app: Gallery, width: int = 36, height: int = 20) -> list[str]:
    return [line.plain.rstrip() for line in app.tools.paint(width, height)]


async def test_running_calls_are_on_top_and_the_newest_first() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)):
        calls = [call(number, "read_file", path=f"f{number}") for number in range(5)]
        for item in calls:
            app.tools.tool_started(item)
        for index in (0, 3, 4):
            app.tools.tool_finished(calls[index], status="done", seconds=1.0)
        assert app.tools.shown() == ["t2", "t1", "t4", "t3", "t0"]


async def test_rows_tell_state_name_argument_and_time() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)):
        shell = call(1, "run_shell_command", command="pytest -q")
        app.tools.tool_started(shell, waiting=True)
        assert lines_of(app)[1].split() == ["○", "shell", "pytest", "-q"]
        app.clock.now += 30
        app.tools.tool_started(shell)
        app.clock.now += 3.2
        app.tools.tick(app.clock.now)
        assert lines_of(app)[1].split() == ["◐", "shell", "pytest", "-q", "3.2", "s"]
        assert app.tools.is_running
        app.tools.tool_finished(shell, status="failed", seconds=4.0)
        assert lines_of(app)[1].split() == ["✕", "shell", "pytest", "-q", "4.0", "s"]
        app.tools.tool_finished(call(2, "edit_file", path="a.py"), status="denied", seconds=0.0)
        assert lines_of(app)[1].split() == ["⊘", "edit", "a.py"]
        assert not app.tools.is_running


async def test_foreign_names_are_literal_and_every_row_fits() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)):
        app.tools.tool_started(call(1, "mcp__[/b]__[bold", query="[/] \x1b]0;title\x07 数据" * 9))
        for width in (1, 5, 20, 36, 120):
            assert all(line.cell_length <= max(width, 3) for line in app.tools.paint(width, 10)), width
        assert "[/b]" in lines_of(app, 80)[1]
        assert "\x1b" not in "".join(lines_of(app, 200))


async def test_the_list_is_bounded_and_keeps_what_runs() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)):
        app.tools.tool_started(call(-1, "read_file", path="first"))
        for number in range(MOST_ENTRIES + 50):
            app.tools.tool_finished(call(number, "read_file", path="f"), status="done", seconds=0.0)
        assert len(app.tools.shown()) == MOST_ENTRIES
        assert app.tools.shown()[0] == "t-1"
        app.tools.clear()
        assert "/skills" in " ".join(lines_of(app))


async def test_enter_and_click_select_a_call() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)) as pilot:
        for number in range(60):
            app.tools.tool_finished(call(number, "read_file", path=f"f{number}"), status="done", seconds=0.0)
        app.tools.focus()
        await pilot.press("down", "down", "enter")
        await pilot.click(app.tools, offset=(5, 1))
        await pilot.press("end", "enter")
        assert app.messages == ["t57", "t59", "t0"]
        assert "f0" in lines_of(app, 36, app.tools.size.height)[-1]
