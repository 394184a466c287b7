"""`run_<skill>_pipeline`: one call, and a driver works through all steps of a skill's state machine."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from pydantic import Field

from reactagent_tui.core.display import DisplayBlock
from reactagent_tui.core.llm.base import JsonSchema
from reactagent_tui.core.skills.loader import SkillLibrary
from reactagent_tui.core.skills.models import Skill
from reactagent_tui.core.tools.base import Effect, PipelineTask, Tool, ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.schema import ToolArgs, json_schema
from reactagent_tui.core.tools.toolkit import Toolkit

LONGEST_NAME = 64
LONGEST_QUERY = 20_000


class PipelineArgs(ToolArgs):
    """Arguments of run_<skill>_pipeline."""

    query: str = Field(
        default="", max_length=LONGEST_QUERY, description="What the user asked for, in the user's own words and whole."
    )
    resume_dir: str | None = Field(
        default=None, description="Folder of an earlier run, to go on with it. Leave out for a new run."
    )

    synonyms: ClassVar[Mapping[str, str]] = {"question": "query", "task": "query", "run_dir": "resume_dir"}


class PipelineTool(ToolBase[PipelineArgs]):
    """The tool of one skill. It asks for permission itself, once, with a list of what will run."""

    args_type = PipelineArgs

    def __init__(self, skill: Skill, library: Callable[[], SkillLibrary], secrets: Iterable[str]) -> None:
        self.name = pipeline_tool_name(skill.name)
        self.description = _description(skill)
        self.parameters: JsonSchema = json_schema(PipelineArgs)
        self.skill = skill
        self._library = library
        self._secrets = tuple(secrets)
        self._partial: dict[str, ToolOutcome] = {}

    def effect_of(self, args: PipelineArgs) -> Effect:
        return Effect.ISOLATED

    def complaint_of(self, args: PipelineArgs, ctx: ToolContext) -> str | None:
        if not args.query.strip() and not args.resume_dir:
            return "query is empty: say what the pipeline shall work on."
        return None

    async def preview_of(self, args: PipelineArgs, ctx: ToolContext) -> tuple[DisplayBlock, ...]:
        return () if ctx.pipelines is None else ctx.pipelines.preview(self._task(args), ctx)

    def partial(self, call_id: str) -> ToolOutcome | None:
        """What a stopped call leaves: its steps so far, and how to go on. Once, then it is forgotten."""
        return self._partial.pop(call_id, None)

    async def perform(self, args: PipelineArgs, ctx: ToolContext) -> ToolOutcome:
        if ctx.pipelines is None:
            raise ToolFailure("unavailable", f"{self.name} cannot be called from here: a pipeline runs no other one.")
        return await ctx.pipelines.run(self._task(args), ctx, lambda left: self._partial.update({ctx.call_id: left}))

    def _task(self, args: PipelineArgs) -> PipelineTask:
        skill = self._library().get(self.skill.name) or self.skill
        return PipelineTask(skill, args.query.strip(), args.resume_dir or None, self.name, self._secrets)


def pipeline_tool_name(skill: str) -> str:
    """`run_<skill>_pipeline`, legal for every API: letters, digits, `_`, `-`, at most 64 of them."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", skill).strip("-") or "skill"
    name = f"run_{plain}_pipeline"
    if len(name) <= LONGEST_NAME:
        return name
    tag = f"{zlib.crc32(skill.encode()):08x}"
    return f"run_{plain[: LONGEST_NAME - len('run__pipeline') - len(tag) - 1]}-{tag}_pipeline"


def pipeline_tools(library: Callable[[], SkillLibrary], secrets: Iterable[str]) -> list[Tool]:
    """One tool for every skill that is a pipeline now."""
    secrets = tuple(secrets)
    return [PipelineTool(skill, library, secrets) for skill in library().all() if skill.is_pipeline]


def with_pipelines(toolkit: Toolkit, tools: Sequence[Tool]) -> Toolkit:
    """The toolkit with these pipelines, last, for those it had; itself when nothing changed (the cache stays warm)."""
    had = {tool.name: tool.description for tool in toolkit if isinstance(tool, PipelineTool)}
    last = [isinstance(tool, PipelineTool) for tool in toolkit][len(toolkit.names) - len(tools) :]
    if had == {tool.name: tool.description for tool in tools} and all(last):
        return toolkit
    return Toolkit([*(tool for tool in toolkit if not isinstance(tool, PipelineTool)), *tools])


def _description(skill: Skill) -> str:
    return (
        f"Runs the whole pipeline of the skill `{skill.name}`: {skill.summary}\n"
        "One call does all its steps, with sub-agents of its own; it may take long. Do not do its steps by hand. "
        "When it was stopped, call it again with the resume_dir that it named."
    )
