"""Session files on disk: create, append, find, load. Append-only; a crash costs at most the line being written.

Layout: `<state>/sessions/<folder slug>/<YYYYMMDD-HHMMSS-xxxx>/session.jsonl`, files 0600, folders 0700.
A write that fails (full disk) keeps its records in memory, says so once through `on_trouble`, and tries again
with the next record: nothing is lost while the program lives.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    TextPart,
    ThinkingPart,
    UserMessage,
    message_from_record,
    message_to_record,
)
from reactagent_tui.core.paths import Paths, folder_slug
from reactagent_tui.core.sessions.marks import Mark, Marks
from reactagent_tui.core.sessions.records import BadLine, Record, RecordType, decode, encode
from reactagent_tui.core.sessions.whereabouts import file_of, newest_files, subfolders

Clock = Callable[[], datetime]


class NoSessionError(StorageError):
    """Nothing has that name."""


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class SessionHeader:
    """What a session is, without its messages."""

    id: str
    workdir: str
    created: str
    model: str
    mode: str
    title: str = ""
    parent: str | None = None
    """Session this one was forked from."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A line in the list of sessions."""

    header: SessionHeader
    path: Path
    modified: float
    """Seconds since the epoch."""


@dataclass
class SessionFile:
    """One session's file. Holds what was read from it and appends to it."""

    path: Path
    header: SessionHeader
    messages: list[Message] = field(default_factory=list[Message])
    usage_rows: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    events: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    event_places: list[int] = field(default_factory=list[int])
    """How many messages stood before each of `events` in the file."""
    bad_lines: list[BadLine] = field(default_factory=list[BadLine])
    cut: list[list[Message]] = field(default_factory=list[list[Message]])
    """Messages that rewinds took away, newest last, as long as no new message came."""
    marks: Marks = field(default_factory=Marks)
    """Compactions and trims: what of `messages` the model sees."""
    cut_marks: list[list[Mark]] = field(default_factory=list[list[Mark]])
    """The marks that went with each of `cut`."""
    last_end: str = ""
    """Why the run ended that came after the last message; "" while none did."""
    clock: Clock = utc_now
    on_trouble: Callable[[str], None] | None = None
    sealed: bool = False
    """Set by the watchdog: an abandoned run may not write any more."""
    _seq: int = 0
    _fd: int | None = None
    _unsaved: list[bytes] = field(default_factory=list[bytes])
    _trouble_told: bool = False

    @property
    def id(self) -> str:
        return self.header.id

    @property
    def folder(self) -> Path:
        return self.path.parent

    @property
    def unsaved(self) -> int:
        """Records that could not be written yet."""
        return len(self._unsaved)

    def append(self, kind: RecordType, data: Mapping[str, Any]) -> None:
        """Write one record. Never raises for a full or broken disk: see `on_trouble` and `unsaved`."""
        if self.sealed:
            return
        self._queue(kind, data)
        self._write()

    def _queue(self, kind: RecordType, data: Mapping[str, Any]) -> None:
        self.note_end(kind, data)
        self._seq += 1
        stamp = self.clock().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._unsaved.append(encode(Record(kind, self._seq, stamp, data)))

    def note_end(self, kind: RecordType, data: Mapping[str, Any]) -> None:
        """Keep `last_end` true for one more record."""
        if kind == "event" and data.get("name") == "run_ended":
            self.last_end = str(data.get("reason", ""))
        elif kind == "partial" or (kind == "message" and data["message"].get("origin") != "reminder"):
            self.last_end = ""

    def append_message(self, message: Message) -> None:
        """Add a message to the history and to the file."""
        self.messages.append(message)
        self._forget_cut()
        self.append("message", {"message": message_to_record(message)})

    def mark(self, mark: Mark) -> None:
        """A compaction or a trim holds from now on."""
        self.marks.add(mark)
        self.append("compaction", mark.to_record())

    def unmark(self) -> Mark | None:
        """Take the newest compaction or trim back; None: there is none."""
        mark = self.marks.undo()
        if mark is not None:
            self.append("compaction", {"undo": True})
        return mark

    def append_all(self, messages: Iterable[Message]) -> None:
        """Add messages that were said elsewhere; written at once."""
        for message in messages:
            self.messages.append(message)
            self._queue("message", {"message": message_to_record(message)})
        self._unsaved = [b"".join(self._unsaved)] if self._unsaved else []
        self._write()

    def rewind(self, keep: int) -> None:
        """Go back to the first `keep` messages. The file keeps all of them, and so does `cut`."""
        self._cut_to(keep)
        self.append("rewind", {"keep": keep})

    def undo_rewind(self) -> bool:
        """Bring back what the last rewind took away; False when there is nothing."""
        if not self.cut:
            return False
        self._put_back()
        self.append("rewind", {"undo": True})
        return True

    def _cut_to(self, keep: int) -> None:
        self.cut.append(self.messages[keep:])
        self.cut_marks.append(self.marks.cut_to(keep))
        del self.messages[keep:]

    def _put_back(self) -> None:
        self.messages.extend(self.cut.pop())
        self.marks.stack.extend(self.cut_marks.pop())

    def _forget_cut(self) -> None:
        self.cut.clear()
        self.cut_marks.clear()

    def append_partial(self, call: str, text: str, thinking: str) -> None:
        """What a reply gained since the last partial record of the same call."""
        self.append("partial", {"call": call, "text": text, "thinking": thinking})

    def set_title(self, title: str) -> None:
        self.header = SessionHeader(**(_header_record(self.header) | {"title": title}))
        self.append("title", {"title": title})

    def sync(self) -> None:
        """Push what was written to the disk itself; at the end of a turn."""
        if self._fd is not None and not self.sealed:
            with contextlib.suppress(OSError):
                os.fsync(self._fd)

    def close(self) -> None:
        if self._unsaved:
            self._write()
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _write(self) -> None:
        try:
            if self._fd is None:
                self._fd = self._open()
            while self._unsaved:
                self._put(self._fd)
        except OSError as error:
            if not self._trouble_told and self.on_trouble is not None:
                self._trouble_told = True
                self.on_trouble(f"{self.path}: {error.strerror or error}")
        else:
            self._trouble_told = False

    def _put(self, fd: int) -> None:
        """Write the oldest unsaved line; what the disk did not take stays first in the queue."""
        while self._unsaved[0]:
            self._unsaved[0] = self._unsaved[0][os.write(fd, self._unsaved[0]) :]
        self._unsaved.pop(0)

    def _open(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        extra = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | extra, 0o600)
        size = os.fstat(fd).st_size
        if size:
            os.lseek(fd, size - 1, os.SEEK_SET)  # no pread on Windows; O_APPEND writes at the end all the same
            if os.read(fd, 1) != b"\n":
                self._unsaved.insert(0, b"\n")
        return fd


@dataclass(frozen=True, slots=True)
class SessionStore:
    """All sessions of a user."""

    root: Path
    clock: Clock = utc_now
    token: Callable[[], str] = lambda: secrets.token_hex(2)

    @classmethod
    def at(cls, paths: Paths) -> SessionStore:
        return cls(paths.sessions)

    def create(self, workdir: Path, *, model: str, mode: str, parent: str | None = None) -> SessionFile:
        """A new session. Its file appears with the first record."""
        now = self.clock()
        folder = self.root / folder_slug(workdir)
        name = f"{now.astimezone():%Y%m%d-%H%M%S}-{self.token()}"
        header = SessionHeader(
            id=name,
            workdir=str(workdir),
            created=now.isoformat(timespec="seconds").replace("+00:00", "Z"),
            model=model,
            mode=mode,
            parent=parent,
        )
        file = SessionFile(folder / name / "session.jsonl", header, clock=self.clock)
        file.append("header", {"header": _header_record(header)})
        return file

    def load(self, path: Path) -> SessionFile:
        """Read a session. Torn and foreign lines are skipped and listed in `bad_lines`.

        Raises StorageError when the file cannot be read or holds no header.
        """
        try:
            data = path.read_bytes()
        except OSError as error:
            raise StorageError(f"cannot read the session {path}: {error.strerror or error}") from error
        return read_session(path, data, self.clock)

    def list(self, workdir: Path | None = None) -> list[SessionSummary]:
        """Sessions of a folder (or of all), newest first. Reads only the head and the tail of each file."""
        folders = [self.root / folder_slug(workdir)] if workdir is not None else subfolders(self.root)
        found: list[SessionSummary] = []
        for folder in folders:
            for entry in subfolders(folder):
                summary = _summary(entry / "session.jsonl")
                if summary is not None:
                    found.append(summary)
        return sorted(found, key=lambda item: item.modified, reverse=True)

    def latest(self, workdir: Path) -> SessionFile | None:
        """The newest session of a folder, or None."""
        path = next((path for path in newest_files(self.root, workdir) if _summary(path) is not None), None)
        return None if path is None else self.load(path)

    def find(self, wanted: str, workdir: Path) -> SessionFile:
        """The session whose id, id prefix or title is `wanted`; the folder's own first.

        Raises StorageError that lists the newest ids when there is none or more than one.
        """
        named = file_of(self.root, wanted, workdir)
        if named is not None and _summary(named) is not None:
            return self.load(named)
        candidates = self.list(workdir)
        elsewhere = [item for item in self.list() if item.path not in {c.path for c in candidates}]
        for pool in (candidates, elsewhere):
            exact = [s for s in pool if s.header.id == wanted]
            near = exact or [s for s in pool if s.header.id.startswith(wanted) or s.header.id.endswith(wanted)]
            near = near or [s for s in pool if wanted.casefold() in s.header.title.casefold()]
            if len(near) == 1:
                return self.load(near[0].path)
            if near:
                names = ", ".join(s.header.id for s in near[:5])
                raise StorageError(f"{wanted!r} names more than one session: {names}")
        known = ", ".join(s.header.id for s in (candidates + elsewhere)[:5]) or "none yet"
        raise NoSessionError(f"no session {wanted!r}; newest: {known}")


def _header_record(header: SessionHeader) -> dict[str, Any]:
    return {name: getattr(header, name) for name in SessionHeader.__slots__}


def _header_from(data: Mapping[str, Any]) -> SessionHeader:
    known = {key: data[key] for key in SessionHeader.__slots__ if key in data}
    return SessionHeader(**known)


def read_session(path: Path, data: bytes, clock: Clock = utc_now) -> SessionFile:
    """The session that these lines tell. Raises StorageError when there is no header among them."""
    file: SessionFile | None = None
    bad: list[BadLine] = []
    partial: tuple[str, list[str], list[str]] | None = None
    for number, record in enumerate(decode(data), 1):
        if isinstance(record, BadLine):
            bad.append(record)
            continue
        try:
            if record.type == "header":
                if file is None:
                    file = SessionFile(path, _header_from(record.data["header"]), clock=clock)
                continue
            if file is None:
                raise StorageError(f"{path} is not a session file: its first line is no header")
            file._seq = max(file._seq, record.seq)  # pyright: ignore[reportPrivateUsage]
            partial = _apply(file, record, partial)
            file.note_end(record.type, record.data)
        except (KeyError, TypeError, ValueError) as error:
            bad.append(BadLine(number, f"{type(error).__name__}: {error}"))
    if file is None:
        raise StorageError(f"{path} is not a session file: it holds no header")
    if partial is not None:
        message = _cut_message(partial)
        if message is not None:
            file.messages.append(message)
    file.bad_lines = bad
    return file


_Partial = tuple[str, list[str], list[str]]


def _apply(file: SessionFile, record: Record, partial: _Partial | None) -> _Partial | None:
    """Fold one record into the file; returns the reply that is still incomplete, if any."""
    match record.type:
        case "message":
            message = message_from_record(record.data["message"])
            cut = None if partial is None or isinstance(message, AssistantMessage) else _cut_message(partial)
            file.messages.extend((message,) if cut is None else (cut, message))
            file._forget_cut()  # pyright: ignore[reportPrivateUsage]
            return None
        case "rewind":
            _apply_rewind(file, record.data, partial)
            return None
        case "partial":
            call = str(record.data["call"])
            if partial is None or partial[0] != call:
                partial = (call, [], [])
            partial[1].append(str(record.data.get("text", "")))
            partial[2].append(str(record.data.get("thinking", "")))
            return partial
        case "usage":
            file.usage_rows.append(record.data)
        case "title":
            file.header = SessionHeader(**(_header_record(file.header) | {"title": str(record.data["title"])}))
        case "event":
            file.events.append(record.data)
            file.event_places.append(len(file.messages))
        case "compaction":
            file.marks.apply_record(record.data, len(file.messages))
        case "header" | "fork":
            pass
    return partial


def _apply_rewind(file: SessionFile, data: Mapping[str, Any], partial: _Partial | None) -> None:
    """A rewind or its undoing. A reply that a crash interrupted before it was part of the history by then."""
    lost = None if partial is None else _cut_message(partial)
    if lost is not None:
        file.messages.append(lost)
    if data.get("undo"):
        if file.cut:
            file._put_back()  # pyright: ignore[reportPrivateUsage]
        return
    keep = int(data["keep"])
    file._cut_to(min(max(keep, 0), len(file.messages)))  # pyright: ignore[reportPrivateUsage]


def _cut_message(partial: _Partial) -> AssistantMessage | None:
    """The reply a crash interrupted, from its partial records."""
    text, thinking = "".join(partial[1]), "".join(partial[2])
    parts: list[AssistantPart] = []
    if thinking:
        parts.append(ThinkingPart(thinking))
    if text:
        parts.append(TextPart(text))
    return AssistantMessage(tuple(parts), stop_reason="lost") if parts else None


def _summary(path: Path) -> SessionSummary | None:
    try:
        stat = path.stat()
        with path.open("rb") as stream:
            head = stream.read(16384)
            stream.seek(max(len(head), stat.st_size - 65536))
            tail = stream.read(65536)
    except OSError:
        return None
    header: SessionHeader | None = None
    title = first_prompt = ""
    for record in decode(head + b"\n" + tail):
        if isinstance(record, BadLine):
            continue
        try:
            if record.type == "header" and header is None:
                header = _header_from(record.data["header"])
            elif record.type == "title":
                title = str(record.data["title"])
            elif record.type == "message" and not first_prompt and record.data["message"].get("role") == "user":
                message = message_from_record(record.data["message"])
                first_prompt = message.text if isinstance(message, UserMessage) else ""
        except (KeyError, TypeError, ValueError):
            continue
    if header is None:
        return None
    shown = title or header.title or " ".join(first_prompt.split())[:80]
    return SessionSummary(SessionHeader(**(_header_record(header) | {"title": shown})), path, stat.st_mtime)
