"""Prompts on their way from the screen to a session: what no agent has taken, and what no session's file holds yet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Literal, NamedTuple

from reactagent_tui.core.messages import UserMessage


class SentPrompt(NamedTuple):
    """A prompt, and what the user wants of it while a run goes."""

    message: UserMessage
    kind: Literal["steer", "follow_up"]


class SentPrompts:
    """Added in the screen's loop, taken out in the agent's; read from any thread."""

    def __init__(self) -> None:
        self.unheard: list[SentPrompt] = []
        """Not yet taken by an agent: a loop that hangs may never do so."""
        self.on_written: Callable[[], None] = lambda: None
        """Called in the agent's thread: a prompt is in a session's file or queue now."""
        self._unwritten: list[UserMessage] = []

    def add(self, sent: SentPrompt) -> None:
        """The screen sends a prompt."""
        self.unheard.append(sent)
        self._unwritten.append(sent.message)

    def hear(self, sent: SentPrompt) -> bool:
        """An agent takes a prompt. False: another one did."""
        if sent not in self.unheard:
            return False
        self.unheard.remove(sent)
        return True

    def written(self, *messages: UserMessage) -> None:
        """Prompts are in a session's file or queue. What `on_written` raises, it raises."""
        for message in messages:
            with suppress(ValueError):
                self._unwritten.remove(message)  # in place: the screen may append meanwhile
        self.on_written()

    def unwritten(self) -> tuple[str, ...]:
        """The texts that are in no session's file yet: the agent is not there, or hangs."""
        return tuple(message.text for message in self._unwritten)
