"""Which sessions are open now, in this process and in others: a locked file for each, `<folder>/live/<session id>`.

The lock goes with its process however that ends, so nothing is ever stale. Where a system has no such locks, a process
id in the file that no process has any more counts as gone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None

FOLDER = "live"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An open session."""

    session_id: str
    pid: int
    """0: not known."""

    @property
    def is_elsewhere(self) -> bool:
        """In another process."""
        return self.pid != os.getpid()


class Presence:
    """Says that a session is open for as long as this object is not left. Never raises: it only informs."""

    def __init__(self, session_folder: Path) -> None:
        """`session_folder` holds the session's file."""
        self._path = session_folder.parent / FOLDER / session_folder.name
        self._fd: int | None = None
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            if not _lock(fd):
                os.close(fd)  # open already: whoever came first says so
                return
            os.ftruncate(fd, 0)
            os.write(fd, str(os.getpid()).encode())
            self._fd = fd

    def neighbours(self) -> list[Neighbour]:
        """The other open sessions of the folder."""
        return [found for found in open_sessions(self._path.parent.parent) if found.session_id != self._path.name]

    def leave(self) -> None:
        """The session is closed."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                os.close(self._fd)
            self._fd = None


def open_sessions(folder: Path) -> Iterator[Neighbour]:
    """The open sessions of a folder of sessions; what dead processes left behind is cleared away."""
    try:
        paths = sorted((folder / FOLDER).iterdir())
    except OSError:
        return
    for path in paths:
        found = _look(path)
        if found is not None:
            yield found


def opened_by(session_folder: Path) -> Neighbour | None:
    """Who has this session open, if anybody."""
    return _look(session_folder.parent / FOLDER / session_folder.name)


def _look(path: Path) -> Neighbour | None:
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        text = os.read(fd, 32)
        pid = int(text) if text.isdigit() else 0
        if _lock(fd) and not (fcntl is None and _is_alive(pid)):
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        return Neighbour(path.name, pid)
    except OSError:
        return None
    finally:
        os.close(fd)


def _lock(fd: int) -> bool:
    """Take the lock; False: somebody holds it."""
    if fcntl is None:  # pragma: no cover - Windows
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_alive(pid: int) -> bool:  # pragma: no cover - Windows
    try:
        os.kill(pid, 0)
    except (OSError, ValueError):
        return False
    return pid > 0
