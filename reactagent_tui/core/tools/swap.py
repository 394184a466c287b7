"""A finished file put under a name, so that nothing another program wrote there meanwhile is lost. Blocking."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from reactagent_tui.core.tools.disk import Cancelled
from reactagent_tui.core.tools.failure import ToolFailure

Name = str | Path
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def put_new(new: Name, path: Name, shown: str, *, fd: int | None = None) -> None:
    """Give `new` the name `path`, which must be free. Raises ToolFailure when it is not; OSError.

    A hard link is made, because it fails where a rename would overwrite; where there are none, the name is looked at.
    With `fd`, an open folder, both are names in it.
    """
    try:
        os.link(new, path, src_dir_fd=fd, dst_dir_fd=fd)
    except FileExistsError as error:
        raise _appeared(shown) from error
    except OSError:
        if _exists(path, fd):
            raise _appeared(shown) from None
        os.replace(new, path, src_dir_fd=fd, dst_dir_fd=fd)


def put_instead(
    new: Name,
    path: Name,
    shown: str,
    expected: str,
    stop: threading.Event,
    *,
    look: Callable[[Name, threading.Event], str | None],
    fd: int | None = None,
) -> None:
    """Put `new` in place of a file whose digest still is `expected`; `look` gives the digest of a name.

    Raises ToolFailure when it is another one, Cancelled, OSError. An editor may save between the last look and the
    rename. Where two names can change places at once, what was there is looked at after the exchange, and put back
    if it is not what was seen.
    """
    if look(path, stop) != expected:
        raise _changed(shown)
    if stop.is_set():
        raise Cancelled
    if not exchange(new, path, fd):
        os.replace(new, path, src_dir_fd=fd, dst_dir_fd=fd)
        return
    was_it = False
    try:
        was_it = look(new, threading.Event()) == expected
    finally:
        if not was_it and not exchange(new, path, fd):
            os.replace(new, path, src_dir_fd=fd, dst_dir_fd=fd)
    if not was_it:
        raise _changed(shown)


def exchange(one: Name, other: Name, fd: int | None = None) -> bool:
    """Let two names change places in one step; False where the system or the file system cannot."""
    if sys.platform != "linux":
        return False
    with contextlib.suppress(OSError, AttributeError):
        call = ctypes.CDLL(None, use_errno=True).renameat2
        at = _AT_FDCWD if fd is None else fd
        first, second = os.fsencode(one), os.fsencode(other)
        return call(at, first, at, second, ctypes.c_uint(_RENAME_EXCHANGE)) == 0
    return False


def _exists(path: Name, fd: int | None) -> bool:
    try:
        os.stat(path, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _appeared(shown: str) -> ToolFailure:
    return ToolFailure("stale", f"{shown} appeared on disk a moment ago; not written. Read it first.")


def _changed(shown: str) -> ToolFailure:
    return ToolFailure("stale", f"{shown} changed on disk a moment ago; not written. Read it again first.")
