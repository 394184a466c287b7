"""Does one step: its commands, its sub-agent, its queries; then looks whether its output was made."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.pipeline import query_injection as injection
from reactagent_tui.core.pipeline.agent_step import StepPlace, agent_task
from reactagent_tui.core.pipeline.emit import Emit
from reactagent_tui.core.pipeline.fill import Unfillable, fill
from reactagent_tui.core.pipeline.outputs import (
    BadJson,
    Stamp,
    not_made,
    read_json,
    settle_json,
    stamps,
    write_text,
)
from reactagent_tui.core.pipeline.paths import Target, read_target
from reactagent_tui.core.pipeline.programs import HANDSHAKES, RETRIED, Ended, Programs
from reactagent_tui.core.pipeline.spec import PipelineSpec
from reactagent_tui.core.tools.agent_task import AgentResult, AgentTask
from reactagent_tui.core.tools.base import StoppedByUser, ToolContext
from reactagent_tui.core.tools.failure import ToolFailure

PREVIEW = 400
"""Characters shown of what a step made."""
_TAIL = 1_500
_ACCEPTED = ("ANSWER", "MAX_STEPS", "REPETITION", "TIMEOUT")
"""Ends of a sub-agent after which its output counts when it is there."""
_FOLDERS = {"skill": ("<skill_dir>", "<skill>", "{skill_dir}"), "run": ("<run_dir>", "<run>", "{run_dir}")}
_QUERY = (injection.QUESTION, "<query>", "{query}")


class StepFailed(Exception):
    """The step cannot be done; the message says why."""


class OutOfDomainFound(Exception):
    """A sub-agent found that there is nothing for this pipeline to do."""


class _TryAgain(Exception):
    """This try of the sub-agent is not accepted; the message is for the next one."""


@dataclass(slots=True)
class StepMeter:
    """What a step has used and said so far; also of one that was stopped."""

    tally: Tally = field(default_factory=Tally)
    run: str = ""
    preview: str = ""


Judge = Callable[[str], Awaitable[str | None]]
"""May this command line run? None: yes; else the reason why not."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Does the steps of one run."""

    place: StepPlace
    spec: PipelineSpec
    programs: Programs
    ctx: ToolContext
    judge: Judge
    log: Callable[[str], None]

    async def perform(self, emit: Emit, meter: StepMeter, name: str) -> None:
        """Do it. Raises StepFailed, OutOfDomainFound."""
        target = read_target(emit.output, self.place.bases)
        before = await asyncio.to_thread(stamps, target.paths)
        match emit.kind:
            case "bash":
                await self._bash(emit, before, meter, name)
            case "llm_subagent":
                await self._with_agent(emit, target, before, meter, name)
            case _:
                raise StepFailed("its TYPE is none that is known (llm_subagent, bash, terminal)")
        if not meter.preview or target.paths:
            meter.preview = await asyncio.to_thread(_preview, target, meter.preview)

    # -- commands ---------------------------------------------------------------------------

    async def _bash(self, emit: Emit, before: dict[Path, Stamp | None], meter: StepMeter, name: str) -> None:
        if not emit.runs:
            raise StepFailed("it is a bash step without RUN")
        lines = await self._ready(emit.runs, None, meter)
        left: tuple[Path, ...] = ()
        for attempt in range(2):
            handshake = await self._runs(lines, meter, f"{name}-{attempt}")
            left = () if handshake else await asyncio.to_thread(not_made, before)
            if not left:
                return
            self.log(f"output not made: {', '.join(map(str, left))}")
        raise StepFailed(f"its commands ended well, but {_named(left)} was not written")

    async def _ready(self, lines: Sequence[str], reply: str | None, meter: StepMeter) -> list[str]:
        """Command lines with everything filled in; queries come from `reply`, or from a sub-agent asked now."""
        place = self.place
        folders = {key: str(place.skill_dir) for key in _FOLDERS["skill"]}
        folders |= {key: str(place.run_dir) for key in _FOLDERS["run"]}
        values = folders | {key: place.query for key in _QUERY}
        own = {place.query, " ".join(place.query.split())}  # what the state machine has put there itself
        placeholder = self.spec.query_injection_placeholder
        found: injection.Queries | None = None
        ready: list[str] = []
        try:
            for line in lines:
                asked: dict[str, str] = {}
                if self.spec.supports_query_injection and placeholder in line:
                    found = found or await self._queries(reply, meter)
                    line, asked = injection.inject(line, found, placeholder)
                ready.append(fill(line, values | asked, commands=folders, spare=own))
        except Unfillable as error:
            raise StepFailed(f"RUN cannot be filled in safely: {error}") from error
        return ready

    async def _queries(self, reply: str | None, meter: StepMeter) -> injection.Queries:
        if reply is None:
            rubric = injection.RUBRIC + (injection.OOD_RUBRIC if self.spec.ood_detection else "")
            task = AgentTask(task=self.place.query, system_prompt=rubric, cause="pipeline", name="queries", max_steps=2)
            with contextlib.suppress(StepFailed):  # without a reply the user's own words are searched for
                reply = (await self._agent(task, meter)).text
        self._look_for_ood(reply or "")
        found = injection.read_queries(reply or "") or injection.fallback_queries(self.place.query)
        self.log(f"queries{' (fallback)' if found.fallback else ''}: {' | '.join(found.queries)}")
        return found

    def _look_for_ood(self, reply: str) -> None:
        if self.spec.ood_detection and (verdict := injection.read_ood(reply)) is not None:
            raise OutOfDomainFound(verdict.reason)

    async def _runs(self, lines: Sequence[str], meter: StepMeter, name: str) -> bool:
        """Run command lines one after the other; True when one ended with a handshake (the rest waits)."""
        for number, line in enumerate(lines, 1):
            refused = await self.judge(line)
            if refused is not None:
                raise StepFailed(f"not allowed: {line}\n{refused}")
            ended = await self._command(line, f"{name}-{number}")
            meter.preview = meter.preview or _first_lines(ended.text)
            if not ended.is_fine:
                raise StepFailed(f"{line}\n{ended.why}\n{ended.text[-_TAIL:].strip()}")
            if ended.code in HANDSHAKES:
                return True
        return False

    async def _command(self, line: str, name: str) -> Ended:
        self.log(f"run: {line}")
        try:
            ended = await self.programs.command(line, name)
            if ended.code == RETRIED and not ended.timed_out:
                self.log("exit code 3: once more")
                ended = await self.programs.command(line, f"{name}-again")
        except SkillError as error:
            raise StepFailed(str(error)) from error
        self.log(f"{ended.why}{' (handshake)' if ended.code in HANDSHAKES else ''}")
        return ended

    # -- sub-agents -------------------------------------------------------------------------

    async def _with_agent(
        self, emit: Emit, target: Target, before: dict[Path, Stamp | None], meter: StepMeter, name: str
    ) -> None:
        if emit.is_fresh_run and emit.runs:
            reply = await self._delegate(emit, target, before, meter)
            self._look_for_ood(reply)
            await self._runs(await self._ready(emit.runs, reply, meter), meter, name)
            return
        lines = await self._ready(emit.runs, None, meter)
        if emit.wants_parallel and lines:
            await _both(self._delegate(emit, target, before, meter), self._runs(lines, meter, name))
        elif await self._runs(lines, meter, name):
            return  # the commands want another sub-agent first: the next block is that one's
        else:
            await self._delegate(emit, target, before, meter)
        if target.command:
            await self._runs(await self._ready([target.command], None, meter), meter, f"{name}-re")

    async def _delegate(self, emit: Emit, target: Target, before: dict[Path, Stamp | None], meter: StepMeter) -> str:
        """The sub-agent, until its output is there: its reply."""
        complaint = ""
        for attempt in range(1 + self.spec.step_retries):
            try:
                task = await asyncio.to_thread(agent_task, emit, target, self.place, complaint)
                result = await self._agent(task, meter)
                reply = await self._accepted(result, target, before)
                meter.preview = _first_lines(reply)
                return reply
            except SkillError as error:
                raise StepFailed(str(error)) from error
            except _TryAgain as why:
                complaint = str(why)
                self.log(f"try {attempt + 1} not accepted: {complaint}")
        raise StepFailed(complaint)

    async def _agent(self, task: AgentTask, meter: StepMeter) -> AgentResult:
        if self.ctx.agents is None:
            raise StepFailed("it needs a sub-agent, and none can be had here")
        try:
            result = await self.ctx.agents.run(task, self.ctx)
        except ToolFailure as failure:
            raise StepFailed(failure.text) from failure
        except asyncio.CancelledError as stopped:
            left: object = getattr(stopped, "result", None)
            if isinstance(left, AgentResult):  # what it had used by then
                meter.tally.add(left.usage, left.cost)
                meter.run = left.run_id
            raise
        meter.tally.add(result.usage, result.cost)
        meter.run = result.run_id
        self.log(f"sub-agent {result.name}: {result.reason}, {result.steps} steps, {result.usage.total} tokens")
        if getattr(result, "stops_all", False):
            raise StoppedByUser
        return result

    async def _accepted(self, result: AgentResult, target: Target, before: dict[Path, Stamp | None]) -> str:
        """The reply of a sub-agent that did what was asked. Raises _TryAgain, StepFailed."""
        if result.reason in ("INTERRUPTED", "BUDGET", "PAUSED"):
            raise StepFailed(f"its sub-agent ended with {result.reason}{_because(result)}")
        left = await asyncio.to_thread(not_made, before)
        if left and result.reason == "ANSWER":
            await asyncio.to_thread(self._reply_to_file, result.text, target)
            left = await asyncio.to_thread(not_made, before)
        if left:
            raise _TryAgain(f"{_named(left)} was not written{_because(result)}")
        if result.reason not in _ACCEPTED or (not target.paths and result.reason != "ANSWER"):
            raise _TryAgain(f"the sub-agent ended with {result.reason}{_because(result)}")
        for path in target.paths:
            try:
                await asyncio.to_thread(settle_json, path)
            except BadJson as error:
                raise _TryAgain(f"{path.name} is not valid JSON: {error}") from error
            except OSError as error:
                raise StepFailed(f"{path}: {error.strerror or error}") from error
        return result.text

    def _reply_to_file(self, text: str, target: Target) -> None:
        path = target.from_reply
        if path is None or not text.strip() or not self.place.may_write(path):
            return
        try:
            if path.suffix.lower() == ".json":
                read_json(text)  # what is no JSON is no content of this file
            write_text(path, text.strip() + "\n")
        except BadJson as error:
            raise _TryAgain(f"{path.name} was not written, and the reply is not valid JSON: {error}") from error
        except OSError as error:
            raise StepFailed(f"{path}: {error.strerror or error}") from error


async def _both(agent: Awaitable[object], commands: Awaitable[object]) -> None:
    """Side by side; when one fails the other is stopped."""
    try:
        async with asyncio.TaskGroup() as group:
            for work in (agent, commands):
                group.create_task(_awaited(work))
    except* (StepFailed, OutOfDomainFound, StoppedByUser) as failures:
        raise failures.exceptions[0] from None


async def _awaited(work: Awaitable[object]) -> None:
    await work


def _because(result: AgentResult) -> str:
    return f": {result.error}" if result.error else ""


def _named(paths: Sequence[Path]) -> str:
    return ", ".join(str(path) for path in paths)


def _preview(target: Target, otherwise: str) -> str:
    """The first lines of the first file it made."""
    for path in target.paths:
        with contextlib.suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
            return _first_lines(file.read(4 * PREVIEW))
    return otherwise


def _first_lines(text: str) -> str:
    rows = [row.rstrip() for row in text.strip().split("\n") if row.strip()]
    return "\n".join(rows[:6])[:PREVIEW]
