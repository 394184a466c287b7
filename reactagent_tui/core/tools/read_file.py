"""`read_file`: numbered lines of a text file of any size, without loading it whole."""

from __future__ import annotations

import codecs
import hashlib
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from reactagent_tui.core.display import CodeBlock, clean
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase, in_thread
from reactagent_tui.core.tools.disk import CHUNK, Cancelled, open_regular
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.image import seen_image
from reactagent_tui.core.tools.lines import with_newlines
from reactagent_tui.core.tools.places import file_trouble, real_path, shown_name, shown_path
from reactagent_tui.core.tools.schema import ToolArgs
from reactagent_tui.core.tools.textfile import SAMPLE, BinaryFileError, TextForm, detect
from reactagent_tui.core.tools.truncate import MAX_BYTES, MAX_LINE, byte_size, cut_line, cut_to_bytes

_NOTICE_ROOM = 200


class ReadFileArgs(ToolArgs):
    """Arguments of read_file."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "file_path": "path",
        "filepath": "path",
        "filename": "path",
        "file": "path",
        "start": "offset",
        "start_line": "offset",
        "line": "offset",
        "max_lines": "limit",
        "num_lines": "limit",
        "count": "limit",
    }

    path: str = Field(description="File to read: absolute, relative to the working directory, or with ~.")
    offset: int | None = Field(default=None, ge=0, description="First line to read, counted from 1.")
    limit: int | None = Field(default=None, ge=1, description="Number of lines to read.")


@dataclass(slots=True)
class _Window:
    """Collects the wanted lines from decoded pieces; counts all others."""

    first: int
    limit: int | None
    room: int = MAX_BYTES - _NOTICE_ROOM
    rows: list[str] = field(default_factory=list[str])
    plain: list[str] = field(default_factory=list[str])
    lines: int = 0
    """Lines that ended so far."""
    was_full: bool = False
    _open: str = ""
    _open_size: int = 0
    _carriage: bool = False

    def feed(self, text: str) -> None:
        """The next piece of the file."""
        if self._carriage:
            text, self._carriage = "\r" + text, False
        if text.endswith("\r"):
            text, self._carriage = text[:-1], True
        text = with_newlines(text)
        if self.was_full or self.lines + text.count("\n") + 1 < self.first:
            self._skip(text)
            return
        *ended, rest = text.split("\n")
        for body in ended:
            self._grow(body)
            self._end_line()
        self._grow(rest)

    def finish(self) -> None:
        """The file ended."""
        if self._carriage:
            self._end_line()
            self._carriage = False
        if self._open_size:
            self._end_line()

    def _skip(self, text: str) -> None:
        self.lines += text.count("\n")
        rest = text[text.rfind("\n") + 1 :]
        if "\n" in text:
            self._open, self._open_size = "", 0
        self._grow(rest)

    def _grow(self, piece: str) -> None:
        """More of the line that has not ended; only what may be shown of it is kept."""
        self._open_size += len(piece)
        kept = len(self._open)
        if piece and kept < 2 * MAX_LINE:
            self._open += piece[: 2 * MAX_LINE - kept]

    def _end_line(self) -> None:
        self.lines += 1
        body, size = self._open, self._open_size
        self._open, self._open_size = "", 0
        if self.lines < self.first or self.was_full:
            return
        if self.limit is not None and len(self.rows) >= self.limit:
            self.was_full = True
            return
        shown = shown_name(body).replace("\0", "\ufffd")
        if size > len(body):
            shown = f"{shown[:MAX_LINE]} [… {size - MAX_LINE:,} characters of this line left out …]"
        shown = cut_line(shown)
        row = f"{self.lines:>5}\t{shown}\n"
        if byte_size(row) > self.room:
            self.was_full = True
            if self.rows:
                return
            shown = cut_to_bytes(shown, self.room - 100) + " [… the rest of this line is left out …]"
            row = f"{self.lines:>5}\t{shown}\n"
        self.room -= byte_size(row)
        self.rows.append(row)
        self.plain.append(shown)


@dataclass(frozen=True, slots=True)
class _Read:
    window: _Window
    form: TextForm
    digest: str
    size: int


class ReadFile(ToolBase[ReadFileArgs]):
    """Reads text; refuses what is none, with its type and size."""

    name = "read_file"
    args_type = ReadFileArgs

    def access_of(self, args: ReadFileArgs, ctx: ToolContext) -> Access:
        return Access(tool=self.name, workdir=ctx.workdir, reads=(real_path(args.path, ctx),))

    async def perform(self, args: ReadFileArgs, ctx: ToolContext) -> ToolOutcome:
        real = real_path(args.path, ctx)
        shown = shown_path(real, ctx.workspace)
        window = _Window(max(1, args.offset or 1), args.limit)
        with file_trouble(real, ctx):
            image = await in_thread(lambda _: seen_image(real, shown, ctx))
            if image is not None:
                return image
            read = await in_thread(lambda stop: _read(real, shown, window, stop))
        ctx.files_seen.remember_digest(real, read.digest)
        return _outcome(read, shown, real)


def _read(real: Path, shown: str, window: _Window, stop: threading.Event) -> _Read:
    """Stream the file once: hash all of it, decode and collect what is wanted."""
    hasher = hashlib.blake2b(digest_size=16)
    with open_regular(real, shown) as file:
        size = os.fstat(file.fileno()).st_size
        sample = b""
        while len(sample) < SAMPLE and (piece := file.read(CHUNK)):
            sample += piece
        form = _form_of(sample, size, shown)
        decoder = codecs.getincrementaldecoder(form.encoding)(_tolerant(form))
        hasher.update(sample)
        window.feed(decoder.decode(sample[len(form.mark) :]))
        total = len(sample)
        while chunk := file.read(CHUNK):
            if stop.is_set():
                raise Cancelled
            total += len(chunk)
            hasher.update(chunk)
            window.feed(decoder.decode(chunk))
        window.feed(decoder.decode(b"", final=True))
    window.finish()
    return _Read(window, form, hasher.hexdigest(), total)


def _tolerant(form: TextForm) -> str:
    """An error handler that cannot fail on later bytes than those the form was found by."""
    return "surrogateescape" if form.encoding == "utf-8" else "replace"


def _form_of(sample: bytes, size: int, shown: str) -> TextForm:
    try:
        return detect(sample, is_whole=len(sample) >= size)
    except BinaryFileError as error:
        kind = str(error)
        raise ToolFailure("binary", f"{shown} is not text: {kind}, {max(size, len(sample)):,} bytes.") from error


def _outcome(read: _Read, shown: str, real: Path) -> ToolOutcome:
    window = read.window
    total = window.lines
    count = len(window.rows)
    if total == 0:
        return ToolOutcome(f"{shown} is empty.", summary="empty")
    if count == 0:
        text = f"{shown} has {total:,} lines; there is no line {window.first:,}."
        return ToolOutcome(text, is_error=True, summary="past the end", error_kind="past_end")
    notes: list[str] = []
    last = window.first + count - 1
    if last < total:
        notes.append(f"lines {window.first:,}-{last:,} of {total:,}; more from line {last + 1:,} (offset={last + 1})")
    if not read.form.is_plain:
        notes.append(f"encoding {read.form.label}")
    notice = f"[{'; '.join(notes)}]" if notes else ""
    block = CodeBlock(clean("\n".join(window.plain)), real.suffix.lstrip("."), window.first)
    unit = "line" if count == 1 else "lines"
    return ToolOutcome("".join(window.rows) + notice, blocks=(block,), summary=f"{count:,} {unit}")
