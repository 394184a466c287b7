"""How long contents are kept: as long as a session of the workspace names them and was used within 30 days.

A workspace that a live session uses is left alone: each holds a shared lock, collecting needs it for itself. Blocking.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reactagent_tui.core.checkpoints.blobs import BlobStore
from reactagent_tui.core.checkpoints.index import NAME as INDEX
from reactagent_tui.core.checkpoints.index import indexed_digests
from reactagent_tui.core.checkpoints.journal import NAME as JOURNAL

log = logging.getLogger(__name__)
KEPT_SECONDS = 30 * 86_400
PAUSE_SECONDS = 86_400
"""Between two collections of one workspace."""
LOCK = "live.lock"
STAMP = "collected"


@dataclass
class Lease:
    """This session uses the workspace: nothing there is collected until `close`."""

    _fd: int | None = None

    @classmethod
    def take(cls, root: Path) -> Lease:
        """Raises OSError when the folder cannot be made."""
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        _lock(fd, exclusive=False)
        return cls(fd)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)  # the lock goes with it
            self._fd = None


def collect_all(
    checkpoints: Path,
    sessions: Path,
    clock: Callable[[], float] = time.time,
    stopped: Callable[[], bool] = lambda: False,
) -> int:
    """Collect every workspace that is due; returns the bytes that were freed."""
    freed = 0
    for root in _folders(checkpoints):
        if stopped():
            break
        freed += collect(root, sessions / root.name, clock)
    return freed


def collect(root: Path, sessions: Path, clock: Callable[[], float] = time.time) -> int:
    """Remove what no session of the folder `sessions` needs; nothing when it is in use or was done a day ago."""
    now = clock()
    if not root.is_dir():
        return 0
    with contextlib.suppress(OSError):
        if 0 <= now - (root / STAMP).stat().st_mtime < PAUSE_SECONDS:
            return 0
    try:
        with _alone(root) as free:
            return _collect(root, sessions, now) if free else 0
    except OSError as error:
        log.warning("contents in %s were not collected: %s", root, error)
        return 0


def _collect(root: Path, sessions: Path, now: float) -> int:
    index = root / INDEX
    with contextlib.suppress(OSError):
        if now - index.stat().st_mtime > KEPT_SECONDS:
            index.unlink()
    needed = indexed_digests(root)
    for folder in _folders(sessions):
        needed |= _named_by(folder / JOURNAL, now)
    freed = 0
    store = BlobStore(root)
    for digest, status in store.all():
        if digest not in needed and now - status.st_mtime > PAUSE_SECONDS:
            with contextlib.suppress(OSError):
                store.place(digest).unlink()
                freed += status.st_size
    for left in root.glob(".*.tmp"):
        with contextlib.suppress(OSError):
            if now - left.stat().st_mtime > PAUSE_SECONDS:
                left.unlink()
    (root / STAMP).touch(mode=0o600)
    os.utime(root / STAMP, (now, now))
    return freed


def _named_by(journal: Path, now: float) -> set[str]:
    """Contents a session's checkpoints name; none when it was not used for 30 days."""
    try:
        newest = max(path.stat().st_mtime for path in (journal, journal.with_name("session.jsonl")) if path.exists())
        if now - newest > KEPT_SECONDS:
            return set()
        lines = journal.read_bytes().split(b"\n")
    except (OSError, ValueError):
        return set()
    found: set[str] = set()
    for line in lines:
        with contextlib.suppress(ValueError, RecursionError):
            found |= set(_digests(json.loads(line)))
    return found


def _digests(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            if key == "digest" and isinstance(inner, str):
                yield inner
            else:
                yield from _digests(inner)
    elif isinstance(value, list):
        for inner in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _digests(inner)


@contextlib.contextmanager
def _alone(root: Path) -> Generator[bool]:
    """Is nobody else here? Holds the place while inside."""
    fd = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        yield _lock(fd, exclusive=True)
    finally:
        os.close(fd)


def _lock(fd: int, *, exclusive: bool) -> bool:
    """False: somebody holds it otherwise, or the system has no such locks (then nothing is ever collected)."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - other platform
        return False
    try:
        fcntl.flock(fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _folders(root: Path) -> list[Path]:
    try:
        with os.scandir(root) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
