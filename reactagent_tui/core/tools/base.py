"""What a tool is: arguments in, an outcome out, never an exception.

`CancelledError` is never caught, `os.chdir` never called: one process serves several sessions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from reactagent_tui.core.display import DisplayBlock
from reactagent_tui.core.llm.base import JsonSchema, ToolSpec
from reactagent_tui.core.messages import Attachment
from reactagent_tui.core.reporter import Answer, Question
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.tools.agent_task import AgentResult, AgentTask
from reactagent_tui.core.tools.jobs import SessionJobs
from reactagent_tui.core.tools.pipeline_task import PipelineTask
from reactagent_tui.core.tools.todo_list import TodoList
from reactagent_tui.core.tools.unasked import Unasked


async def no_gate(_access: Access) -> None:
    """Nothing to wait for."""


class StoppedByUser(Exception):
    """The user answered a question with "no, and stop"."""


class Effect(StrEnum):
    """What a call does to the world; decides what may run beside it."""

    READS = "reads"
    WRITES = "writes"
    ISOLATED = "isolated"
    """Runs beside anything (sub-agents)."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a call may use. Made anew for every call."""

    session_id: str
    run_id: str
    call_id: str
    workdir: Path
    workspace: Workspace
    files_seen: FilesSeen
    output: Callable[[str], None]
    """Live output for the screen, decoded text."""
    ask: Callable[[Question], Awaitable[Answer]]
    log_dir: Path
    """Folder of this session for full outputs."""
    plan_mode: bool = False
    sees_images: bool = False
    """The model takes images."""
    todo: TodoList = field(default_factory=TodoList)
    """The checklist of this session."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Extra environment for commands (`SKILL_DIR`)."""
    wrap: Callable[[Sequence[str], Path], list[str]] | None = None
    """Puts walls around a command that starts in a folder."""
    before_write: Callable[[Access], Awaitable[None]] = no_gate
    """Awaited before a call that writes: what it may change is kept first."""
    after_write: Callable[[Access], Awaitable[None]] = no_gate
    """Awaited after it: what it left is noted, so that a later change by the user is known as theirs."""
    jobs: SessionJobs = field(default_factory=SessionJobs)
    """What runs in the background of this session."""
    agents: AgentPort | None = None
    """Runs sub-agents; None: this caller may have none."""
    unasked: Unasked = field(default_factory=Unasked)
    """Whether a skill of this turn forbids questions."""
    pipelines: PipelinePort | None = None
    """Drives pipelines; None: this caller may have none."""
    judged: Access | None = None
    """What permissions let this call touch; a path that leads elsewhere by now is refused. None: not judged (tests)."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a call gave."""

    text: str
    """For the model, already capped by `truncate`."""
    blocks: tuple[DisplayBlock, ...] = ()
    is_error: bool = False
    summary: str = ""
    """A few words for the row."""
    error_kind: str = ""
    """Kind of failure for the one-line hint: `not_found`, `no_match`, `many_matches`, `stale`, `timeout`, …"""
    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Files this call wrote, absolute."""
    attachments: tuple[Attachment, ...] = ()
    """Images for the model to see beside the text."""


class AgentPort(Protocol):
    """Runs sub-agents for a session."""

    async def run(self, task: AgentTask, ctx: ToolContext) -> AgentResult:
        """Run one to its end. Cancelled, it stops the agent, keeps what it wrote, and raises AgentStopped.

        Raises ToolFailure when it cannot begin: unknown tools, role or model, too many at once, nested too deep.
        """
        ...


class PipelinePort(Protocol):
    """Drives the pipelines of skills for a session."""

    def preview(self, task: PipelineTask, ctx: ToolContext) -> tuple[DisplayBlock, ...]:
        """What would run, for the question before it begins."""
        ...

    async def run(self, task: PipelineTask, ctx: ToolContext, left: Callable[[ToolOutcome], None]) -> ToolOutcome:
        """Drive one to its end. Cancelled, it stops the step, hands `left` what is on disk, and raises CancelledError.

        Raises ToolFailure when it may not or cannot begin.
        """
        ...


class Tool(Protocol):
    """A tool. Built-ins derive from `ToolBase`; MCP passes its own schema."""

    name: str
    description: str
    parameters: JsonSchema

    def effect(self, args: Mapping[str, Any]) -> Effect:
        """What this very call would do."""
        ...

    def access(self, args: Mapping[str, Any], ctx: ToolContext) -> Access:
        """What this call touches, for the permission engine."""
        ...

    def check(self, args: Mapping[str, Any], ctx: ToolContext) -> str | None:
        """A complaint for the model before anything runs, or None."""
        ...

    async def preview(self, args: Mapping[str, Any], ctx: ToolContext) -> tuple[DisplayBlock, ...]:
        """What the approval dialog shows: a diff or a command."""
        ...

    async def run(self, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutcome:
        """Do it. Failures are outcomes with is_error, not exceptions."""
        ...


def spec_of(tool: Tool) -> ToolSpec:
    """The tool as the model sees it."""
    return ToolSpec(tool.name, tool.description, tool.parameters)
