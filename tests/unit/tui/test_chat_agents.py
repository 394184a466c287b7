"""Agents and pipelines on the chat screen: rows, tree, status line, ESC, their views, other sessions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reactagent_tui.core.events import AgentEvent, QuestionAsked, RunEnded, RunStarted, SessionChanged, UsageUpdated
from reactagent_tui.core.messages import AssistantMessage, TextPart, ToolResult, UserMessage, message_to_record
from reactagent_tui.core.money import NOTHING_SPENT, CostTotals, Money
from reactagent_tui.core.reporter import ApprovalQuestion
from reactagent_tui.core.sessions.records import Record, encode
from reactagent_tui.core.usage import Usage
from reactagent_tui.tui.screens.agent_view import AgentScreen
from reactagent_tui.tui.screens.agents import AgentsScreen
from reactagent_tui.tui.screens.pipeline import PipelineScreen
from tests.fakes.agent_story import MAIN, SPARK, SPAWN, SPAWN_2, Story
from tests.fakes.chat_kit import ChatKit, chat_app
from tests.fakes.panel_gallery import usage_event


def feed(kit: ChatKit, events: Iterable[AgentEvent]) -> None:
    """As if the agent's thread had said it, all in one batch."""
    for event in events:
        kit.app.bridge.events.append(event)
    kit.chat.drain()


def note(kit: ChatKit, call_id: str) -> tuple[str, str]:
    item = kit.chat.transcript._story.tool_item(call_id)
    assert item is not None
    return item.note


def main_ended(session: str) -> RunEnded:
    return RunEnded(
        reason="ANSWER",
        answer="",
        usage=Usage(),
        cost=NOTHING_SPENT,
        steps=1,
        seconds=1.0,
        session_id=session,
        run_id=MAIN,
    )


async def catch_stops(kit: ChatKit) -> list[str]:
    """A session that can stop agents."""
    stopped: list[str] = []

    async def install(agent: Any) -> None:
        agent.session.stop_agent = stopped.append

    await kit.app.bridge.query(install)
    return stopped


async def test_rows_tree_and_status_follow(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        story = Story(kit.chat.session_id)
        feed(kit, story.busy())
        assert note(kit, SPAWN.id)[0].startswith("explore · step 3 · shell git log")
        assert note(kit, SPARK.id)[0] == "step 3 · 找出瓶颈 (find the bottleneck)"
        assert [row.name for row in kit.chat.agent_tree.rows][:3] == ["idea-spark", "bottleneck", "explore"]
        assert kit.chat.agent_tree.display
        assert "3 agents" in kit.chat.status.paint(120, 1)[0].plain
        assert "two places" not in kit.text  # its text is not the conversation's
        feed(kit, story.end("run-explore", "explore", SPAWN.id))
        assert note(kit, SPAWN.id) == ("explore · done", "7 steps · 48 s · 31.2k tokens · $0.042")
        feed(kit, [main_ended(kit.chat.session_id)])
        assert note(kit, SPAWN_2.id)[0] == "retrieval · stopped"
        assert note(kit, SPARK.id)[0] == "stopped; it can go on where it was"
        feed(kit, [RunStarted(prompt=UserMessage("next"), model="m", session_id=kit.chat.session_id, run_id="r2")])
        assert not kit.chat.agent_tree.display


async def test_deltas_alone_draw_nothing(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        story = Story(kit.chat.session_id)
        feed(kit, story.busy())
        board = kit.chat.boards
        assert board is not None
        drawn: list[int] = []
        board.refresh = lambda: drawn.append(1)  # type: ignore[method-assign]
        streams = [story.say(run, "c", "k", "word " * 200) for run in ("run-explore", "run-retrieval")]
        feed(kit, [event for pair in zip(*streams, strict=True) for event in pair])
        assert drawn == []
        pieces = board.agents.runs["run-retrieval"].log.arriving[-1][1]
        assert "".join(pieces) == "word " * 200


async def test_esc_on_an_agent_stops_that_one(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        stopped = await catch_stops(kit)
        feed(kit, Story(kit.chat.session_id).busy())
        assert kit.app.esc_gate.esc_target == "RUN"
        kit.chat.agent_tree.focus()
        await kit.pilot.press("down", "down")
        await kit.until(lambda: kit.app.esc_gate.esc_target == "SCREEN")
        await kit.pilot.press("escape")
        await kit.until(lambda: stopped == ["run-explore"])
        assert kit.chat.running
        await kit.pilot.press("up", "up")  # a pipeline is no agent: ESC stops the run
        await kit.until(lambda: kit.app.esc_gate.esc_target == "RUN")


async def test_enter_on_a_row_opens_its_view_and_esc_goes_back(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        feed(kit, Story(kit.chat.session_id).busy())
        transcript = kit.chat.transcript
        transcript.focus()
        assert transcript.focus_call(SPAWN.id)
        await kit.pilot.press("enter")
        await kit.until(lambda: isinstance(kit.app.screen, AgentScreen))
        screen = kit.app.screen
        assert isinstance(screen, AgentScreen)
        assert screen.run.name == "explore"
        assert "two places" in screen.transcript.export_text()
        await kit.pilot.press("escape")
        await kit.until(lambda: kit.app.screen is kit.chat)
        assert kit.chat.running  # going back stopped nothing
        assert transcript.focus_call(SPARK.id)
        await kit.pilot.press("enter")
        await kit.until(lambda: isinstance(kit.app.screen, PipelineScreen))


async def test_the_key_and_the_command_open_the_list(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        await kit.pilot.press("f8")
        await kit.until(lambda: isinstance(kit.app.screen, AgentsScreen))
        await kit.pilot.press("escape")
        await kit.until(lambda: kit.app.screen is kit.chat)
        await kit.send("/agents")
        await kit.until(lambda: isinstance(kit.app.screen, AgentsScreen))


async def test_a_tree_row_opens_as_well(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        feed(kit, Story(kit.chat.session_id).busy())
        kit.chat.agent_tree.focus()
        await kit.pilot.press("enter")
        await kit.until(lambda: isinstance(kit.app.screen, PipelineScreen))
        await kit.pilot.press("enter")
        await kit.until(lambda: isinstance(kit.app.screen, AgentScreen))
        await kit.pilot.press("escape", "escape")
        await kit.until(lambda: kit.app.screen is kit.chat)


async def test_the_dock_names_the_agent_that_asks(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        feed(kit, Story(kit.chat.session_id).busy())
        question = ApprovalQuestion(
            tool="edit_file", subject="a.py", blocks=(), reason="asks.writes", agent="explore-2"
        )
        asked = QuestionAsked(
            question_id="q", question=question, session_id=kit.chat.session_id, run_id="run-explore", parent_run_id=MAIN
        )
        feed(kit, [asked])
        assert kit.chat.dock.is_open
        assert any("explore-2" in line.plain for line in kit.chat.dock.paint(100, 10))


async def test_what_an_agent_spends_moves_the_sums_not_the_window(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        session = kit.chat.session_id
        feed(kit, Story(session).main())
        feed(kit, [usage_event(1)])
        shown = kit.chat.usage
        assert shown is not None
        more = Usage(input=400_000, output=2_000)
        totals = CostTotals(session_usage=more, session_cost=Money(None, "unknown"), calls=9)
        spent = UsageUpdated(
            call_usage=Usage(),
            call_cost=NOTHING_SPENT,
            totals=totals,
            context_used=1,
            context_size=2,
            context_assumed=True,
            session_id=session,
            run_id="run-explore",
            parent_run_id=MAIN,
        )
        feed(kit, [spent])
        assert kit.chat.usage is not None
        assert kit.chat.usage.totals.session_usage == more
        assert (kit.chat.usage.context_used, kit.chat.usage.context_size) == (shown.context_used, shown.context_size)


async def test_another_sessions_agents_are_kept_and_shown_when_it_comes_back(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        feed(kit, Story("elsewhere").busy())
        assert not kit.chat.agent_tree.display
        assert "test_cart" not in kit.text
        history = tuple(event.message for event in Story().main() if hasattr(event, "message"))
        came = SessionChanged(
            title="t", workdir=str(clean_place), messages=history, model="m", mode="ask", totals=CostTotals()
        )
        feed(kit, [SessionChanged(**{**_fields(came), "session_id": "elsewhere"})])
        assert kit.chat.agent_tree.display
        assert note(kit, SPAWN.id)[0].startswith("explore · step 3")


def _fields(event: SessionChanged) -> dict[str, Any]:
    names = ("title", "workdir", "messages", "model", "mode", "totals")
    return {name: getattr(event, name) for name in names}


async def test_agents_of_a_resumed_session_come_from_their_files(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:

        async def folder(agent: Any) -> Path:
            return agent.session.file.folder

        place = await kit.app.bridge.query(folder) / "agents"
        place.mkdir(parents=True)
        said = [UserMessage("find it"), AssistantMessage((TextPart("There it is."),))]
        head = Record("header", 1, "", {"header": {"title": "explore", "parent": MAIN, "parent_call_id": SPAWN.id}})
        lines = [encode(Record("message", n, "", {"message": message_to_record(m)})) for n, m in enumerate(said, 2)]
        (place / "old-run.jsonl").write_bytes(b"".join([encode(head), *lines, b'{"torn']))
        call_message = AssistantMessage((SPAWN,))
        result = ToolResult(SPAWN.id, "spawn_subagent", "done", (), False, "done", "done", 3.0)
        came = SessionChanged(
            title="t",
            workdir=str(clean_place),
            messages=(UserMessage("go"), call_message, result),
            model="m",
            mode="ask",
            totals=CostTotals(),
            session_id=kit.chat.session_id,
        )
        feed(kit, [came])
        await kit.until(lambda: any(note(kit, SPAWN.id)))
        assert note(kit, SPAWN.id) == ("explore · done", "")
        assert not kit.chat.agent_tree.display
        kit.chat.transcript.focus()
        assert kit.chat.transcript.focus_call(SPAWN.id)
        await kit.pilot.press("enter")
        await kit.until(lambda: isinstance(kit.app.screen, AgentScreen))
        screen = kit.app.screen
        assert isinstance(screen, AgentScreen)
        await kit.until(lambda: "There it is." in screen.transcript.export_text())
