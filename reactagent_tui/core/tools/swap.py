"""A finished file put under a name, so that nothing another program wrote there meanwhile is lost. Blocking."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from pathlib import Path

from reactagent_tui.core.safety.files_seen import digest
from reactagent_tui.core.tools.disk import Cancelled, digest_of_file
from reactagent_tui.core.tools.failure import ToolFailure

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def put_new(new: Path, path: Path, shown: str) -> None:
    """Give `new` the name `path`, which must be free. Raises ToolFailure when it is not; OSError.

    A hard link is made, because it fails where a rename would overwrite; where there are none, the name is looked at.
    """
    try:
        os.link(new, path)
    except FileExistsError as error:
        raise _appeared(shown) from error
    except OSError:
        if os.path.lexists(path):
            raise _appeared(shown) from None
        os.replace(new, path)


def put_instead(new: Path, path: Path, shown: str, before: bytes, stop: threading.Event) -> None:
    """Put `new` in place of a file that still is `before`. Raises ToolFailure when it is not, Cancelled, OSError.

    An editor may save between the last look and the rename. Where two names can change places at once, what was
    there is looked at after the exchange, and put back if it is not what was seen.
    """
    expected = digest(before)
    if digest_of_file(path, shown, stop) != expected:
        raise _changed(shown)
    if stop.is_set():
        raise Cancelled
    if not exchange(new, path):
        os.replace(new, path)
        return
    was_it = False
    try:
        was_it = digest_of_file(new, shown, threading.Event()) == expected
    finally:
        if not was_it and not exchange(new, path):
            os.replace(new, path)
    if not was_it:
        raise _changed(shown)


def exchange(one: Path, other: Path) -> bool:
    """Let two names change places in one step; False where the system or the file system cannot."""
    if sys.platform != "linux":
        return False
    with contextlib.suppress(OSError, AttributeError):
        call = ctypes.CDLL(None, use_errno=True).renameat2
        first, second = os.fsencode(one), os.fsencode(other)
        return call(_AT_FDCWD, first, _AT_FDCWD, second, ctypes.c_uint(_RENAME_EXCHANGE)) == 0
    return False


def _appeared(shown: str) -> ToolFailure:
    return ToolFailure("stale", f"{shown} appeared on disk a moment ago; not written. Read it first.")


def _changed(shown: str) -> ToolFailure:
    return ToolFailure("stale", f"{shown} changed on disk a moment ago; not written. Read it again first.")
