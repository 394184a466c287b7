"""A server as a child process: lines of JSON through its pipes, everything else it prints to its log.

The process is started by the caller's `spawn`, so that it is on the list of those that never outlive the program.
It is greeted as soon as it runs; only one that says something is worth the SDK (`greeting.py`, `sdk.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from reactagent_tui.core.errors import ReactAgentError
from reactagent_tui.core.mcp.stderr import StderrPipe

FIRST_ID = 1
"""The number of the greeting's request, and of the first one of the SDK."""
LONGEST_LINE = 64_000_000
"""Bytes of one message; a server that sends more is broken."""
_IN_THREAD = 200_000
"""Bytes from which a message is parsed beside the loop."""
_NOISE_SHOWN = 500
"""Bytes of a line, or of a chunk in which no message can be, that the log gets."""
_NOISE_NOTED = 500
"""Lines or chunks of noise that the log of one start gets."""
_NOISE = 32_000
"""Bytes of nothing else at once that make a flood."""
_FLOOD_PAUSE = 0.05
"""Seconds in which nothing more of it is read."""
_QUEUE = 2_000
"""Messages that may wait; the server waits with more."""
_ROW = 50
_BREATHER = 0.002
"""Seconds that others get after so many lines in a row."""
_POLITE = 0.4
"""Seconds a server that was ready gets to end by itself when its stdin closes."""
_GRACE = 1.0
"""Seconds between TERM and KILL for it, and for one that never was ready."""
_GRACE_UNREADY = 0.05
_GRACE_LEFT = 0.5
_GRACE_LEFT_UNREADY = 0.3
"""The same when nobody waits for their end."""


class Child(Protocol):
    """A running process, as `core.tools.process` starts them."""

    pid: int
    exited: asyncio.Future[None]
    eof: asyncio.Future[None]

    @property
    def exit_code(self) -> int | None: ...
    async def stop(self, grace: float = ...) -> None: ...
    def leave(self, polite: float, grace: float) -> bool: ...
    def pause(self, seconds: float) -> None: ...


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
    """Both directions of one server, which is greeted before anybody listens to its answer."""

    def __init__(self, note: Callable[[bytes], None], greeting: bytes) -> None:
        self._note = note
        self.greeting = greeting
        self.awake = asyncio.Event()
        """It said something, or nothing more will come."""
        self.echoes = False
        """It is no server: what it is sent comes back."""
        self.ended = False
        self.leaving = False
        """The program ends: nobody waits for the server's end."""
        self._buffer = bytearray()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._skipping = False
        """In a long line that is no message."""
        self._noted = 0
        self.was_ready = False
        self.child: Child | None = None
        self.too_long = False

    def feed(self, data: bytes) -> None:
        """What the server printed."""
        end = data.find(b"\n")
        if self._skipping:
            if end < 0:
                return self._flooded(len(data))
            data, self._skipping = data[end + 1 :], False
        start = len(self._buffer)
        self._buffer += data
        if self._buffer.find(b"\n", start) < 0:
            return self._unfinished()
        *lines, rest = bytes(self._buffer).split(b"\n") if self._buffer.find(b"{") >= 0 else self._no_message()
        self._buffer = bytearray(rest)
        useful = 0
        for line in lines:
            if line.lstrip()[:1] != b"{":
                self._noise(line)
                continue
            useful += len(line)
            self._lines.put_nowait(line)
            if not self.awake.is_set() and b'"jsonrpc"' in line:
                self.echoes = line.strip() == self.greeting.strip()
                self.awake.set()
        self._flooded(len(data) - useful)
        if self._lines.qsize() > _QUEUE and self.child is not None:
            self.child.pause(_FLOOD_PAUSE)

    def _no_message(self) -> list[bytes]:
        """Lines of which none can be a message, as one, and what follows the last."""
        whole, _, rest = bytes(self._buffer).rpartition(b"\n")
        return [whole.replace(b"\n", b" "), rest]

    def _unfinished(self) -> None:
        """A line without its end: a long message, or noise that is let go."""
        if len(self._buffer) > _NOISE and not self._buffer.lstrip().startswith(b"{"):
            self._noise(bytes(self._buffer[:_NOISE_SHOWN]))
            self._flooded(len(self._buffer))
            self._buffer.clear()
            self._skipping = True
        elif len(self._buffer) > LONGEST_LINE:
            self._buffer.clear()
            self.too_long = True
            self.end()

    def _flooded(self, noise: int) -> None:
        if noise > _NOISE and self.child is not None:
            self.child.pause(_FLOOD_PAUSE)

    def _noise(self, line: bytes) -> None:
        """To the log, as long as it tells anything."""
        if not line.strip() or self._noted > _NOISE_NOTED:
            return
        self._noted += 1
        more = b" (what follows is not kept)" if self._noted > _NOISE_NOTED else b""
        self._note(b"stdout: " + line[:_NOISE_SHOWN] + more + b"\n")

    def end(self) -> None:
        """Nothing more will come."""
        self.ended = True
        self.awake.set()
        self._lines.put_nowait(None)

    async def messages(self) -> AsyncIterator[Any]:
        """Every message, parsed; what is none goes to the log."""
        row = 0
        while (line := await self._lines.get()) is not None:
            message = await asyncio.to_thread(_parsed, line) if len(line) > _IN_THREAD else _parsed(line)
            if message is None:
                self._noise(line)
            else:
                yield message
            row = 0 if self._lines.empty() else row + 1
            if row % _ROW == _ROW - 1:
                await asyncio.sleep(_BREATHER)

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


class StdioLink:
    """A child that was greeted, and the streams that an MCP session runs on once the SDK is there."""

    def __init__(self, child: Child, to_child: asyncio.WriteTransport, pipe: StdioPipe) -> None:
        self._child = child
        self._to_child = to_child
        self._pipe = pipe
        self._begun = asyncio.Event()
        """The session has asked what the greeting had asked before."""
        self._first_id: Any = None

    @contextlib.asynccontextmanager
    async def streams(self) -> AsyncGenerator[tuple[Any, Any]]:
        """The pair of streams. Needs the SDK."""
        import anyio

        to_session, read_stream = anyio.create_memory_object_stream[Any](0)
        write_stream, from_session = anyio.create_memory_object_stream[Any](0)
        tasks = [asyncio.create_task(self._pump_in(to_session)), asyncio.create_task(self._pump_out(from_session))]
        try:
            yield read_stream, write_stream
        finally:
            for task in tasks:
                task.cancel()
            for stream in (read_stream, write_stream, to_session, from_session):
                stream.close()

    async def _pump_in(self, to_session: Any) -> None:
        import anyio

        await self._begun.wait()
        answered = False
        async with to_session:
            async for message in self._pipe.messages():
                if not answered and getattr(message.message, "id", None) == FIRST_ID and not _asks(message):
                    message.message.id = self._first_id
                    answered = True
                try:
                    await to_session.send(message)
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    return

    async def _pump_out(self, from_session: Any) -> None:
        async with from_session:
            async for message in from_session:
                if not self._begun.is_set() and getattr(message.message, "method", None) == "initialize":
                    self._first_id = message.message.id  # the server has been asked this
                    self._begun.set()
                    continue
                text: str = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                if not self._to_child.is_closing():
                    self._to_child.write(text.encode() + b"\n")


def _asks(message: Any) -> bool:
    return hasattr(message.message, "method")


@contextlib.asynccontextmanager
async def stdio_link(
    spawn: Spawn,
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    note: Callable[[bytes], None],
    pipe: StdioPipe,
) -> AsyncGenerator[StdioLink]:
    """Start the server and greet it. Raises OSError when the program cannot be started."""
    reader, writer = os.pipe()
    errors = StderrPipe(note)
    try:
        child = pipe.child = spawn(argv, cwd=cwd, env=env, on_output=pipe.feed, stdin=reader, stderr=errors.writer)
        errors.begin()
    except BaseException:
        os.close(writer)
        errors.close()
        raise
    finally:
        os.close(reader)
    child.eof.add_done_callback(lambda _: pipe.end())
    transport: asyncio.WriteTransport | None = None
    try:
        os.set_blocking(writer, False)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(writer, "wb", 0))
        transport.write(pipe.greeting)
        yield StdioLink(child, transport, pipe)
    finally:
        if transport is not None and not transport.is_closing():
            transport.close() if pipe.was_ready else transport.abort()
        if not (pipe.leaving and _left(child, polite=pipe.was_ready)):
            await _end(child, polite=pipe.was_ready)
        errors.close()


def _left(child: Child, *, polite: bool) -> bool:
    return child.leave(_POLITE, _GRACE_LEFT) if polite else child.leave(0, _GRACE_LEFT_UNREADY)


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
