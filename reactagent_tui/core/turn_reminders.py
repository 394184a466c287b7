"""What goes with a prompt as reminders of its turn: the moment, and facts that are remembered."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from reactagent_tui.core.memory.memory import Memory
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.prompt import moment
from reactagent_tui.core.remembering import Recall
from reactagent_tui.core.sessions.store import SessionFile


class RemindedSession(Protocol):
    """A session, as far as its reminders go."""

    file: SessionFile
    memory: Memory | None
    date_and_git: bool
    without_memory: bool

    @property
    def workdir(self) -> Path: ...


@dataclass
class TurnReminders:
    """Of one turn: looked for before its first step, told with it."""

    session: RemindedSession
    prompt: UserMessage | None
    _line: str = field(default="", init=False)

    def __post_init__(self) -> None:
        memory = None if self.session.without_memory else self.session.memory
        self._recall = Recall(memory, self.session.workdir, self.prompt, self.session.file.messages)

    async def find(self) -> None:
        """Look. Never raises; a stop cancels it."""
        await asyncio.gather(self._recall.find(), self._find_moment())

    async def _find_moment(self) -> None:
        if not self.session.date_and_git or self.prompt is None:
            return
        line = await moment.moment_line(self.session.workdir)
        file = self.session.file
        self._line = line if moment.untold(line, file.marks.view(file.messages)) else ""

    def take(self) -> list[UserMessage]:
        """What was found, once."""
        line, self._line = self._line, ""
        return [*([UserMessage(line, origin="reminder")] if line else []), *self._recall.take()]
