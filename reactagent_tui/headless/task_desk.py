"""Tasks of another program, each a session of its own on one runtime: limits, progress, and how it came out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from reactagent_tui.core.attaching import AttachmentError, with_images
from reactagent_tui.core.commands.host import SessionHost
from reactagent_tui.core.commands.registry import CommandRegistry, Unknown, execute, split_command
from reactagent_tui.core.errors import ReactAgentError
from reactagent_tui.core.events import AgentEvent, StepStarted, ToolFinished, ToolStarted
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.react.state import RunResult
from reactagent_tui.core.reporter import ASKING_SESSION, Answer, Question, Reporter
from reactagent_tui.core.runtime import Runtime
from reactagent_tui.core.safety.permissions import Mode
from reactagent_tui.headless.opening import end_sandbox, open_task_session
from reactagent_tui.headless.reporter import HeadlessReporter, key_argument

MODES: tuple[Mode, ...] = ("plan", "ask", "edits", "auto")
"""From the one that allows least to the one that allows most."""
_LONGEST_LINE = 200
Ask = Callable[[Question], Awaitable[Answer | None]]
"""Asks the client's user; None: it cannot be asked."""
Translate = Callable[..., str]


class TaskError(ReactAgentError):
    """The task was not begun; the text says why."""


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """What is wanted. None: as the program was started."""

    prompt: str
    cwd: str | None = None
    mode: Mode | None = None
    max_steps: int | None = None
    max_usd: Decimal | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """How it came out. `text` is the answer, with the reason where it is not a whole one."""

    text: str
    stop_reason: str
    is_error: bool
    session_id: str | None = None
    steps: int = 0
    tokens: dict[str, int] = field(default_factory=dict[str, int])
    cost_usd: float | None = None
    """None when no price is known."""
    denied: tuple[dict[str, Any], ...] = ()

    def to_record(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "session_id": self.session_id,
            "steps": self.steps,
            "tokens": self.tokens,
            "cost_usd": self.cost_usd,
            "stop_reason": self.stop_reason,
            "denied": list(self.denied),
        }


@dataclass
class TaskReporter(HeadlessReporter):
    """Steps and calls of one task go to who wants to know; questions to the client, or they are denied."""

    progress: Callable[[str], None] = lambda _line: None
    ask_client: Ask | None = None

    def emit(self, event: AgentEvent) -> None:
        inside = "" if event.parent_run_id is None else "  "
        match event:
            case StepStarted():
                self.progress(f"{inside}{self.t('task.step', n=event.step)}")
            case ToolStarted(waiting=False, call=call):
                self.progress(f"{inside}◐ {call.name} {key_argument(call)}"[:_LONGEST_LINE].rstrip())
            case ToolFinished(call=call, is_error=is_error, summary=summary):
                self.progress(f"{inside}{'✕' if is_error else '●'} {call.name} {summary}"[:_LONGEST_LINE].rstrip())
            case _:
                pass
        super().emit(event)

    async def ask(self, question: Question) -> Answer:
        answer = None if self.ask_client is None else await self.ask_client(question)
        return answer if answer is not None else await super().ask(question)


@dataclass
class SessionRouter:
    """One reporter for a runtime whose sessions have one each."""

    rest: Reporter
    by_session: dict[str, Reporter] = field(default_factory=dict[str, Reporter])

    def emit(self, event: AgentEvent) -> None:
        self.by_session.get(event.session_id, self.rest).emit(event)

    async def ask(self, question: Question) -> Answer:
        return await self.by_session.get(ASKING_SESSION.get(), self.rest).ask(question)


class TaskDesk:
    """Takes tasks. So many run at once; more wait for their turn. Single-threaded."""

    def __init__(self, runtime: Runtime, router: SessionRouter, t: Translate, base: Path, places: int) -> None:
        """`base`: the folder that tasks work in or below."""
        self.runtime = runtime
        self._router = router
        self._t = t
        self._base = base
        self._places = asyncio.Semaphore(places)
        self._closing: set[asyncio.Task[None]] = set()

    def folder(self, cwd: str | None) -> Path:
        """Where a task works. Raises TaskError."""
        folder = (self._base / Path(cwd or ".").expanduser()).resolve()
        if not folder.is_relative_to(self._base):
            raise TaskError(self._t("task.outside", folder=str(folder), base=str(self._base)))
        if not folder.is_dir():
            raise TaskError(self._t("task.no_folder", folder=str(folder)))
        return folder

    async def run(self, request: TaskRequest, progress: Callable[[str], None], ask: Ask | None = None) -> TaskOutcome:
        """Do it. Cancelled, everything it started ends. Raises TaskError, ConfigError and StorageError."""
        folder = self.folder(request.cwd)
        most: Mode = self.runtime.loaded.config.permissions.mode
        if request.mode is not None and MODES.index(request.mode) > MODES.index(most):
            raise TaskError(self._t("task.mode", mode=request.mode, most=most))
        if self._places.locked():
            progress(self._t("task.waits"))
        async with self._places:
            return await self._run(request, folder, progress, ask)

    async def close(self) -> None:
        """End every task, and everything the tasks started."""
        if self._closing:
            await asyncio.wait(self._closing)
        await self.runtime.close()

    async def _run(
        self, request: TaskRequest, folder: Path, progress: Callable[[str], None], ask: Ask | None
    ) -> TaskOutcome:
        reporter = TaskReporter(self._t, quiet=True, progress=progress, ask_client=ask, agents_always=False)
        session: LiveSession | None = None

        def opened(new: LiveSession) -> None:
            nonlocal session
            session = new
            self._router.by_session[new.id] = reporter

        try:
            ready = await open_task_session(
                self.runtime, folder, self._t, self._say, model=request.model, opened=opened
            )
            self._limit(ready, request)
            result = await ready.run(await self._message(ready, request.prompt))
            await end_sandbox(ready, self._t, self._say)
            return self._outcome(ready, result, reporter)
        finally:
            if session is not None:
                session.interrupt()
                closing = asyncio.create_task(self._close(session.id))
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
                await asyncio.shield(closing)

    async def _close(self, session_id: str) -> None:
        await self.runtime.close_session(session_id)
        self._router.by_session.pop(session_id, None)

    def _say(self, line: str) -> None:
        rest = self._router.rest
        if isinstance(rest, HeadlessReporter):
            rest.say(line, always=True)

    def _limit(self, session: LiveSession, request: TaskRequest) -> None:
        """Never more than the program was started with."""
        if request.mode is not None and MODES.index(request.mode) < MODES.index(session.mode):
            session.set_mode(request.mode)
        if request.max_steps is not None:
            steps = min(request.max_steps, session.limits.max_steps)
            session.limits = replace(session.limits, max_steps=steps)
        if request.max_usd is not None and session.budget is not None:
            before = session.budget.limits.get("turn")
            session.budget.set("turn", request.max_usd if before is None else min(before, request.max_usd))

    async def _message(self, session: LiveSession, prompt: str) -> UserMessage:
        """The prompt, `/skill …` expanded. Slash commands are the user's alone: a client has none."""
        message = UserMessage(prompt)
        command = split_command(prompt)
        if command is not None:
            host = SessionHost(self.runtime, session, self._t)
            outcome = await execute(CommandRegistry(()), host, *command)
            if isinstance(outcome, Unknown) or outcome.submit is None:
                near = outcome.nearest if isinstance(outcome, Unknown) else None
                hint = "" if near is None else " " + self._t("command.did_you_mean", name=f"/{near}")
                raise TaskError(self._t("task.no_skill", name=command[0]) + hint)
            message = outcome.submit
        try:
            return await with_images(session, message)
        except AttachmentError as error:
            raise TaskError(self._t(error.key, **error.params)) from error

    def _outcome(self, session: LiveSession, result: RunResult, reporter: TaskReporter) -> TaskOutcome:
        is_whole = result.reason in ("ANSWER", "PAUSED")
        lines = [result.answer.strip()]
        if result.reason == "ERROR":
            lines.append(result.error or result.reason)
        elif not is_whole:
            lines.append(self._t(f"ended.{result.reason}", detail=result.error or ""))
        if reporter.denials:
            denied = "; ".join(f"{one['tool_name']} {one['subject']}".strip() for one in reporter.denials)
            lines.append(self._t("task.denied", calls=denied))
        usage = result.usage
        cost = result.cost.amount if result.cost.currency == "USD" else None
        return TaskOutcome(
            text="\n\n".join(line for line in lines if line),
            stop_reason=result.reason,
            is_error=not is_whole,
            session_id=session.id,
            steps=result.steps,
            tokens={"input": usage.prompt, "cached": usage.cache_read, "output": usage.output},
            cost_usd=None if cost is None else float(cost),
            denied=tuple(reporter.denials),
        )
