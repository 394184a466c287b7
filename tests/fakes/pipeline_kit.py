"""A pipeline in a test: a session's worth of context, sub-agents that follow a script, skills made on the spot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from reactagent_tui.core.agent_events import PipelineFinished, PipelineStepFinished, PipelineStepStarted
from reactagent_tui.core.events import AgentEvent, EndReason
from reactagent_tui.core.money import Money
from reactagent_tui.core.pipeline.port import SessionPipelines
from reactagent_tui.core.reporter import Answer, Question
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.safety.permissions import Mode, Permissions
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.skills.models import Skill
from reactagent_tui.core.skills.reading import read_skill
from reactagent_tui.core.tools.agent_task import AgentResult, AgentTask
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.pipeline_task import PipelineTask
from reactagent_tui.core.usage import Usage

Act = Callable[[AgentTask], str]
"""What a sub-agent does (it may write files), and its reply."""
SPENT = Money(Decimal("0.01"), "reported")


@dataclass
class FakeAgents:
    """An AgentPort whose agents do what `act` does; `hold` makes one wait for ever."""

    act: Act
    hold: Callable[[AgentTask], bool] = lambda _task: False
    reason: EndReason = "ANSWER"
    tasks: list[AgentTask] = field(default_factory=list[AgentTask])
    holding: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, task: AgentTask, ctx: ToolContext) -> AgentResult:
        self.tasks.append(task)
        if self.hold(task):
            self.holding.set()
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        text = self.act(task)
        usage = Usage(input=100, output=20)
        number = len(self.tasks)
        return AgentResult(task.name or "agent", f"run{number}", self.reason, text, usage, SPENT, steps=1)


@dataclass
class PipelineDesk:
    """One place to run a pipeline in: events, questions, the context of a call."""

    workdir: Path
    agents: FakeAgents | None = None
    mode: Mode = "ask"
    typed: bool | None = True
    answer: Callable[[Question], Answer] = lambda _question: Answer("deny")
    deny: tuple[str, ...] = ()
    events: list[AgentEvent] = field(default_factory=list[AgentEvent])
    questions: list[Question] = field(default_factory=list[Question])
    left: list[ToolOutcome] = field(default_factory=list[ToolOutcome])
    shown: list[str] = field(default_factory=list[str])

    def context(self) -> ToolContext:
        async def ask(question: Question) -> Answer:
            self.questions.append(question)
            return self.answer(question)

        return ToolContext(
            session_id="s",
            run_id="r",
            call_id="call_1",
            workdir=self.workdir,
            workspace=Workspace.at(self.workdir),
            files_seen=FilesSeen(),
            output=self.shown.append,
            ask=ask,
            log_dir=self.workdir / "logs",
            agents=self.agents,
            pipelines=self.port(),
        )

    def port(self) -> SessionPipelines:
        permissions = Permissions(self.mode, (self.workdir,), deny=self.deny)
        return SessionPipelines(permissions, [], self.events.append, "demo", self.typed)

    async def run(self, skill: Skill, query: str = "", resume: str | None = None) -> ToolOutcome:
        task = PipelineTask(skill, query, resume, f"run_{skill.name}_pipeline")
        return await self.port().run(task, self.context(), self.left.append)

    @property
    def end(self) -> PipelineFinished:
        """The end that was told last."""
        return [event for event in self.events if isinstance(event, PipelineFinished)][-1]

    def statuses(self) -> list[tuple[int, str]]:
        return [(event.index, event.status) for event in self.events if isinstance(event, PipelineStepFinished)]

    def titles(self) -> list[str]:
        return [event.title for event in self.events if isinstance(event, PipelineStepStarted)]


def make_skill(folder: Path, program: str, name: str = "steps", settings: str = "", extra: str = "") -> Skill:
    """A pipeline skill whose state machine is `program`."""
    place = folder / name
    (place / "scripts").mkdir(parents=True, exist_ok=True)
    head = f"---\nname: {name}\ndescription: a pipeline for tests\n{extra}---\nBody.\n"
    (place / "SKILL.md").write_text(head, encoding="utf-8")
    (place / "scripts" / "run.py").write_text(program, encoding="utf-8")
    if settings:
        (place / "pipeline.yaml").write_text(settings, encoding="utf-8")
    return load_skill(place)


def load_skill(folder: Path) -> Skill:
    skill, problems = read_skill(folder, "user")
    assert skill is not None, problems
    return skill
