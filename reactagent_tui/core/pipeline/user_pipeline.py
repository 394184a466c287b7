"""A pipeline that the user starts without a model: from the command line, or again from a step on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.pipeline.journal import read_run
from reactagent_tui.core.pipeline.port import SessionPipelines
from reactagent_tui.core.pipeline.resume import take_back
from reactagent_tui.core.react.state import MakeContext
from reactagent_tui.core.react.user_call import UserCall
from reactagent_tui.core.reporter import Reporter
from reactagent_tui.core.skills.models import normalise
from reactagent_tui.core.tools.base import Tool, ToolContext, ToolOutcome
from reactagent_tui.core.tools.pipeline import PipelineTool
from reactagent_tui.core.tools.toolkit import Toolkit


@dataclass
class UserPipeline:
    """One call of a pipeline's tool, outside of any model's run."""

    call: UserCall
    outcome: ToolOutcome | None = None
    """When it is over."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def interrupt(self) -> None:
        """Stop its step now. Idempotent."""
        self.call.interrupt()

    async def run(self) -> None:
        """Run to the end; never raises but when cancelled from outside."""
        try:
            self.outcome = await self.call.run()
        finally:
            self.ended.set()


def user_pipeline(
    tool: Tool, query: str, resume_dir: str | None, reporter: Reporter, context: MakeContext, session_id: str
) -> UserPipeline:
    """The run of a pipeline on a query; with `resume_dir` it goes on with an earlier run."""
    arguments = {"query": query} | ({} if resume_dir is None else {"resume_dir": resume_dir})
    prompt = UserMessage(query or resume_dir or "")
    return UserPipeline(UserCall(tool.name, tool, arguments, prompt, reporter, context, session_id, adapt=_typed))


def _typed(ctx: ToolContext) -> ToolContext:
    """The user called it by name: that needs no question."""
    if isinstance(ctx.pipelines, SessionPipelines):
        return replace(ctx, pipelines=replace(ctx.pipelines, typed=True))
    return ctx


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
