"""What an open session is made of: its history on disk, its rules, its model, its queue; and what it tells the screen.

Single-threaded: every method is called in the agent's loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from reactagent_tui.core.agents.pool import SessionAgents
from reactagent_tui.core.checkpoints.rewinder import Rewinder
from reactagent_tui.core.cost.budget import Budget, Scope, as_record
from reactagent_tui.core.cost.cache_tag import CacheWatch
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.price_tag import PriceTag
from reactagent_tui.core.events import (
    AgentEvent,
    BudgetChanged,
    JobChanged,
    ModeChanged,
    ModelChanged,
    Notice,
    PlanProposed,
    QueueChanged,
    QueuedMessage,
    TitleChanged,
    TodoChanged,
)
from reactagent_tui.core.llm.base import ChatProvider
from reactagent_tui.core.llm.calibration import Calibration
from reactagent_tui.core.llm.registry import ModelChoice
from reactagent_tui.core.memory.memory import Memory
from reactagent_tui.core.message_queue import MessageQueue, QueueKind, queue_of, queue_record
from reactagent_tui.core.messages import Message, UserMessage
from reactagent_tui.core.money import CostTotals
from reactagent_tui.core.plans.decision import PlanTools, withheld
from reactagent_tui.core.plans.session_plan import SessionPlan
from reactagent_tui.core.prompt.nested import NestedInstructions
from reactagent_tui.core.prompt_gate import PromptGate
from reactagent_tui.core.react.counting import Counters, WindowCounter, WorkingMemory
from reactagent_tui.core.react.debug import DebugSteps
from reactagent_tui.core.react.gates import Limits
from reactagent_tui.core.react.kept_output import close_cut_calls
from reactagent_tui.core.react.next_call import NextCall
from reactagent_tui.core.react.protocols import Protocols
from reactagent_tui.core.react.state import RunResult
from reactagent_tui.core.react.two_phase import TwoPhaseThinking
from reactagent_tui.core.reporter import Reporter
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.safety.permissions import Mode, Permissions
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.sandboxing import SessionSandbox
from reactagent_tui.core.sessions.presence import Presence
from reactagent_tui.core.sessions.store import SessionFile
from reactagent_tui.core.sessions.titling import Titling
from reactagent_tui.core.tools.jobs import SessionJobs
from reactagent_tui.core.tools.session_servers import SessionServers
from reactagent_tui.core.tools.todo_list import TodoList
from reactagent_tui.core.tools.toolkit import Toolkit
from reactagent_tui.core.tools.unasked import Unasked

ROOM_FOR_WORK = 4_000
"""Tokens a window must hold besides instructions and tools for a turn to make sense."""


@dataclass
class SessionState:
    """An open session without its runs."""

    file: SessionFile
    workdir: Path
    reporter: Reporter
    provider: ChatProvider
    toolkit: Toolkit
    permissions: Permissions
    ledger: Ledger
    system: Callable[[Any], str]
    limits: Limits = field(default_factory=Limits)
    budget: Budget | None = None
    fallback_models: Sequence[str] = ()
    make_provider: Callable[[str], ChatProvider] | None = None
    """A provider by name, for the fallback chain. Raises ConfigError."""
    list_models: Callable[[], Sequence[ModelChoice]] | None = None
    """All models that the user has."""
    two_phase: TwoPhaseThinking = field(default_factory=TwoPhaseThinking)
    loop_window: int = 3
    polling: frozenset[str] = frozenset()
    debug: DebugSteps | None = None
    tool_env: Mapping[str, str] = field(default_factory=dict[str, str])
    before_turn: Callable[[Any], None] = lambda _session: None
    """Called when a turn begins; the runtime reads instruction files again."""
    gate: PromptGate | None = None
    """Hooks that see prompts first."""
    sandbox: SessionSandbox | None = None
    servers: SessionServers | None = None
    """MCP servers. None: it has none."""
    agents: SessionAgents | None = None
    """Sub-agents. None: it may have none."""
    rewinder: Rewinder | None = None
    """What the agent did to files, and the way back. None: nothing is kept."""
    memory: Memory | None = None
    """What is remembered from session to session; shared by all."""
    files_seen: FilesSeen = field(default_factory=FilesSeen)
    calibration: Calibration = field(default_factory=Calibration)
    """Shared by the sessions of a process."""
    cache: CacheWatch = field(default_factory=CacheWatch)
    protocols: Protocols = field(default_factory=Protocols)
    """What was learned of each model's way to act; kept from run to run."""
    unasked: Unasked = field(default_factory=Unasked)
    working_memory: WorkingMemory = field(default_factory=WorkingMemory)
    """What the user allows a request to hold of the history."""
    date_and_git: bool = False
    """Tell the model the time and the state of git with each prompt."""
    without_skills: frozenset[str] = frozenset()
    """Skills that this session does without, as the user decided."""
    without_files: frozenset[str] = frozenset()
    """The same for instruction files of the system prompt, by path."""
    without_memory: bool = False
    """Nothing that is remembered is told with prompts."""
    nested: NestedInstructions = field(default_factory=NestedInstructions)
    plan_tools: PlanTools = "read"
    """What plan mode offers the model."""
    learned: str = ""
    """What the user approved of earlier reflections; part of the system prompt."""
    titling: Titling = field(default_factory=Titling)
    last_result: RunResult | None = None
    _next_call: NextCall = field(default_factory=NextCall)

    def __post_init__(self) -> None:
        close_cut_calls(self.file)
        self._opened_at = len(self.file.messages)
        self._queue = MessageQueue(self._queue_changed)
        self._queue.restore(queue_of(self.file.events))
        self._queue_kept = queue_record(self._queue.whole())
        self._counters = Counters(self.calibration, lambda: self.ledger.rows, lambda: self.working_memory)
        self.presence = Presence(self.file.folder)
        self.todo = TodoList(lambda items: self._emit(TodoChanged, items=items), self.file)
        self.plan = SessionPlan(
            self.todo, lambda state, steps: self._emit(PlanProposed, state=state, steps=steps), self.file
        )
        self.jobs = SessionJobs(
            lambda job: self._emit(JobChanged, job=job.info), lambda data: self.file.append("event", data)
        )

    # -- state ------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self.file.id

    @property
    def mode(self) -> Mode:
        return self.permissions.mode

    @property
    def offered(self) -> Toolkit:
        """The tools that the next call offers: in plan mode none that write."""
        return withheld(self.toolkit, self.plan_tools) if self.mode == "plan" else self.toolkit

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.permissions.workspace_roots)

    @property
    def queue(self) -> tuple[QueuedMessage, ...]:
        return self._queue.items

    @property
    def counter(self) -> WindowCounter:
        """Estimates for the present model."""
        return self._counters.of(self.provider.info)

    @property
    def counters(self) -> Counters:
        """Estimates for every model."""
        return self._counters

    @property
    def talk(self) -> Sequence[Message]:
        """What was said since this session was opened."""
        return self.file.messages[self._opened_at :]

    def totals(self) -> CostTotals:
        return self.ledger.totals()

    def price_tag(self, draft: str = "") -> PriceTag:
        """What the next call would cost if this were sent now."""
        return self._next_call.tag(self, draft)

    def take_back(self, message_id: str | None = None) -> UserMessage | None:
        """Remove a queued message (the newest when no id is given) and hand it back, whole."""
        return self._queue.take_back(message_id)

    def hold(self, message: UserMessage, kind: QueueKind) -> None:
        """Put a message into the queue and leave it there until the user sends on."""
        self._queue.add(message, kind)

    def queued_messages(self) -> tuple[tuple[UserMessage, QueueKind], ...]:
        """What waits, whole; for the watchdog, whose session is another one."""
        return self._queue.whole()

    # -- settings ---------------------------------------------------------------------------

    def set_mode(self, mode: Mode) -> None:
        """Change what may run without a question; holds from the next call on."""
        self.permissions.mode = mode
        self.file.append("event", {"name": "mode", "mode": mode})
        self._emit(ModeChanged, mode=mode)

    def set_provider(self, provider: ChatProvider) -> None:
        """Another model from the next step on. What was spent keeps its price."""
        self.provider = provider
        info = provider.info
        self.file.append("event", {"name": "model", "provider": info.provider, "model": info.name})
        self._tell_model()

    def window_told(self) -> None:
        """The model's server said how large its window is: the screen shows it; one that is too small is told."""
        self._tell_model()
        info = self.provider.info
        needed = self.counter.fixed(self.system(self), self.offered.specs())
        if not info.context_assumed and info.context_size < needed + ROOM_FOR_WORK:
            self.notice("local.window_small", level="warn", window=info.context_size, needed=needed)

    def tell_jobs(self) -> None:
        """Show the jobs of this session, and once those that ended with an earlier run of the program."""
        for job in self.jobs.all():
            self._emit(JobChanged, job=job.info)
        died, self.jobs.died = self.jobs.died, []
        if died:
            self.notice("jobs.died", level="warn", n=len(died), names=", ".join(job.command[:60] for job in died))

    def set_title(self, title: str) -> None:
        title = " ".join(title.split())[:200]
        self.file.set_title(title)
        self._emit(TitleChanged, title=title)

    def set_budget(self, scope: Scope, limit: Decimal | None) -> None:
        """What may be spent before the program asks; kept with the session. None: no such limit."""
        if self.budget is not None:
            self.budget.set(scope, limit)
            self.file.append("event", {"name": "budget", "limits": as_record(self.budget.limits)})
            self._tell_budget()

    def _tell_model(self) -> None:
        info = self.provider.info
        self._emit(
            ModelChanged,
            provider=info.provider,
            model=info.name,
            context_size=info.context_size,
            context_assumed=info.context_assumed,
        )

    def _tell_budget(self) -> None:
        tightest = None if self.budget is None else self.budget.tightest()
        if tightest is None:
            self._emit(BudgetChanged)
        else:
            self._emit(BudgetChanged, scope=tightest.scope, limit=tightest.limit, spent=tightest.spent)

    def _queue_changed(self) -> None:
        kept = queue_record(self._queue.whole())
        if kept != self._queue_kept:
            self._queue_kept = kept
            self.file.append("event", {"name": "queue", "items": kept})
        self._emit(QueueChanged, items=self._queue.items)

    def notice(self, key: str, *, level: Literal["info", "warn", "error"] = "info", **params: Any) -> None:
        """Tell the user something that is no part of a run."""
        self._emit(Notice, key=key, params=params, level=level)

    def _emit(self, kind: type[AgentEvent], **values: Any) -> None:
        self.reporter.emit(kind(session_id=self.id, **values))
