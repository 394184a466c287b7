"""One truncation for every tool: bytes, lines and line length, on character and line borders, head and tail kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MAX_BYTES = 8000
MAX_LINES = 1000
MAX_LINE = 2000
"""Characters of one line."""

_NOTICE_ROOM = 220
"""Bytes kept free for the notice, besides the path in it."""
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Truncated:
    """Text that fits, and what it was cut from."""

    text: str
    was_cut: bool
    total_bytes: int
    total_lines: int


def byte_size(text: str) -> int:
    """UTF-8 size, counted in pieces so that no second copy of a huge text is made."""
    if text.isascii():
        return len(text)
    return sum(len(text[at : at + _PIECE].encode("utf-8", "surrogatepass")) for at in range(0, len(text), _PIECE))


def line_count(text: str) -> int:
    """Lines as an editor numbers them: a last line without an end counts."""
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


def cut_to_bytes(text: str, limit: int, *, keep_end: bool = False) -> str:
    """The longest head (or tail) of at most `limit` UTF-8 bytes that splits no character."""
    limit = max(0, limit)
    if limit == 0:
        return ""
    piece = text[-limit:] if keep_end else text[:limit]
    data = piece.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return piece
    if keep_end:
        data = data[-limit:]
        while data and data[0] & 0xC0 == 0x80:
            data = data[1:]
    else:
        end = limit
        while end and data[end] & 0xC0 == 0x80:
            end -= 1
        data = data[:end]
    return data.decode("utf-8", "surrogatepass")


def cut_line(line: str, max_line: int = MAX_LINE) -> str:
    """A line of at most about `max_line` characters: its head, how much is missing, its tail."""
    if len(line) <= max_line:
        return line
    head, tail = max_line * 3 // 4, max_line // 4
    return (
        f"{line[:head]} [… {len(line) - head - tail:,} characters of this line left out …] {line[len(line) - tail :]}"
    )


def truncate(
    text: str,
    *,
    max_bytes: int = MAX_BYTES,
    max_lines: int = MAX_LINES,
    max_line: int = MAX_LINE,
    full_path: str | None = None,
) -> Truncated:
    """The text if it fits, else its head and tail with a notice between: what is missing and where all of it is."""
    total_bytes, total_lines = byte_size(text), line_count(text)
    is_short = total_bytes <= max_bytes and total_lines <= max_lines
    if is_short and (len(text) <= max_line or all(len(line) <= max_line for line in text.split("\n"))):
        return Truncated(text, False, total_bytes, total_lines)
    where = "" if full_path is None else f"; all of it is in {full_path}"
    totals = f"{total_lines:,} lines, {total_bytes:,} bytes in all{where}"
    room = max(0, max_bytes - _NOTICE_ROOM - byte_size(where))
    max_line = min(max_line, max(16, room // 4))
    head, head_end = _take_head(text, room * 3 // 5, max(1, max_lines // 2), max_line)
    left = room - byte_size(head)
    tail, tail_start = _take_tail(text, head_end, left, max(1, max_lines - max_lines // 2), max_line)
    missing_bytes = byte_size(text[head_end:tail_start])
    missing_lines = line_count(text[head_end:tail_start])
    if missing_bytes:
        notice = f"[… {missing_lines:,} lines ({missing_bytes:,} bytes) left out here; {totals} …]"
        head = head if not head or head.endswith("\n") else head + "\n"
        body = f"{head}{notice}\n{tail}"
    else:
        body = head + tail
        body = f"{body}{'' if body.endswith(chr(10)) else chr(10)}[long lines were cut; {totals}]"
    return Truncated(body, True, total_bytes, total_lines)


def _take_head(text: str, room: int, max_lines: int, max_line: int) -> tuple[str, int]:
    """Whole lines from the start, and where they end; a piece of the first line when not even that one fits."""
    taken: list[str] = []
    end = 0
    for line, line_end in _lines_forward(text):
        shown = _shorten(line, max_line)
        size = byte_size(shown)
        if size > room or len(taken) >= max_lines:
            break
        taken.append(shown)
        room -= size
        end = line_end
    if not taken and room > 0:
        piece = cut_to_bytes(text[: room + 1], room)
        return piece, len(piece)
    return "".join(taken), end


def _take_tail(text: str, floor: int, room: int, max_lines: int, max_line: int) -> tuple[str, int]:
    """Whole lines from the end, not before `floor`, and where they start."""
    taken: list[str] = []
    start = len(text)
    for line, line_start in _lines_backward(text, floor):
        shown = _shorten(line, max_line)
        size = byte_size(shown)
        if size > room or len(taken) >= max_lines:
            break
        taken.append(shown)
        room -= size
        start = line_start
    if not taken and room > 0 and floor < len(text):
        piece = cut_to_bytes(text[max(floor, len(text) - room) :], room, keep_end=True)
        return piece, len(text) - len(piece)
    return "".join(reversed(taken)), start


def _shorten(line: str, max_line: int) -> str:
    body = line.removesuffix("\n")
    return cut_line(body, max_line) + line[len(body) :]


def _lines_forward(text: str) -> Iterator[tuple[str, int]]:
    at = 0
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        yield text[at:end], end
        at = end


def _lines_backward(text: str, floor: int) -> Iterator[tuple[str, int]]:
    end = len(text)
    while end > floor:
        start = text.rfind("\n", floor, end - 1) + 1 or floor
        yield text[start:end], start
        end = start
