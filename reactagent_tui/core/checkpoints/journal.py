"""The checkpoints of one session on disk: `checkpoints.jsonl` beside the session file, append-only, 0600.

A step is a turn or a restore, with what it changed. A turn that never ended (a crash) ends when it is read; a
restore that never ended is pending: it can be finished or undone.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from reactagent_tui.core.checkpoints.blobs import BlobStore, look
from reactagent_tui.core.checkpoints.entries import Change, Entry, change_from_record, entry_from_record
from reactagent_tui.core.checkpoints.half_written import clear_half_written

NAME = "checkpoints.jsonl"
PROMPT_KEPT = 200
"""Characters of a prompt that are kept, to recognise it."""

StepKind = Literal["turn", "restore", "redo"]


class Counts(NamedTuple):
    """How much a turn changed."""

    files: int = 0
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One turn, or one restore, and what it did to files."""

    id: int
    kind: StepKind
    at: int
    """Messages before a turn's prompt; for a restore the number it cuts the history to, -1 when it leaves it alone.

    For a redo 0 when it brings messages back, else -1.
    """
    prompt: str = ""
    """The first characters of a turn's prompt; "" when a turn went on without one."""
    changes: tuple[Change, ...] = ()
    added: int = 0
    removed: int = 0
    """Lines."""
    files: int = 0
    """A renamed one counts once."""
    target: int = -1
    """The step a restore went back to before."""
    done: bool = True


@dataclass
class Journal:
    """Steps in order, oldest first."""

    path: Path
    steps: list[Step] = field(default_factory=list[Step])
    crashed: list[int] = field(default_factory=list[int])
    """Turns that a crash ended and whose end is not on disk yet."""
    sealed: Callable[[], bool] = lambda: False
    """The session was taken over by another agent thread: nothing may be written any more."""
    _fd: int | None = None

    @classmethod
    def load(cls, path: Path, store: BlobStore | None = None) -> Journal:
        """Read a session's steps; what cannot be read is left out. The files of a crashed turn are kept in `store`."""
        reader = _Reader(store)
        with contextlib.suppress(OSError):
            for line in path.read_bytes().split(b"\n"):
                with contextlib.suppress(KeyError, TypeError, ValueError, RecursionError):
                    value: Any = json.loads(line) if line else None
                    if isinstance(value, dict):
                        reader.take(cast("dict[str, Any]", value))
        return cls(path, *reader.all())

    @property
    def next_id(self) -> int:
        return self.steps[-1].id + 1 if self.steps else 0

    @property
    def pending(self) -> Step | None:
        """The restore that was interrupted."""
        return next((step for step in self.steps if step.kind != "turn" and not step.done), None)

    def begin_turn(self, at: int, prompt: str) -> Step:
        """A turn begins; nothing of it is lost from now on. Raises OSError."""
        self._end_crashed()
        step = Step(self.next_id, "turn", at, prompt[:PROMPT_KEPT], done=False)
        self.steps.append(step)
        self._write({"type": "turn", "id": step.id, "at": at, "prompt": step.prompt})
        return step

    def touched(self, step: int, path: str, before: Entry | None) -> None:
        """A file is about to be written by the turn. Raises OSError."""
        record = None if before is None else before.to_record()
        self._write({"type": "before", "id": step, "path": path, "entry": record})

    def end_turn(self, step: int, changes: Sequence[Change], counted: Counts) -> Step:
        """What the turn changed. Raises OSError."""
        ended = self._replace(step, changes=tuple(changes), **counted._asdict(), done=True)
        self._write(
            {
                "type": "turn_end",
                "id": step,
                "changes": [change.to_record() for change in changes],
                **counted._asdict(),
            }
        )
        return ended

    def begin_restore(self, kind: StepKind, target: int, keep: int, changes: Sequence[Change]) -> Step:
        """What a restore is going to do, on disk before it does it. Raises OSError."""
        self._end_crashed()
        step = Step(self.next_id, kind, keep, "", tuple(changes), target=target, done=False)
        self._write(
            {
                "type": kind,
                "id": step.id,
                "at": keep,
                "target": target,
                "changes": [change.to_record() for change in changes],
            },
            sync=True,
        )
        self.steps.append(step)
        return step

    def end_restore(self, step: int, changes: Sequence[Change]) -> Step:
        """It is done; `changes` is what was really changed. Raises OSError."""
        ended = self._replace(step, changes=tuple(changes), done=True)
        self._write({"type": "end", "id": step, "changes": [change.to_record() for change in changes]}, sync=True)
        return ended

    def settle_pending(self) -> None:
        """The user went on after an interrupted restore: what it did until then is what it did. Raises OSError."""
        step = self.pending
        if step is not None:
            self.end_restore(step.id, [change for change in step.changes if look(change.path) == change.after])

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _end_crashed(self) -> None:
        for number in self.crashed:
            step = next(step for step in self.steps if step.id == number)
            self.end_turn(number, step.changes, Counts(step.files, step.added, step.removed))
        self.crashed.clear()

    def _replace(self, step: int, **values: Any) -> Step:
        at = next(index for index in range(len(self.steps) - 1, -1, -1) if self.steps[index].id == step)
        self.steps[at] = replace(self.steps[at], **values)
        return self.steps[at]

    def _write(self, record: dict[str, Any], *, sync: bool = False) -> None:
        if self.sealed():
            return
        if self._fd is None:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            extra = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
            self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | extra, 0o600)
            if os.fstat(self._fd).st_size:
                os.write(self._fd, b"\n")  # after a torn line; an empty line means nothing
        data = memoryview(json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n")
        while data:
            data = data[os.write(self._fd, data) :]
        if sync:
            os.fsync(self._fd)


@dataclass
class _Reader:
    """Folds the lines of a file into steps."""

    store: BlobStore | None
    steps: dict[int, Step] = field(default_factory=dict[int, Step])
    befores: dict[int, dict[str, Entry | None]] = field(default_factory=dict[int, "dict[str, Entry | None]"])

    def take(self, record: dict[str, Any]) -> None:
        number = int(record["id"])
        match record["type"]:
            case "turn":
                self.steps[number] = Step(number, "turn", int(record["at"]), str(record["prompt"]), done=False)
            case "before":
                self.befores.setdefault(number, {}).setdefault(str(record["path"]), entry_from_record(record["entry"]))
            case "turn_end":
                self.steps[number] = replace(
                    self.steps[number],
                    changes=_changes(record),
                    added=int(record["added"]),
                    removed=int(record["removed"]),
                    files=int(record["files"]),
                    done=True,
                )
            case "restore" | "redo" as kind:
                self.steps[number] = Step(
                    number,
                    cast("StepKind", kind),
                    int(record["at"]),
                    changes=_changes(record),
                    target=int(record["target"]),
                    done=False,
                )
            case "end":
                self.steps[number] = replace(self.steps[number], changes=_changes(record), done=True)
            case _:
                pass  # of a newer version

    def all(self) -> tuple[list[Step], list[int]]:
        """The steps in order, and which of them a crash ended. What it left half written is cleared away."""
        for step in self.steps.values():
            for change in () if step.done or step.kind == "turn" else step.changes:
                clear_half_written(change.path, change.before)
        crashed = [number for number, step in self.steps.items() if step.kind == "turn" and not step.done]
        for number in crashed:
            self.steps[number] = self._closed(self.steps[number])
        return [self.steps[number] for number in sorted(self.steps)], sorted(crashed)

    def _closed(self, step: Step) -> Step:
        """A turn that a crash ended changed what it was about to write, to what is there now."""
        befores = self.befores.get(step.id, {})
        for path, before in befores.items():
            clear_half_written(path, before)
        found = [Change(path, before, look(path, self.store)) for path, before in sorted(befores.items())]
        changed = tuple(c for c in found if c.before != c.after)
        return replace(step, changes=changed, files=len(changed), done=True)


def _changes(record: dict[str, Any]) -> tuple[Change, ...]:
    return tuple(change_from_record(one) for one in record["changes"])
