"""What a kill leaves of files that were about to take another's place: their names, and which of them are nobody's.

A new content is written beside its goal and renamed. The name tells the process that writes it, so that what a dead
one left is known from what a living one needs.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from reactagent_tui.core.paths import Paths

LONGEST = 3600.0
"""Seconds after which a small file of ours that did not take its place never will."""
_NAME_KEPT = 100
_OF_PROCESS = re.compile(r"\.(\d{1,10})-[0-9a-f]{12}\.tmp")
_SMALL = re.compile(r"\..+\.[0-9a-f]{8}(\.tmp)?|boot\.\d+\.tmp|.+\.draft\.\d+\.new|\.config-.+\.yaml")


def name_beside(name: str) -> str:
    """For a new content of the file `name`, in the same folder."""
    return f"{_start(name)}{os.getpid()}-{secrets.token_hex(6)}.tmp"


def left_beside(path: str) -> list[str]:
    """Contents for this path that a process which is gone did not put in its place."""
    folder, name = os.path.split(path)
    start = _start(name)
    found: list[str] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            rest = entry.name[len(start) - 1 :]
            match = _OF_PROCESS.fullmatch(rest) if entry.name.startswith(start) else None
            if match is not None and not _lives(int(match.group(1))):
                found.append(entry.path)
    return found


def clear_away(paths: Paths, now: float | None = None) -> None:
    """Remove what kills left in the program's own folders, once it is old. Never raises."""
    oldest = (time.time() if now is None else now) - LONGEST
    for path in _small(paths):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _small(paths: Paths) -> Iterator[Path]:
    for folder in (paths.state, paths.cache, paths.config, paths.state / "history"):
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            yield from [Path(e.path) for e in entries if _SMALL.fullmatch(e.name) and e.is_file(follow_symlinks=False)]


def _start(name: str) -> str:
    return f".{os.fsdecode(os.fsencode(name)[:_NAME_KEPT])}."


def _lives(pid: int) -> bool:
    """Is there such a process? Where that cannot be asked without harm, it counts as living."""
    if os.name == "nt":  # pragma: no cover - other platform
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return pid > 0
