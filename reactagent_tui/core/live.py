"""A session that is open: its history on disk, its rules, its queue, and the run that may be going.

One process holds many; each has its own working directory and run. Single-threaded: every method is called in
the agent's loop.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from reactagent_tui.core import queued_commands
from reactagent_tui.core.agents.session_agents import main_port
from reactagent_tui.core.checkpoints.rewinder import Outcome
from reactagent_tui.core.checkpoints.turn_files import files_reminder, patience, with_files
from reactagent_tui.core.events import (
    RunEnded,
    RunStarted,
    SessionChanged,
)
from reactagent_tui.core.llm.vision import takes_images
from reactagent_tui.core.message_queue import QueueKind
from reactagent_tui.core.messages import AssistantMessage, ToolCall, UserMessage
from reactagent_tui.core.other_models import SessionModels
from reactagent_tui.core.pipeline.port import SessionPipelines
from reactagent_tui.core.pipeline.user_pipeline import UserPipeline, user_pipeline
from reactagent_tui.core.plans.decision import note_answer
from reactagent_tui.core.prompt_gate import Screening
from reactagent_tui.core.react.compacting import Compacting
from reactagent_tui.core.react.controller import ReActController
from reactagent_tui.core.react.room import Room
from reactagent_tui.core.react.state import RunResult, RunSetup
from reactagent_tui.core.react.user_call import UserCall
from reactagent_tui.core.react.user_command import user_command
from reactagent_tui.core.reflect.reflection import Reflection
from reactagent_tui.core.remembering import note_facts
from reactagent_tui.core.reporter import ASKING_SESSION
from reactagent_tui.core.run_ports import (
    CurrentProvider,
    RunGuard,
    abandoned_result,
    close_open_calls,
    fallback_chain,
    model_switch,
)
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.session_state import SessionState
from reactagent_tui.core.sessions.unfinished import GO_ON, needs_a_word, unfinished
from reactagent_tui.core.tools.base import Tool, ToolContext, no_gate
from reactagent_tui.core.tools.jobs import Keep
from reactagent_tui.core.turn_reminders import TurnReminders

log = logging.getLogger(__name__)
Work = UserCall | UserPipeline | Screening | Compacting | Reflection
"""What a session does of the user's before or instead of a run."""


@dataclass
class LiveSession(SessionState):
    """One open session. Made by `Runtime.open_session`."""

    _controller: ReActController | None = None
    _command: Work | None = None
    _task: asyncio.Task[None] | None = None
    _guard: RunGuard | None = None
    _undone: UserMessage | None = None
    """What the next request says of files that went back."""
    _waiters: list[asyncio.Future[RunResult]] = field(default_factory=list["asyncio.Future[RunResult]"])

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

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

    def occupy(self, work: Work) -> None:
        """Something of the user's before or instead of a run; ESC stops it."""
        self._command = work
        self._task = asyncio.create_task(self._run_line(work), name=type(work).__name__)

    def run_command(self, command: str, *, tell_model: bool) -> None:
        """Run a command line the user typed (`!`); with `tell_model` the next request holds what it showed."""
        if self.is_running:
            self.notice("shell.busy", level="warn")
            return
        guard = self._guard = RunGuard(self.file, self.reporter)
        call = user_command(command, self.toolkit, guard, guard, self._context, self.id, tell_model=tell_model)
        self.occupy(call)

    def run_pipeline(self, tool: Tool, query: str, resume_dir: str | None = None) -> UserPipeline | None:
        """Run a pipeline that the user called by name, without a model in front; None: something runs already."""
        if self.is_running:
            self.notice("pipeline.busy", level="warn")
            return None
        guard = self._guard = RunGuard(self.file, self.reporter)
        self.ledger.begin_turn()
        if self.budget is not None:
            self.budget.begin_turn()
        work = user_pipeline(tool, query, resume_dir, guard, self._context, self.id)
        self.occupy(work)
        return work

    def begin_reflection(self, prompt: str) -> Reflection | None:
        """Ask the model to learn from wasted calls; ESC stops it. None: something runs already."""
        if self.is_running:
            return None
        guard = self._guard = RunGuard(self.file, self.reporter)
        self.ledger.begin_turn()
        if self.budget is not None:
            self.budget.begin_turn()
        work = Reflection(prompt, lambda: self._setup(guard, CurrentProvider(lambda: self.provider)))
        self.occupy(work)
        return work

    async def _run_line(self, line: Work) -> None:
        try:
            await line.run()
        finally:
            self._command = self._task = None
        if isinstance(line, Screening) and line.passed is not None:
            self._start(line.passed)
        elif isinstance(line, Screening) and line.result is not None:
            self._tell_waiters(line.result)
        elif not (isinstance(line, Compacting) and line.outcome is None):  # after a stop the queue waits
            self.send_queue()

    def send_queue(self) -> None:
        """Start a turn with what was held back after a stop. Nothing when the queue is empty."""
        while not self.is_running and self._queue:
            if not queued_commands.begin(self, self._queue):
                self._start(self._queue.next())

    def resume(self) -> None:
        """Go on where a pause, a stop or a crash left off."""
        if self.is_running or not self.file.messages or self.file.last_end == "ANSWER":
            return
        word = UserMessage(GO_ON, origin="nudge") if needs_a_word(self.file.messages) else None
        if word is not None:
            self.file.append_message(word)
        self._start(None)

    def interrupt(self) -> None:
        """Stop now. The queue is kept."""
        self.titling.stop()
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

    def stop_agent(self, run_id: str) -> bool:
        """Stop one sub-agent; its caller goes on with what it had done."""
        return self.agents is not None and self.agents.stop(run_id)

    def take_fallback(self) -> bool:
        """Go on with the next model of the chain instead of waiting for this one; False: nothing waits."""
        if isinstance(self._command, Compacting):
            return self._command.take_fallback()
        return self._controller is not None and self._controller.take_fallback()

    def allow_repeats(self, times: int) -> None:
        """Let the same step pass `times` times more."""
        if self._controller is not None:
            self._controller.gate.allow(times)

    def rewound(self, outcome: Outcome, *, forward: bool = False) -> None:
        """The past is another one now: show it, and let the model not believe in what was undone."""
        self.files_seen = FilesSeen()
        self._undone = None if outcome.chat or forward else files_reminder(outcome)
        if outcome.chat:
            self.announce()

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
            context_used=self.counter.fixed(self.system(self), self.offered.specs())
            + self.counter.messages(self.file.marks.view(self.file.messages)),
            unfinished="" if self.is_running else unfinished(self.file.messages, self.file.last_end),
        )
        self._tell_model()
        self._tell_budget()
        self._queue_changed()
        if self.sandbox is not None:
            self.sandbox.tell()
        if self.rewinder is not None:
            self.rewinder.tell_pending()
        self.tell_jobs()
        self.todo.tell()
        self.plan.tell()
        if self.is_running and self._controller is not None:
            # the front end forgot it when it showed another session; without this ESC would find nothing to stop
            self._emit(RunStarted, run_id=self._controller.setup.run_id, prompt=None, model=info.name)

    # -- ending -----------------------------------------------------------------------------

    async def settle(self, seconds: float | None = 2.0) -> bool:
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
        close_open_calls(self.file)
        self.ledger.close_all()
        log.warning("a run did not stop within two seconds and was abandoned")
        self.file.append("event", {"name": "run_ended", "reason": "INTERRUPTED", "abandoned": True})
        result = abandoned_result(self.ledger.totals(), 0 if controller is None else controller.step)
        run_id = controller.setup.run_id if controller is not None else ""
        self._emit(RunEnded, run_id=run_id, **result.event_values())
        self._tell_waiters(result)

    async def close(self, keep_jobs: Keep = "kept") -> None:
        """Stop the run, end the jobs or let them outlive the program, close the file."""
        self.interrupt()
        if not await self.settle():
            self.abandon()
        await self.titling.close()
        if self.gate is not None:
            await self.gate.close()
        if self.rewinder is not None:
            await self.rewinder.turns.close()
        await self.jobs.close(keep_jobs)
        await note_facts(self.memory, self)
        self.file.close()
        self.presence.leave()

    # -- inside -----------------------------------------------------------------------------

    def _start(self, prompt: UserMessage | None) -> None:
        if self.is_running:
            raise RuntimeError("a run is already going in this session")
        self.titling.begin_turn(self, prompt)
        self.plan.stop_asking()
        self.before_turn(self)
        self.unasked.begin_turn(prompt)
        if self._undone is not None and prompt is not None:
            self.file.append_message(self._undone)
            self._undone = None
        hooks = None if self.gate is None else self.gate.hooks
        guard = self._guard = RunGuard(self.file, self.reporter, hooks, holds_end=self.rewinder is not None)
        guard.run_hooks = hooks
        if self.rewinder is not None:
            shown = "" if prompt is None else prompt.shown or prompt.text
            self.rewinder.begin_turn(len(self.file.messages), shown, may_write=self.mode != "plan")
        capped = self.limits.usd is not None or (self.budget is not None and self.budget.limits)
        if capped and not self.ledger.can_price(info := self.provider.info):
            self.notice("limits.no_price", level="warn", model=info.name)
        reminders = TurnReminders(self, prompt)
        turn = self.ledger.begin_turn()
        if self.budget is not None:
            self.budget.begin_turn()
        if self.debug is not None:
            self.debug.turn = turn
        current = CurrentProvider(lambda: self.provider)
        setup = self._setup(guard, current)
        setup.steer = lambda: (*reminders.take(), *self._begin_step(setup, guard, current))
        setup.prepare = reminders.find
        controller = self._controller = ReActController(setup)
        setup.between = partial(queued_commands.between_steps, self, self._queue, controller.room)
        self._task = asyncio.create_task(self._run(controller, guard, prompt), name=f"run {setup.run_id}")

    def compact(self, focus: str = "", *, told: bool = False) -> Compacting:
        """Let the model summarise the beginning of the conversation; ESC stops it. Raises RuntimeError while busy."""
        if self.is_running:
            raise RuntimeError("a run is going in this session")
        guard = self._guard = RunGuard(self.file, self.reporter)
        work = Compacting(self._setup(guard, CurrentProvider(lambda: self.provider)), focus, told=told)
        self.occupy(work)
        return work

    def room(self) -> Room:
        """What makes room in the window between runs."""
        guard = RunGuard(self.file, self.reporter)
        setup = self._setup(guard, CurrentProvider(lambda: self.provider))
        return Room(setup, lambda kind, values: self._emit(kind, **values))

    def _setup(self, guard: RunGuard, current: CurrentProvider) -> RunSetup:
        """What a run works with, as things are now."""
        setup = RunSetup(
            provider=current,
            toolkit=self.offered,
            permissions=self.permissions,
            history=guard,
            ledger=self.ledger,
            reporter=guard,
            system=lambda: self.system(self),
            context=self._context,
            counter=self.counter,
            cache=self.cache,
            protocols=self.protocols,
            session_id=self.id,
            run_id=secrets.token_hex(6),
            limits=self.limits,
            budget=self.budget,
            two_phase=self.two_phase,
            loop_window=self.loop_window,
            polling=self.polling,
            output_dir=self.file.folder / "output",
            on_window=self.window_told,
            debug=self.debug,
            hooks=guard.run_hooks,
        )
        setup.fallbacks = fallback_chain(self, setup, current)
        setup.others = SessionModels(self, setup, model_switch(self, setup, current))
        return setup

    async def _run(self, controller: ReActController, guard: RunGuard, prompt: UserMessage | None) -> None:
        ASKING_SESSION.set(self.id)
        try:
            result = await controller.run(prompt)
        except asyncio.CancelledError:
            guard.release(lambda ended: ended)
            raise
        if self.rewinder is not None:
            files = None
            try:
                files = await self.rewinder.turns.end_turn(patience(result.reason))
            finally:
                guard.release(lambda ended: with_files(ended, files))
        if not guard.open:
            return
        self.last_result = result
        asyncio.get_running_loop().run_in_executor(None, self.calibration.save)
        self._controller = None
        self._task = None
        note_answer(self, result.answer, answered=result.reason == "ANSWER")
        self._tell_waiters(result)
        self.titling.after_turn(self, result.reason)
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
            before_write=no_gate if self.rewinder is None else self.rewinder.turns.before_write,
            after_write=no_gate if self.rewinder is None else self.rewinder.turns.after_write,
            jobs=self.jobs,
            agents=main_port(self, guard),
            sees_images=takes_images(self.provider.info),
            todo=self.todo,
            unasked=self.unasked,
            pipelines=SessionPipelines(self.permissions, self.file.messages, guard.emit, self.provider.info.name),
        )

    def _begin_step(self, setup: RunSetup, guard: RunGuard, current: CurrentProvider) -> Sequence[UserMessage]:
        """What waits for a step boundary: a switched model, messages, news of jobs.

        An abandoned run makes no further step. News do not turn an answer into another step: they wait.
        """
        if not guard.open:
            raise asyncio.CancelledError("abandoned")
        current.renew()
        setup.counter = self.counter
        if self.servers is not None and self._controller is not None:
            self.servers.begin_step(self, self._controller)
        setup.toolkit = self.offered
        if self._controller is not None:
            self._controller.executor.toolkit = setup.toolkit
        last = self.file.messages[-1] if self.file.messages else None
        answered = isinstance(last, AssistantMessage) and not last.tool_calls
        view, touched = self.file.marks.view(self.file.messages), self.files_seen.paths
        news = () if answered else (self.jobs.take_news(), self.nested.untold(touched, self.workdir, view))
        told = [UserMessage(text, origin="reminder") for text in news if text]
        steered = self._queue.take_steered()
        self.unasked.heed(steered)
        return (*steered, *told)
