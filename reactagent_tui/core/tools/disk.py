"""Files on disk for the tools: opened only when regular, hashed as they stream, written atomically. Blocking."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from reactagent_tui.core.safety.files_seen import digest
from reactagent_tui.core.tools.anchored import Anchored, anchored
from reactagent_tui.core.tools.failure import ToolFailure

CHUNK = 1 << 20
MAX_EDITED = 32 << 20
"""Bytes up to which a file is edited or overwritten in memory."""

_KINDS: tuple[tuple[Callable[[int], bool], str, str], ...] = (
    (stat.S_ISDIR, "a directory", "use list_dir to see what is in it"),
    (stat.S_ISFIFO, "a named pipe", "reading it could wait for ever; use the shell with a time limit"),
    (stat.S_ISCHR, "a character device", "use the shell with a limit such as `head -c`"),
    (stat.S_ISBLK, "a block device", "use the shell with a limit such as `head -c`"),
    (stat.S_ISSOCK, "a socket", "it cannot be read as a file"),
)


class Cancelled(Exception):
    """The call was stopped while a thread worked for it; nobody waits for the thread any more."""


def refuse_special(mode: int, shown: str) -> None:
    """Raises ToolFailure for anything that is not a regular file."""
    for is_kind, name, hint in _KINDS:
        if is_kind(mode):
            raise ToolFailure("not_a_file", f"{shown} is {name}, not a regular file: {hint}.")


def open_regular(path: Path, shown: str) -> BinaryIO:
    """The file of this real path for reading. Never waits on a pipe or device: those are refused before and after.

    Raises OSError, and ToolFailure when a link was put on the way or the file is none.
    """
    with anchored(path.parent, shown) as folder:
        return _open_in(folder, path.name, shown)


def _open_in(folder: Anchored, name: str, shown: str) -> BinaryIO:
    refuse_special(folder.status(name).st_mode, shown)
    fd = folder.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        refuse_special(os.fstat(fd).st_mode, shown)
        return os.fdopen(fd, "rb", buffering=0)
    except BaseException:
        os.close(fd)
        raise


def read_whole(path: Path, shown: str) -> bytes | None:
    """All bytes of a file small enough to edit, or None when there is none. Raises ToolFailure when too large."""
    try:
        with open_regular(path, shown) as file:
            size = os.fstat(file.fileno()).st_size
            data = b"" if size > MAX_EDITED else file.read(MAX_EDITED + 1)
            while 0 < len(data) <= MAX_EDITED and (more := file.read(CHUNK)):
                data += more
    except FileNotFoundError:
        return None
    if size > MAX_EDITED or len(data) > MAX_EDITED:
        raise ToolFailure(
            "too_large",
            f"{shown} has {max(size, len(data)):,} bytes; above {MAX_EDITED >> 20} MB use the shell.",
        )
    return data


def _digest_in(folder: Anchored, name: str, shown: str, stop: threading.Event) -> str | None:
    """The content hash of a file of any size, or None when it does not exist."""
    hasher = hashlib.blake2b(digest_size=16)
    try:
        with _open_in(folder, name, shown) as file:
            while chunk := file.read(CHUNK):
                if stop.is_set():
                    raise Cancelled
                hasher.update(chunk)
    except FileNotFoundError:
        return None
    return hasher.hexdigest()


def write_atomically(path: Path, shown: str, data: bytes, before: bytes | None, stop: threading.Event) -> None:
    """Put `data` in place of `before` (None: the file does not exist yet), all or nothing.

    Mode and owner stay. Raises ToolFailure when the file is no longer `before`, is read-only, cannot be written, or
    when a link was put on the way to it; the old file is then untouched and no temporary file is left.
    """
    try:
        with anchored(path.parent, shown, create=True) as folder:
            _write_in(folder, path.name, shown, data, before, stop)
    except OSError as error:
        raise _write_failure(error, shown) from error


def _write_in(
    folder: Anchored, name: str, shown: str, data: bytes, before: bytes | None, stop: threading.Event
) -> None:
    status = folder.status(name) if before is not None else None
    if status is not None and not status.st_mode & 0o222:
        raise ToolFailure("permission", f"{shown} is read-only (mode {stat.S_IMODE(status.st_mode):04o}); not written.")
    temp = f".{os.fsdecode(os.fsencode(name)[:100])}.{secrets.token_hex(6)}.tmp"
    try:
        _write_new(folder, temp, data, status)
        expected = None if before is None else digest(before)
        if _digest_in(folder, name, shown, stop) != expected:
            raise ToolFailure("stale", f"{shown} changed on disk a moment ago; not written. Read it again first.")
        if stop.is_set():
            raise Cancelled
        folder.replace(temp, name)
    finally:
        with contextlib.suppress(OSError):
            folder.remove(temp)
    folder.sync()


def _write_new(folder: Anchored, temp: str, data: bytes, like: os.stat_result | None) -> None:
    """A new file, on disk for sure, with the mode and owner of the old one (or those of any new file)."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    fd = folder.open(temp, flags, 0o666 if like is None else 0o600)
    with os.fdopen(fd, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        if like is not None:
            _take_owner_and_mode(fd, like)
        os.fsync(fd)


def _take_owner_and_mode(fd: int, like: os.stat_result) -> None:
    if os.name == "nt":  # pragma: no cover - other platform
        return
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (like.st_uid, like.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(fd, -1, like.st_gid)
        with contextlib.suppress(PermissionError):
            os.fchown(fd, like.st_uid, -1)
    os.fchmod(fd, stat.S_IMODE(like.st_mode))


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
        case _:
            why = error.strerror or str(error)
    return ToolFailure("write_failed", f"{shown} was not written: {why}. What was there before is unchanged.")
