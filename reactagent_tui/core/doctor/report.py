"""What a check-up found, as data: keys and parameters for the front end, no sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from reactagent_tui.core.money import NOTHING_SPENT, NOTHING_USED, Money
from reactagent_tui.core.usage import Usage

State = Literal["ok", "failed", "unknown"]
"""unknown: not tested, or something that this model or server does not have."""
CheckName = Literal[
    "config", "local", "key", "server", "stream", "usage", "window", "tools", "parallel", "thinking", "image"
]
LIVE: tuple[CheckName, ...] = ("server", "stream", "usage", "window", "tools", "parallel", "thinking", "image")
"""Those that need a model that answers, in the order in which they are told."""


@dataclass(frozen=True, slots=True)
class Said:
    """The locale text `doctor.<key>` with its parameters; the key `error` is the foreign text itself."""

    key: str
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def error(cls, text: object) -> Said:
        """What somebody else said, as it is."""
        return cls("error", {"text": str(text)})


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report."""

    name: CheckName
    state: State
    said: Said
    advice: Said | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The whole check-up."""

    checks: tuple[Check, ...] = ()
    provider: str = ""
    model: str = ""
    api: str = ""
    api_base: str = ""
    window: int | None = None
    window_source: str = ""
    calls: int = 0
    """Requests to the model."""
    usage: Usage = NOTHING_USED
    cost: Money = NOTHING_SPENT

    def state_of(self, name: CheckName) -> State:
        """How a check ended; unknown when it was not made."""
        for check in self.checks:
            if check.name == name:
                return check.state
        return "unknown"

    @property
    def exit_code(self) -> int:
        """0: it can be used, 1: it cannot, 2: the configuration names no model that could be tried."""
        if self.state_of("config") == "failed" or not self.model:
            return 2
        return 0 if self.state_of("stream") == "ok" else 1
