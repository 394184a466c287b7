"""Sub-agents that are programs of their own, spoken to in the Agent Client Protocol."""

from __future__ import annotations

import asyncio
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from acp.client.connection import ClientSideConnection

from reactagent_tui.core.config.schema import AgentSettings
from reactagent_tui.core.events import TextDelta, ThinkingDelta, ToolFinished, ToolStarted
from reactagent_tui.core.reporter import Answer, ApprovalQuestion
from reactagent_tui.core.safety.permissions import Mode
from reactagent_tui.core.tools.builtin import builtin_tools
from reactagent_tui.core.tools.process import running_children
from tests.fakes import acp_agent
from tests.fakes.program import wait_gone
from tests.unit.agents.kit import Played, done, play
from tests.unit.agents.test_agents import spawn


def with_program(
    place: Path,
    *lines: str,
    mode: Mode = "auto",
    answer: str = "deny",
    command: tuple[str, ...] | None = None,
    **more: Any,
) -> Played:
    """A session whose main agent gives these lines to the program."""
    argv = command or (sys.executable, acp_agent.__file__)
    settings = AgentSettings.model_validate({"external": {"other": {"command": argv, "env": {"EXTRA": "more"}}}})
    task = {"task": "\n".join(lines), "role": "other"} | more
    return play(
        place,
        {"main task": [spawn(task), done()]},
        *builtin_tools(),
        mode=mode,
        settings=settings,
        answer=lambda _question: Answer(answer),  # type: ignore[arg-type]
    )


async def test_its_words_become_events_and_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_API_KEY", "sk-planted-key")
    played = with_program(tmp_path, "think hm", "tool Looking around", "say half ", "say whole", "where")
    await played.turn()
    (result,) = played.results
    assert result.text.startswith("half whole")
    assert f"{played.live.workdir} more None" in result.text
    own = [event for event in played.reporter.events if event.run_id == played.started[0].run_id]
    assert [event.text for event in own if isinstance(event, ThinkingDelta)] == ["hm"]
    assert "".join(event.text for event in own if isinstance(event, TextDelta)).startswith("half whole")
    assert [type(event) for event in own if isinstance(event, (ToolStarted, ToolFinished))] == [
        ToolStarted,
        ToolFinished,
    ]
    assert played.started[0].model == "other"
    assert not running_children()


async def test_unknown_money_is_unknown_and_told_money_counts(tmp_path: Path) -> None:
    unknown = with_program(tmp_path, "say x")
    await unknown.turn()
    assert unknown.finished[0].cost.state == "unknown"
    assert unknown.finished[0].cost.amount is None
    told = with_program(tmp_path, "say x", "costs 0.25")
    await told.turn()
    assert told.finished[0].cost.amount == Decimal("0.25")
    assert told.finished[0].usage.total == 70
    (row,) = [row for row in told.live.ledger.rows if row.agent]
    assert (row.provider, row.model, row.agent) == ("acp", "other", ("other",))


async def test_its_cap_stops_it(tmp_path: Path) -> None:
    played = with_program(tmp_path, "say so far", "costs 0.25", "costs 0.75", "hang", max_usd=0.5)
    async with asyncio.timeout(60):
        await played.turn()
    (finished,) = played.finished
    assert finished.reason == "BUDGET"
    assert finished.cost.amount == Decimal("0.75")
    assert "limit of money" in played.results[0].text
    assert "so far" in played.results[0].text
    assert not running_children()


async def test_files_go_through_us_and_only_inside(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    played = with_program(tmp_path, "read in.txt", "write out.txt new text", f"read {outside}", f"write {outside} x")
    (played.live.workdir / "in.txt").write_text("inside")
    result = await played.turn()
    assert (played.live.workdir / "out.txt").read_text() == "new text"
    lines = played.results[0].text.splitlines()
    assert lines[:2] == ["inside", "done"]
    assert all("outside the workspace" in line for line in lines[2:4])
    assert outside.read_text() == "secret"
    assert [Path(path).name for path in (*result.files_created, *result.files_changed)] == ["out.txt"]


@pytest.mark.parametrize(
    ("mode", "answer", "gets", "asked"),
    [("ask", "once", "yes", 1), ("ask", "deny", "no", 1), ("auto", "deny", "yes", 0), ("plan", "once", "no", 0)],
)
async def test_what_it_asks_goes_to_the_user_under_its_name(
    tmp_path: Path, mode: Mode, answer: str, gets: str, asked: int
) -> None:
    played = with_program(tmp_path, "may rm -rf build", mode=mode, answer=answer)
    await played.turn()
    assert played.results[0].text.strip() == gets
    questions = [question for question in played.reporter.questions if isinstance(question, ApprovalQuestion)]
    assert len(questions) == asked
    assert all((q.agent, q.subject) == ("other", "rm -rf build") for q in questions)


async def test_a_stop_ends_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    cancel = ClientSideConnection.cancel

    async def tell(self: ClientSideConnection, session_id: str) -> None:
        await cancel(self, session_id=session_id)
        told.append(session_id)

    monkeypatch.setattr(ClientSideConnection, "cancel", tell)
    played = with_program(tmp_path, "say so far", "hang")
    turn = asyncio.create_task(played.turn())
    pid_file = played.live.workdir / "pid"
    async with asyncio.timeout(30):
        while not pid_file.exists() or not pid_file.read_text():
            await asyncio.sleep(0.01)
    pid = int(pid_file.read_text())
    played.live.interrupt()
    assert (await turn).reason == "INTERRUPTED"
    await asyncio.to_thread(wait_gone, pid)
    assert "so far" in played.results[0].text
    assert played.results[0].status == "interrupted"
    assert len(told) == 1, "it was told before it was ended"
    assert played.finished[0].reason == "INTERRUPTED"
    assert not running_children()


async def test_one_program_is_stopped_and_the_turn_goes_on(tmp_path: Path) -> None:
    played = with_program(tmp_path, "say so far", "hang")
    turn = asyncio.create_task(played.turn())
    async with asyncio.timeout(30):
        while not (played.live.workdir / "pid").exists():
            await asyncio.sleep(0.01)
    assert played.live.stop_agent(played.started[0].run_id)
    assert (await turn).reason == "ANSWER"
    assert "so far" in played.results[0].text


@pytest.mark.parametrize(
    ("lines", "command", "words"),
    [
        (("die",), None, ("failed", "out of luck")),
        (("say x",), ("/no/such/program",), ("cannot be started",)),
        (("say x",), (sys.executable, "-c", "print('hello')"), ("failed",)),
    ],
)
async def test_a_program_that_fails_says_how(
    tmp_path: Path, lines: tuple[str, ...], command: tuple[str, ...] | None, words: tuple[str, ...]
) -> None:
    played = with_program(tmp_path, *lines, command=command)
    async with asyncio.timeout(30):
        await played.turn()
    (result,) = played.results
    assert result.is_error
    for word in words:
        assert word in result.text


async def test_its_answer_goes_into_the_file(tmp_path: Path) -> None:
    played = with_program(tmp_path, "say the report", output_file="r.md")
    await played.turn()
    assert (played.live.workdir / "r.md").read_text() == "the report\n"
    assert played.results[0].text.startswith("subagent_done: 写入")


async def test_no_and_stop_ends_the_program_and_the_turn(tmp_path: Path) -> None:
    played = with_program(tmp_path, "say before", "may rm -rf build", "hang", mode="ask", answer="stop")
    async with asyncio.timeout(30):
        assert (await played.turn()).reason == "INTERRUPTED"
    assert "before" in played.results[0].text
    assert not running_children()
