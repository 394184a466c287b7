"""A process seen from outside while it is stopped: what it holds, what it left, who descends from it. Linux."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import struct
import time
from collections.abc import Iterator
from pathlib import Path

_SUBREAPER = 36
_WRITER = 120
"""The byte of a `-shm` file that the writer of a WAL database locks."""
_LOCK = "hhqqi"
PATIENCE = 10.0


def adopt_orphans() -> None:
    """Whatever a child of this process leaves behind becomes a child of this process."""
    ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


def freeze(pid: int) -> None:
    """Stop a process; returns when it stands still (or is gone)."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    end = time.monotonic() + PATIENCE
    while _state(pid) not in ("T", "t", "Z", "X", "") and time.monotonic() < end:
        time.sleep(0.0005)


class WriteLock:
    """Whether a process is writing to a WAL database now."""

    def __init__(self, database: Path) -> None:
        self._path = Path(f"{database}-shm")
        self._fd = -1
        self._inode = 0

    def is_held(self) -> bool:
        try:
            inode = self._path.stat().st_ino
        except OSError:
            return False
        if inode != self._inode:
            self.close()
            with contextlib.suppress(OSError):
                self._fd, self._inode = os.open(self._path, os.O_RDWR), inode
        if self._fd < 0:
            return False
        asked = struct.pack(_LOCK, fcntl.F_WRLCK, os.SEEK_SET, _WRITER, 1, 0)
        kind = struct.unpack(_LOCK, fcntl.fcntl(self._fd, fcntl.F_GETLK, asked))[0]
        return kind != fcntl.F_UNLCK

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._inode = -1, 0


def orphans(but: int = 0) -> dict[int, str]:
    """Living children of this process that it adopted, with their command lines; the dead ones are buried."""
    found: dict[int, str] = {}
    for pid, state in _children():
        if pid == but:
            continue
        if state == "Z":
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            continue
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            found[pid] = line.strip()
    return found


def wait_childless(seconds: float = PATIENCE) -> dict[int, str]:
    """What still lives when patience is over; nothing is left to run then."""
    end = time.monotonic() + seconds
    while (left := orphans()) and time.monotonic() < end:
        time.sleep(0.01)
    for pid in left:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return left


def _children() -> Iterator[tuple[int, str]]:
    own = str(os.getpid())
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
                if fields[1] == own:
                    yield int(name), fields[0]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
