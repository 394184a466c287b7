"""One file written all or nothing: a new file beside the old one, on disk for sure, then in its place. Blocking."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from reactagent_tui.core.leftovers import name_beside
from reactagent_tui.core.safety.files_seen import digest
from reactagent_tui.core.tools.anchored import Anchored, anchored
from reactagent_tui.core.tools.disk import Cancelled, digest_in
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.swap import put_instead, put_new


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did beside the bytes."""

    other_names: int = 0
    """Hard links that keep the old content: the file under this name is a new one."""


def write_atomically(path: Path, shown: str, data: bytes, before: bytes | None, stop: threading.Event) -> Written:
    """Put `data` in place of `before` (None: the file does not exist yet), all or nothing.

    Mode, owner and extended attributes stay. Raises ToolFailure when the file is no longer `before`, is read-only,
    cannot be written, or when a link was put on the way to it; what was there is then untouched, and neither a
    temporary file nor a new folder is left.
    """
    made: list[Path] = []
    temp = name_beside(path.name)
    status: os.stat_result | None = None
    done = False
    try:
        with anchored(path.parent, shown, create=True, made=made) as folder:
            status = folder.status(path.name) if before is not None else None
            if status is not None and not status.st_mode & 0o222:
                mode = stat.S_IMODE(status.st_mode)
                raise ToolFailure("permission", f"{shown} is read-only (mode {mode:04o}); not written.")
            try:
                _write_new(folder, temp, data, path, status)
                if stop.is_set():
                    raise Cancelled
                _put(folder, temp, path.name, before, stop)
                done = True
            finally:
                with contextlib.suppress(OSError):
                    folder.remove(temp)
            folder.sync()
    except OSError as error:
        raise _write_failure(error, shown) from error
    finally:
        if not done:
            for new in reversed(made):
                with contextlib.suppress(OSError):
                    new.rmdir()
    for new in made:
        _sync_folder(new.parent)
    return Written(0 if status is None else max(0, status.st_nlink - 1))


def _put(folder: Anchored, temp: str, name: str, before: bytes | None, stop: threading.Event) -> None:
    """Let the new file take its place; relative to the open folder where there is one."""
    new, old = (temp, name) if folder.fd is not None else (folder.folder / temp, folder.folder / name)
    if before is None:
        put_new(new, old, folder.shown, fd=folder.fd)
    else:
        put_instead(new, old, folder.shown, digest(before), stop, look=partial(_look, folder), fd=folder.fd)


def _look(folder: Anchored, name: str | Path, stop: threading.Event) -> str | None:
    return digest_in(folder, Path(name).name, folder.shown, stop)


def _write_new(folder: Anchored, temp: str, data: bytes, old: Path, like: os.stat_result | None) -> None:
    """A new file, on disk for sure, with the mode, owner and attributes of the old one (or those of any new file)."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    fd = folder.open(temp, flags, 0o666 if like is None else 0o600)
    with os.fdopen(fd, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        if like is not None:
            _take_owner_and_mode(fd, old, like)
        os.fsync(fd)


def _take_owner_and_mode(fd: int, old: Path, like: os.stat_result) -> None:
    if os.name == "nt":  # pragma: no cover - other platform
        return
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (like.st_uid, like.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(fd, -1, like.st_gid)
        with contextlib.suppress(PermissionError):
            os.fchown(fd, like.st_uid, -1)
    _take_attributes(fd, old)
    os.fchmod(fd, stat.S_IMODE(like.st_mode))


def _take_attributes(fd: int, old: Path) -> None:
    """Labels and access lists, where the file system has them and lets us; no reason to fail."""
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        for name in os.listxattr(old):
            with contextlib.suppress(OSError):
                os.setxattr(fd, name, os.getxattr(old, name))


def _write_failure(error: OSError, shown: str) -> ToolFailure:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            why = "the disk is full"
        case errno.EROFS:
            why = "the file system is read-only"
        case errno.EACCES | errno.EPERM:
            why = "the operating system does not permit writing in its folder"
        case errno.ENAMETOOLONG:
            why = "the name is too long"
        case errno.ENOTDIR:
            why = "a part of the path is a file, not a directory"
        case _:
            why = error.strerror or str(error)
    return ToolFailure("write_failed", f"{shown} was not written: {why}. What was there before is unchanged.")


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable where the system allows it."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
