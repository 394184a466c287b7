"""An answer cut into chunks while it arrives: what is closed never changes again, only the last one is open.

Where a cut falls depends only on the text before it, so an answer gives the same chunks in pieces and at once.
Each chunk is small (a paragraph, a list, a part of a code block or table): the work per frame stays bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from reactagent_tui.tui.transcript.highlight import State, language_of

CODE_LINES = 48
"""Lines of a code block in one chunk."""
TABLE_ROWS = 30
_LIST_LINES = 24
_PROSE_LINES = 60
_PROSE_SIZE = 4000
LONGEST_LINE = 2000
"""A line that is longer is taken in pieces, cut at a space."""

_FENCE = re.compile(r"(?P<indent> {0,3})(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)")
_INNER_FENCE = re.compile(r"(?P<indent>\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?)(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r" ?#{1,6}(?:\s|$)")
_MARKER = re.compile(r" {0,1}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_INTERRUPTS = re.compile(r" {0,1}(?:[-*+]|1[.)])\s+\S")
"""A list item that ends a paragraph without a blank line between."""
_DELIMITER = re.compile(r" {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_DEFINITION = re.compile(r" {0,3}\[([^\]\n]{1,200})\]:\s*<?(\S+?)>?(?:\s+[\"'(].*)?$")
_PIPE = re.compile(r"(?<!\\)\|")

Kind = Literal["prose", "code", "table"]


@dataclass(slots=True, eq=False)
class Chunk:
    """A piece of an answer's source. `before` is the chunk it goes on from (a code block or table in parts)."""

    kind: Kind
    source: str
    glued: bool = False
    """No blank row before it: it goes on with what stood above."""
    joint: str | None = None
    """What stood between it and the chunk above inside one line, if they are one line."""
    language: str = ""
    before: Chunk | None = None
    exit_state: State | None = None
    """The lexer's state after a code chunk, once known."""
    widths: tuple[int, ...] = ()
    """Column widths that the first part of a table settled on (for `widths_for` cells)."""
    widths_for: int = 0


@dataclass(slots=True)
class _Open:
    """The chunk that is still being written."""

    kind: Kind = "prose"
    lines: list[str] = field(default_factory=list[str])
    size: int = 0
    glued: bool = False
    joint: str | None = None
    language: str = ""
    before: Chunk | None = None
    is_list: bool = False
    inner: str = ""
    """The fence that is open inside a list or quote."""
    blank: bool = False
    """The last line was blank."""


class Splitter:
    """Feeds on an answer's text; gives closed chunks and the open one."""

    def __init__(self) -> None:
        self.definitions: dict[str, str] = {}
        """Link reference definitions seen so far, label to address."""
        self._partial = ""
        self._soft: str | None = None
        """The joint after the piece of an over-long line that was taken last; None after a whole line."""
        self._open = _Open()
        self._fence = ""
        self._indent = 0
        self._closed: list[Chunk] = []

    def feed(self, text: str) -> list[Chunk]:
        """The chunks that this text closed."""
        text = self._partial + text
        at = 0
        while True:
            end = text.find("\n", at, at + LONGEST_LINE + 1)
            if end < 0:
                if len(text) - at <= LONGEST_LINE:
                    break
                at = self._take_piece(text, at)
                continue
            self._take(text[at:end])
            self._soft = None
            at = end + 1
        self._partial = text[at:]
        closed, self._closed = self._closed, []
        return closed

    def tail(self) -> Chunk | None:
        """The open chunk with the line that is being written; None when there is nothing to show."""
        now = self._open
        lines = now.lines
        if self._shows_partial():
            goes_on = self._soft is not None and now.lines and now.kind != "code"
            rest = f"{now.lines[-1]}{self._soft}{self._partial}" if goes_on else self._partial
            lines = [*(now.lines[:-1] if goes_on else now.lines), rest]
        if not lines or (now.kind == "prose" and not any(lines)):
            return None
        return self._chunk(lines)

    def close(self) -> list[Chunk]:
        """The rest, when no more text comes. An open code block is taken as closed."""
        if self._partial:
            self._take(self._partial)
            self._partial = ""
        self._emit()
        closed, self._closed = self._closed, []
        return closed

    def _shows_partial(self) -> bool:
        """A line that may still become the end of the code block is not shown yet."""
        if not self._partial:
            return False
        if self._open.kind != "code":
            return True
        return self._partial.strip().strip(self._fence[0]) != ""

    def _take_piece(self, text: str, at: int) -> int:
        cut = text.rfind(" ", at + 1, at + LONGEST_LINE)
        end = cut if cut > 0 else at + LONGEST_LINE
        after = end + 1 if cut > 0 else end
        self._take(text[at:end])
        self._soft = text[end:after]
        return after

    def _take(self, line: str) -> None:
        if self._open.kind == "code":
            self._take_code(line)
        elif self._soft is not None:
            self._take_rest_of_line(line)
        else:
            self._take_prose(line)

    def _take_code(self, line: str) -> None:
        stripped = line.strip()
        if stripped.startswith(self._fence) and not stripped.strip(self._fence[0]) and self._soft is None:
            self._emit()
            return
        now = self._open
        if len(now.lines) >= CODE_LINES:
            part = self._emit()
            self._open = _Open("code", glued=True, language=now.language, before=part)
        lead = len(line) - len(line.lstrip(" "))
        self._add(line[min(lead, self._indent) :])

    def _take_rest_of_line(self, line: str) -> None:
        """A further piece of an over-long line: it begins a chunk when the open one is full."""
        joint = self._soft
        if self._open.size + len(line) > _PROSE_SIZE or not self._open.lines:
            self._emit()
            self._open = _Open(glued=True, joint=joint)
            self._add(line)
            return
        now = self._open
        now.lines[-1] += (joint or "") + line
        now.size += len(line) + 1

    def _take_prose(self, line: str) -> None:
        now = self._open
        blank = not line.strip()
        if now.inner:
            if line.strip(" \t>").startswith(now.inner):
                now.inner = ""
            elif len(now.lines) >= 2 * _PROSE_LINES:
                self._fence, self._indent = now.inner, len(line) - len(line.lstrip(" "))
                self._emit()
                self._open = _Open("code", glued=True)
            self._add(line.lstrip(" ") if self._open.kind == "code" else line)
            return
        if blank:
            if now.lines:
                if now.kind == "table":
                    self._emit()
                else:
                    now.blank = True
                    self._add(line, blank=True)
            return
        if self._begins_code(line):
            return
        self._break_before(line)
        self._add(line)
        self._notice(line)

    def _begins_code(self, line: str) -> bool:
        found = _FENCE.match(line)
        if found is None or (self._open.is_list and found["indent"]):
            return False
        self._emit()
        self._fence = found["fence"]
        self._indent = len(found["indent"])
        self._open = _Open("code", language=language_of(found["info"]))
        return True

    def _break_before(self, line: str) -> None:
        """Close the open chunk when this line begins another one."""
        now = self._open
        if not now.lines:
            return
        if now.kind == "table":
            self._break_table(line)
        elif now.is_list:
            self._break_list(line)
        elif now.blank:
            if not line.startswith(("    ", "\t")) or len(now.lines) >= _PROSE_LINES:
                self._emit()
        elif _HEADING.match(line) or _INTERRUPTS.match(line):
            self._emit()
        elif len(now.lines) >= _PROSE_LINES or now.size > _PROSE_SIZE:
            self._emit()
            self._open = _Open(glued=True)

    def _break_table(self, line: str) -> None:
        if "|" not in line:
            self._emit()
        elif len(self._open.lines) >= TABLE_ROWS + 2:
            part = self._emit()
            self._open = _Open("table", glued=True, before=None if part is None else part.before or part)

    def _break_list(self, line: str) -> None:
        now = self._open
        marker = _MARKER.match(line) is not None
        goes_on = marker or line.startswith(("  ", "\t"))
        if (now.blank and not goes_on) or _HEADING.match(line):
            self._emit()
        elif (marker and len(now.lines) >= _LIST_LINES) or now.size > 2 * _PROSE_SIZE:
            loose = now.blank
            self._emit()
            self._open = _Open(glued=not loose)

    def _notice(self, line: str) -> None:
        """What the line that was just added says about the open chunk."""
        now = self._open
        if len(now.lines) == 1:
            now.is_list = _MARKER.match(line) is not None
        if now.kind == "prose" and now.lines[-2:-1] and self._is_table(now.lines[-2], line):
            header = now.lines[-2]
            if len(now.lines) > 2:
                del now.lines[-2:]
                self._emit()
            self._open = _Open("table", lines=[header, line])
            return
        if (now.is_list or line.startswith(">")) and (found := _INNER_FENCE.match(line.lstrip(" >"))):
            now.inner = found["fence"]
        if found := _DEFINITION.match(line):
            self.definitions.setdefault(found[1].strip().casefold(), found[2])

    def _is_table(self, header: str, line: str) -> bool:
        if self._open.is_list or "|" not in header or header.startswith((">", "    ")) or "-" not in line:
            return False
        if _DELIMITER.fullmatch(line) is None:
            return False
        return _columns(header) == _columns(line)

    def _add(self, line: str, *, blank: bool = False) -> None:
        self._open.lines.append(line)
        self._open.size += len(line) + 1
        self._open.blank = blank

    def _emit(self) -> Chunk | None:
        now, self._open = self._open, _Open()
        if now.kind != "code":
            while now.lines and not now.lines[-1].strip():
                now.lines.pop()
            if not now.lines:
                return None
        self._open, kept = now, self._open
        chunk = self._chunk(now.lines)
        self._open = kept
        self._closed.append(chunk)
        return chunk

    def _chunk(self, lines: list[str]) -> Chunk:
        now = self._open
        return Chunk(now.kind, "\n".join(lines), now.glued, now.joint, now.language, now.before)


def _columns(line: str) -> int:
    return len(_PIPE.findall(line.strip().strip("|"))) + 1


def split(text: str) -> tuple[list[Chunk], dict[str, str]]:
    """All chunks of a whole answer and its link definitions."""
    splitter = Splitter()
    chunks = splitter.feed(text)
    return chunks + splitter.close(), splitter.definitions
