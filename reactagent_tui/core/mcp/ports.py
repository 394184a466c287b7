"""What a server may want of its user while one of its tools runs, and who gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from reactagent_tui.core.reporter import Answer, Question


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """A server asks for a reply of the session's model."""

    server: str
    system: str
    turns: tuple[tuple[Literal["user", "assistant"], str], ...]
    max_tokens: int
    temperature: float | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SampleReply:
    """What the model said. `refused`: the user did not want it."""

    text: str = ""
    model: str = ""
    stop_reason: str = "endTurn"
    refused: str = ""


class CallPort(Protocol):
    """The session that a call belongs to."""

    def progress(self, text: str) -> None:
        """Show it in the call's row."""
        ...

    async def ask(self, question: Question) -> Answer:
        """Cancelled with the turn."""
        ...

    async def sample(self, request: SampleRequest) -> SampleReply:
        """Ask the user, run it, book it."""
        ...
