"""One driver in a run directory at a time, over all processes. The system lets go of it when its holder dies."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

from reactagent_tui.core.errors import SkillError

LOCK_FILE = ".pipeline.lock"


@contextlib.contextmanager
def alone_in(folder: Path) -> Generator[None]:
    """Hold a run directory. Raises SkillError when somebody works in it; where no locks can be had, nobody is kept out.

    The file stays: one that is removed may be locked twice.
    """
    try:
        descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        raise SkillError(f"{folder}: {error.strerror or error}") from error
    try:
        if not _locked(descriptor):
            raise SkillError(
                f"{folder} is in use: its pipeline runs already, here or in another window. Stop it first."
            )
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """False: another one holds it. The lock goes with the descriptor."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - other platform
        return _locked_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True


def _locked_windows(descriptor: int) -> bool:  # pragma: no cover - other platform
    import importlib
    from typing import Any

    msvcrt: Any = importlib.import_module("msvcrt")
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True
