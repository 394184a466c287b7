"""A server as a child process: lines of JSON through its pipes, everything else it prints to its log.

The process is started by the caller's `spawn`, so that it is on the list of those that never outlive the program.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from reactagent_tui.core.errors import ReactAgentError

LONGEST_LINE = 64_000_000
"""Bytes of one message; a server that sends more is broken."""
_IN_THREAD = 200_000
"""Bytes from which a message is parsed beside the loop."""
_NOISE_SHOWN = 500
_POLITE = 0.4
"""Seconds a server that was ready gets to end by itself when its stdin closes."""
_GRACE = 1.0
"""Seconds between TERM and KILL for it, and for one that never was ready."""
_GRACE_UNREADY = 0.05


class Child(Protocol):
    """A running process, as `core.tools.process` starts them."""

    pid: int
    exited: asyncio.Future[None]
    eof: asyncio.Future[None]

    @property
    def exit_code(self) -> int | None: ...
    async def stop(self, grace: float = ...) -> None: ...


class Spawn(Protocol):
    """Starts a program in a session of its own. Raises OSError."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        on_output: Callable[[bytes], None],
        stdin: int,
        stderr: int,
    ) -> Child: ...


class ServerError(ReactAgentError):
    """The server refused, or answered what is no answer; the text says what."""


class ServerGone(ServerError):
    """The server ended or cannot be reached; the text says how."""


class StdioPipe:
    """Both directions of one server. `lost` is done when nothing more will come."""

    def __init__(self, note: Callable[[bytes], None]) -> None:
        self._note = note
        self._buffer = bytearray()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.was_ready = False
        self.child: Child | None = None
        self.too_long = False

    def feed(self, data: bytes) -> None:
        """What the server printed."""
        start = len(self._buffer)
        self._buffer += data
        end = self._buffer.find(b"\n", start)
        if end < 0:
            if len(self._buffer) > LONGEST_LINE:
                self._buffer.clear()
                self.too_long = True
                self._lines.put_nowait(None)
            return
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer = bytearray(rest)
        for line in lines:
            if line.strip():
                self._lines.put_nowait(line)

    def end(self) -> None:
        """Nothing more will come."""
        self._lines.put_nowait(None)

    async def messages(self) -> AsyncIterator[Any]:
        """Every message, parsed; what is none goes to the log."""
        while (line := await self._lines.get()) is not None:
            message = await asyncio.to_thread(_parsed, line) if len(line) > _IN_THREAD else _parsed(line)
            if message is None:
                self._note(b"stdout: " + line[:_NOISE_SHOWN] + b"\n")
            else:
                yield message

    def ending(self) -> str:
        """How it ended, in words."""
        if self.too_long:
            return f"a line of more than {LONGEST_LINE:,} bytes"
        code = None if self.child is None else self.child.exit_code
        match code:
            case None:
                return "its output ended"
            case code if code < 0:
                return f"ended by signal {-code}"
            case code:
                return f"exited with {code}"


def _parsed(line: bytes) -> Any:
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except (ValueError, RecursionError):
        return None


@contextlib.asynccontextmanager
async def stdio_streams(
    spawn: Spawn, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log_file: Path, pipe: StdioPipe
) -> AsyncGenerator[tuple[Any, Any]]:
    """The pair of streams that an MCP session runs on. Raises OSError when the program cannot be started."""
    import anyio

    reader, writer = os.pipe()
    try:
        log = os.open(log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            child = pipe.child = spawn(argv, cwd=cwd, env=env, on_output=pipe.feed, stdin=reader, stderr=log)
        finally:
            os.close(log)
    except BaseException:
        os.close(writer)
        raise
    finally:
        os.close(reader)
    child.eof.add_done_callback(lambda _: pipe.end())
    loop = asyncio.get_running_loop()
    to_session, read_stream = anyio.create_memory_object_stream[Any](0)
    write_stream, from_session = anyio.create_memory_object_stream[Any](0)
    transport: asyncio.WriteTransport | None = None
    tasks: list[asyncio.Task[None]] = []

    async def pump_in() -> None:
        async with to_session:
            async for message in pipe.messages():
                try:
                    await to_session.send(message)
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    return

    async def pump_out(to_child: asyncio.WriteTransport) -> None:
        async with from_session:
            async for message in from_session:
                text: str = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                if not to_child.is_closing():
                    to_child.write(text.encode() + b"\n")

    try:
        os.set_blocking(writer, False)
        transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(writer, "wb", 0))
        tasks = [asyncio.create_task(pump_in()), asyncio.create_task(pump_out(transport))]
        yield read_stream, write_stream
    finally:
        if transport is not None and not transport.is_closing():
            transport.close() if pipe.was_ready else transport.abort()
        for task in tasks:
            task.cancel()
        for stream in (read_stream, write_stream, to_session, from_session):
            stream.close()
        await _end(child, polite=pipe.was_ready)


async def _end(child: Child, *, polite: bool) -> None:
    """End it whatever cancels us; at once when it obeys."""
    ending = asyncio.ensure_future(_stop(child, polite=polite))
    cancelled = False
    while not ending.done():
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


async def _stop(child: Child, *, polite: bool) -> None:
    if polite:
        await asyncio.wait((child.exited,), timeout=_POLITE)
    await child.stop(_GRACE if polite else _GRACE_UNREADY)
