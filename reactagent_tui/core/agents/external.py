"""A sub-agent that is another program: started over stdio, spoken to in the Agent Client Protocol.

The program is a child like those of the shell: a session and a tag of its own, ended with the agent, at quit and after
a crash. It reads and writes files through us where it asks us to, inside the workspace only; what it asks permission
for goes to the user under its name. What it does on its own is as free as any program of the user's.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import time
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import IO, TYPE_CHECKING, Any, cast

from reactagent_tui.core.agents.acp_client import AcpClient
from reactagent_tui.core.agents.child import Child
from reactagent_tui.core.events import EndReason, MessageFinished, RunEnded, RunStarted
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.llm.tokens import estimate
from reactagent_tui.core.messages import AssistantMessage, TextPart, UserMessage
from reactagent_tui.core.tools.process import ChildProcess, shielded, spawn
from reactagent_tui.core.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from acp.client.connection import ClientSideConnection
    from acp.schema import PromptResponse

START_SECONDS = 30.0
"""Until the program must have answered that it is there."""
CANCEL_SECONDS = 0.05
"""For telling it that it is cancelled, before it is ended."""
LONGEST_LINE = 64 << 20
"""Bytes of one message."""
_TOLD = 600
"""Characters of its stderr that an error shows."""

_REASONS: Mapping[str, EndReason] = {
    "end_turn": "ANSWER",
    "max_tokens": "ERROR",
    "max_turn_requests": "MAX_STEPS",
    "refusal": "REFUSED",
    "cancelled": "INTERRUPTED",
}


@dataclass
class ExternalChild(Child):
    """One run of a program."""

    async def work(self, prompt: str) -> None:
        """Start it, hand it the prompt, follow it to its end. Cancelled, the program is ended first."""
        began = time.monotonic()
        message = UserMessage(f"{self.plan.system}\n\n{prompt}" if self.plan.system else prompt)
        self.history.append_message(message)
        self.emit(RunStarted, prompt=message, model=self.record.model)
        client = AcpClient(self)
        info = ModelInfo("acp", self.record.model, "acp", 0, context_assumed=True)
        call_id = self.page.open_call(1, "sub_agent", info, estimate(message.text), self.path)
        job = asyncio.create_task(self._converse(message.text, client), name=f"acp {self.record.name}")
        self.record.stop = lambda: _cancel(job)
        reason, error, outside = "INTERRUPTED", None, False
        try:
            await asyncio.wait({job})
        except asyncio.CancelledError:
            outside = True
            job.cancel()
            await _ended(job)
        told = Usage()
        if not job.cancelled():
            reason, error, told = job.result()
        self._book(call_id, client, told, interrupted=reason == "INTERRUPTED")
        if reason == "INTERRUPTED" and client.is_over_cap and not outside:
            reason = "BUDGET"
        text = client.text
        if text:
            reply = AssistantMessage((TextPart(text),), provider="acp", model=self.record.model)
            self.history.append_message(reply)
            self.emit(MessageFinished, message=reply)
        totals = self.page.run_totals()
        self.history.append("event", {"name": "run_ended", "run": self.run_id, "reason": reason, "steps": 1})
        self.emit(
            RunEnded,
            reason=reason,
            answer=text if reason == "ANSWER" else "",
            usage=totals.turn_usage,
            cost=totals.turn_cost,
            steps=1,
            seconds=time.monotonic() - began,
            error=error,
            files_changed=tuple(sorted(client.files)),
        )
        if outside:
            raise asyncio.CancelledError

    def _book(self, call_id: str, client: AcpClient, told: Usage, *, interrupted: bool) -> None:
        """What it said it used; money that nobody told stays unknown."""
        self.page.progress(call_id, estimate(client.text))
        cost = client.cost_usd
        if told.total or cost is not None:
            self.page.usage(call_id, replace(told, cost_usd=None if cost is None else Decimal(str(cost))))
        self.page.close_call(call_id, interrupted=interrupted, finished=not interrupted)

    async def _converse(self, prompt: str, client: AcpClient) -> tuple[EndReason, str | None, Usage]:
        """The reason of its end, what went wrong, and the tokens it reported."""
        from acp import RequestError

        with tempfile.TemporaryFile() as errors:
            try:
                child, reader, writer = await self._start(errors)
            except OSError as error:
                return "ERROR", f"{self.record.model} cannot be started: {error.strerror or error}", Usage()
            try:
                response = await self._ask(prompt, client, reader, writer)
            except TimeoutError:
                return "ERROR", f"{self.record.model} did not answer within {START_SECONDS:g} s", Usage()
            except (RequestError, ConnectionError, OSError, ValueError) as error:
                return "ERROR", f"{self.record.model} failed: {error}{_last_words(errors)}", Usage()
            finally:
                writer.close()
                await shielded(child.stop())
        reason = _REASONS.get(response.stop_reason, "ERROR")
        return reason, response.stop_reason if reason == "ERROR" else None, _usage(response)

    async def _ask(
        self, prompt: str, client: AcpClient, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> PromptResponse:
        from acp import PROTOCOL_VERSION, connect_to_agent, text_block
        from acp.schema import ClientCapabilities, FileSystemCapabilities

        connection = connect_to_agent(cast("Any", client), writer, reader)  # terminals are not offered
        session_id = ""
        try:
            async with asyncio.timeout(START_SECONDS):
                await connection.initialize(
                    protocol_version=PROTOCOL_VERSION,
                    client_capabilities=ClientCapabilities(
                        fs=FileSystemCapabilities(read_text_file=True, write_text_file=True)
                    ),
                )
                session = await connection.new_session(cwd=str(self.ctx.workdir), mcp_servers=[])
            session_id = session.session_id
            return await connection.prompt(session_id=session_id, prompt=[text_block(prompt)])
        except asyncio.CancelledError:
            await _tell_cancel(connection, session_id)
            raise
        finally:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await connection.close()

    async def _start(self, errors: IO[bytes]) -> tuple[ChildProcess, asyncio.StreamReader, asyncio.StreamWriter]:
        """The program with pipes to and from it. Raises OSError."""
        external = self.plan.external
        assert external is not None
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=LONGEST_LINE)
        for_child, ours = os.pipe()
        try:
            child = spawn(
                external.command,
                cwd=self.ctx.workdir,
                env=self.pool.host.environment({**external.env, **self.task.env}),
                on_output=reader.feed_data,
                stdin=for_child,
                stderr=errors.fileno(),
            )
        except OSError:
            os.close(ours)
            raise
        finally:
            os.close(for_child)
        child.eof.add_done_callback(lambda _: reader.feed_eof())
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(ours, "wb", 0))
        return child, reader, asyncio.StreamWriter(transport, protocol, None, loop)


async def _tell_cancel(connection: ClientSideConnection, session_id: str) -> None:
    """A well-behaved program stops its own work now; it is ended in any case."""
    if session_id:
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(CANCEL_SECONDS):
                await connection.cancel(session_id=session_id)


def _cancel(job: asyncio.Task[tuple[EndReason, str | None, Usage]]) -> None:
    job.cancel()


async def _ended(job: asyncio.Task[tuple[EndReason, str | None, Usage]]) -> None:
    """Until it is over, however often we are cancelled meanwhile."""
    while not job.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({job})


def _usage(response: PromptResponse) -> Usage:
    told = response.usage
    if told is None:
        return Usage()
    return Usage(
        input=told.input_tokens,
        cache_read=told.cached_read_tokens or 0,
        cache_write=told.cached_write_tokens or 0,
        output=told.output_tokens,
        reasoning=told.thought_tokens or 0,
    )


def _last_words(errors: IO[bytes]) -> str:
    """The end of what it wrote on stderr."""
    errors.seek(0)
    text = errors.read()[-4 * _TOLD :].decode("utf-8", "replace").strip()
    return f"; it said: {text[-_TOLD:]}" if text else ""
