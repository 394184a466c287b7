"""The log of one server: what it prints beside its messages. It grows to a limit and begins anew then."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

LIMIT = 2_000_000
"""Bytes."""
_TAIL = 40_000


class ServerLog:
    """A file. A log that cannot be written is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._late = path.with_suffix(".late")

    def begin(self) -> None:
        """Make the file, empty when it became too long."""
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.close(fd)
            self.cut()

    def cut(self) -> None:
        """Begin anew when it became too long. The server writes on at the end: it appends."""
        with contextlib.suppress(OSError):
            if self.path.stat().st_size > LIMIT:
                os.truncate(self.path, 0)

    @property
    def was_late(self) -> bool:
        """Somebody waited for this server and gave up, and it has not been ready since."""
        return self._late.exists()

    def mark_late(self, late: bool) -> None:
        """Remember it for the next start."""
        with contextlib.suppress(OSError):
            if late:
                self._late.touch()
            else:
                self._late.unlink(missing_ok=True)

    def note(self, data: bytes) -> None:
        with contextlib.suppress(OSError), self.path.open("ab") as file:
            if file.tell() > LIMIT:
                file.truncate(0)
            file.write(data)

    def tail(self, lines: int) -> str:
        """The newest lines."""
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _TAIL))
                text = file.read(_TAIL).decode("utf-8", "replace")
        except OSError:
            return ""
        return "\n".join(text.rstrip("\n").split("\n")[-lines:])
