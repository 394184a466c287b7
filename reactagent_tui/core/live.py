"""A session that is open: its history on disk, its rules, its queue, and the run that may be going.

One process holds many; each has its own working directory and run. Single-threaded: every method is called in
the agent's loop.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Literal

from reactagent_tui.core import run_ports
from reactagent_tui.core.cost.budget import Budget, Scope, as_record
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.events import (
    AgentEvent,
    BudgetChanged,
    ModeChanged,
    ModelChanged,
    Notice,
    QueueChanged,
    QueuedMessage,
    RunEnded,
    RunStarted,
    SessionChanged,
    TitleChanged,
)
from reactagent_tui.core.llm.base import ChatProvider, ModelInfo
from reactagent_tui.core.message_queue import MessageQueue, QueueKind
from reactagent_tui.core.messages import ToolCall, UserMessage
from reactagent_tui.core.money import CostTotals
from reactagent_tui.core.prompt_gate import PromptGate, Screening
from reactagent_tui.core.react.controller import ReActController
from reactagent_tui.core.react.counting import WindowCounter
from reactagent_tui.core.react.debug import DebugSteps
from reactagent_tui.core.react.gates import Limits
from reactagent_tui.core.react.protocols import Protocols
from reactagent_tui.core.react.state import RunResult, RunSetup
from reactagent_tui.core.react.two_phase import TwoPhaseThinking
from reactagent_tui.core.react.user_command import UserCommand
from reactagent_tui.core.reporter import ASKING_SESSION, Reporter
from reactagent_tui.core.run_ports import CurrentProvider, RunGuard
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.safety.permissions import Mode, Permissions
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.sandboxing import SessionSandbox
from reactagent_tui.core.sessions.store import SessionFile
from reactagent_tui.core.tools.base import ToolContext
from reactagent_tui.core.tools.toolkit import Toolkit

log = logging.getLogger(__name__)
TITLE_LENGTH = 60


@dataclass
class LiveSession:
    """One open session. Made by `Runtime.open_session`."""

    file: SessionFile
    workdir: Path
    reporter: Reporter
    provider: ChatProvider
    toolkit: Toolkit
    permissions: Permissions
    ledger: Ledger
    system: Callable[[LiveSession], str]
    limits: Limits = field(default_factory=Limits)
    budget: Budget | None = None
    fallback_models: Sequence[str] = ()
    make_provider: Callable[[str], ChatProvider] | None = None
    """A provider by name, for the fallback chain. Raises ConfigError."""
    two_phase: TwoPhaseThinking = field(default_factory=TwoPhaseThinking)
    loop_window: int = 3
    polling: frozenset[str] = frozenset()
    debug: DebugSteps | None = None
    tool_env: Mapping[str, str] = field(default_factory=dict[str, str])
    before_turn: Callable[[LiveSession], None] = lambda _session: None
    """Called when a turn begins; the runtime reads instruction files again."""
    gate: PromptGate | None = None
    """Hooks that see prompts first."""
    sandbox: SessionSandbox | None = None
    files_seen: FilesSeen = field(default_factory=FilesSeen)
    protocols: Protocols = field(default_factory=Protocols)
    """What was learned of each model's way to act; kept from run to run."""
    last_result: RunResult | None = None
    _controller: ReActController | None = None
    _command: UserCommand | Screening | None = None
    _task: asyncio.Task[None] | None = None
    _guard: RunGuard | None = None
    _waiters: list[asyncio.Future[RunResult]] = field(default_factory=list["asyncio.Future[RunResult]"])

    def __post_init__(self) -> None:
        self._counters = run_ports.Counters(self.ledger)
        self._queue = MessageQueue(self._queue_changed)

    # -- state ------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self.file.id

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def mode(self) -> Mode:
        return self.permissions.mode

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.permissions.workspace_roots)

    @property
    def queue(self) -> tuple[QueuedMessage, ...]:
        return self._queue.items

    @property
    def counter(self) -> WindowCounter:
        """Estimates for the present model."""
        return self.counter_of(self.provider.info)

    def counter_of(self, info: ModelInfo) -> WindowCounter:
        """Estimates for a model, corrected by what its provider reported in this session, before a resume as well."""
        return self._counters.of(info)

    def totals(self) -> CostTotals:
        return self.ledger.totals()

    # -- the user speaks --------------------------------------------------------------------

    def submit(self, message: UserMessage, kind: QueueKind = "steer") -> None:
        """Start a turn, or join the queue of the one that runs. A queue that was held goes first."""
        if self.gate is not None and self.gate.is_guarded:
            self.gate.submit(message, kind)
        else:
            self.take(message, kind)

    def take(self, message: UserMessage, kind: QueueKind = "steer") -> None:
        """`submit` for a prompt that its hooks have seen."""
        if self.is_running or self._queue:
            self._queue.add(message, kind)
            if not self.is_running:
                self.send_queue()
            return
        self._start(message)

    async def run(self, message: UserMessage | None) -> RunResult:
        """Run one turn and wait for its end; for headless use and for programs that embed the core."""
        if message is not None and self.gate is not None and self.gate.is_guarded:
            self.occupy(Screening(message, self.gate.hooks, self.reporter))
        else:
            self._start(message)
        future: asyncio.Future[RunResult] = asyncio.get_running_loop().create_future()
        self._waiters.append(future)
        return await future

    def occupy(self, work: UserCommand | Screening) -> None:
        """Something of the user's before or instead of a run; ESC stops it."""
        self._command = work
        self._task = asyncio.create_task(self._run_line(work), name=type(work).__name__)

    def run_command(self, command: str, *, tell_model: bool) -> None:
        """Run a command line the user typed (`!`); with `tell_model` the next request holds what it showed."""
        if self.is_running:
            self.notice("shell.busy", level="warn")
            return
        guard = self._guard = RunGuard(self.file, self.reporter)
        line = UserCommand(
            command,
            tell_model,
            toolkit=self.toolkit,
            history=guard,
            reporter=guard,
            context=self._context,
            session_id=self.id,
        )
        self.occupy(line)

    async def _run_line(self, line: UserCommand | Screening) -> None:
        try:
            await line.run()
        finally:
            self._command = self._task = None
        if isinstance(line, Screening) and line.passed is not None:
            self._start(line.passed)
        elif isinstance(line, Screening) and line.result is not None:
            self._tell_waiters(line.result)
        else:
            self.send_queue()

    def send_queue(self) -> None:
        """Start a turn with what was held back after a stop. Nothing when the queue is empty."""
        if not self.is_running and self._queue:
            self._start(self._queue.next())

    def resume(self) -> None:
        """Go on where a pause or a stop left off."""
        if not self.is_running and self.file.messages:
            self._start(None)

    def interrupt(self) -> None:
        """Stop now. The queue is kept."""
        if self._controller is not None:
            self._controller.interrupt()
        elif self._command is not None:
            self._command.interrupt()

    def pause(self) -> None:
        """Stop after the running step."""
        if self._controller is not None:
            self._controller.pause()

    def stop_call(self, call_id: str) -> bool:
        """Interrupt one tool call."""
        return self._controller is not None and self._controller.stop_call(call_id)

    def take_fallback(self) -> bool:
        """Go on with the next model of the chain instead of waiting for this one; False: nothing waits."""
        return self._controller is not None and self._controller.take_fallback()

    def set_budget(self, scope: Scope, limit: Decimal | None) -> None:
        """What may be spent before the program asks; kept with the session. None: no such limit."""
        if self.budget is not None:
            self.budget.set(scope, limit)
            self.budget_changed()

    def budget_changed(self) -> None:
        """Keep the limits and show the one that is used up most."""
        assert self.budget is not None
        self.file.append("event", {"name": "budget", "limits": as_record(self.budget.limits)})
        self._tell_budget()

    def allow_repeats(self, times: int) -> None:
        """Let the same step pass `times` times more."""
        if self._controller is not None:
            self._controller.gate.allow(times)

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
        self.file.append("event", {"name": "model", "provider": provider.info.provider, "model": provider.info.name})
        self._tell_model()

    def set_title(self, title: str) -> None:
        title = " ".join(title.split())[:200]
        self.file.set_title(title)
        self._emit(TitleChanged, title=title)

    def announce(self) -> None:
        """Tell the front end everything about this session: it shows another one now."""
        info = self.provider.info
        self._emit(
            SessionChanged,
            title=self.file.header.title,
            workdir=str(self.workdir),
            messages=tuple(self.file.messages),
            model=info.name,
            mode=self.mode,
            totals=self.totals(),
            context_used=self.counter.fixed(self.system(self), self.toolkit.specs())
            + sum(self.counter.message(message) for message in self.file.messages),
        )
        self._tell_model()
        self._tell_budget()
        self._queue_changed()
        if self.sandbox is not None:
            self.sandbox.tell()
        if self.is_running and self._controller is not None:
            # the front end forgot it when it showed another session; without this ESC would find nothing to stop
            self._emit(RunStarted, run_id=self._controller.setup.run_id, prompt=None, model=info.name)

    # -- ending -----------------------------------------------------------------------------

    async def settle(self, seconds: float = 2.0) -> bool:
        """Wait until no run goes; False when it did not end in time."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task], timeout=seconds)
        return not self.is_running

    def abandon(self) -> None:
        """The watchdog: a run that does not stop is cut off. Nothing it still does reaches this session."""
        if self._guard is None or not self.is_running:
            return
        self._guard.open = False
        controller, self._controller = self._controller, None
        self._task = None
        run_ports.close_open_calls(self.file)
        self.ledger.close_all()
        log.warning("a run did not stop within two seconds and was abandoned")
        self.file.append("event", {"name": "run_ended", "reason": "INTERRUPTED", "abandoned": True})
        result = run_ports.abandoned_result(self.ledger.totals(), 0 if controller is None else controller.step)
        run_id = controller.setup.run_id if controller is not None else ""
        self._emit(RunEnded, run_id=run_id, **result.event_values())
        self._tell_waiters(result)

    async def close(self) -> None:
        """Stop the run and close the file."""
        self.interrupt()
        if not await self.settle():
            self.abandon()
        if self.gate is not None:
            await self.gate.close()
        self.file.close()

    # -- inside -----------------------------------------------------------------------------

    def _start(self, prompt: UserMessage | None) -> None:
        if self.is_running:
            raise RuntimeError("a run is already going in this session")
        if prompt is not None and not self.file.header.title:
            self.set_title((prompt.shown or prompt.text)[:TITLE_LENGTH])
        self.before_turn(self)
        hooks = None if self.gate is None else self.gate.hooks
        guard = self._guard = RunGuard(self.file, self.reporter, hooks)
        current = CurrentProvider(lambda: self.provider)
        capped = self.limits.usd is not None or (self.budget is not None and self.budget.limits)
        if capped and not self.ledger.can_price(self.provider.info):
            self.notice("limits.no_price", level="warn", model=self.provider.info.name)
        turn = self.ledger.begin_turn()
        if self.budget is not None:
            self.budget.begin_turn()
        if self.debug is not None:
            self.debug.turn = turn
        setup = RunSetup(
            provider=current,
            toolkit=self.toolkit,
            permissions=self.permissions,
            history=guard,
            ledger=self.ledger,
            reporter=guard,
            system=lambda: self.system(self),
            context=self._context,
            counter=self.counter,
            protocols=self.protocols,
            session_id=self.id,
            run_id=secrets.token_hex(6),
            limits=self.limits,
            budget=self.budget,
            two_phase=self.two_phase,
            loop_window=self.loop_window,
            polling=self.polling,
            steer=lambda: self._begin_step(setup, guard, current),
            debug=self.debug,
            hooks=hooks,
        )
        if self.fallback_models and self.make_provider is not None:
            use = partial(_use_fallback, self, setup, current)
            setup.fallbacks = run_ports.FallbackChain(self.fallback_models, self.make_provider, use)
        controller = self._controller = ReActController(setup)
        self._task = asyncio.create_task(self._run(controller, guard, prompt), name=f"run {setup.run_id}")

    async def _run(self, controller: ReActController, guard: RunGuard, prompt: UserMessage | None) -> None:
        ASKING_SESSION.set(self.id)
        result = await controller.run(prompt)
        if not guard.open:
            return
        self.last_result = result
        self._controller = None
        self._task = None
        self._tell_waiters(result)
        if result.reason == "ANSWER" and self._queue:
            self.send_queue()

    def _tell_waiters(self, result: RunResult) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(result)

    def _context(self, call: ToolCall, output: Callable[[str], None]) -> ToolContext:
        guard = self._guard or RunGuard(self.file, self.reporter)
        return ToolContext(
            session_id=self.id,
            run_id=self._controller.setup.run_id if self._controller is not None else "",
            call_id=call.id,
            workdir=self.workdir,
            workspace=self.workspace,
            files_seen=self.files_seen,
            output=output,
            ask=guard.ask,
            log_dir=self.file.folder / "output",
            plan_mode=self.mode == "plan",
            env=self.tool_env,
            wrap=None if self.sandbox is None else self.sandbox.wrap,
        )

    def _begin_step(self, setup: RunSetup, guard: RunGuard, current: CurrentProvider) -> Sequence[UserMessage]:
        """What waits for a step boundary: a switched model, and messages. An abandoned run makes no further step."""
        if not guard.open:
            raise asyncio.CancelledError("abandoned")
        current.renew()
        setup.counter = self.counter
        return self._queue.take_steered()

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
        self._emit(BudgetChanged, **run_ports.tightest_values(self.budget))

    def _queue_changed(self) -> None:
        self._emit(QueueChanged, items=self._queue.items)

    def notice(self, key: str, *, level: Literal["info", "warn", "error"] = "info", **params: Any) -> None:
        """Tell the user something that is no part of a run."""
        self._emit(Notice, key=key, params=params, level=level)

    def _emit(self, kind: type[AgentEvent], **values: Any) -> None:
        self.reporter.emit(kind(session_id=self.id, **values))


def _use_fallback(session: LiveSession, setup: RunSetup, current: CurrentProvider, provider: ChatProvider) -> None:
    session.set_provider(provider)
    current.renew()
    setup.counter = session.counter
