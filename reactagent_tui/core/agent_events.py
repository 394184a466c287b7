"""What sub-agents and pipelines tell a front end; part of `events.AgentEvent`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from reactagent_tui.core.event_base import EndReason, EventBase
from reactagent_tui.core.money import Money
from reactagent_tui.core.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStarted(EventBase):
    """A sub-agent begins. `run_id` is its own run, `parent_run_id` and `parent_call_id` say who called it."""

    name: str
    """Unique among the agents of a session; its lines of the ledger and its approvals carry it."""
    task: str
    model: str
    role: str = ""
    max_steps: int = 0
    max_usd: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFinished(EventBase):
    """A sub-agent is over; its `RunEnded` came before."""

    name: str
    reason: EndReason
    summary: str
    """What its caller gets, one line."""
    usage: Usage
    cost: Money
    steps: int
    seconds: float
    output_file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStarted(EventBase):
    """A pipeline begins or goes on. `tool_call_id` names it in all its events."""

    pipeline: str
    query: str
    run_dir: str
    resumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStepStarted(EventBase):
    """A step of a pipeline begins. `index` counts from 1, over resumed runs as well."""

    index: int
    title: str
    state: str
    kind: Literal["llm_subagent", "bash", "terminal"]
    outputs: tuple[str, ...] = ()
    """Files it shall write."""
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStepFinished(EventBase):
    """A step of a pipeline is over."""

    index: int
    status: Literal["ok", "failed", "interrupted", "skipped"]
    seconds: float
    usage: Usage
    cost: Money
    preview: str = ""
    """The first lines of what it made, or of what went wrong."""
    run: str = ""
    """The run id of its sub-agent, if it had one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineFinished(EventBase):
    """A pipeline is over or was stopped; on disk is what `resume` goes on with."""

    pipeline: str
    run_dir: str
    outcome: str
    """`DONE`, `do_not_generate`, `phase_N_failed`, `stuck`, `failed`, `interrupted`, `ood`."""
    detail: str
    files: tuple[str, ...]
    steps: int
    seconds: float
    usage: Usage
    cost: Money
