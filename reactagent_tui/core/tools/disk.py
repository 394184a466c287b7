"""Files on disk for the tools: opened only when regular, read within bounds, hashed as they stream. Blocking."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from reactagent_tui.core.tools.failure import ToolFailure

CHUNK = 1 << 20
CLOEXEC = getattr(os, "OCLOEXEC", 0)  # Windows has none and needs none
MAX_EDITED = 10 << 20
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
    """The file for reading. Never waits on a pipe or device: those are refused before and after opening."""
    refuse_special(path.stat().st_mode, shown)
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | CLOEXEC)
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


def digest_of_file(path: Path, shown: str, stop: threading.Event) -> str | None:
    """The content hash of a file of any size, or None when it does not exist."""
    hasher = hashlib.blake2b(digest_size=16)
    try:
        with open_regular(path, shown) as file:
            while chunk := file.read(CHUNK):
                if stop.is_set():
                    raise Cancelled
                hasher.update(chunk)
    except FileNotFoundError:
        return None
    return hasher.hexdigest()
