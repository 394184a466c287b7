"""What the program notes about itself: to a file, never to the screen or a pipe."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reactagent_tui.core.config.schema import LogSettings
from reactagent_tui.core.log import Redactor, open_log

_LOGGERS = ("reactagent_tui", "mcp")
"""Ours, and the SDK's: what nobody takes is printed, and its words may hold what a login server said."""


@dataclass
class ProgramLog:
    """The open log; `close` gives the logger back as it was."""

    handlers: list[logging.Handler] = field(default_factory=list[logging.Handler])

    def close(self) -> None:
        """Write what waits. A full disk: what was still to be written is lost."""
        for name in _LOGGERS:
            logger = logging.getLogger(name)
            logger.propagate = True
            for handler in self.handlers:
                logger.removeHandler(handler)
        for handler in self.handlers:
            with contextlib.suppress(OSError):
                handler.close()
        self.handlers.clear()


def open_program_log(folder: Path, settings: LogSettings, env: Mapping[str, str]) -> ProgramLog:
    """Log to a file of this folder, keys of the environment masked."""
    keys = [value for name, value in env.items() if name.endswith("_API_KEY")]
    try:
        file = open_log(
            folder / "reactagent.log",
            Redactor(keys),
            level=settings.level,
            max_bytes=settings.max_bytes,
            backups=settings.backups,
        )
    except OSError:
        return ProgramLog()  # a state folder that cannot be written is told where it matters: with the session
    opened = ProgramLog(list(file.handlers))
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.propagate = False
        for handler in file.handlers:
            logger.addHandler(handler)
    logging.getLogger("reactagent_tui").setLevel(settings.level.upper())
    return opened
