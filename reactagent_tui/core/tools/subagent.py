"""`spawn_subagent`: a task for an agent with a fresh history, run through the port of the context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import ClassVar

from pydantic import Field

from reactagent_tui.core.display import MarkdownBlock, TextBlock, clean
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.tools.agent_report import LINE, one_line, report, summary_of
from reactagent_tui.core.tools.agent_task import DEFAULT_STEPS, AgentResult, AgentStopped, AgentTask
from reactagent_tui.core.tools.base import Effect, StoppedByUser, ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.schema import ToolArgs

MOST_STEPS = 10_000


class SpawnArgs(ToolArgs):
    """Arguments of spawn_subagent."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "prompt": "task",
        "instructions": "task",
        "subagent_type": "role",
        "agent": "role",
        "agent_type": "role",
        "files": "input_files",
        "inputs": "input_files",
        "output": "output_file",
        "output_path": "output_file",
        "tools": "tools_allowlist",
        "allowed_tools": "tools_allowlist",
        "max_turns": "max_steps",
        "description": "name",
    }

    task: str = Field(description="The whole task: all it needs to know, and what the result shall look like.")
    role: str | None = Field(default=None, description="Name of a role; left out: a plain agent.")
    system_prompt: str | None = Field(default=None, description="Its system prompt, instead of that of the role.")
    input_files: list[str] = Field(default=[], description="Files put into its prompt.")
    output_file: str | None = Field(default=None, description="Where its answer goes.")
    tools_allowlist: list[str] = Field(default=[], description="Names of your tools that it may use. Default: none.")
    model: str | None = Field(default=None, description="Another model, by name; left out: yours.")
    max_steps: int = Field(default=DEFAULT_STEPS, ge=1, le=MOST_STEPS, description="Model calls at most.")
    max_usd: float | None = Field(default=None, gt=0, description="Money it may spend; never more than is left.")
    name: str = Field(default="", max_length=60, description="A short name to tell it from others.")


class SpawnSubagent(ToolBase[SpawnArgs]):
    """Runs beside anything; what its agent does is judged when it does it."""

    name = "spawn_subagent"
    args_type = SpawnArgs

    def __init__(self) -> None:
        super().__init__()
        self._text = self.description
        self._stopped: dict[str, ToolOutcome] = {}

    def describe(self, roles: Iterable[tuple[str, str]]) -> None:
        """Tell the model of these roles, each (name, description), from its next request on."""
        lines = [f"- {name}: {one_line(text)}" for name, text in roles]
        self.description = "\n".join((self._text, "", "Roles:", *lines)) if lines else self._text

    def effect_of(self, args: SpawnArgs) -> Effect:
        return Effect.ISOLATED

    def access_of(self, args: SpawnArgs, ctx: ToolContext) -> Access:
        """No files: those it is given and those it writes are judged as read_file and write_file would be."""
        return Access(tool=self.name, workdir=ctx.workdir, subject=one_line(args.task))

    def complaint_of(self, args: SpawnArgs, ctx: ToolContext) -> str | None:
        if not args.task.strip():
            return "The task is empty."
        if ctx.agents is None:
            return "Sub-agents are not available here. Do it yourself."
        return None

    def partial(self, call_id: str) -> ToolOutcome | None:
        """What a call that was cancelled had brought."""
        return self._stopped.pop(call_id, None)

    async def perform(self, args: SpawnArgs, ctx: ToolContext) -> ToolOutcome:
        if ctx.agents is None:
            raise ToolFailure("not_available", "Sub-agents are not available here. Do it yourself.")
        task = AgentTask(
            task=args.task,
            system_prompt=args.system_prompt or None,
            input_files=tuple(args.input_files),
            output_file=args.output_file or None,
            tools_allowlist=tuple(args.tools_allowlist),
            model=args.model or None,
            max_steps=args.max_steps,
            max_usd=None if args.max_usd is None else Decimal(str(args.max_usd)),
            role=args.role or None,
            name=args.name,
        )
        try:
            result = await ctx.agents.run(task, ctx)
        except AgentStopped as stopped:
            self._stopped[ctx.call_id] = _outcome(stopped.result, task)
            raise
        if result.stops_all:
            self._stopped[ctx.call_id] = _outcome(result, task)
            raise StoppedByUser
        return _outcome(result, task)


def _outcome(result: AgentResult, task: AgentTask) -> ToolOutcome:
    shown = MarkdownBlock(result.text) if result.text else TextBlock(clean(summary_of(result, task)))
    return ToolOutcome(
        report(result, task),
        blocks=(shown,),
        is_error=not result.is_done,
        summary=f"{result.name}: {one_line(summary_of(result, task))[: LINE // 2]}",
        error_kind="" if result.is_done else "agent",
        changed=result.files,
    )
