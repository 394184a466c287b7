"""`pipeline.log` of a skill: one line per thing that happened, appended over all its runs."""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from pathlib import Path

log = logging.getLogger(__name__)
_LONGEST = 2_000


def _no_link(path: str, flags: int) -> int:
    """A folder from elsewhere may hold a link of this name to a file of the user's. Raises OSError for one."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


class RunLog:
    """Appends lines. Where the file cannot be written, they go to the program's own log instead; nothing stops."""

    def __init__(self, path: Path, run: str) -> None:
        self.path = path
        self._run = run
        self._broken = False

    def write(self, text: str) -> None:
        """One line: time, run, text."""
        line = " ".join(text.split())[:_LONGEST]
        if not self._broken:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with open(self.path, "a", encoding="utf-8", newline="\n", opener=_no_link) as file:
                    file.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} [{self._run}] {line}\n")
                return
            except OSError as error:
                self._broken = True
                log.warning("%s cannot be written (%s); its lines follow here", self.path, error.strerror or error)
        log.info("pipeline [%s] %s", self._run, line)
