"""Runs one hook: JSON in, exit code and bounded output out. Stopped for certain when time is up or the turn is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from reactagent_tui.core.tools.process import shielded, spawn
from reactagent_tui.core.tools.shell_env import shell_argv

OUTPUT_LIMIT = 65_536
"""Bytes of stdout, and of stderr, that are kept; the rest is read and dropped."""


@dataclass(frozen=True, slots=True)
class HookEnded:
    """How a hook ended. `code` None: its time was up."""

    code: int | None
    stdout: str
    stderr: str


async def run_hook(command: str, stdin: bytes, *, cwd: Path, env: Mapping[str, str], timeout: float) -> HookEnded:
    """Run `command` in a shell for at most `timeout` seconds. Cancelled, all it started dies. Raises OSError."""
    stdout, stderr = _Kept(), _Kept()
    with _ErrorPipe(stderr.feed) as errors:
        child = spawn(
            shell_argv(command), cwd=cwd, env=env, on_output=stdout.feed, stdin=stdin, stderr=errors.write_end
        )
        errors.listen()
        try:
            in_time = await child.wait(timeout)
            if in_time:
                await child.drain()
                await errors.drain()
                await child.survivors()  # what it left in the background ends with the program
            else:
                await shielded(child.stop())
        except asyncio.CancelledError:
            await shielded(child.stop())
            raise
    return HookEnded(child.returncode if in_time else None, stdout.text(), stderr.text())


class _Kept:
    """The first bytes of a stream."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        self._data += data[: OUTPUT_LIMIT - len(self._data)]

    def text(self) -> str:
        return self._data.decode("utf-8", "replace")


class _ErrorPipe:
    """A second pipe, for stderr. On Windows, whose pipes no loop can watch, a file that is read at the end."""

    def __init__(self, feed: Callable[[bytes], None]) -> None:
        self._feed = feed
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._open = contextlib.ExitStack()

    def __enter__(self) -> _ErrorPipe:
        if sys.platform == "win32":  # pragma: no cover - other platform
            file = self._open.enter_context(tempfile.TemporaryFile())
            self._read_end = self.write_end = file.fileno()
            return self
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._open.callback(os.close, self._read_end)
        self._writer = contextlib.ExitStack()
        self._writer.callback(os.close, self.write_end)
        return self

    def listen(self) -> None:
        """The child has its end: ours is closed, so that the pipe ends with the child."""
        if sys.platform != "win32":
            self._writer.close()
            self._loop.add_reader(self._read_end, self._on_readable)

    async def drain(self, timeout: float = 0.1) -> None:
        """Wait for what is still in the pipe."""
        if sys.platform == "win32":  # pragma: no cover - other platform
            os.lseek(self._read_end, 0, os.SEEK_SET)
            self._feed(os.read(self._read_end, OUTPUT_LIMIT))
        else:
            await asyncio.wait((self._ended,), timeout=timeout)

    def __exit__(self, *_: object) -> None:
        if sys.platform != "win32":
            self._loop.remove_reader(self._read_end)
            self._writer.close()
        self._open.close()

    def _on_readable(self) -> None:
        try:
            data = os.read(self._read_end, OUTPUT_LIMIT)
        except BlockingIOError:
            return
        if data:
            self._feed(data)
            return
        self._loop.remove_reader(self._read_end)
        if not self._ended.done():
            self._ended.set_result(None)
