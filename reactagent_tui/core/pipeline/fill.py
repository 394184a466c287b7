"""Values into the placeholders of a command line, so that a shell reads each as plain text. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass


class Unfillable(Exception):
    """The placeholder stands where no text may be put; the message says where."""


@dataclass(slots=True)
class _Place:
    """Where in a command line a position is."""

    quote: str = ""
    opened: int = 0
    """Where the quote began."""
    words: bool = False
    """Something stands before it in the same command."""


_CODE = re.compile(r"(?:^|[\s/;|&(])(?:eval|(?:\w*sh|python[\d.]*|node|perl|ruby)\s+(?:-\w+\s+)*-\w*[ce])\s+$")
"""What follows is read as code once more: no quoting of ours holds there."""


def fill(line: str, values: Mapping[str, str], *, commands: Collection[str] = (), spare: Collection[str] = ()) -> str:
    """The command line with every placeholder replaced by its value as one quoted piece of a word.

    All of them at once: what stands in a value, or in a text of `spare` that the line holds already, is no placeholder.
    Quotes that stand around a placeholder are closed and opened again. Raises Unfillable where a shell would not read
    the value as text: in `$(…)`, `${…}`, backquotes, comments and here-documents, behind a backslash, in code for
    another program; and, but for those in `commands`, where the value would be the name of a command.
    """
    present = [name for name in values if name and name in line]
    if not present:
        return line
    pattern = re.compile("|".join(re.escape(name) for name in sorted(present, key=len, reverse=True)))
    spared = list(_spans(line, spare))
    done: list[str] = []
    last = 0
    for found in pattern.finditer(line):
        if any(start <= found.start() < end for start, end in spared):
            continue
        place = _place_at(line, found.start(), found[0])
        if found[0] not in commands:
            if not place.words:
                raise Unfillable(f"{found[0]} stands where a command is named")
            if _CODE.search(line[: place.opened if place.quote else found.start()]):
                raise Unfillable(f"{found[0]} stands inside code for another program")
        value = shlex.quote(values[found[0]].replace("\0", ""))
        done += [line[last : found.start()], f"{place.quote}{value}{place.quote}"]
        last = found.end()
    done.append(line[last:])
    return "".join(done)


def _spans(line: str, texts: Collection[str]) -> Iterator[tuple[int, int]]:
    """Where these texts stand in the line, as they are or quoted for a shell."""
    for text in {form for given in texts if given for form in (given, shlex.quote(given))}:
        start = line.find(text)
        while start >= 0:
            yield start, start + len(text)
            start = line.find(text, start + len(text))


def _place_at(line: str, end: int, name: str) -> _Place:
    """Raises Unfillable."""
    place = _Place()
    position = 0
    while position < end:
        char = line[position]
        if char == "\\" and place.quote != "'":
            position += 2
            place.words = True
            continue
        if place.quote == "'":
            place.quote = "" if char == "'" else "'"
        elif char == "`" or line.startswith(("$(", "${"), position):
            position = _behind(line, position)
            place.words = place.words or position < end
            continue
        elif place.quote:
            place.quote = "" if char == '"' else '"'
        else:
            position = _unquoted(line, position, place, end, name)
        position += 1
    if position > end:
        raise Unfillable(f"{name} stands inside a command substitution or behind a backslash")
    return place


def _unquoted(line: str, position: int, place: _Place, end: int, name: str) -> int:
    """Take in one character outside of quotes; the position of the last one that was taken. Raises Unfillable."""
    char = line[position]
    starts_word = position == 0 or line[position - 1] in " \t\n;|&()"
    if char in "'\"":
        if char == "'" and line[:position].endswith("$"):
            raise Unfillable(f"{name} stands behind $'…'")
        place.quote, place.opened = char, position
        place.words = place.words or _has_word_before(line, position)
    elif char == "#" and starts_word:
        newline = line.find("\n", position, end)
        if newline < 0:
            raise Unfillable(f"{name} stands inside a comment")
        place.words = False
        return newline
    elif line.startswith("<<", position):
        if not line.startswith("<<<", position):
            raise Unfillable(f"{name} stands behind a here-document")
        return position + 2
    elif char in ";|&\n(":
        place.words = False
    elif char.isspace():
        place.words = place.words or (position > 0 and not line[position - 1].isspace() and _ends_word(line, position))
    return position


def _behind(line: str, start: int) -> int:
    """The position behind the substitution that begins here; behind the line where it has no plain end."""
    if line[start] == "`" or line.startswith("${", start):
        close = line.find("`" if line[start] == "`" else "}", start + 1)
        inside = line[start + 2 : close]
        is_plain = close >= 0 and not any(char in inside for char in "\\'\"`$")
        return close + 1 if is_plain else len(line) + 1
    depth, quote, position = 0, "", start + 1
    while position < len(line):
        char = line[position]
        if quote == "'":
            quote = "" if char == "'" else "'"
        elif char == "\\":
            position += 1
        elif char == "`" or line.startswith(("$(", "${"), position):
            position = _behind(line, position)
            continue
        elif quote:
            quote = "" if char == '"' else '"'
        elif char in "'\"":
            quote = char
        elif char in "#<" or line.startswith("case", position):
            break
        elif char in "()":
            depth += 1 if char == "(" else -1
            if not depth:
                return position + 1
        position += 1
    return len(line) + 1


def _ends_word(line: str, position: int) -> bool:
    return line[position - 1] not in ";|&\n("


def _has_word_before(line: str, position: int) -> bool:
    before = re.split(r"[;|&\n(]", line[:position])[-1]
    return bool(before.strip()) and (before[-1:].isspace() or "=" in before)


def without_flag(line: str, flag: str, placeholder: str) -> str:
    """The command line without an option whose value is a placeholder, quotes and all."""
    value = re.escape(placeholder)
    return re.sub(rf"""\s*{re.escape(flag)}(?:\s+|=)(?:"{value}"|'{value}'|{value})(?=\s|$)""", "", line)
