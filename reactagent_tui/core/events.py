"""Everything the agent tells a front end, as a closed union of frozen dataclasses.

Core emits message keys and parameters, never sentences in one language. Deltas may be merged by a reporter;
every other event arrives, in the order of emission.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from reactagent_tui.core.agent_events import (
    AgentFinished,
    AgentStarted,
    PipelineFinished,
    PipelineStarted,
    PipelineStepFinished,
    PipelineStepStarted,
)
from reactagent_tui.core.display import DisplayBlock
from reactagent_tui.core.event_base import EndReason, EventBase
from reactagent_tui.core.messages import AssistantMessage, ResultStatus, ToolCall, UserMessage
from reactagent_tui.core.money import NOTHING_SPENT, CostTotals, Money
from reactagent_tui.core.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(EventBase):
    """A run begins. `prompt` is None when a paused run goes on."""

    prompt: UserMessage | None
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted(EventBase):
    """A model call is about to go out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished(EventBase):
    """The call and its actions are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta(EventBase):
    text: str

    @property
    def is_quiet(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(EventBase):
    text: str

    @property
    def is_quiet(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReclassified(EventBase):
    """All text of this reply so far was thinking (a template that opens the think block itself)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDelta(EventBase):
    """Arguments of a call are arriving: `index` in this reply, `name` once known, `size` characters so far."""

    index: int
    name: str
    size: int

    @property
    def is_quiet(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFinished(EventBase):
    """A reply is complete, or as complete as it will get (`message.stop_reason` tells)."""

    message: AssistantMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(EventBase):
    """A tool begins to run (or waits for approval: `waiting`, followed by a second ToolStarted without it)."""

    call: ToolCall
    waiting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput(EventBase):
    """Live output of a running tool, decoded; may be merged like a delta."""

    text: str

    @property
    def is_quiet(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished(EventBase):
    """A call has its result. Also for calls that were never run (status tells)."""

    call: ToolCall
    status: ResultStatus
    text: str
    blocks: tuple[DisplayBlock, ...]
    is_error: bool
    summary: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked(EventBase):
    """The run waits for the user (see reporter.Question); answered through `Reporter.ask`."""

    question_id: str
    question: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionClosed(EventBase):
    """The question needs no answer any more: answered, or its task was cancelled."""

    question_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageUpdated(EventBase):
    """Tokens and money moved. At most 10 a second while streaming, and once when a call ends (`final`)."""

    call_usage: Usage
    call_cost: Money
    totals: CostTotals
    context_used: int
    """Tokens in the window by the newest count."""
    context_size: int
    context_assumed: bool
    """The window size is a guess."""
    tokens_per_second: float | None = None
    first_token_seconds: float | None = None
    final: bool = False

    @property
    def is_quiet(self) -> bool:
        return not self.final


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetReached(EventBase):
    """A spending limit is near (`share` 0.8) or reached (1.0)."""

    scope: Literal["turn", "session", "day"]
    limit: Decimal
    spent: Money
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetChanged(EventBase):
    """The spending limit to show: the one that is used up most. `limit` None: there is none."""

    scope: Literal["turn", "session", "day"] = "session"
    limit: Decimal | None = None
    spent: Money = NOTHING_SPENT


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled(EventBase):
    """The call failed and is tried again in `delay` seconds."""

    attempt: int
    attempts: int
    delay: float
    reason: str
    status: int | None = None
    fallback: str | None = None
    """The model that can be taken at once instead of waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitProgress(EventBase):
    """Nothing is generated: the server queues, loads or reads the prompt, our own rate limit holds the call back
    (`paced`), or a reply that had begun stands still (`stalled`). `share` is 0..1 when told, `left` seconds when known.
    """

    kind: Literal["queued", "prefill", "loading", "connecting", "paced", "stalled"]
    seconds: float
    share: float | None = None
    left: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionDone(EventBase):
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    id: str
    text: str
    kind: Literal["steer", "follow_up", "command"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChanged(EventBase):
    """The messages that wait for a step or turn boundary, oldest first."""

    items: tuple[QueuedMessage, ...]


@dataclass(frozen=True, slots=True)
class TodoItem:
    text: str
    state: Literal["open", "doing", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoChanged(EventBase):
    items: tuple[TodoItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProposed(EventBase):
    """The plan of the session changed. `proposed`: it waits for the user's word; `editing`: they want to change it."""

    state: Literal["none", "proposed", "editing", "accepted", "done"]
    steps: tuple[str, ...]


JobState = Literal["running", "ended", "killed", "lost", "kept"]
"""`lost`: it ended together with the program; `kept`: it outlived it."""


@dataclass(frozen=True, slots=True)
class JobInfo:
    """A background job as it is now. `began` in seconds since the epoch; `seconds` None while it runs."""

    id: str
    command: str
    state: JobState
    began: float
    seconds: float | None = None
    exit_code: int | None = None
    last_line: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChanged(EventBase):
    """A background job began, printed (at most once a second) or ended. No part of a run."""

    job: JobInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessageAdded(EventBase):
    """A message entered the history while a run was going (a steer or follow-up)."""

    message: UserMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class TitleChanged(EventBase):
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxChanged(EventBase):
    """Where the session works, or what stands around its commands: off, worktree, copy, bwrap."""

    sandbox: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeChanged(EventBase):
    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChanged(EventBase):
    provider: str
    model: str
    context_size: int
    context_assumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChanged(EventBase):
    """The front end's session is another one now: its history replaces what is shown."""

    title: str
    workdir: str
    messages: tuple[Any, ...]
    model: str
    mode: str
    totals: CostTotals
    context_used: int = 0
    """Tokens the history takes, estimated."""
    unfinished: Literal["", "paused", "stopped", "lost"] = ""
    """Its last turn can go on: paused, stopped by the user, or lost with the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(EventBase):
    """Something to tell the user: a locale key with parameters, and blocks for the details."""

    key: str
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    level: Literal["info", "warn", "error"] = "info"
    blocks: tuple[DisplayBlock, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStateChanged(EventBase):
    """An MCP server begins to start, is ready or failed, or offers other tools. No part of a run."""

    server: str
    state: Literal["off", "starting", "ready", "failed", "login"]
    """`login`: it waits for the user to log in."""
    tools: int = 0
    tokens: int = 0
    """What its tools cost in every request, estimated."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StopReport:
    """What an interrupt did."""

    commands_killed: int = 0
    calls_skipped: int = 0
    text_kept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TodayChanged(EventBase):
    """What all sessions and processes spent today, when it became known or others changed it."""

    cost: Money
    other: tuple[Money, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(EventBase):
    """Exactly one per run, whatever happened."""

    reason: EndReason
    answer: str
    usage: Usage
    cost: Money
    steps: int
    seconds: float
    error: str | None = None
    stop: StopReport | None = None
    files_created: tuple[str, ...] = ()
    files_changed: tuple[str, ...] = ()
    files_deleted: tuple[str, ...] = ()


AgentEvent: TypeAlias = (
    RunStarted
    | StepStarted
    | StepFinished
    | ThinkingDelta
    | TextDelta
    | TextReclassified
    | ToolCallDelta
    | MessageFinished
    | ToolStarted
    | ToolOutput
    | ToolFinished
    | QuestionAsked
    | QuestionClosed
    | UsageUpdated
    | BudgetReached
    | BudgetChanged
    | RetryScheduled
    | WaitProgress
    | CompactionDone
    | QueueChanged
    | TodoChanged
    | PlanProposed
    | JobChanged
    | UserMessageAdded
    | TitleChanged
    | ModeChanged
    | SandboxChanged
    | ModelChanged
    | SessionChanged
    | Notice
    | ServerStateChanged
    | TodayChanged
    | AgentStarted
    | AgentFinished
    | PipelineStarted
    | PipelineStepStarted
    | PipelineStepFinished
    | PipelineFinished
    | RunEnded
)
