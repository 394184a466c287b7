"""One reply of the model, whatever it takes: tried again, asked of the next model of the chain, or given up.

Nothing is tried again once text was shown. Thinking that was cut may come again: a long wait is not lost to a reset.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal

from reactagent_tui.core.cost.ledger import Cause
from reactagent_tui.core.errors import (
    ContextOverflowError,
    ProviderError,
    StreamCutError,
)
from reactagent_tui.core.events import AgentEvent, MessageFinished, Notice, StepStarted
from reactagent_tui.core.llm.base import ModelRequest, ToolSpec
from reactagent_tui.core.messages import AssistantMessage, StopReason
from reactagent_tui.core.react.protocol import Reading, ReplyReader
from reactagent_tui.core.react.protocols import Change, Dialect
from reactagent_tui.core.react.reply import ReplyStream
from reactagent_tui.core.react.room import Room, still_too_large
from reactagent_tui.core.react.state import RunSetup
from reactagent_tui.core.react.way_out import WayOut

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
        self.patience = room.patience
        self._way_out = WayOut(setup, emit, room)

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
        self._way_out.begin()
        request, attempt = await self._made(make_request, step), 0
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
                    request = await self._made(make_request, step)
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
            return await self._make_room(error, step)
        return await self.patience.after(error, attempt)

    async def _make_room(self, error: ContextOverflowError, step: int) -> _Next:
        """By itself once, then as the user chooses. Raises ContextOverflowError when nothing is left to do."""
        made, self._made_room = self._made_room, True
        if not made and await self._room.recover(error, step):
            return "anew"
        refused = still_too_large(error, made_room=made)
        match await self._way_out.find(refused, step):
            case None:
                raise refused from error
            case "switch":
                self._made_room = False
                return "fresh"
            case _:
                return "anew"

    async def _made(self, make_request: Callable[[], ModelRequest], step: int) -> ModelRequest:
        """The request, made smaller as the user chooses where it cannot fit."""
        while True:
            try:
                return make_request()
            except ContextOverflowError as error:
                if await self._way_out.find(error, step) is None:
                    raise

    def changed(self, change: Change) -> None:
        """Tell the user that something is done another way from now on."""
        if change.notice is not None:
            self._notice(change.notice, "info", **change.params)

    def _keep(self, stream: ReplyStream, reason: StopReason) -> None:
        """What was shown of a failed reply stays in the history."""
        message = stream.partial_message()
        if message is not None:
            message = dataclasses.replace(message, stop_reason=reason)
            self.setup.history.append_message(message)
            self._emit(MessageFinished, {"message": message})

    def _notice(self, key: str, level: Literal["info", "warn"], **params: Any) -> None:
        self._emit(Notice, {"key": key, "params": params, "level": level})
