"""stdin and stdout as a protocol's own: nothing else reads the one, and what anything else prints goes to stderr.

Reading and writing happen in daemon threads, so that neither a silent nor a deaf peer holds the exit.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import AsyncIterator

_Written = tuple[bytes, "asyncio.Future[None]"]


class ProtocolPipe:
    """Lines of text in both directions. Has what an `anyio.AsyncFile` of text has that the MCP SDK uses."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        """Takes over two file descriptors. Made in the loop that reads the lines."""
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._to_write: queue.SimpleQueue[_Written] = queue.SimpleQueue()
        self._ended = False
        for name, work, fd in (("read", self._read, incoming), ("write", self._write, outgoing)):
            threading.Thread(target=work, args=(fd,), name=f"protocol {name}", daemon=True).start()

    def end(self) -> None:
        """As if the peer had closed its side."""
        self._lines.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[str]:
        while not self._ended and (line := await self._lines.get()) is not None:
            if line.strip():
                yield line.decode("utf-8", "replace")
        self._ended = True

    async def write(self, text: str) -> None:
        """Until it is with the system: a peer that does not read slows the sender down."""
        written = self._loop.create_future()
        self._to_write.put((text.encode("utf-8", "replace"), written))
        await written

    async def flush(self) -> None:
        """`write` did."""

    def _read(self, fd: int) -> None:
        with contextlib.suppress(OSError), open(fd, "rb") as file:
            for line in file:
                self._post(self._lines.put_nowait, line)
        self._post(self._lines.put_nowait, None)

    def _write(self, fd: int) -> None:
        with open(fd, "wb", buffering=0, closefd=False) as file:
            while True:
                data, written = self._to_write.get()
                try:
                    view = memoryview(data)
                    while view:
                        view = view[file.write(view) :]
                except OSError:
                    self._post(self.end)  # nobody reads any more
                self._post(_done, written)

    def _post(self, act: object, *values: object) -> None:
        """Call it in the loop; one that is closed hears no more."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(act, *values)  # type: ignore[arg-type]


def _done(written: asyncio.Future[None]) -> None:
    if not written.done():
        written.set_result(None)


def claim_standard_streams() -> tuple[int, int]:
    """The descriptors of what were stdin and stdout; from now on stdin is empty and stdout is stderr.

    Raises OSError when one of them is closed.
    """
    incoming, outgoing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(null, 1)
    os.close(null)
    return incoming, outgoing
