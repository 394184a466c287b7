"""The loop of a pipeline: ask what comes next, do it, look whether it was made, until it says that it is over.

All state is on disk: in the files that the steps make, which the skill's state machine reads, and in the journal.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from reactagent_tui.core.agent_events import (
    PipelineFinished,
    PipelineStarted,
    PipelineStepFinished,
    PipelineStepStarted,
)
from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.events import AgentEvent
from reactagent_tui.core.pipeline.emit import Emit, Kind, is_terminal, outcome_of, parse_emit
from reactagent_tui.core.pipeline.journal import Journal, RunRecord, Status, StepRecord, money_record
from reactagent_tui.core.pipeline.outputs import changed, tree
from reactagent_tui.core.pipeline.paths import read_target
from reactagent_tui.core.pipeline.results import final_files
from reactagent_tui.core.pipeline.spec import PipelineSpec
from reactagent_tui.core.pipeline.steps import OutOfDomainFound, StepFailed, StepMeter, Steps
from reactagent_tui.core.tools.base import StoppedByUser

SAME_BLOCKS = 3
"""As many equal blocks in a row mean that a step changes nothing."""


@dataclass(frozen=True, slots=True)
class PipelineEnd:
    """How it ended. `outcome` as in `PipelineFinished`."""

    outcome: str
    detail: str
    files: tuple[str, ...] = ()


@dataclass
class Driver:
    """One call of a pipeline."""

    skill: str
    spec: PipelineSpec
    steps: Steps
    emit: Callable[[AgentEvent], None]
    log: Callable[[str], None]
    model: str = ""
    record: RunRecord = field(init=False)
    """What the journal says by now."""

    def __post_init__(self) -> None:
        place = self.steps.place
        self._journal = Journal(place.run_dir)
        self.record = self._journal.record
        self._began = time.monotonic()
        self._open: tuple[int, float, StepMeter] | None = None
        self._tree: dict[str, tuple[int, int, int]] = {}

    async def run(self) -> PipelineEnd:
        """Drive it to its end. Cancelled, it stops the step, writes that down, and raises CancelledError.

        Raises OSError when nothing can be written from the beginning.
        """
        self._journal = Journal(self.steps.place.run_dir)
        self.record = await asyncio.to_thread(self._journal.load)  # nobody else writes it from now on
        self._start()
        try:
            self._tree = await asyncio.to_thread(tree, self.steps.place.run_dir)
            end = await self._loop()
        except (asyncio.CancelledError, StoppedByUser):
            self._close_step("interrupted", ())
            self._finish(PipelineEnd("interrupted", "stopped by the user"))
            raise
        except (SkillError, StepFailed, OSError) as error:
            end = PipelineEnd("failed", str(error))
        self._finish(end)
        return end

    async def _loop(self) -> PipelineEnd:
        last, same = "", 0
        for _ in range(self.spec.max_steps):
            text, emit = await self._next()
            same = same + 1 if text == last else 1
            last = text
            if is_terminal(emit, self.spec.terminal_signals):
                return await self._over(emit)
            if same >= SAME_BLOCKS:
                return PipelineEnd("stuck", f"pipeline stuck at STEP {emit.title}: it came {same} times in a row")
            try:
                await self._step(emit)
            except OutOfDomainFound as found:
                return PipelineEnd("ood", str(found))
            except StepFailed as failed:
                return PipelineEnd("failed", f"{emit.title}: {failed}")
        return PipelineEnd("failed", f"more than {self.spec.max_steps} steps")

    async def _next(self) -> tuple[str, Emit]:
        ended = await self.steps.programs.next()
        for line in ended.errors.strip().split("\n"):
            if line.strip():
                self.log(f"next: {line}")
        if not ended.is_fine:
            said = (ended.errors or ended.text).strip()[-800:]
            raise SkillError(f"{self.spec.entry}: {ended.why}{f': {said}' if said else ''}")
        emit = parse_emit(ended.text)
        if emit is None:
            raise SkillError(f"{self.spec.entry} printed no step")
        return ended.text.strip(), emit

    async def _step(self, emit: Emit) -> None:
        place = self.steps.place
        target = read_target(emit.output, place.bases)
        index, attempt = self._number(emit)
        kind: Kind = emit.kind or "bash"
        outputs = tuple(str(path) for path in target.paths)
        self.log(f"step {index} begins: {emit.title} ({kind}{f', attempt {attempt}' if attempt > 1 else ''})")
        self._write("step_started", index=index, title=emit.title, state=emit.state, type=kind, attempt=attempt)
        meter = StepMeter()
        self._open = (index, time.monotonic(), meter)
        shown = {"index": index, "title": emit.title, "state": emit.state, "kind": kind, "attempt": attempt}
        self._tell(PipelineStepStarted, outputs=outputs, **shown)
        status: Status = "ok"
        try:
            await self.steps.perform(emit, meter, f"{self.steps.ctx.call_id}-{index}")
        except OutOfDomainFound as found:
            meter.preview = str(found)
            raise
        except StepFailed as failed:
            status, meter.preview = "failed", str(failed)
            raise
        except (asyncio.CancelledError, StoppedByUser):
            status = "interrupted"
            raise
        finally:
            if status != "interrupted":
                after = await asyncio.to_thread(tree, place.run_dir)
                made, self._tree = changed(self._tree, after), after
                self._close_step(status, made)

    def _number(self, emit: Emit) -> tuple[int, int]:
        """Index and attempt: a step that was begun and not finished is the same step again."""
        if not self.record.steps:
            return 1, 1
        last = self.record.steps[-1]
        if last.status != "ok" and (last.title, last.state) == (emit.title, emit.state):
            return last.index, last.attempt + 1
        return last.index + 1, 1

    async def _over(self, emit: Emit) -> PipelineEnd:
        outcome = outcome_of(emit)
        files = await asyncio.to_thread(final_files, emit, outcome, self.steps.place, self.record)
        detail = " — ".join(dict.fromkeys(part for part in (emit.state or emit.bare, emit.step) if part))
        return PipelineEnd(outcome, " ".join(detail.split()), tuple(str(path) for path in files))

    # -- what is told and written -----------------------------------------------------------

    def _start(self) -> None:
        place = self.steps.place
        resumed = bool(self.record.steps)
        self.log(f"{'resumed' if resumed else 'started'}: {self.skill}, query: {place.query}")
        self._write("started", skill=self.skill, query=place.query, resumed=resumed, model=self.model)
        self._tell(PipelineStarted, pipeline=self.skill, query=place.query, run_dir=str(place.run_dir), resumed=resumed)
        for step in self.record.steps:
            self._tell_earlier(step)

    def _tell_earlier(self, step: StepRecord) -> None:
        """A step of an earlier call, so that a view shows the whole run."""
        kind: Kind = step.kind if step.kind in ("llm_subagent", "bash", "terminal") else "bash"  # type: ignore[assignment]
        shown = {"index": step.index, "title": step.title, "state": step.state, "kind": kind, "attempt": step.attempt}
        self._tell(PipelineStepStarted, outputs=step.files, **shown)
        self._tell(
            PipelineStepFinished,
            index=step.index,
            status=step.status or "interrupted",
            seconds=step.seconds,
            usage=step.usage,
            cost=step.cost,
            preview=step.preview,
            run=step.run,
        )

    def _close_step(self, status: Status, files: tuple[str, ...]) -> None:
        if self._open is None:
            return
        (index, began, meter), self._open = self._open, None
        seconds = time.monotonic() - began
        usage, cost = meter.tally.usage, meter.tally.cost
        told: dict[str, Any] = {"index": index, "status": status, "seconds": round(seconds, 3)}
        told |= {"preview": meter.preview, "run": meter.run}
        spent = {"usage": usage.to_record(), "cost": money_record(cost)}
        self.log(f"step {index} {status} after {seconds:.1f} s, {usage.total} tokens")
        self._write_if_possible("step_finished", **told, **spent, files=list(files))
        self._tell(PipelineStepFinished, usage=usage, cost=cost, **told)

    def _finish(self, end: PipelineEnd) -> None:
        self.log(f"ended: {end.outcome}: {end.detail}")
        self._write_if_possible("finished", outcome=end.outcome, detail=end.detail, files=list(end.files))
        total = self.record.tally()
        self._tell(
            PipelineFinished,
            pipeline=self.skill,
            run_dir=str(self.steps.place.run_dir),
            outcome=end.outcome,
            detail=end.detail,
            files=end.files,
            steps=len(self.record.done),
            seconds=time.monotonic() - self._began,
            usage=total.usage,
            cost=total.cost,
        )

    def tally(self) -> Tally:
        """What the run has used, earlier calls included."""
        return self.record.tally()

    def _write(self, kind: str, **values: Any) -> None:
        """Raises OSError; the record holds it all the same."""
        try:
            self._journal.write(kind, **values)
        finally:
            self.record = self._journal.record

    def _write_if_possible(self, kind: str, **values: Any) -> None:
        """What is over is told, and a stop stays a stop, also on a full disk."""
        try:
            self._write(kind, **values)
        except OSError as error:
            self.log(f"the journal cannot be written: {error}")

    def _tell(self, event: type[AgentEvent], /, **values: Any) -> None:
        ctx = self.steps.ctx
        self.emit(event(session_id=ctx.session_id, run_id=ctx.run_id, tool_call_id=ctx.call_id, **values))
