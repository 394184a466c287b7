"""A folder held open by its real path: what is swapped on the way to it later leads nowhere. Blocking.

Permissions judge a real path. Between that and the write somebody may put a link in the place of a folder on the way.
So the folder is opened name by name from the root, no link is followed, and the file is read, made and renamed
relative to the open folder. Where the system cannot do that (Windows), the real path is compared again instead.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reactagent_tui.core.tools.failure import ToolFailure

CAN_ANCHOR = {os.open, os.mkdir, os.rename, os.unlink, os.stat} <= os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)  # Windows has none and needs none
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW | _CLOEXEC
_LINK_ERRORS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


@dataclass(frozen=True, slots=True)
class Anchored:
    """An open folder. Every name is one part; a link in its place is never followed."""

    folder: Path
    shown: str
    """The path that the user sees, for complaints."""
    fd: int | None
    """None where folders cannot be held open."""

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """A descriptor of the file `name`. Raises OSError, and ToolFailure when a link was put in its place."""
        try:
            if self.fd is None:
                return os.open(self.folder / name, flags | _CLOEXEC, mode)
            return os.open(name, flags | _NOFOLLOW | _CLOEXEC, mode, dir_fd=self.fd)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise _swapped(self.shown) from error
            raise

    def status(self, name: str) -> os.stat_result:
        """Of the file itself. Raises OSError, and ToolFailure when a link was put in its place."""
        if self.fd is None:
            found = os.stat(self.folder / name, follow_symlinks=False)
        else:
            found = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            raise _swapped(self.shown)
        return found

    def replace(self, old: str, new: str) -> None:
        """Rename `old` to `new`, all or nothing. Raises OSError."""
        if self.fd is None:
            _compare(self.folder, self.shown)
            os.replace(self.folder / old, self.folder / new)
        else:
            os.replace(old, new, src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def remove(self, name: str) -> None:
        """Raises OSError."""
        if self.fd is None:
            os.unlink(self.folder / name)
        else:
            os.unlink(name, dir_fd=self.fd)

    def sync(self) -> None:
        """Make renames durable where the system allows it."""
        with contextlib.suppress(OSError, ToolFailure):
            fd = self.open(".", os.O_RDONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)


@contextmanager
def anchored(folder: Path, shown: str, *, create: bool = False, made: list[Path] | None = None) -> Generator[Anchored]:
    """The folder of this real path, held open; with `create`, missing folders are made and added to `made`.

    Raises OSError, and ToolFailure when a part of the path is a link by now.
    """
    if not CAN_ANCHOR:  # pragma: no cover - other platform
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        _compare(folder, shown)
        yield Anchored(folder, shown, None)
        return
    fd = _walk(folder, shown, create, [] if made is None else made)
    try:
        yield Anchored(folder, shown, fd)
    finally:
        os.close(fd)


def _walk(folder: Path, shown: str, create: bool, made: list[Path]) -> int:
    here = Path(folder.anchor or os.sep)
    fd = os.open(here, _FOLDER)
    for name in folder.parts[1:]:
        outer, here = fd, here / name
        try:
            fd = _enter(outer, here, shown, create, made)
        finally:
            os.close(outer)
    return fd


def _enter(outer: int, here: Path, shown: str, create: bool, made: list[Path]) -> int:
    name = here.name
    try:
        return os.open(name, _FOLDER, dir_fd=outer)
    except FileNotFoundError:
        if not create:
            raise
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=outer)
            made.append(here)
        return _enter(outer, here, shown, False, made)
    except OSError as error:
        if error.errno in _LINK_ERRORS and _is_link(outer, name):
            raise _swapped(shown) from error
        raise


def _is_link(outer: int, name: str) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISLNK(os.stat(name, dir_fd=outer, follow_symlinks=False).st_mode)
    return False


def _compare(folder: Path, shown: str) -> None:
    if Path(os.path.realpath(folder)) != folder:
        raise _swapped(shown)


def _swapped(shown: str) -> ToolFailure:
    return ToolFailure(
        "swapped",
        f"{shown} was not touched: a part of its path became a symbolic link after it was allowed. "
        "Look at the path again (list_dir) and repeat the call with the real one.",
    )
