"""What every event has: where it comes from, and the ways a run can end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EndReason = Literal[
    "ANSWER", "REPETITION", "MAX_STEPS", "BUDGET", "TIMEOUT", "INTERRUPTED", "PAUSED", "REFUSED", "BLOCKED", "ERROR"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBase:
    """Where an event comes from. `seq` counts up within a run."""

    session_id: str = ""
    run_id: str = ""
    parent_run_id: str | None = None
    parent_call_id: str | None = None
    step: int = 0
    model_call_id: str | None = None
    tool_call_id: str | None = None
    seq: int = 0

    @property
    def is_quiet(self) -> bool:
        """May wait for the next frame: nobody needs to be woken for it."""
        return False
