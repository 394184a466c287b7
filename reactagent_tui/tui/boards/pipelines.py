"""The pipelines of all sessions of this program, step by step, folded from their events. Draws nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, assert_never

from reactagent_tui.core.events import PipelineFinished, PipelineStarted, PipelineStepFinished, PipelineStepStarted
from reactagent_tui.core.money import NOTHING_SPENT, Money
from reactagent_tui.core.usage import Usage
from reactagent_tui.tui.boards.agents import AgentRun
from reactagent_tui.tui.boards.sums import total

MOST_RUNS = 50
StepKind = Literal["llm_subagent", "bash", "terminal"]
StepStatus = Literal["running", "ok", "failed", "interrupted", "skipped"]
PipelineEvent: TypeAlias = PipelineStarted | PipelineStepStarted | PipelineStepFinished | PipelineFinished


@dataclass(slots=True, eq=False)
class PipelineStep:
    """One step; a further attempt goes on with the same one."""

    index: int
    title: str
    state: str
    kind: StepKind
    began: float
    outputs: tuple[str, ...] = ()
    attempt: int = 1
    status: StepStatus = "running"
    seconds: float | None = None
    usage: Usage = field(default_factory=Usage)
    cost: Money = NOTHING_SPENT
    preview: str = ""
    run: str = ""
    """Run id of its sub-agent, "" when it has none."""
    before: tuple[Usage, Money] = (Usage(), NOTHING_SPENT)
    """What earlier attempts used."""
    agents: dict[str, tuple[Usage, Money]] = field(default_factory=dict[str, tuple[Usage, Money]])
    """What each sub-agent of this attempt has used so far, by run id: a second try pays for the first one too."""

    @property
    def is_running(self) -> bool:
        return self.status == "running"

    def elapsed(self, now: float) -> float:
        return max(now - self.began, 0.0) if self.seconds is None else self.seconds

    def count(self, *spent: tuple[Usage, Money]) -> None:
        """This attempt has used that; the step shows all its attempts."""
        parts = [self.before, *spent]
        self.usage = sum((usage for usage, _ in parts), Usage())
        self.cost = total(cost for _, cost in parts)


@dataclass(slots=True, eq=False)
class PipelineRun:
    """One pipeline from its start, or from where it was resumed."""

    call_id: str
    session_id: str
    pipeline: str
    query: str
    run_dir: str
    began: float
    resumed: bool = False
    steps: dict[int, PipelineStep] = field(default_factory=dict[int, PipelineStep])
    outcome: str = ""
    """"" while it runs; else as `PipelineFinished` has it."""
    detail: str = ""
    files: tuple[str, ...] = ()
    seconds: float | None = None
    final: tuple[Usage, Money] | None = None

    @property
    def is_running(self) -> bool:
        return not self.outcome

    @property
    def current(self) -> PipelineStep | None:
        """The step that runs, else the last one."""
        running = [step for step in self.steps.values() if step.is_running]
        return running[-1] if running else next(reversed(self.steps.values()), None)

    @property
    def usage(self) -> Usage:
        if self.final is not None:
            return self.final[0]
        return sum((step.usage for step in self.steps.values()), Usage())

    @property
    def cost(self) -> Money:
        return total(step.cost for step in self.steps.values()) if self.final is None else self.final[1]

    def elapsed(self, now: float) -> float:
        return max(now - self.began, 0.0) if self.seconds is None else self.seconds

    def ordered(self) -> list[PipelineStep]:
        """The steps by number."""
        return [self.steps[index] for index in sorted(self.steps)]


class PipelineBoard:
    """Pipelines by the tool call that runs them, oldest first."""

    def __init__(self) -> None:
        self.runs: dict[str, PipelineRun] = {}
        self.hidden: set[str] = set()
        """Finished ones of earlier turns."""

    def fold(self, event: PipelineEvent, now: float) -> PipelineRun:
        """Take an event; the pipeline it changed."""
        call_id = event.tool_call_id or ""
        run = self.runs.get(call_id)
        if run is None or isinstance(event, PipelineStarted):
            self.runs.pop(call_id, None)
            run = self.runs[call_id] = PipelineRun(call_id, event.session_id, "", "", "", now)
            over = [each for each in self.runs.values() if not each.is_running]
            for old in over[: max(len(self.runs) - MOST_RUNS, 0)]:
                del self.runs[old.call_id]
                self.hidden.discard(old.call_id)
        match event:
            case PipelineStarted():
                run.pipeline, run.query, run.run_dir, run.resumed = (
                    event.pipeline,
                    event.query,
                    event.run_dir,
                    event.resumed,
                )
            case PipelineStepStarted():
                self._step_started(run, event, now)
            case PipelineStepFinished():
                self._step_finished(run, event, now)
            case PipelineFinished():
                run.pipeline, run.run_dir = event.pipeline, event.run_dir
                self.end(run, event.outcome, now)
                run.detail, run.files, run.seconds = event.detail, event.files, event.seconds
                run.final = (event.usage, event.cost)
            case _:
                assert_never(event)
        return run

    def agent_changed(self, agent: AgentRun) -> PipelineRun | None:
        """An agent that a pipeline called moved: the step that runs shows its tokens and money."""
        run = self.runs.get(agent.parent_call_id or "")
        if run is None or (step := run.current) is None:
            return None
        if step.is_running and (agent.is_running or agent.run_id in step.agents):
            step.run = agent.run_id
            step.agents[agent.run_id] = (agent.usage, agent.cost)
            step.count(*step.agents.values())
        return run

    def of_session(self, session_id: str) -> list[PipelineRun]:
        return [run for run in self.runs.values() if run.session_id == session_id]

    def shown(self, session_id: str) -> list[PipelineRun]:
        """Those to show beside the conversation."""
        return [run for run in self.of_session(session_id) if run.call_id not in self.hidden]

    def new_turn(self, session_id: str) -> None:
        """Finished pipelines of the turn before leave the sidebar."""
        self.hidden |= {run.call_id for run in self.of_session(session_id) if not run.is_running}

    def end_session_run(self, session_id: str, now: float) -> list[PipelineRun]:
        """The main run is over: pipelines whose end was not heard."""
        left = [run for run in self.of_session(session_id) if run.is_running]
        for run in left:
            self.end(run, "interrupted", now)
        return left

    @staticmethod
    def end(run: PipelineRun, outcome: str, now: float) -> None:
        run.seconds = run.elapsed(now)
        run.outcome = outcome or "failed"
        for step in run.steps.values():
            if step.is_running:
                step.seconds = step.elapsed(now)
                step.status = "interrupted" if outcome == "interrupted" else "failed"

    @staticmethod
    def _step_started(run: PipelineRun, event: PipelineStepStarted, now: float) -> None:
        step = run.steps.get(event.index)
        if step is None:
            step = run.steps[event.index] = PipelineStep(event.index, event.title, event.state, event.kind, now)
        step.title, step.state, step.kind = event.title, event.state, event.kind
        step.outputs, step.attempt, step.status = event.outputs, event.attempt, "running"
        step.began, step.seconds, step.preview, step.run = now, None, "", ""
        step.before = (step.usage, step.cost)
        step.agents.clear()

    @staticmethod
    def _step_finished(run: PipelineRun, event: PipelineStepFinished, now: float) -> None:
        step = run.steps.get(event.index)
        if step is None:
            step = run.steps[event.index] = PipelineStep(event.index, f"{event.index}", "", "bash", now)
        step.status, step.seconds = event.status, event.seconds
        step.count((event.usage, event.cost))
        step.preview, step.run = event.preview, event.run or step.run


def price_from(steps: Sequence[PipelineStep], index: int) -> tuple[int, Money, float]:
    """What it took from step `index` to the end: steps, money, seconds. The price tag of running them again."""
    again = [step for step in steps if step.index >= index]
    return len(again), total(step.cost for step in again), sum(step.seconds or 0.0 for step in again)
