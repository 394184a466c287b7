"""`job_output` and `job_kill`: what the model sees of background jobs, and how it ends one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from reactagent_tui.core.display import DisplayBlock, OutputBlock
from reactagent_tui.core.tools.base import Effect, ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.job_log import lines_before, offset_of_line
from reactagent_tui.core.tools.jobs import Job, SessionJobs, ending
from reactagent_tui.core.tools.schema import ToolArgs
from reactagent_tui.core.tools.truncate import cut_line

LONGEST_WAIT = 600.0
_NAMED = 4
_COMMAND = 120


class JobOutputArgs(ToolArgs):
    """Arguments of job_output."""

    job_id: str = Field(description="The job, for example j1.")
    wait_seconds: float = Field(default=0, description="Wait up to so many seconds for it to end, 0 to 600.")
    from_line: int | None = Field(
        default=None, description="First line to show, from 1; default: what you have not seen yet."
    )

    synonyms: ClassVar[Mapping[str, str]] = {
        "id": "job_id",
        "job": "job_id",
        "bash_id": "job_id",
        "wait": "wait_seconds",
        "timeout": "wait_seconds",
        "from": "from_line",
        "offset": "from_line",
    }


class JobKillArgs(ToolArgs):
    """Arguments of job_kill."""

    job_id: str = Field(description="The job, for example j1.")

    synonyms: ClassVar[Mapping[str, str]] = {"id": "job_id", "job": "job_id", "bash_id": "job_id", "shell_id": "job_id"}


class JobOutput(ToolBase[JobOutputArgs]):
    """Status and new output. Waiting for a job can be interrupted; the job goes on."""

    name = "job_output"
    args_type = JobOutputArgs

    def complaint_of(self, args: JobOutputArgs, ctx: ToolContext) -> str | None:
        return _unknown(args.job_id, ctx.jobs)

    async def perform(self, args: JobOutputArgs, ctx: ToolContext) -> ToolOutcome:
        job = _job(args.job_id, ctx.jobs)
        await ctx.jobs.wait(job, min(max(args.wait_seconds, 0.0), LONGEST_WAIT))
        return await _told(job, ctx.jobs, args.from_line)


class JobKill(ToolBase[JobKillArgs]):
    """Ends a job of this session: what the agent started needs no permission to be stopped."""

    name = "job_kill"
    args_type = JobKillArgs

    def effect_of(self, args: JobKillArgs) -> Effect:
        return Effect.ISOLATED

    def complaint_of(self, args: JobKillArgs, ctx: ToolContext) -> str | None:
        return _unknown(args.job_id, ctx.jobs)

    async def perform(self, args: JobKillArgs, ctx: ToolContext) -> ToolOutcome:
        job = _job(args.job_id, ctx.jobs)
        if not job.is_running:
            return ToolOutcome(f"{job.id} had ended already: {ending(job)}.", summary="had ended")
        await ctx.jobs.kill(job)
        return await _told(job, ctx.jobs, None)


def _job(job_id: str, jobs: SessionJobs) -> Job:
    complaint = _unknown(job_id, jobs)
    if complaint is not None:
        raise ToolFailure("not_found", complaint)
    job = jobs.get(job_id)
    assert job is not None
    return job


def _unknown(job_id: str, jobs: SessionJobs) -> str | None:
    if jobs.get(job_id) is not None:
        return None
    known = ", ".join(f"{job.id} ({job.state})" for job in jobs.all()[-10:]) or "none"
    return f"There is no job {job_id!r} in this session. Jobs: {known}."


async def _told(job: Job, jobs: SessionJobs, from_line: int | None) -> ToolOutcome:
    jobs.now_known(job)
    job.log_end()
    asked = from_line is not None
    offset = await asyncio.to_thread(offset_of_line, job.log_path, max(1, from_line)) if asked else job.read_to
    part = await asyncio.to_thread(job.read, offset)
    first = await asyncio.to_thread(lines_before, job.log_path, offset) + 1
    job.read_to = max(job.read_to, part.end)
    unfinished = cut_line(job.output.unfinished) if job.output is not None and job.is_running else ""
    body = part.text + unfinished
    note = "" if body else "[no output yet]" if first == 1 and not offset else f"[nothing new after line {first - 1}]"
    where = f"[output from line {first} on; all of it is in {job.log_path}]" if body else note
    text = "\n".join(piece for piece in (_status(job), body.rstrip("\n"), where) if piece)
    blocks: tuple[DisplayBlock, ...] = (OutputBlock(body),) if body else ()
    return ToolOutcome(text, blocks, summary="running" if job.is_running else ending(job))


def _status(job: Job) -> str:
    command = job.command if len(job.command) <= _COMMAND else job.command[:_COMMAND] + "…"
    if not job.is_running:
        return f"[{job.id} is over: {ending(job)}] {command}"
    state = f"running for {job.seconds:.0f} s"
    if job.exit_code is not None:
        names = ", ".join(f"pid {entry.pid} ({entry.name})" for entry in job.processes[:_NAMED])
        state = f"{state}; the command itself ended with exit code {job.exit_code}, {names} runs on"
    return f"[{job.id} is {state}] {command}"
