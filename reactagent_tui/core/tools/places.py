"""Paths as models write them: to real paths, and to helpful answers when nothing is there."""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakKeyDictionary, WeakValueDictionary

from reactagent_tui.core.display import clean_line
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.tools.base import ToolContext
from reactagent_tui.core.tools.failure import ToolFailure

_LISTED = 5_000


def real_path(path: str, ctx: ToolContext) -> Path:
    """The real path of `~`, relative or absolute `path`. Raises ToolFailure for a path that can be none."""
    if not path.strip():
        raise ToolFailure("arguments", "The path is empty.")
    if "\0" in path:
        raise ToolFailure("arguments", "The path contains a NUL byte.")
    try:
        real = ctx.workspace.resolve(path, ctx.workdir)
    except UnicodeEncodeError as error:
        raise ToolFailure("arguments", "The path has a character that no file name can have.") from error
    except (ValueError, RuntimeError) as error:
        raise ToolFailure("arguments", f"The path cannot be used: {error}.") from error
    real = _with_undecodable_name(real)
    judged = ctx.judged
    if judged is not None and real not in (*judged.reads, *judged.writes):
        raise ToolFailure(
            "swapped",
            f"{path} leads to another file than the one that was allowed a moment ago. Look at it again, then repeat.",
        )
    return real


def _with_undecodable_name(real: Path) -> Path:
    """A name with bytes that are no text is shown with U+FFFD; the model sends that back. Find the one it means."""
    if "\ufffd" not in real.name or os.path.lexists(real):
        return real
    try:
        names = [name for name in os.listdir(real.parent) if shown_name(name) == real.name]
    except OSError:
        return real
    return real.parent / names[0] if len(names) == 1 else real


def shown_name(name: str) -> str:
    """A file name as text for the model: what is no text becomes U+FFFD."""
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in name)


def shown_path(real: Path, workspace: Workspace) -> str:
    """The path for the model and the screen: relative inside the working directory, one line, no controls."""
    return clean_line(shown_name(workspace.shown(real)))


def not_found(real: Path, ctx: ToolContext) -> ToolFailure:
    """The complaint about a path that does not exist, with the nearest names."""
    shown = shown_path(real, ctx.workspace)
    folder = real.parent
    if not folder.is_dir():
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        hint = f" The nearest folder that exists is {shown_path(folder, ctx.workspace)}."
    else:
        near = [shown_path(folder / name, ctx.workspace) for name in _near_names(folder, real.name)]
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return ToolFailure("not_found", f"{shown} does not exist.{hint}")


def _near_names(folder: Path, name: str) -> list[str]:
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_LISTED), strict=False)]
    except OSError:
        return []
    folded = {other.casefold(): other for other in sorted(names)}
    if name.casefold() in folded:
        return [folded[name.casefold()]]
    stem = Path(name).stem.casefold()
    same_stem = [other for other in sorted(names) if Path(other).stem.casefold() == stem]
    near = difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)
    return list(dict.fromkeys([folded[other] for other in near] + same_stem))[:3]


class PathLocks:
    """One lock per real path, so that two calls never interleave their read-change-write of a file."""

    def __init__(self) -> None:
        self._of_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[Path, asyncio.Lock]] = (
            WeakKeyDictionary()
        )

    def at(self, path: Path) -> asyncio.Lock:
        """The lock of a path in the running loop; it lives as long as somebody holds or awaits it."""
        locks = self._of_loop.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
        lock = locks.get(path)
        if lock is None:
            lock = locks[path] = asyncio.Lock()
        return lock


@contextmanager
def file_trouble(real: Path, ctx: ToolContext) -> Generator[None]:
    """Turn a missing file into the complaint with the nearest names."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise not_found(real, ctx) from error
