"""Reading a job's log for the model: what is new, or from a line on, bounded whatever the log holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reactagent_tui.core.tools.command_output import whole_lines
from reactagent_tui.core.tools.truncate import MAX_BYTES, line_count, truncate

_WHOLE = 256_000
"""Bytes that are read as one piece; of more only the beginning and the end."""
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class LogPart:
    """A piece of a log: at most `max_bytes` of text, and where the log ended when it was read."""

    text: str
    end: int
    """Byte offset."""


def read_from(path: Path, offset: int, max_bytes: int = MAX_BYTES) -> LogPart:
    """The log from a byte offset to its end: whole when it fits, else head and tail. A missing log is empty."""
    try:
        with path.open("rb") as log:
            size = log.seek(0, 2)
            offset = min(max(offset, 0), size)
            log.seek(offset)
            if size - offset <= _WHOLE:
                text = log.read(size - offset).decode("utf-8", "replace")
                return LogPart(truncate(text, max_bytes=max_bytes, full_path=str(path)).text, size)
            head = log.read(max_bytes).decode("utf-8", "replace")
            log.seek(size - max_bytes)
            tail = log.read(max_bytes).decode("utf-8", "replace")
    except OSError:
        return LogPart("", offset)
    notice = f"[… of {size - offset:,} bytes only the beginning and the end; all of it is in {path} …]"
    room = max(0, max_bytes - len(notice.encode()) - 2)
    first = whole_lines(head, room // 2)
    last = whole_lines(tail, room // 2, from_end=True)
    return LogPart(f"{first.rstrip(chr(10))}\n{notice}\n{last}", size)


def offset_of_line(path: Path, line: int) -> int:
    """Where line `line` (1 is the first) begins, in bytes; the end of the log when it has fewer."""
    missing, at = line - 1, 0
    try:
        with path.open("rb") as log:
            while missing > 0 and (piece := log.read(_PIECE)):
                found = piece.count(b"\n")
                if found < missing:
                    missing -= found
                    at += len(piece)
                    continue
                start = 0
                for _ in range(missing):
                    start = piece.index(b"\n", start) + 1
                return at + start
    except OSError:
        return 0
    return at


def lines_before(path: Path, offset: int) -> int:
    """How many lines end before a byte offset."""
    lines, left = 0, offset
    try:
        with path.open("rb") as log:
            while left > 0 and (piece := log.read(min(_PIECE, left))):
                lines += piece.count(b"\n")
                left -= len(piece)
    except OSError:
        return 0
    return lines


def newest_lines(path: Path, max_bytes: int) -> str:
    """The end of a log, from a line's start."""
    try:
        with path.open("rb") as log:
            size = log.seek(0, 2)
            log.seek(max(0, size - max_bytes))
            text = log.read(max_bytes).decode("utf-8", "replace")
    except OSError:
        return ""
    return text if size <= max_bytes or line_count(text) < 2 else text[text.find("\n") + 1 :]
