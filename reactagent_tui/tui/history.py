"""What the user typed: drafts with their folded pastes, the history Up walks through, and the files that keep both.

One JSON line per sent prompt, appended in one write, so that two programs in one folder do not mix their lines; a line
that is broken or half written is skipped. Files are read by splitting bytes at line feeds only: text may hold any other
separator. Pure but for `HistoryFile` and `DraftKeeper`, whose methods block and do not belong in the screen's loop.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAX_ENTRIES = 2000
MAX_TAIL = 16 << 20
"""Bytes read from the end of a history file."""
MAX_STORED = 1 << 20
"""Characters of folded pastes kept with one entry; beyond that only their labels are."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt as the user sees it, and what its folded pastes stand for.

    `typed`: the first character was typed, not pasted, so that `!`, `#` and `/` mean what they mean.
    """

    shown: str
    pastes: Mapping[str, str] = field(default_factory=dict[str, str])
    typed: bool = True

    @property
    def text(self) -> str:
        """The whole text, pastes unfolded: what is sent."""
        if not self.pastes:
            return self.shown
        labels = "|".join(re.escape(label) for label in sorted(self.pastes, key=len, reverse=True))
        return re.sub(labels, lambda found: self.pastes[found.group()], self.shown)


class PromptHistory:
    """Entries from old to new, and a position in them. The unfinished draft is the newest stop."""

    def __init__(self, entries: Iterable[Draft] = ()) -> None:
        self._entries: list[Draft] = []
        for entry in entries:
            self._append(entry)
        self._position = len(self._entries)
        self._unfinished = Draft("")

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> Sequence[Draft]:
        """Entries from old to new."""
        return self._entries

    def add(self, entry: Draft) -> bool:
        """Add a prompt unless it is blank or the same as the last; the position returns to the end."""
        added = self._append(entry)
        self.reset()
        return added

    def reset(self) -> None:
        """Forget the position: the next `previous` starts from the newest entry."""
        self._position = len(self._entries)
        self._unfinished = Draft("")

    def previous(self, current: Draft) -> Draft | None:
        """The entry before the current position; `current` is kept as the newest stop. None: already at the oldest."""
        if self._position == 0:
            return None
        if self._position == len(self._entries):
            self._unfinished = current
        self._position -= 1
        return self._entries[self._position]

    def next(self) -> Draft | None:
        """The entry after the current position, the unfinished draft at the end. None: already there."""
        if self._position >= len(self._entries):
            return None
        self._position += 1
        return self._unfinished if self._position == len(self._entries) else self._entries[self._position]

    def search(self, query: str, limit: int = 50) -> list[Draft]:
        """Different entries that contain every word of `query`, newest first; case matters only if `query` has any."""
        words = query.split()
        fold = query == query.lower()
        found: dict[str, Draft] = {}
        for entry in reversed(self._entries):
            text = entry.shown.lower() if fold else entry.shown
            if all(word in text for word in words):
                found.setdefault(entry.shown, entry)
                if len(found) == limit:
                    break
        return list(found.values())

    def _append(self, entry: Draft) -> bool:
        if not entry.shown.strip() or (self._entries and self._entries[-1] == entry):
            return False
        self._entries.append(entry)
        if len(self._entries) > MAX_ENTRIES:
            del self._entries[: len(self._entries) - MAX_ENTRIES]
        return True


class HistoryFile:
    """`prompts.jsonl` of one project folder, and the unfinished draft beside it. Errors of the disk are OSError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._draft_path = path.with_suffix(".draft.json")

    def load(self) -> list[Draft]:
        """The newest 2,000 entries, old to new; none if there is no file."""
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - MAX_TAIL))
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return []
        if size > MAX_TAIL:
            del lines[0]
        drafts = [draft for line in lines[-MAX_ENTRIES - 1 :] if (draft := _draft_from_line(line)) is not None]
        return drafts[-MAX_ENTRIES:]

    def append(self, entry: Draft) -> None:
        """Add one entry at the end, for this user's eyes only."""
        line = _line(entry) + b"\n"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            size = os.fstat(fd).st_size
            if size and _last_byte(fd, size) != b"\n":  # a crash left half a line
                line = b"\n" + line
            os.write(fd, line)
        finally:
            os.close(fd)

    def save_draft(self, draft: Draft | None) -> None:
        """Keep the unfinished draft over a crash; None or blank forgets it."""
        if draft is None or not draft.shown.strip():
            self._draft_path.unlink(missing_ok=True)
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._draft_path.with_suffix(f".{os.getpid()}.new")
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(_line(draft))
        fresh.replace(self._draft_path)

    def load_draft(self) -> Draft | None:
        """The draft `save_draft` kept; None if there is none or it is unreadable."""
        with suppress(FileNotFoundError):
            return _draft_from_line(self._draft_path.read_bytes())
        return None


class DraftKeeper:
    """The draft of one folder on disk: what was sent and is in no session file yet, then what is being typed.

    Methods block for the disk; any thread may call them. What is written is what counts when it is written: a late
    call cannot bring back what an earlier one has removed.
    """

    def __init__(self, file: HistoryFile, unwritten: Callable[[], Sequence[str]]) -> None:
        self.typed = Draft("")
        self._file = file
        self._unwritten = unwritten
        self._lock = threading.Lock()
        self._on_disk: Draft | None = None

    def write(self) -> None:
        """Bring the file up to date. Raises OSError."""
        with self._lock:
            draft = self._draft()
            if draft != self._on_disk or not draft.shown.strip():
                self._file.save_draft(draft)
                self._on_disk = draft

    def _draft(self) -> Draft:
        typed, sent = self.typed, self._unwritten()
        if not sent:
            return typed
        shown = [typed.shown] if typed.shown.strip() else []
        return Draft("\n".join([*sent, *shown]), typed.pastes)


def _last_byte(fd: int, size: int) -> bytes:
    os.lseek(fd, size - 1, os.SEEK_SET)
    return os.read(fd, 1)


def _line(draft: Draft) -> bytes:
    record: dict[str, Any] = {"text": draft.shown}
    pastes = {label: text for label, text in draft.pastes.items() if label in draft.shown}
    if pastes and sum(map(len, pastes.values())) <= MAX_STORED:
        record["pastes"] = pastes
    if not draft.typed:
        record["typed"] = False
    # ASCII with surrogate escapes: a lone surrogate (a file name that is not UTF-8) survives
    return json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def _draft_from_line(line: bytes) -> Draft | None:
    try:
        match json.loads(line):
            case {"text": str(shown), **rest}:
                pastes = rest.get("pastes")
                kept = {str(label): str(text) for label, text in pastes.items()} if isinstance(pastes, dict) else {}
                return Draft(shown, kept, rest.get("typed", True) is not False)
    except (ValueError, RecursionError):
        pass
    return None
