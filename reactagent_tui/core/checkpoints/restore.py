"""Carries out a restore: every path by itself and whole, in an order that works. Blocking.

Nothing is followed through a link, no folder is removed that is not empty, and a path whose content is no longer
what the plan saw is left alone. Doing it twice is the same as doing it once: that is how a crash is mended.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field

from reactagent_tui.core.checkpoints.blobs import BlobStore, look
from reactagent_tui.core.checkpoints.entries import Change, Entry, has_real_parent
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.leftovers import name_beside

_SYNCED = 200
"""Restores of more files than this do not push each of them to the disk."""


@dataclass
class Restored:
    """What became of a restore."""

    done: list[Change] = field(default_factory=list[Change])
    failed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Path and why, as the system says it."""


def apply(changes: Sequence[Change], store: BlobStore) -> Restored:
    """Make each path what its change says, if it still is what the change starts from (or is so already)."""
    result = Restored()
    ordered = sorted(changes, key=lambda change: change.path)
    sync = len(ordered) <= _SYNCED
    removals = [c for c in reversed(ordered) if _goes_first(c)]
    for change in removals:
        if change.before is not None and change.before.kind != "dir":
            _one(change, result, _remove, last=change.after is None)
    for change in removals:
        if change.before is not None and change.before.kind == "dir":
            _one(change, result, _remove, last=change.after is None)
    rest = [change for change in ordered if change.after is not None]
    for change in rest:
        if change.after is not None and change.after.kind == "dir":
            _one(change, result, _make_folder, last=False)
    for change in rest:
        if change.after is not None and change.after.kind != "dir":
            _one(change, result, lambda c: _put(c, store, sync=sync), last=True)
    for change in reversed(rest):
        if change.after is not None and change.after.kind == "dir":
            _one(change, result, _set_mode, last=True)
    return result


def _goes_first(change: Change) -> bool:
    """What is there must go before something else can come."""
    before, after = change.before, change.after
    return before is not None and (after is None or (before.kind == "dir") != (after.kind == "dir"))


def _one(change: Change, result: Restored, act: Callable[[Change], object], *, last: bool) -> None:
    """Act on one path; `last`: then it is what it should be."""
    if any(path == change.path for path, _ in result.failed):
        return
    now = look(change.path)
    try:
        if now != change.after:
            if not _may_touch(change, now):
                raise StorageError("changed")
            with _writable_parent(change.path):
                act(change)
    except (OSError, StorageError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        result.failed.append((change.path, reason))
    else:
        if last:
            result.done.append(change)


def _may_touch(change: Change, now: Entry | None) -> bool:
    """It is what the plan saw, or a stage on the way from there."""
    if now is None or now == change.before:
        return True
    return now.kind == "dir" and any(one is not None and one.kind == "dir" for one in (change.before, change.after))


def _remove(change: Change) -> None:
    """A file, a link or an empty folder; nothing there is as good."""
    assert change.before is not None
    if has_real_parent(change.path):
        with contextlib.suppress(FileNotFoundError):
            (os.rmdir if change.before.kind == "dir" else os.unlink)(change.path)


def _make_folder(change: Change) -> None:
    assert change.after is not None
    if not os.path.isdir(change.path):
        os.makedirs(change.path, exist_ok=True)
    os.chmod(change.path, change.after.mode | stat.S_IRWXU)  # contents come next; the mode itself comes last


def _set_mode(change: Change) -> None:
    assert change.after is not None
    os.chmod(change.path, change.after.mode)


def _put(change: Change, store: BlobStore, *, sync: bool) -> None:
    """A file or link in one step: the old one is there until the new one is."""
    path, entry = change.path, change.after
    assert entry is not None
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not has_real_parent(path):
        raise StorageError("a link lies on the way")
    data = store.get(entry.digest)
    temp = os.path.join(os.path.dirname(path), name_beside(os.path.basename(path)))
    try:
        if entry.kind == "link":
            os.symlink(os.fsdecode(data), temp)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
            with os.fdopen(os.open(temp, flags, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                if sync:
                    os.fsync(file.fileno())
            os.chmod(temp, entry.mode)
        os.replace(temp, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temp)


@contextlib.contextmanager
def _writable_parent(path: str) -> Generator[None]:
    """A folder without the write bit takes changes for this moment."""
    parent = os.path.dirname(path)
    try:
        mode = stat.S_IMODE(os.lstat(parent).st_mode)
    except OSError:
        yield
        return
    opened = mode & 0o300 != 0o300 and has_real_parent(path)
    if opened:
        with contextlib.suppress(OSError):
            os.chmod(parent, mode | stat.S_IRWXU)
    try:
        yield
    finally:
        if opened:
            with contextlib.suppress(OSError):
                os.chmod(parent, mode)


def undone(changes: Iterable[Change]) -> list[Change]:
    """The way back."""
    return [Change(change.path, change.after, change.before) for change in changes]
