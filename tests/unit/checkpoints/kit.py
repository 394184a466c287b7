"""One workspace with checkpoints, driven without a model: turns are functions that change files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reactagent_tui.core.checkpoints.rewinder import Rewinder
from reactagent_tui.core.checkpoints.scan import Bounds
from reactagent_tui.core.checkpoints.turns import TurnCheckpoints, Where
from reactagent_tui.core.messages import AssistantMessage, TextPart, UserMessage
from reactagent_tui.core.reporter import Answer, Question
from reactagent_tui.core.safety.access import Access
from reactagent_tui.core.sessions.store import SessionFile, SessionStore

Tree = dict[bytes, tuple[str, int, bytes]]
SHELL = Access("run_shell_command", command="something")


def tree_of(root: Path) -> Tree:
    """Every path below: kind, mode, content. Two equal trees are the same to the byte."""
    found: Tree = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        for name in [*folders, *files]:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                found[path] = ("link", 0, os.readlink(path))
            elif stat.S_ISDIR(status.st_mode):
                found[path] = ("dir", stat.S_IMODE(status.st_mode), b"")
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    found[path] = ("file", stat.S_IMODE(status.st_mode), file.read())
            else:
                found[path] = ("other", 0, b"")
    return found


@dataclass
class Bench:
    """A session in a folder."""

    work: Path
    state: Path
    bounds: Bounds = field(default_factory=Bounds)
    answer: Answer = field(default_factory=lambda: Answer("deny"))
    gate_seconds: float = 60.0
    notices: list[str] = field(default_factory=list[str])
    questions: list[Question] = field(default_factory=list[Question])

    def __post_init__(self) -> None:
        self.work.mkdir(exist_ok=True)
        self.file: SessionFile = SessionStore(self.state / "sessions").create(self.work, model="m", mode="auto")
        self.open()

    def open(self) -> None:
        """Open the session again, as after a restart."""
        path = self.file.path
        if path.exists() and self.file.messages:
            self.file.close()
            self.file = SessionStore(self.state / "sessions").load(path)
        where = Where(
            workdir=self.work,
            roots=(self.work,),
            journal=self.file.folder / "checkpoints.jsonl",
            store=self.state / "checkpoints" / self.file.folder.parent.name,
            stores=self.state / "checkpoints",
            sessions=self.state / "sessions",
        )
        self.turns = TurnCheckpoints(where, self._tell, bounds=self.bounds, gate_seconds=self.gate_seconds)
        self.rewinder = Rewinder(self.file, self.turns, self._ask, self.work)

    def _tell(self, key: str, **_params: Any) -> None:
        self.notices.append(key)

    async def _ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return self.answer

    async def turn(self, prompt: str, act: Callable[[], object] | None = None, *writes: Path) -> Any:
        """One turn: `act` changes files, as a shell command or (with `writes`) as the file tools do."""
        self.turns.begin_turn(len(self.file.messages), prompt)
        self.file.append_message(UserMessage(prompt))
        if act is not None:
            await self.turns.before_write(Access("write_file", writes=writes) if writes else SHELL)
            act()
        self.file.append_message(AssistantMessage((TextPart(f"did {prompt}"),)))
        return await self.turns.end_turn(60)

    @property
    def tree(self) -> Tree:
        return tree_of(self.work)
