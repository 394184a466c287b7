"""Whether the turn belongs to a skill that asks nothing: then `ask_user` tells the model to infer what it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.skills.expand import forbids_questions


@dataclass(slots=True)
class Unasked:
    """The skill of this turn that runs to its end without a question. One for each session; ends with the turn."""

    skill: str = ""

    def begin_turn(self, prompt: UserMessage | None) -> None:
        """A turn begins; without a prompt it goes on with the last one."""
        if prompt is not None:
            self.skill = ""
            self.heed((prompt,))

    def heed(self, messages: Sequence[UserMessage]) -> None:
        """Messages that come in; one may call such a skill."""
        for message in messages:
            if forbids_questions(message):
                self.begin((message.shown or "").removeprefix("/").partition(" ")[0])

    def begin(self, skill: str) -> None:
        """Nothing is asked until this turn ends."""
        self.skill = skill

    @property
    def answer(self) -> str | None:
        """What `ask_user` says in the user's place; None: the user may be asked."""
        if not self.skill:
            return None
        return (
            f"not available: infer it. The skill {self.skill} runs to its end without asking the user: choose the most "
            "likely answer yourself, go on, and say in the result what you assumed."
        )
