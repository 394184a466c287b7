"""The only thing that crosses between the UI loop and the agent loop.

The agent (controller, HTTP, tools, stores) lives in its own thread with its own asyncio loop, so that nothing it
does can hold a key. One deque carries all events in the order of emission: a delta wakes nobody (the screen drains
on a timer while a run goes), any other event schedules one drain. Everything the screen asks for is a method here.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

from reactagent_tui.tui.agent_reporter import AgentReporter, StopsAgents
from reactagent_tui.tui.agent_thread import Agent
from reactagent_tui.tui.sent_prompts import SentPrompt, SentPrompts
from reactagent_tui.tui.session_switch import fork_open, switch

if TYPE_CHECKING:
    from reactagent_tui.core.commands.registry import CommandResult, Unknown
    from reactagent_tui.core.events import AgentEvent
    from reactagent_tui.core.live import LiveSession
    from reactagent_tui.core.messages import UserMessage
    from reactagent_tui.core.reporter import Answer
    from reactagent_tui.core.runtime import Options, Runtime
    from reactagent_tui.core.tools.jobs import Keep

log = logging.getLogger(__name__)
T = TypeVar("T")

STOP_PATIENCE = 2.0
PING_PATIENCE = 0.5
Level = Literal["now", "after_step"]


class AgentReady(NamedTuple):
    """The agent's thread has a session."""

    demo: bool
    warnings: tuple[str, ...] = ()


class AgentFailed(NamedTuple):
    """The agent cannot start (configuration): the screen closes with this text."""

    text: str


FromAgent: TypeAlias = "AgentEvent | AgentReady | AgentFailed"


class AgentStart(NamedTuple):
    """What the agent's thread needs to begin."""

    workdir: Path
    make_options: Callable[[], Options | int]
    """Called in the agent's thread: importing what it needs is slow."""
    t: Callable[..., str]
    resume: str | None = None
    """Session id or title; "" for the newest of the folder; None for a new session."""
    fork: bool = False
    """Go on with a fork of the session to resume."""
    demo_fallback: bool = True
    """Start in demo when no model is configured."""
    after_load: Callable[[Runtime], None] | None = None
    """Called in the agent's thread with the configuration."""
    when_idle: Callable[[], None] | None = None
    """Called in a thread of its own once the agent is ready: imports that the first turn will need."""


class Bridge:
    """The screen's handle on the agent. Methods are called in the UI loop; `interrupt` from any thread."""

    def __init__(self, start: AgentStart, drain: Callable[[], None]) -> None:
        self.start_with = start
        self.events: deque[FromAgent] = deque()
        self.generation = 0
        """Counts agent threads: what an abandoned one still says is not heard."""
        self._drain = drain
        self._drain_pending = False
        self._ui_loop: asyncio.AbstractEventLoop | None = None
        self._ui_context = contextvars.copy_context()
        self._agent: Agent | None = None
        self._waiting: list[Callable[[Agent], None]] = []
        self._ready = False
        self._stop_asked: float | None = None
        self.prompts = SentPrompts()

    # -- life -------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the agent's thread. Called once the first frame is on the screen."""
        self._ui_loop = asyncio.get_running_loop()
        self._ui_context = contextvars.copy_context()  # Textual's timers need its context variables
        self._start_agent(self.start_with.resume)

    async def close(self, seconds: float = 3.0, *, keep_jobs: Keep = "kept") -> None:
        """Stop the run, close files, kill what tools left behind but the jobs to keep, end the thread."""
        agent = self._agent
        if agent is None or agent.thread is None:
            return
        agent.keep_jobs = keep_jobs
        if self.notes_at_end:
            from reactagent_tui.core.remembering import EXTRACT_SECONDS

            seconds += EXTRACT_SECONDS
        try:
            agent.loop.call_soon_threadsafe(self._set_closing, agent)
        except RuntimeError:
            return  # the loop has ended already
        await asyncio.to_thread(agent.thread.join, seconds)

    @property
    def notes_at_end(self) -> bool:
        """Does the model note facts before the program ends?"""
        runtime = None if self._agent is None else self._agent.runtime
        return runtime is not None and runtime.memory.takes_notes

    def hurry(self) -> None:
        """Leave without notes; what `close` waits for ends at once."""
        agent = self._agent
        if agent is not None and agent.runtime is not None:
            self._post(agent, agent.runtime.memory.hurry)

    def end(self, seconds: float = 3.0) -> None:
        """The same without a screen's loop: after a signal, a crash or a closed terminal ended it."""
        agent = self._agent
        if agent is None or agent.thread is None:
            return
        with contextlib.suppress(RuntimeError):
            agent.loop.call_soon_threadsafe(self._set_closing, agent)
        agent.thread.join(seconds)

    # -- what the screen asks for -----------------------------------------------------------

    def submit(self, message: UserMessage, kind: Literal["steer", "follow_up"] = "steer") -> None:
        """Start a turn, or queue behind the one that runs."""
        sent = SentPrompt(message, kind)
        self.prompts.add(sent)

        def call(agent: Agent) -> None:
            if agent is self._agent and agent.session is not None and self.prompts.hear(sent):
                agent.session.submit(message, kind)
                agent.loop.call_soon(self.prompts.written, message)  # behind the run's first step, which writes it

        self._when_ready(call)

    @property
    def is_ready(self) -> bool:
        """Has the agent's thread a session?"""
        return self._ready

    def run_command(self, command: str, *, tell_model: bool) -> None:
        """A command line of the user's own: it runs at once, without a question."""
        self._with_session(lambda session: session.run_command(command, tell_model=tell_model))

    def send_queue(self) -> None:
        self._with_session(lambda session: session.send_queue())

    def resume(self) -> None:
        self._with_session(lambda session: session.resume())

    def interrupt(self, level: Level = "now") -> None:
        """Stop the run. Callable from any thread, as often as wanted."""
        if level == "now" and self._stop_asked is None:
            self._stop_asked = time.monotonic()
        self._with_session(lambda session: session.interrupt() if level == "now" else session.pause())

    def stop_title(self) -> None:
        """ESC while nothing runs: a title that the model is writing stays unwritten."""
        self._with_session(lambda session: session.titling.stop())

    def take_fallback(self) -> None:
        """Go on with the next model instead of waiting for the one that failed."""
        self._with_session(lambda session: session.take_fallback())

    def stop_call(self, call_id: str) -> None:
        """Interrupt one tool call."""
        self._with_session(lambda session: session.stop_call(call_id))

    def stop_agent(self, run_id: str) -> None:
        """Interrupt one agent; the run goes on."""
        self._with_session(lambda session: session.stop_agent(run_id) if isinstance(session, StopsAgents) else None)

    def answer(self, question_id: str, answer: Answer) -> None:
        """The user's answer to a question."""
        agent = self._agent
        if agent is not None:
            self._post(agent, lambda: agent.reporter.answer(question_id, answer))

    def set_mode(self, mode: Any) -> None:
        self._with_session(lambda session: session.set_mode(mode))

    async def command(self, name: str, arguments: str) -> CommandResult | Unknown:
        """Run a slash command in the agent's loop."""
        from reactagent_tui.core.commands.basic import basic_commands
        from reactagent_tui.core.commands.host import SessionHost
        from reactagent_tui.core.commands.registry import execute

        async def run(agent: Agent) -> CommandResult | Unknown:
            assert agent.runtime is not None
            assert agent.session is not None

            folder = self.start_with.workdir
            host = SessionHost(
                agent.runtime,
                agent.session,
                self.start_with.t,
                lambda wanted: switch(agent, folder, wanted),
                lambda keep: fork_open(agent, keep, folder),
            )
            return await execute(basic_commands(), host, name, arguments)

        return await self.query(run)

    async def switch(self, wanted: str | None, *, fork: bool = False) -> None:
        """Show another session: None opens a new one, a text names an earlier one."""
        await self.query(lambda agent: switch(agent, self.start_with.workdir, wanted, fork=fork))

    async def query(self, ask: Callable[[Agent], Awaitable[T]]) -> T:
        """Run a coroutine in the agent's loop and wait for its value in this one."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()

        def settle(task: asyncio.Task[T]) -> None:
            def put() -> None:
                if result.done():
                    return
                if task.cancelled():
                    result.cancel()
                elif (error := task.exception()) is not None:
                    result.set_exception(error)
                else:
                    result.set_result(task.result())

            loop.call_soon_threadsafe(put)

        def begin(agent: Agent) -> None:
            async def work() -> T:
                return await ask(agent)

            task = agent.loop.create_task(work())
            agent.tasks.add(task)
            task.add_done_callback(agent.tasks.discard)
            task.add_done_callback(settle)

        self._when_ready(begin)
        return await result

    # -- events -----------------------------------------------------------------------------

    def _push_of(self, generation: int, event: FromAgent) -> None:
        if generation == self.generation:  # an abandoned thread says no more
            self.push(event)

    def push(self, event: FromAgent) -> None:
        """Called in the agent's thread, through the reporter."""
        self.events.append(event)
        if getattr(event, "is_quiet", False):
            return
        if not self._drain_pending and self._ui_loop is not None:
            self._drain_pending = True
            try:
                self._ui_loop.call_soon_threadsafe(self._drain, context=self._ui_context)
            except RuntimeError:
                self._drain_pending = False  # the screen is gone

    def take(self) -> list[FromAgent]:
        """Everything that happened since the last call, in order. Called by the drain."""
        self._drain_pending = False
        events = self.events
        return [events.popleft() for _ in range(len(events))]

    # -- watchdog ---------------------------------------------------------------------------

    def stop_seen(self) -> None:
        """The screen saw a run end: an earlier stop has done its work."""
        self._stop_asked = None

    def run_seen(self) -> bool:
        """The screen saw a run begin. True when a stop is on its way that may be meant for it: it stays watched."""
        asked = self._stop_asked
        if asked is not None and time.monotonic() - asked < STOP_PATIENCE:
            return True
        self._stop_asked = None
        return False

    async def watch_stop(self) -> bool:
        """Make sure that an interrupt ended the run; called by the screen 2 s after it. True when it had to act."""
        asked = self._stop_asked
        if asked is None or time.monotonic() - asked < STOP_PATIENCE:
            return False
        agent = self._agent
        if agent is None or agent.session is None:
            return False
        session = agent.session
        if await self._ping(agent):
            self._post(agent, session.abandon)
        else:
            self._replace_agent(agent)
        self._stop_asked = None
        return True

    async def _ping(self, agent: Agent) -> bool:
        answered = threading.Event()
        self._post(agent, answered.set)
        return await asyncio.to_thread(answered.wait, PING_PATIENCE)

    def _replace_agent(self, agent: Agent) -> None:
        """The agent's loop does not answer: leave its thread behind and open the session in a new one."""
        log.error("the agent's loop does not answer; starting a new one")
        assert agent.session is not None
        old = agent.session
        old.file.sealed = True
        mode, held = old.mode, [*old.queued_messages(), *self.prompts.unheard]
        self.prompts.unheard.clear()
        self.generation += 1
        self._ready = False
        self._start_agent(old.id)

        def take_over(session: LiveSession) -> None:
            if session.mode != mode:
                session.set_mode(mode)
            kept = session.queued_messages()  # what its file knew of
            for message, kind in held:
                if (message, kind) not in kept:
                    session.hold(message, kind)
            self.prompts.written(*(message for message, _ in held))

        self._with_session(take_over)

    # -- inside -----------------------------------------------------------------------------

    def _start_agent(self, resume: str | None) -> None:
        loop = asyncio.new_event_loop()
        agent = Agent(loop, AgentReporter(partial(self._push_of, self.generation)))
        agent.thread = threading.Thread(target=self._run_agent, args=(agent, resume), name="agent", daemon=True)
        self._agent = agent
        agent.thread.start()

    def _run_agent(self, agent: Agent, resume: str | None) -> None:
        asyncio.set_event_loop(agent.loop)
        try:
            agent.loop.run_until_complete(self._agent_main(agent, resume))
        finally:
            agent.loop.close()

    async def _agent_main(self, agent: Agent, resume: str | None) -> None:
        from reactagent_tui.core.errors import ReactAgentError

        agent.closing = asyncio.Event()
        try:
            await self._open(agent, resume)
        except ReactAgentError as error:
            self.push(AgentFailed(str(error)))
            return
        except Exception as error:
            # the thread's border: whatever stops the start must reach the user, not a dead screen
            log.exception("the agent could not start")
            self.push(AgentFailed(f"{type(error).__name__}: {error}"))
            return
        assert self._ui_loop is not None
        with contextlib.suppress(RuntimeError):  # left before it was ready: `closing` is set, or will never be
            self._ui_loop.call_soon_threadsafe(self._now_ready, context=self._ui_context)
        if self.start_with.when_idle is not None:
            warming = asyncio.create_task(asyncio.to_thread(self.start_with.when_idle))
            agent.tasks.add(warming)
            warming.add_done_callback(agent.tasks.discard)
        await agent.closing.wait()
        for task in list(agent.tasks):
            task.cancel()
        assert agent.runtime is not None
        await agent.runtime.close(agent.keep_jobs)

    async def _open(self, agent: Agent, resume: str | None) -> None:
        from dataclasses import replace

        from reactagent_tui.core.errors import ConfigError
        from reactagent_tui.core.mcp.oauth_browser import browser_of
        from reactagent_tui.core.runtime import Runtime

        options = self.start_with.make_options()
        if isinstance(options, int):
            raise ConfigError("the command line could not be used")
        runtime = Runtime.load(agent.reporter, options)
        runtime.servers.browser = browser_of(runtime.env)
        if self.start_with.after_load is not None:
            self.start_with.after_load(runtime)
        demo = options.demo
        local = await runtime.use_local_server()
        if not demo and local is None and self.start_with.demo_fallback and not runtime.has_model():
            runtime.options = replace(options, demo=True)
            demo = True
        agent.runtime = runtime
        fork = self.start_with.fork and self.generation == 0
        await switch(agent, self.start_with.workdir, resume, fork=fork)
        if local is not None and agent.session is not None:
            agent.session.notice(
                "local.used", model=local.model.name, server=local.server.title, base=local.server.base
            )
        self.push(AgentReady(demo, runtime.loaded.warnings))

    def _now_ready(self) -> None:
        self._ready = True
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            self._when_ready(call)

    def _when_ready(self, call: Callable[[Agent], None]) -> None:
        """Run in the agent's loop, now or once it is there: what is typed during the start is not lost.

        The call is bound to the agent it was posted to: one that was left behind cannot touch its successor.
        """
        agent = self._agent
        if not self._ready or agent is None:
            self._waiting.append(call)
            return
        self._post(agent, lambda: call(agent))

    def _with_session(self, act: Callable[[LiveSession], object]) -> None:
        def call(agent: Agent) -> None:
            if agent.session is not None:
                act(agent.session)

        self._when_ready(call)

    @staticmethod
    def _post(agent: Agent, call: Callable[[], object]) -> None:
        try:
            agent.loop.call_soon_threadsafe(call)
        except RuntimeError:
            log.debug("the agent's loop has ended")

    @staticmethod
    def _set_closing(agent: Agent) -> None:
        if agent.closing is not None:
            agent.closing.set()
