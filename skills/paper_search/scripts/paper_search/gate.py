"""Whose turn it is: one request at a time to a source, and a pause between two, over all processes of this user."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


class Gate:
    """The queue in front of one source. Where no file can be written, it keeps the pause of this process only."""

    def __init__(
        self,
        folder: Path,
        source: str,
        interval: float,
        max_wait: float,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._lock_file = folder / f"{source}.lock"
        self._next_file = folder / f"{source}.next"
        self._interval = interval
        self._max_wait = max(max_wait, interval)
        self._sleep = sleep
        self._now = now
        self._next = 0.0
        self._gap = interval

    @contextmanager
    def turn(self) -> Iterator[Gate]:
        """Waits for the turn; whatever is requested inside is the only request to the source."""
        lock = _locked(self._lock_file)
        try:
            self._pause()
            self._gap = self._interval
            try:
                yield self
            finally:
                self._remember(self._now() + self._gap)
        finally:
            if lock is not None:
                _unlock(lock)

    def ask_for_gap(self, seconds: float) -> None:
        """Inside a turn: the next request to this source comes at least so much later."""
        self._gap = max(self._gap, seconds)

    def _pause(self) -> None:
        allowed = self._next
        try:
            allowed = max(allowed, float(self._next_file.read_text("ascii")))
        except (OSError, ValueError):
            pass
        # A clock that was set back must not make anyone wait for hours.
        wait = min(allowed - self._now(), self._max_wait)
        if wait > 0:
            self._sleep(wait)

    def _remember(self, when: float) -> None:
        self._next = when
        try:
            self._next_file.write_text(f"{when:.3f}", "ascii")
        except OSError:
            pass


def _locked(path: Path) -> IO[bytes] | None:
    """The lock, waited for as long as it takes; None where no file can be locked."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError:
        return None
    try:
        _lock(file)
    except OSError:
        file.close()
        return None
    return file


if os.name == "nt":  # pragma: no cover - other platform
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        while True:
            file.seek(0)
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            except PermissionError:
                time.sleep(0.1)  # LK_LOCK would give up after 10 seconds
            else:
                return

    def _unlock(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
        file.close()

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _unlock(file: IO[bytes]) -> None:
        file.close()
