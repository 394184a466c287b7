"""Going back: to the state before any prompt, files or conversation or both, and forward again.

A restore is a step like a turn, so that it can be undone. What somebody else changed since is never touched without
an answer; an answer that does not come is a no.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reactagent_tui.core.checkpoints.blobs import BlobStore, look
from reactagent_tui.core.checkpoints.diffs import FileChange, file_changes
from reactagent_tui.core.checkpoints.entries import Change, Entry
from reactagent_tui.core.checkpoints.journal import PROMPT_KEPT, Journal, Step
from reactagent_tui.core.checkpoints.plan import Item, compose, items
from reactagent_tui.core.checkpoints.restore import Restored, apply, undone
from reactagent_tui.core.checkpoints.turns import TurnCheckpoints
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.reporter import Answer, ChoiceQuestion, Question
from reactagent_tui.core.sessions.store import SessionFile

Scope = Literal["both", "files", "chat"]
SCOPES: tuple[Scope, ...] = ("both", "files", "chat")
CHOICES = ("rewind.keep", "rewind.overwrite", "rewind.cancel")
_KEEP, _OVERWRITE = 0, 1
_OPENS_TURN = frozenset({"user", "follow_up", "skill"})
_NAMED = 3

Ask = Callable[[Question], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Point:
    """A prompt that can be gone back to before."""

    number: int
    """Counts from 1."""
    at: int
    """Messages before it."""
    text: str
    step: int | None
    """Index of its turn among the steps; None for turns from before checkpoints."""
    files: int = 0
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class Preview:
    """What going back would do to files."""

    files: tuple[FileChange, ...]
    yours: frozenset[str]
    """Paths that somebody else changed since."""
    stuck: frozenset[str]
    """Paths that cannot be brought back."""


Ending = Literal["done", "cancelled", "nothing", "pending"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What going back or forward did."""

    ending: Ending
    restored: int = 0
    kept: tuple[str, ...] = ()
    """Files left as the user made them."""
    stuck: tuple[tuple[str, str], ...] = ()
    """Files that could not be brought back, and why: a locale key or what the system says."""
    chat: bool = False
    """The conversation is another one now."""
    draft: str = ""
    """The prompt that was taken back."""


class Rewinder:
    """The way back and forth of one session. Loop-confined."""

    def __init__(self, file: SessionFile, turns: TurnCheckpoints, ask: Ask, workdir: Path) -> None:
        self.file = file
        self.turns = turns
        self._ask = ask
        self._workdir = workdir
        self._busy = asyncio.Lock()
        self._asking: asyncio.Task[Answer] | None = None
        self._telling: asyncio.Task[None] | None = None

    @property
    def store(self) -> BlobStore:
        return self.turns.store

    def begin_turn(self, at: int, prompt: str, *, may_write: bool) -> None:
        """A turn begins: a question that is still open is settled with a no."""
        if self._asking is not None:
            self._asking.cancel()
        self.turns.begin_turn(at, prompt, may_write=may_write)

    async def move(self, workdir: Path, roots: Sequence[Path]) -> None:
        """The session works in another folder from the next turn on. Between turns only."""
        await self.turns.move(workdir, roots)
        self._workdir = workdir

    # -- looking ----------------------------------------------------------------------------

    async def points(self) -> list[Point]:
        """Every prompt of the conversation, oldest first."""
        journal = await self.turns.journal()
        return points_of(self.file, journal.steps)

    async def preview(self, number: int) -> Preview:
        """What going back to before prompt `number` would change now. Raises KeyError."""
        journal = await self.turns.journal()
        first = _first_step(points_of(self.file, journal.steps), number)
        return await asyncio.to_thread(self._preview, [] if first is None else journal.steps[first:])

    async def changes(self, number: int | None) -> list[FileChange]:
        """What the last turn that changed files did, or all turns since prompt `number`. Raises KeyError."""
        journal = await self.turns.journal()
        if number is None:
            turns = [step for step in journal.steps if step.kind == "turn" and step.changes]
            steps: Sequence[Step] = turns[-1:]
        else:
            first = _first_step(points_of(self.file, journal.steps), number)
            steps = [] if first is None else journal.steps[first:]
        found = [Change(one.path, one.target, one.left) for one in compose(steps) if one.target != one.left]
        return await asyncio.to_thread(file_changes, found, self.store, self._workdir, with_blocks=True)

    async def size(self) -> int:
        """Bytes that are kept for this workspace."""
        return await asyncio.to_thread(self.store.size)

    def tell_pending(self) -> None:
        """Say in a moment that an earlier restore was interrupted, if one was."""
        self._telling = asyncio.create_task(self.turns.tell_pending(), name="checkpoint")

    async def pending(self) -> bool:
        """A restore was interrupted: it can be finished or undone."""
        return (await self.turns.journal()).pending is not None

    # -- going ------------------------------------------------------------------------------

    async def rewind(self, number: int, scope: Scope) -> Outcome:
        """Go back to before prompt `number`. Raises KeyError, OSError."""
        async with self._busy:
            journal = await self.turns.journal()
            if journal.pending is not None:
                return Outcome("pending")
            points = points_of(self.file, journal.steps)
            point = _point(points, number)
            first = _first_step(points, number)
            steps = [] if first is None or scope == "chat" else journal.steps[first:]
            keep = -1 if scope == "files" else point.at
            return await self._go(journal, "restore", steps, journal.next_id if first is None else first, keep)

    async def redo(self) -> Outcome:
        """Undo the last rewind that was not undone and after which no turn came. Raises OSError."""
        async with self._busy:
            journal = await self.turns.journal()
            if journal.pending is not None:
                return Outcome("pending")
            index = _redoable(journal.steps)
            if index is None:
                return Outcome("nothing")
            step = journal.steps[index]
            chat = 0 if step.at >= 0 and self.file.cut else -1
            return await self._go(journal, "redo", journal.steps[index:], step.id, chat)

    async def finish(self, *, forward: bool) -> Outcome:
        """Carry an interrupted restore to its end, or back to where it began. Raises OSError."""
        async with self._busy:
            journal = await self.turns.journal()
            step = journal.pending
            if step is None:
                return Outcome("nothing")
            wanted = list(step.changes) if forward else undone(step.changes)
            result = await asyncio.to_thread(apply, wanted, self.store)
            draft = self._turn_chat(step) if forward else ""
            if not forward and step.kind == "restore" and len(self.file.messages) == step.at:
                self.file.undo_rewind()
            await asyncio.to_thread(journal.end_restore, step.id, result.done if forward else ())
            return Outcome("done", len(result.done), stuck=tuple(result.failed), chat=step.at >= 0, draft=draft)

    # -- inside -----------------------------------------------------------------------------

    async def _go(
        self, journal: Journal, kind: Literal["restore", "redo"], steps: Sequence[Step], target: int, keep: int
    ) -> Outcome:
        found = await asyncio.to_thread(lambda: items(compose(steps), self._look))
        yours = [item for item in found if item.state == "yours"]
        overwrite = False
        if yours:
            choice = await self._question(yours)
            if choice is None:
                return Outcome("cancelled")
            overwrite = choice == _OVERWRITE
        chosen = [i.change for i in found if i.state == "ready" or (i.state == "yours" and overwrite)]
        stuck = [(i.path, f"rewind.{i.state}") for i in found if i.state in ("lost", "blocked")]
        if not chosen and keep < 0:
            kept = () if overwrite else tuple(item.path for item in yours)
            return Outcome("nothing", kept=kept, stuck=tuple(stuck))
        step = await asyncio.to_thread(journal.begin_restore, kind, target, keep, chosen)
        result: Restored = await asyncio.to_thread(apply, chosen, self.store)
        draft = self._turn_chat(step)
        await asyncio.to_thread(journal.end_restore, step.id, result.done)
        return Outcome(
            "done",
            len(file_changes(result.done, self.store, self._workdir, with_blocks=False)),
            kept=() if overwrite else tuple(item.path for item in yours),
            stuck=(*stuck, *result.failed),
            chat=keep >= 0,
            draft=draft,
        )

    def _turn_chat(self, step: Step) -> str:
        """The conversation's part of a restore; doing it twice is doing it once. Gives the prompt it took back."""
        if step.at < 0:
            return ""
        if step.kind == "redo":
            self.file.undo_rewind()
        elif len(self.file.messages) > step.at:
            prompt = self.file.messages[step.at]
            self.file.rewind(step.at)
            return (prompt.shown or prompt.text) if isinstance(prompt, UserMessage) else ""
        self.file.sync()
        return ""

    async def _question(self, yours: Sequence[Item]) -> int | None:
        """Keep or overwrite; None: cancelled."""
        names = [one.shown for one in self._shown(yours)]
        listed = ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
        question = ChoiceQuestion("rewind.question", CHOICES, params={"n": len(names), "names": listed})
        asking = self._asking = asyncio.create_task(self._answer(question))
        try:
            await asyncio.wait({asking})
        finally:
            asking.cancel()
            self._asking = None
        answer = None if asking.cancelled() else asking.result()
        if answer is None or answer.verdict != "choice" or self.turns.in_turn:
            return None
        return answer.choice if answer.choice in (_KEEP, _OVERWRITE) else None

    async def _answer(self, question: Question) -> Answer:
        return await self._ask(question)

    def _shown(self, found: Sequence[Item]) -> list[FileChange]:
        return file_changes([item.change for item in found], self.store, self._workdir, with_blocks=False)

    def _look(self, path: str) -> Entry | None:
        return look(path, self.store)

    def _preview(self, steps: Sequence[Step]) -> Preview:
        found = items(compose(steps), self._look)
        files = file_changes([item.change for item in found], self.store, self._workdir, with_blocks=True)
        return Preview(
            tuple(files),
            frozenset(item.path for item in found if item.state == "yours"),
            frozenset(item.path for item in found if item.state in ("lost", "blocked")),
        )


def points_of(file: SessionFile, steps: Sequence[Step]) -> list[Point]:
    """The prompts of the conversation with what their turns did."""
    found: list[Point] = []
    newest = {(step.at, step.prompt): index for index, step in enumerate(steps) if step.kind == "turn"}
    for at, message in enumerate(file.messages):
        if not isinstance(message, UserMessage) or message.origin not in _OPENS_TURN:
            continue
        text = message.shown or message.text
        index = newest.get((at, text[:PROMPT_KEPT]))
        group = _group(steps, index)
        counts = [sum(getattr(step, name) for step in group) for name in ("files", "added", "removed")]
        found.append(Point(len(found) + 1, at, text, index, *counts))
    return found


def _group(steps: Sequence[Step], index: int | None) -> list[Step]:
    """A turn, and what it did when it was resumed after a stop."""
    if index is None:
        return []
    group = [steps[index]]
    for step in steps[index + 1 :]:
        if step.kind == "turn" and step.prompt:
            break
        if step.kind == "turn":
            group.append(step)
    return group


def _point(points: Sequence[Point], number: int) -> Point:
    found = next((point for point in points if point.number == number), None)
    if found is None:
        raise KeyError(number)
    return found


def _first_step(points: Sequence[Point], number: int) -> int | None:
    """Where the steps since a prompt begin. A prompt from before checkpoints begins with the next one that has any."""
    _point(points, number)
    return next((p.step for p in points if p.number >= number and p.step is not None), None)


def _redoable(steps: Sequence[Step]) -> int | None:
    """The newest restore that was not undone and after which no turn came."""
    undone_already = 0
    for index in range(len(steps) - 1, -1, -1):
        match steps[index].kind:
            case "turn":
                return None
            case "redo":
                undone_already += 1
            case "restore":
                if not undone_already:
                    return index
                undone_already -= 1
    return None
