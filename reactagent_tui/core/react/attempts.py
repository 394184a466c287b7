"""One reply of the model, whatever it takes: tried again, asked of the next model of the chain, or given up.

Nothing is tried again once text was shown. Thinking that was cut may come again: a long wait is not lost to a reset.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal

from reactagent_tui.core.cost.ledger import Cause
from reactagent_tui.core.errors import (
    AuthError,
    BadRequestError,
    ConfigError,
    ContextOverflowError,
    ProviderError,
    StreamCutError,
)
from reactagent_tui.core.events import AgentEvent, MessageFinished, Notice, RetryScheduled, StepStarted
from reactagent_tui.core.llm.base import ModelRequest, ToolSpec
from reactagent_tui.core.messages import AssistantMessage, StopReason
from reactagent_tui.core.react.protocol import Reading, ReplyReader
from reactagent_tui.core.react.protocols import Change, Dialect
from reactagent_tui.core.react.reply import ReplyStream
from reactagent_tui.core.react.retries import RETRIES, retry_delay
from reactagent_tui.core.react.room import Room, still_too_large
from reactagent_tui.core.react.state import RunSetup
from reactagent_tui.core.reporter import ChoiceQuestion

Emit = Callable[[type[AgentEvent], dict[str, Any]], None]
_Next = Literal["again", "anew", "fresh"]
"""again: the same request; anew: a request of another form, not counted; fresh: another model, or after a long wait."""


class Attempts:
    """Reads replies for one run. `reply` is the one that streams now."""

    def __init__(self, setup: RunSetup, dialect: Dialect, emit: Emit, room: Room) -> None:
        self.setup = setup
        self._room = room
        self._made_room = False
        """This request was too long once, and room was made."""
        self.dialect = dialect
        self.call_id: str | None = None
        self.reply: ReplyStream | None = None
        self._emit = emit
        self._skip = asyncio.Event()
        self._waiting = False

    def take_fallback(self) -> bool:
        """Do not wait any longer for this model: go on with the next one. False: nothing waits."""
        if not self._waiting:
            return False
        self._skip.set()
        return True

    async def read(
        self,
        make_request: Callable[[], ModelRequest],
        tools: Sequence[ToolSpec],
        *,
        step: int,
        reader: Callable[[], ReplyReader] | None = None,
    ) -> Reading:
        """The reply to a request, its ledger rows closed. Raises ProviderError when there is no way left.

        `make_request` is called again when the model or the form of the request changed.
        """
        self._made_room = False
        request, attempt = make_request(), 0
        cause: Cause = "step"
        while True:
            attempt += 1
            made = reader() if reader is not None else self.dialect.reader(tools)
            stream = self._open(request, made, step, cause)
            try:
                reading = await stream.read()
            except ProviderError as error:
                self._log(step, None)
                way = await self._after(error, stream, attempt, step)
                if way is None:
                    self.reply = None
                    raise
                cause = "retry"
                if way != "again":
                    request = make_request()
                    attempt = attempt - 1 if way == "anew" else 0
                continue
            self.reply = None
            self._log(step, reading.message)
            return reading

    def partial(self, reason: StopReason) -> AssistantMessage | None:
        """What the reply that streams now has shown; it is over then."""
        stream, self.reply = self.reply, None
        message = None if stream is None else stream.partial_message()
        return None if message is None else dataclasses.replace(message, stop_reason=reason)

    def _open(self, request: ModelRequest, reader: ReplyReader, step: int, cause: Cause) -> ReplyStream:
        stream = ReplyStream(self.setup, self._emit, request, reader, step=step, cause=cause)
        self.call_id = stream.call_id
        self.reply = stream
        self._emit(StepStarted, {})
        if self.setup.debug is not None:
            self.setup.debug.request(step=step, request=request)
        return stream

    def _log(self, step: int, message: AssistantMessage | None) -> None:
        if self.setup.debug is not None:
            self.setup.debug.response(step=step, message=message, exchange=self.setup.provider.last_exchange)

    # After a failure

    async def _after(self, error: ProviderError, stream: ReplyStream, attempt: int, step: int) -> _Next | None:
        """How to go on; None: not at all, what was shown is kept."""
        if stream.shown:
            self._keep(stream, "cut" if isinstance(error, StreamCutError) else "error")
            return None
        self.reply = None
        change = self.dialect.refused(error, self.setup.provider.info)
        if change is not None:
            self.changed(change)
            return "anew"
        if isinstance(error, ContextOverflowError):
            if self._made_room or not await self._room.recover(error, step):
                raise still_too_large(error, made_room=self._made_room) from error
            self._made_room = True
            return "anew"
        delay = retry_delay(error, attempt, shown=False)
        if delay is None:
            return await self._other_way(error)
        fallback = self._following()
        return "fresh" if await self._wait(error, attempt, delay, fallback) and self._use(fallback) else "again"

    def changed(self, change: Change) -> None:
        """Tell the user that something is done another way from now on."""
        if change.notice is not None:
            self._notice(change.notice, "info", **change.params)

    async def _other_way(self, error: ProviderError) -> _Next | None:
        """Trying again does not help now: another model, a long wait, or the end, as the user decides."""
        fallback = None if isinstance(error, (BadRequestError, ContextOverflowError)) else self._following()
        patience = error.retry_after if error.retryable else None
        if fallback is None and patience is None:
            return None
        options = [("use", "fallback.use")] if fallback is not None else []
        if patience is not None:
            options.append(("wait", "fallback.wait"))
        elif not isinstance(error, AuthError):
            options.append(("again", "fallback.again"))
        options.append(("stop", "fallback.stop"))
        answer = await self.setup.reporter.ask(
            ChoiceQuestion(
                "fallback.question",
                tuple(key for _, key in options),
                params={
                    "reason": str(error),
                    "model": self.setup.provider.info.name,
                    "other": fallback or "",
                    "seconds": round(patience or 0),
                },
            )
        )
        chosen = options[answer.choice][0] if answer.choice is not None and answer.choice < len(options) else None
        if answer.verdict != "choice":  # nobody is there to ask: the chain was configured for this
            chosen = "use" if fallback is not None else "stop"
        match chosen:
            case "use":
                return "fresh" if self._use(fallback) else None
            case "wait":
                took = await self._wait(error, 1, patience or 0.0, fallback)
                if took:
                    self._use(fallback)
                return "fresh"
            case "again":
                return "fresh"
            case _:
                return None

    async def _wait(self, error: ProviderError, attempt: int, delay: float, fallback: str | None) -> bool:
        """Wait with a countdown. True when the user wants the next model instead."""
        self._emit(
            RetryScheduled,
            {
                "attempt": attempt,
                "attempts": RETRIES,
                "delay": delay,
                "reason": str(error),
                "status": error.status,
                "fallback": fallback,
            },
        )
        self._skip.clear()
        self._waiting = fallback is not None
        try:
            async with asyncio.timeout(delay):
                await self._skip.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting = False
        return True

    def _following(self) -> str | None:
        chain = self.setup.fallbacks
        return None if chain is None else chain.following(self.setup.provider.info)

    def _use(self, name: str | None) -> bool:
        """Switch to the next model of the chain; one that cannot be used is passed over."""
        chain, failed = self.setup.fallbacks, self.setup.provider.info.name
        while chain is not None and name is not None:
            try:
                chain.use(name)
            except ConfigError as error:
                self._notice("fallback.unusable", "warn", model=name, reason=str(error))
                name = self._following()
                continue
            self._notice("fallback.taken", "warn", model=failed, other=name)
            return True
        return False

    def _keep(self, stream: ReplyStream, reason: StopReason) -> None:
        """What was shown of a failed reply stays in the history."""
        message = stream.partial_message()
        if message is not None:
            message = dataclasses.replace(message, stop_reason=reason)
            self.setup.history.append_message(message)
            self._emit(MessageFinished, {"message": message})

    def _notice(self, key: str, level: Literal["info", "warn"], **params: Any) -> None:
        self._emit(Notice, {"key": key, "params": params, "level": level})
