"""Brings the work of a second place into the user's own tree: all of it or nothing. Blocks."""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from reactagent_tui.core.sandbox.git import Change, Entry, Repo, SandboxError, merged
from reactagent_tui.core.sandbox.worktree import Worktree, changes_of, discard

_FILES = ("100644", "100755")
_LINK = "120000"


@dataclass(frozen=True, slots=True)
class Applied:
    """What happened: `conflicts` are paths that the user changed in another way; then nothing was written."""

    written: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Write:
    """One path and what it becomes; `data` None: it goes."""

    path: Path
    data: bytes | None
    mode: str = ""


def apply(tree: Worktree, folder: Path) -> Applied:
    """Merge the work into the user's tree and remove the second place; with conflicts both stay as they are.

    Raises SandboxError when a file cannot be written; what was written before is put back.
    """
    _now, changes = changes_of(tree)
    user = tree.user_repo()
    theirs_tree, _left_out = user.snapshot()
    theirs = user.entries(theirs_tree)
    plan: list[_Write] = []
    joined: list[str] = []
    conflicts: list[str] = []
    for change in changes:
        there = theirs.get(change.path)
        if there == change.new and there is not None:
            continue
        write = _planned(tree, user, change, there)
        if write is None:
            conflicts.append(change.path)
            continue
        if there != change.old:
            joined.append(change.path)
        plan.append(write)
    if conflicts:
        return Applied(conflicts=tuple(conflicts))
    _write_all(plan)
    discard(tree, folder)
    written = tuple(os.path.relpath(write.path, tree.source) for write in plan)
    return Applied(written, tuple(joined))


def _planned(tree: Worktree, user: Repo, change: Change, there: Entry | None) -> _Write | None:
    """What becomes of one path of the user's; None: that cannot be decided here."""
    path = Path(tree.source, change.path)
    source = Path(tree.root, change.path)
    parent = os.path.realpath(path.parent)
    if parent != os.path.join(os.path.realpath(tree.source), os.path.dirname(change.path)).rstrip("/"):
        return None  # a link on the way leads elsewhere
    if change.new is not None and change.new.mode not in (*_FILES, _LINK):
        return None
    if there is None and change.old is None and os.path.lexists(path):
        return None  # a file of the user's that git ignores
    if there == change.old:
        return _Write(path, None) if change.new is None else _Write(path, _bytes_of(source), change.new.mode)
    if there is None and change.new is None:
        return None if os.path.lexists(path) else _Write(path, None)
    if there is None or change.old is None or change.new is None:
        return None
    if any(entry.mode not in _FILES for entry in (there, change.old, change.new)):
        return None
    text = merged(path.read_bytes(), user.content(tree.base, change.path), source.read_bytes())
    return None if text is None else _Write(path, text, change.new.mode)


def _bytes_of(path: Path) -> bytes:
    return os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()


def _write_all(plan: list[_Write]) -> None:
    """Deletions first: a file may have become a folder."""
    undo: list[_Write] = []
    try:
        for write in sorted(plan, key=lambda write: write.data is not None):
            before = _state(write.path)
            undo.append(before)
            _put(write)
    except OSError as error:
        for before in reversed(undo):
            _put(before)
        raise SandboxError(f"{error.filename or ''}: {error.strerror or error}; nothing was changed") from error


def _state(path: Path) -> _Write:
    if not os.path.lexists(path):
        return _Write(path, None)
    mode = path.lstat().st_mode
    kind = _LINK if stat.S_ISLNK(mode) else "100755" if mode & stat.S_IXUSR else "100644"
    return _Write(path, _bytes_of(path), kind)


def _put(write: _Write) -> None:
    path = write.path
    if write.data is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        if write.mode == _LINK:
            scratch.symlink_to(os.fsdecode(write.data))
        else:
            scratch.write_bytes(write.data)
            was_file = path.is_file() and not path.is_symlink()
            mode = stat.S_IMODE((path if was_file else scratch).stat().st_mode)
            reading = (mode & 0o444) >> 2
            scratch.chmod(mode | reading if write.mode == "100755" else mode & ~0o111)
        scratch.replace(path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise
