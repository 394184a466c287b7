"""A pipeline that the user starts without a model: from the command line, or again from a step on."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.events import (
    AgentEvent,
    RunEnded,
    RunStarted,
    StopReport,
    ToolFinished,
    ToolOutput,
    ToolStarted,
)
from reactagent_tui.core.messages import ResultStatus, ToolCall, UserMessage
from reactagent_tui.core.money import NOTHING_SPENT, NOTHING_USED
from reactagent_tui.core.pipeline.journal import read_run
from reactagent_tui.core.pipeline.port import SessionPipelines
from reactagent_tui.core.pipeline.resume import take_back
from reactagent_tui.core.react.observation import INTERRUPTED
from reactagent_tui.core.react.state import MakeContext
from reactagent_tui.core.reporter import Reporter
from reactagent_tui.core.skills.models import normalise
from reactagent_tui.core.tools.base import StoppedByUser, Tool, ToolOutcome
from reactagent_tui.core.tools.pipeline import PipelineTool
from reactagent_tui.core.tools.toolkit import Toolkit


@dataclass
class UserPipeline:
    """One call of a pipeline's tool. Looks like a short run to the front end: RunStarted, a tool row, RunEnded."""

    tool: Tool
    query: str
    resume_dir: str | None
    reporter: Reporter
    context: MakeContext
    session_id: str
    outcome: ToolOutcome | None = None
    """When it is over."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _work: asyncio.Task[ToolOutcome] | None = None
    _interrupted: bool = False

    def interrupt(self) -> None:
        """Stop its step now. Idempotent."""
        if not self._interrupted and self._work is not None:
            self._interrupted = True
            self._work.cancel()

    async def run(self) -> None:
        """Run to the end; never raises but when cancelled from outside."""
        try:
            await self._run()
        finally:
            self.ended.set()

    async def _run(self) -> None:
        run_id, began = secrets.token_hex(6), time.monotonic()
        arguments = {"query": self.query} | ({} if self.resume_dir is None else {"resume_dir": self.resume_dir})
        call = ToolCall(f"user_{run_id}", self.tool.name, "", arguments)
        self._emit(RunStarted, run_id, prompt=UserMessage(self.query or self.resume_dir or ""), model="")
        self._emit(ToolStarted, run_id, call=call)
        status, outcome = await self._outcome(call, run_id)
        self.outcome = outcome
        seconds = time.monotonic() - began
        self._emit(
            ToolFinished,
            run_id,
            call=call,
            status=status,
            text=outcome.text,
            blocks=outcome.blocks,
            is_error=outcome.is_error,
            summary=outcome.summary,
            seconds=seconds,
        )
        self._emit(
            RunEnded,
            run_id,
            reason="INTERRUPTED" if status == "interrupted" else "ANSWER",
            answer="",
            usage=NOTHING_USED,
            cost=NOTHING_SPENT,
            steps=0,
            seconds=seconds,
            stop=StopReport(commands_killed=1) if status == "interrupted" else None,
        )

    async def _outcome(self, call: ToolCall, run_id: str) -> tuple[ResultStatus, ToolOutcome]:
        def output(text: str) -> None:
            self._emit(ToolOutput, run_id, tool_call_id=call.id, text=text)

        ctx = replace(self.context(call, output), run_id=run_id)
        if isinstance(ctx.pipelines, SessionPipelines):  # the user called it by name: that needs no question
            ctx = replace(ctx, pipelines=replace(ctx.pipelines, typed=True))
        self._work = asyncio.create_task(self.tool.run(call.arguments or {}, ctx))
        try:
            outcome = await asyncio.shield(self._work)
        except StoppedByUser:
            return "interrupted", ToolOutcome(INTERRUPTED, is_error=True, summary="interrupted")
        except asyncio.CancelledError:
            if not self._interrupted:
                self._work.cancel()
                raise
            partial: Callable[[str], ToolOutcome | None] | None = getattr(self.tool, "partial", None)
            found = partial(call.id) if partial is not None else None
            return "interrupted", found or ToolOutcome(INTERRUPTED, is_error=True, summary="interrupted")
        return ("failed" if outcome.is_error else "done"), outcome

    def _emit(self, kind: type[AgentEvent], run_id: str, **values: Any) -> None:
        values.setdefault("tool_call_id", getattr(values.get("call"), "id", None))
        self.reporter.emit(kind(session_id=self.session_id, run_id=run_id, **values))


class PipelineSession(Protocol):
    """The part of a live session that runs a pipeline for the user."""

    toolkit: Toolkit

    @property
    def is_running(self) -> bool: ...

    def run_pipeline(self, tool: Tool, query: str, resume_dir: str | None = None) -> UserPipeline | None: ...


def begin_pipeline(
    session: PipelineSession, skill: str, query: str, resume_dir: str | None = None
) -> UserPipeline | None:
    """Start a pipeline by the name of its skill; None: the session is busy. Raises SkillError for one that is none."""
    return session.run_pipeline(_tool_of(session, skill), query, resume_dir)


async def run_again(session: PipelineSession, folder: Path, first: int) -> UserPipeline | None:
    """Go on with a run from step `first`: what it and later steps made goes to the run's archive. Raises SkillError.

    What it costs is told by `estimate_rest(read_run(folder), first)`, before. None: the session is busy, and nothing
    was moved.
    """
    run = await asyncio.to_thread(read_run, folder)
    if not run.skill:
        raise SkillError(f"{folder} has no journal: it is no run of a pipeline")
    tool = _tool_of(session, run.skill)
    if not session.is_running:
        await asyncio.to_thread(take_back, folder, first)
    return session.run_pipeline(tool, run.query, str(folder))


def _tool_of(session: PipelineSession, skill: str) -> PipelineTool:
    wanted = normalise(skill)
    tools = [tool for tool in session.toolkit if isinstance(tool, PipelineTool)]
    tool = next((tool for tool in tools if normalise(tool.skill.name) == wanted), None)
    if tool is None:
        names = ", ".join(tool.skill.name for tool in tools) or "none"
        raise SkillError(f"{skill} is no pipeline; there are: {names}")
    return tool
