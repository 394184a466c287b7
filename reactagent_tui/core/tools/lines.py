"""Text as lines with their own endings. Only `\\n`, `\\r\\n` and `\\r` end a line, never U+2028 and its kind."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

_END = re.compile(r"\r\n|\n|\r")
BLANK = " \t"
"""What counts as indentation and as trailing blanks. A no-break space does not."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a text: `body` from `start`, then `ending` (empty on an unfinished last line)."""

    start: int
    body: str
    ending: str

    @property
    def end(self) -> int:
        """Where the next line starts."""
        return self.start + len(self.body) + len(self.ending)

    @property
    def indent(self) -> str:
        return self.body[: len(self.body) - len(self.body.lstrip(BLANK))]


def split_lines(text: str) -> list[Line]:
    """Every line; an unfinished last one only when it has characters."""
    lines: list[Line] = []
    end = 0
    for match in _END.finditer(text):
        lines.append(Line(end, text[end : match.start()], match[0]))
        end = match.end()
    if end < len(text):
        lines.append(Line(end, text[end:], ""))
    return lines


def with_newlines(text: str) -> str:
    """The text with every line end as `\\n`."""
    return _END.sub("\n", text) if "\r" in text else text


def endings_in(text: str) -> Counter[str]:
    """How often each line ending occurs."""
    return Counter(_END.findall(text))


def only_ending(text: str) -> str | None:
    """The line ending of a text that uses just one; None when mixed or without lines."""
    kinds = endings_in(text)
    return next(iter(kinds)) if len(kinds) == 1 else None
