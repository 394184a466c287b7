"""Whether a session stopped in the middle of a turn, told from its history and the last end of a run. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from reactagent_tui.core.messages import AssistantMessage, Message, UserMessage

Unfinished = Literal["", "paused", "stopped", "lost"]
"""lost: the program ended without a word, by a crash or a kill."""
GO_ON = "Go on where you stopped."


def unfinished(messages: Sequence[Message], last_end: str) -> Unfinished:
    """`last_end` is the reason of the run that ended after the last message; "" when none did."""
    last = next((m for m in reversed(messages) if not (isinstance(m, UserMessage) and m.origin == "reminder")), None)
    if last is None:
        return ""
    answered = isinstance(last, AssistantMessage) and not last.tool_calls
    match last_end:
        case "PAUSED":
            return "paused"
        case "INTERRUPTED":
            return "stopped"
        case "":
            cut = isinstance(last, AssistantMessage) and last.stop_reason in ("lost", "interrupted")
            return "lost" if cut or not answered else ""
        case _:
            return ""


def needs_a_word(messages: Sequence[Message]) -> bool:
    """Does the history end with text of the model? A request must end with the user."""
    return bool(messages) and isinstance(messages[-1], AssistantMessage) and not messages[-1].tool_calls
