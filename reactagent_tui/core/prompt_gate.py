"""Shows a prompt to the UserPromptSubmit hooks before the model gets it: with what they add, or not at all."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.events import EndReason, RunEnded, RunStarted, StopReport
from reactagent_tui.core.hooks.answer import HookAnswer
from reactagent_tui.core.hooks.model import Hook, hooks_of
from reactagent_tui.core.hooks.session_hooks import HookPlace, SessionHooks
from reactagent_tui.core.hooks.sources import project_hooks
from reactagent_tui.core.message_queue import QueueKind
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.money import NOTHING_SPENT, NOTHING_USED
from reactagent_tui.core.react.state import RunResult
from reactagent_tui.core.tools.shell_env import child_env

if TYPE_CHECKING:
    from reactagent_tui.core.config.schema import HookSettings
    from reactagent_tui.core.events import QueuedMessage
    from reactagent_tui.core.reporter import Reporter
    from reactagent_tui.core.sessions.store import SessionFile

CONTEXT = "[context from a hook of the user]"


class GatedSession(HookPlace, Protocol):
    """The part of a live session that the gate uses."""

    file: SessionFile
    reporter: Reporter

    @property
    def is_running(self) -> bool: ...
    @property
    def queue(self) -> tuple[QueuedMessage, ...]: ...
    @property
    def last_result(self) -> RunResult | None: ...
    def take(self, message: UserMessage, kind: QueueKind) -> None: ...
    def hold(self, message: UserMessage, kind: QueueKind) -> None: ...
    def occupy(self, work: Screening) -> None: ...


@dataclass
class PromptGate:
    """Every prompt of a session on its way to a run or to the queue."""

    hooks: SessionHooks
    session: GatedSession
    reporter: Reporter
    _behind: set[asyncio.Task[None]] = field(default_factory=set["asyncio.Task[None]"])

    @property
    def is_guarded(self) -> bool:
        return self.hooks.wants("UserPromptSubmit")

    def submit(self, message: UserMessage, kind: QueueKind) -> None:
        """Ask the hooks; then start a turn, or join the queue of the one that runs."""
        if not (self.session.is_running or self.session.queue):
            self.session.occupy(Screening(message, self.hooks, self.reporter))
            return
        task = asyncio.create_task(self._queue(message, kind), name="prompt hooks")
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    async def _queue(self, message: UserMessage, kind: QueueKind) -> None:
        answer = await self.hooks.on_prompt(message.text)
        if answer.objection is not None:
            self.hooks.place.notice("hooks.prompt_stopped", level="warn", reason=answer.objection)
            return
        last = self.session.last_result
        was_stopped = not self.session.is_running and last is not None and last.reason == "INTERRUPTED"
        put: Callable[[UserMessage, QueueKind], None] = self.session.hold if was_stopped else self.session.take
        put(with_context(message, answer.context), kind)

    async def close(self) -> None:
        """Stop asking."""
        for task in list(self._behind):
            task.cancel()
        await asyncio.gather(*self._behind, return_exceptions=True)
        await self.hooks.close()


@dataclass
class Screening:
    """One prompt before its run. Looks like a short run to the front end, so that ESC stops it as well."""

    message: UserMessage
    hooks: SessionHooks
    reporter: Reporter
    run_id: str = field(default_factory=lambda: secrets.token_hex(6))
    passed: UserMessage | None = None
    """The prompt for the model, with what hooks added; None after `run`: it is not sent."""
    result: RunResult | None = None
    """How it ended when it is not sent."""
    _work: asyncio.Task[HookAnswer] | None = None
    _interrupted: bool = False

    def interrupt(self) -> None:
        """Stop the hooks; the prompt is not sent. Idempotent."""
        self._interrupted = True
        if self._work is not None:
            self._work.cancel()

    async def run(self) -> None:
        """Ask the hooks. Never raises but when cancelled from outside."""
        self._emit_started(None)
        answer = await self._answer()
        if answer is None:
            self._end("INTERRUPTED")
        elif answer.objection is not None:
            self._end("BLOCKED", answer.objection)
        else:
            self.passed = with_context(self.message, answer.context)

    async def _answer(self) -> HookAnswer | None:
        if self._interrupted:
            return None
        self._work = asyncio.create_task(self.hooks.on_prompt(self.message.text), name="prompt hooks")
        try:
            return await asyncio.shield(self._work)
        except asyncio.CancelledError:
            if self._interrupted:
                return None
            self._work.cancel()
            raise

    def _emit_started(self, prompt: UserMessage | None) -> None:
        self.reporter.emit(RunStarted(session_id=self.hooks.place.id, run_id=self.run_id, prompt=prompt, model=""))

    def _end(self, reason: EndReason, objection: str | None = None) -> None:
        """What was typed shows on the screen; no model saw it."""
        stop = StopReport() if reason == "INTERRUPTED" else None
        self.result = RunResult(reason, "", NOTHING_USED, NOTHING_SPENT, 0, 0.0, error=objection, stop=stop)
        self._emit_started(self.message)
        values = self.result.event_values()
        self.reporter.emit(RunEnded(session_id=self.hooks.place.id, run_id=self.run_id, **values))


def with_context(message: UserMessage, context: str) -> UserMessage:
    """The prompt with what a hook adds; the screen shows it as it was typed."""
    if not context:
        return message
    text = f"{message.text}\n\n{CONTEXT}\n{context}"
    return replace(message, text=text, shown=message.shown or message.text)


def open_gate(
    session: GatedSession, settings: HookSettings, secrets: Callable[[], Iterable[str]], *, trusted: bool
) -> PromptGate | None:
    """The gate of a session with the hooks of the user and, in a trusted folder, its own; None: there are none.

    Raises ConfigError when the folder is trusted and its hooks cannot be read.
    """
    own = _own_hooks(session, trusted=trusted)
    hooks = SessionHooks(
        (*hooks_of(settings, "user"), *(own if trusted else ())),
        session,
        session.file.path,
        lambda more: child_env(os.environ, more, secrets=secrets()),
        untrusted=() if trusted else own,
    )
    return PromptGate(hooks, session, session.reporter) if hooks.hooks or hooks.untrusted else None


def _own_hooks(session: GatedSession, *, trusted: bool) -> tuple[Hook, ...]:
    try:
        return project_hooks(session.workdir, os.environ)
    except ConfigError:
        if trusted:
            raise
        return ()  # nothing of it is used, so nothing of it can be wrong
