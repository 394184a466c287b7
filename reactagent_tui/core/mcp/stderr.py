"""What a server prints to stderr, on its way into the log: one that prints without end fills no disk."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable

_CHUNK = 65_536
_BURST = 1_000_000
"""Bytes in a row that are read as they come."""
_SLOWLY = 0.1
"""Seconds between two chunks after that; the writer waits in the meantime."""


class StderrPipe:
    """A pipe whose other end a child gets as `writer`. Single-threaded; needs a running loop."""

    def __init__(self, note: Callable[[bytes], None]) -> None:
        self._note = note
        self._loop = asyncio.get_running_loop()
        self._reader, self.writer = os.pipe()
        self._row = 0
        self._waits: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """The child has its end: ours of it is closed, and what comes is read."""
        self._close_writer()
        if sys.platform == "win32":  # pragma: no cover - other platform
            threading.Thread(target=self._read_in_thread, args=(self._reader,), daemon=True).start()
            self._reader = -1  # the thread's, until the child has ended
            return
        os.set_blocking(self._reader, False)
        self._loop.add_reader(self._reader, self._on_readable)

    def close(self) -> None:
        """Take what is there, and read no more."""
        self._close_writer()
        if self._reader < 0:
            return
        self._pause()
        with contextlib.suppress(OSError):
            os.set_blocking(self._reader, False)
            for _ in range(_BURST // _CHUNK):
                if not (data := os.read(self._reader, _CHUNK)):
                    break
                self._note(data)
        os.close(self._reader)
        self._reader = -1

    def _close_writer(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def _read_in_thread(self, reader: int) -> None:  # pragma: no cover - other platform
        with contextlib.suppress(OSError, RuntimeError):  # the loop is closed: nobody reads the log any more
            while data := os.read(reader, _CHUNK):
                self._loop.call_soon_threadsafe(self._note, data)
        os.close(reader)

    def _on_readable(self) -> None:
        try:
            data = os.read(self._reader, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._pause()
            return
        self._note(data)
        self._row = self._row + len(data) if len(data) == _CHUNK else 0
        if self._row >= _BURST:
            self._pause()
            self._waits = self._loop.call_later(_SLOWLY, self._resume)

    def _pause(self) -> None:
        self._loop.remove_reader(self._reader)
        if self._waits is not None:
            self._waits.cancel()
            self._waits = None

    def _resume(self) -> None:
        self._waits = None
        self._loop.add_reader(self._reader, self._on_readable)
