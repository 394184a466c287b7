"""What ESC and Ctrl+C do: ladders, one press one level. Pure: the screen tells what is open, and acts."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Literal, NamedTuple

DOUBLE_PRESS = 1.5
"""Seconds within which a second press counts as one."""
AFTER_STOP = 1.0
"""A stop younger than this is never the first press of a double ESC."""


class Esc(Enum):
    """Answer to an ESC."""

    CLOSE_POPUP = auto()
    CLOSE_SEARCH = auto()
    CLOSE_LINE = auto()
    """The dock's comment or pattern line."""
    DENY_AND_STOP = auto()
    STOP_CALL = auto()
    STOP_AGENT = auto()
    STOP_RUN = auto()
    LEAVE_TRANSCRIPT = auto()
    """The block cursor goes, the prompt has the focus again."""
    ARM_CLEAR = auto()
    CLEAR_DRAFT = auto()
    ARM_REWIND = auto()
    REWIND = auto()
    NOTHING = auto()


class CtrlC(Enum):
    """Answer to a Ctrl+C."""

    COPY = auto()
    CLEAR_DRAFT = auto()
    STOP_RUN = auto()
    ARM_QUIT = auto()
    QUIT = auto()


class Situation(NamedTuple):
    """What an ESC or Ctrl+C finds."""

    popup: bool = False
    search: bool = False
    dock: Literal["closed", "open", "editing"] = "closed"
    call_focused: bool = False
    """A running tool row has the cursor."""
    agent_focused: bool = False
    """The row of a running agent has the cursor."""
    transcript_focused: bool = False
    running: bool = False
    has_text: bool = False
    has_selection: bool = False


@dataclass
class Ladder:
    """Remembers the last presses. Times in seconds on one clock."""

    _last_idle_esc: float = field(default=-1e9)
    _last_ctrl_c: float = field(default=-1e9)
    _last_stop: float = field(default=-1e9)

    def stopped(self, now: float) -> None:
        """A run was stopped (by ESC in the input thread, or by us)."""
        self._last_stop = now
        self._last_idle_esc = -1e9

    def esc(self, found: Situation, now: float) -> Esc:
        """One press, one level."""
        first = self._first_level(found)
        if first is not None:
            self._last_idle_esc = -1e9
            if first in (Esc.STOP_RUN, Esc.DENY_AND_STOP):
                self.stopped(now)
            return first
        if now - self._last_stop <= AFTER_STOP:
            return Esc.NOTHING
        if now - self._last_idle_esc <= DOUBLE_PRESS:
            self._last_idle_esc = -1e9
            return Esc.CLEAR_DRAFT if found.has_text else Esc.REWIND
        self._last_idle_esc = now
        return Esc.ARM_CLEAR if found.has_text else Esc.ARM_REWIND

    def ctrl_c(self, found: Situation, now: float) -> CtrlC:
        """Copy, clear, stop, quit: the step that costs least comes first."""
        if found.has_selection:
            return CtrlC.COPY
        if found.has_text:
            return CtrlC.CLEAR_DRAFT
        if found.running:
            self.stopped(now)
            return CtrlC.STOP_RUN
        if now - self._last_ctrl_c <= DOUBLE_PRESS:
            return CtrlC.QUIT
        self._last_ctrl_c = now
        return CtrlC.ARM_QUIT

    @staticmethod
    def _first_level(found: Situation) -> Esc | None:
        levels = (
            (found.popup, Esc.CLOSE_POPUP),
            (found.dock == "editing", Esc.CLOSE_LINE),
            (found.search, Esc.CLOSE_SEARCH),
            (found.dock == "open", Esc.DENY_AND_STOP),
            (found.call_focused and found.running, Esc.STOP_CALL),
            (found.agent_focused and found.running, Esc.STOP_AGENT),
            (found.running, Esc.STOP_RUN),
            (found.transcript_focused, Esc.LEAVE_TRANSCRIPT),
        )
        return next((level for here, level in levels if here), None)
