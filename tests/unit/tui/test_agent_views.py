"""The tree, an agent's view, the list and the step view, over the story."""

from __future__ import annotations

import pytest
from textual.content import Content

from reactagent_tui.core.events import Notice
from reactagent_tui.core.messages import AssistantMessage, TextPart, UserMessage
from reactagent_tui.tui.screens.agent_view import AgentScreen
from reactagent_tui.tui.screens.pipeline import PipelineScreen
from reactagent_tui.tui.screens.pipeline_rerun import rerun_command
from reactagent_tui.tui.widgets.agent_tree import AgentTree, TreeRow
from tests.fakes.agent_gallery import Told, busy, show_tree
from tests.fakes.agent_story import SPAWN, Story
from tests.fakes.panel_gallery import Gallery

HOSTILE = "[/] \x1b]0;title\x07 数据 [bold" * 9


def texts(lines: object) -> list[str]:
    assert isinstance(lines, (list, tuple))
    return [line.plain.rstrip() for line in lines if isinstance(line, Content)]


async def test_the_tree_is_there_only_when_it_has_rows() -> None:
    app, told = Gallery(), Told()
    async with app.run_test(size=(120, 40)) as pilot:
        tree = await show_tree(app, told)
        assert not tree.display
        tree.update_rows([TreeRow("r1", "explore", "◐", "$primary", "#4", "0:12", "12.3k", "$0.012")])
        await pilot.pause()
        assert tree.display
        assert tree.size.height == 2
        lines = texts(tree.paint(37, 2))
        assert lines[0].split() == ["Agents", "1"]
        assert lines[1].split() == ["◐", "explore", "#4", "0:12", "12.3k", "$0.012"]
        tree.update_rows([])
        assert not tree.display


async def test_the_cursor_stays_on_its_agent_and_enter_opens_it() -> None:
    opened: list[TreeRow] = []

    class App(Gallery):
        def on_agent_tree_opened(self, message: AgentTree.Opened) -> None:
            opened.append(message.row)

    app = App()
    async with app.run_test(size=(120, 40)) as pilot:
        tree = await show_tree(app, busy())
        tree.focus()
        await pilot.press("down", "down")
        assert tree.focused_row is not None
        assert tree.focused_row.name == "explore"
        tree.update_rows([TreeRow("new", "new", "◐", "$primary"), *tree.rows])
        assert tree.focused_row.name == "explore"
        await pilot.press("enter")
        await pilot.pause()
        assert [row.id for row in opened] == ["run-explore"]
        await pilot.click(AgentTree, offset=(5, 1))
        assert [row.id for row in opened] == ["run-explore", "new"]


@pytest.mark.parametrize("width", [3, 8, 14, 20, 37, 200])
async def test_foreign_names_fit_the_tree(width: int) -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)):
        told = Told(Story().start("r1", HOSTILE, SPAWN.id, HOSTILE))
        tree = await show_tree(app, told)
        lines = tree.paint(width, 5)
        assert all(line.cell_length <= max(width, 16) for line in lines)
        assert "\x1b" not in "".join(line.plain for line in lines)


async def test_an_agents_view_goes_on_where_the_log_is() -> None:
    app, story, told = Gallery(), Story(), busy()
    run = told.agents.runs["run-explore"]
    async with app.run_test(size=(100, 40)) as pilot:
        screen = AgentScreen(run, told.ports)
        await app.push_screen(screen)
        await pilot.pause()
        shown = screen.transcript.export_text()
        assert "find who builds the cart's dates" in shown
        assert "two places" in shown
        told.take(*story.say("run-explore", SPAWN.id, "run-explore-3", "\n\nAnd a last word."))
        told.take(Notice(key="agents.none", run_id="run-explore", parent_run_id="m"))
        screen.transcript.flush()
        assert "And a last word." in screen.transcript.export_text()
        assert "No agents yet" in screen.transcript.export_text()
        head = texts(screen._paint_head(98, 2))
        assert head[0].split()[:3] == ["◐", "explore", "deepseek-chat"]
        await pilot.press("x")
        assert told.stopped == ["run-explore"]
        told.take(*story.end("run-explore", "explore", SPAWN.id, "INTERRUPTED"))
        assert texts(screen._paint_head(98, 2))[1] == "   stopped: stopped"
        await pilot.press("x")
        assert told.stopped == ["run-explore"]  # it is over
        await pilot.press("escape")
        await pilot.pause()
        assert told.ports.watchers == {}


async def test_only_the_open_view_gets_what_an_agent_says() -> None:
    app, story, told = Gallery(), Story(), busy()
    async with app.run_test(size=(100, 40)) as pilot:
        screen = AgentScreen(told.agents.runs["run-explore"], told.ports)
        await app.push_screen(screen)
        await pilot.pause()
        assert list(told.ports.watchers) == ["run-explore"]
        told.take(*story.say("run-retrieval", "spawn-2", "k", "hidden words"))
        screen.transcript.flush()
        assert "hidden words" not in screen.transcript.export_text()
        assert told.agents.runs["run-retrieval"].log.newest_text() == "hidden words"


async def test_search_in_an_agents_view_and_back() -> None:
    app, told = Gallery(), busy()
    async with app.run_test(size=(100, 40)) as pilot:
        screen = AgentScreen(told.agents.runs["run-explore"], told.ports)
        await app.push_screen(screen)
        await pilot.press("ctrl+f", *"today")
        await pilot.pause()
        assert screen.search_bar.is_open
        assert "3" in screen.search_bar.paint(60, 1)[0].plain
        await pilot.press("escape")
        await pilot.pause()
        assert not screen.search_bar.is_open
        assert app.screen is screen
        assert screen.transcript.has_focus


async def test_an_agent_of_an_earlier_program_is_read_from_its_file() -> None:
    app, told = Gallery(), busy()
    run = told.agents.runs["run-tools"]
    run.log.forget()
    told.stored = [UserMessage("list the callers"), AssistantMessage((TextPart("There are four."),))]
    async with app.run_test(size=(100, 30)) as pilot:
        screen = AgentScreen(run, told.ports)
        await app.push_screen(screen)
        await pilot.pause(0.05)
        assert "There are four." in screen.transcript.export_text()


async def test_a_question_that_waits_is_told_in_every_view() -> None:
    app, told = Gallery(), busy()
    told.asking = True
    async with app.run_test(size=(80, 24)) as pilot:
        for screen in (AgentScreen(told.agents.runs["run-explore"], told.ports), told.pipeline_screen()):
            await app.push_screen(screen)
            await pilot.pause()
            assert "a question waits" in screen._paint_keys(80, 1)[0].plain


async def test_the_list_opens_on_top_and_stops() -> None:
    app, told = Gallery(), busy()
    async with app.run_test(size=(120, 30)) as pilot:
        screen = told.agents_screen()
        await app.push_screen(screen)
        await pilot.pause()
        labels = [item.label for item in screen._shown.items]
        assert labels == ["◐ idea-spark", "◐ bottleneck", "◐ retrieval", "◐ explore", "● tools"]
        await pilot.press(*"cart", "delete", "enter")
        await pilot.pause()
        assert told.stopped == ["run-explore"]
        assert [getattr(run, "name", "") for run in told.opened] == ["explore"]
        assert app.screen is screen
        told.take(*Story().end("run-explore", "explore", SPAWN.id))
        screen._refresh()
        assert [item.label for item in screen._shown.items] == ["● explore"]
        assert screen.highlighted is not None
        await pilot.press("delete")
        await pilot.pause()
        assert told.stopped == ["run-explore"]


async def test_an_empty_list_says_what_to_do() -> None:
    app, told = Gallery(), Told()
    async with app.run_test(size=(100, 20)) as pilot:
        screen = told.agents_screen()
        await app.push_screen(screen)
        await pilot.pause()
        assert "spawn_subagent" in screen._paint_list(90, 10)[0].plain


async def test_steps_and_what_they_made() -> None:
    app, told = Gallery(), busy()
    async with app.run_test(size=(140, 30)) as pilot:
        screen = told.pipeline_screen()
        await app.push_screen(screen)
        await pilot.pause()
        rows = texts(screen._paint_list(84, 10))
        assert " ".join(rows[2].split()) == "● 2 read what was found and rank it agent ×2 0:25 18.8k $0.026"
        assert screen.step is told.pipeline.steps[3]
        await pilot.press("r")
        assert not screen.is_asking  # it runs
        await pilot.press("up")
        preview = "\n".join(texts(screen._paint_preview(60, 30)))
        assert '"papers": 24' in preview
        assert "phase1_rank.json" in preview
        await pilot.press("down", "enter")
        await pilot.pause()
        assert isinstance(app.screen, AgentScreen)
        assert app.screen.run.name == "bottleneck"


async def test_the_newest_step_stays_in_sight_until_one_is_chosen() -> None:
    app, story, told = Gallery(), Story(), busy()
    async with app.run_test(size=(140, 30)) as pilot:
        screen = told.pipeline_screen()
        await app.push_screen(screen)
        told.take(story.step_done(3), story.step(4))
        assert screen.step is told.pipeline.steps[4]
        await pilot.press("up")
        told.take(story.step_done(4), story.step(5))
        assert screen.step is told.pipeline.steps[3]


async def test_running_again_shows_the_price_first() -> None:
    app, story, told = Gallery(), Story(), busy()
    told.take(story.step_done(3, "failed"), story.pipeline_end("phase_2_failed", "no JSON"))
    async with app.run_test(size=(140, 30)) as pilot:
        screen = told.pipeline_screen()
        await app.push_screen(screen)
        await pilot.pause()
        assert "phase 2 failed: no JSON" in screen._paint_head(130, 3)[2].plain
        await pilot.press("up", "r")
        assert screen.is_asking
        assert "from step 2: 2 steps, last time $0.066 and 1 m 02 s" in screen._paint_keys(138, 1)[0].plain
        await pilot.press("escape")
        assert (screen.is_asking, told.reruns, app.screen) == (False, [], screen)
        await pilot.press("r", "enter")
        await pilot.pause()
        assert told.reruns == [(told.pipeline.run_dir, 2)]
        assert not isinstance(app.screen, PipelineScreen)


def test_the_command_for_it_survives_blanks() -> None:
    assert rerun_command("skill_run/a b", 3) == "/pipeline rerun 'skill_run/a b' 3"


@pytest.mark.parametrize("size", [(20, 6), (60, 16), (80, 24), (200, 50)])
async def test_everything_fits_and_nothing_breaks(size: tuple[int, int]) -> None:
    app = Gallery()
    told = Told(Story().busy(), "zh")
    async with app.run_test(size=size) as pilot:
        for screen in (
            told.pipeline_screen(),
            told.agents_screen(),
            AgentScreen(told.agents.runs["run-explore"], told.ports),
        ):
            await app.push_screen(screen)
            await pilot.pause()
            assert screen.size.width == size[0]
        pipeline = told.pipeline_screen()
        pipeline.run.query = HOSTILE
        for width in (12, 24, 48, 96):
            lines = [*pipeline._paint_head(width, 3), *pipeline._paint_list(width, 5)]
            assert all(line.cell_length <= max(width, 24) for line in lines), width
            assert "\x1b" not in "".join(line.plain for line in lines)


def test_a_tree_without_focus_has_no_row_for_esc() -> None:
    assert AgentTree(busy().t).focused_row is None
