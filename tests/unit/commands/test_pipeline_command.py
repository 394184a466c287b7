"""`/pipeline`: a run without a model in front, going on with it, steps again, ESC in the middle, what is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypeVar

import pytest

from reactagent_tui.core.commands.basic import basic_commands
from reactagent_tui.core.commands.host import SessionHost
from reactagent_tui.core.commands.registry import CommandResult, execute
from reactagent_tui.core.display import block_to_text
from reactagent_tui.core.events import (
    AgentEvent,
    AgentStarted,
    PipelineFinished,
    PipelineStepFinished,
    PipelineStepStarted,
    RunEnded,
)
from reactagent_tui.core.reporter import RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime
from reactagent_tui.locales import Translator

Event = TypeVar("Event", bound=AgentEvent)


class Watch(RecordingReporter):
    """Stops the session when an event of this kind was told."""

    stop_at: type[AgentEvent] | None = None
    session: object = None

    def emit(self, event: AgentEvent) -> None:
        super().emit(event)
        if self.stop_at is not None and isinstance(event, self.stop_at):
            self.stop_at = None
            asyncio.get_running_loop().call_soon(self.session.interrupt)  # type: ignore[attr-defined]


class Desk:
    """A session with the demo model."""

    def __init__(self, place: Path) -> None:
        self.reporter = Watch()
        self.runtime = Runtime.load(self.reporter, Options(demo=True))
        self.reporter.session = self.session = self.runtime.open_session(place)

    async def command(self, arguments: str, language: str = "en") -> str:
        host = SessionHost(self.runtime, self.session, Translator(language))
        result = await execute(basic_commands(), host, "pipeline", arguments)
        assert isinstance(result, CommandResult)
        assert await self.session.settle(60)
        return "\n".join(block_to_text(block) for block in result.blocks)

    def told(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.reporter.events if isinstance(event, kind)]


@pytest.fixture
async def desk(clean_place: Path) -> AsyncIterator[Desk]:
    made = Desk(clean_place)
    yield made
    await made.runtime.close()


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_run_list_and_steps_again(desk: Desk, language: str) -> None:
    assert "skill_run" not in await desk.command("", language)
    assert await desk.command("run demo-pipeline green  tea") == ""
    [first] = desk.told(PipelineFinished)
    assert (first.outcome, first.steps) == ("DONE", 3)
    assert Path(first.run_dir).name == "green-tea"
    listed = await desk.command("", language)
    assert "skill_run/demo-pipeline/green-tea" in listed
    assert "3/3" in listed
    desk.reporter.events.clear()
    assert await desk.command("rerun green-tea 3") == ""
    assert [event.index for event in desk.told(PipelineStepFinished)] == [1, 2, 3]
    assert len(desk.told(AgentStarted)) == 1, "the earlier steps are told, not done again"
    assert desk.told(PipelineFinished)[0].outcome == "DONE"


@pytest.mark.parametrize("moment", [PipelineStepStarted, AgentStarted])
async def test_esc_in_a_step_and_on_from_there(desk: Desk, moment: type[AgentEvent]) -> None:
    desk.reporter.stop_at = moment
    await desk.command("run demo-pipeline tea")
    [stopped] = desk.told(PipelineFinished)
    assert stopped.outcome == "interrupted"
    assert [event.reason for event in desk.told(RunEnded) if event.parent_run_id is None] == ["INTERRUPTED"]
    assert not desk.session.is_running
    await desk.command(f"resume {Path(stopped.run_dir).name}")
    assert desk.told(PipelineFinished)[-1].outcome == "DONE"


async def test_what_cannot_be_done_is_said(desk: Desk) -> None:
    assert "no pipeline" in await desk.command("run hello tea")
    assert "no run of a pipeline" in await desk.command("resume nothing-here")
    for wrong in ("run", "run demo-pipeline", "rerun x", "rerun x zero", "rerun x 0", "fly", "resume 'a"):
        text = await desk.command(wrong)
        assert "usage" in text or "no run" in text, wrong
    assert not desk.told(PipelineFinished)
