"""Values into the placeholders of a command line, so that a shell reads each as plain text. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass


class Unfillable(Exception):
    """The placeholder stands where no text may be put; the message says where."""


@dataclass(slots=True)
class _Place:
    """Where in a command line a position is."""

    quote: str = ""
    substitutions: int = 0
    backquoted: bool = False
    words: bool = False
    """Something stands before it in the same command."""


def fill(line: str, values: Mapping[str, str], *, commands: bool = False) -> str:
    """The command line with every placeholder replaced by its value as one quoted piece of a word.

    Quotes that stand around a placeholder are closed and opened again. Raises Unfillable inside `$(…)` or backquotes,
    and, without `commands`, where the value would be the name of a command.
    """
    present = [name for name in values if name and name in line]
    if not present:
        return line
    pattern = re.compile("|".join(re.escape(name) for name in sorted(present, key=len, reverse=True)))
    done: list[str] = []
    last = 0
    for found in pattern.finditer(line):
        place = _place_at(line, found.start())
        if place.substitutions or place.backquoted:
            raise Unfillable(f"{found[0]} stands inside a command substitution")
        if not place.words and not commands:
            raise Unfillable(f"{found[0]} stands where a command is named")
        value = shlex.quote(values[found[0]].replace("\0", ""))
        done += [line[last : found.start()], f"{place.quote}{value}{place.quote}"]
        last = found.end()
    done.append(line[last:])
    return "".join(done)


def _place_at(line: str, end: int) -> _Place:
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
        elif line.startswith("$(", position):
            place.substitutions += 1
            position += 1
        elif char == "`":
            place.backquoted = not place.backquoted
        elif char == ")" and place.substitutions:
            place.substitutions -= 1
        elif place.quote:
            place.quote = "" if char == '"' else '"'
        elif char in "'\"":
            place.quote = char
            place.words = place.words or _has_word_before(line, position)
        elif char in ";|&\n(":
            place.words = False
        elif char.isspace():
            place.words = place.words or (
                position > 0 and not line[position - 1].isspace() and _ends_word(line, position)
            )
        position += 1
    return place


def _ends_word(line: str, position: int) -> bool:
    return line[position - 1] not in ";|&\n("


def _has_word_before(line: str, position: int) -> bool:
    before = re.split(r"[;|&\n(]", line[:position])[-1]
    return bool(before.strip()) and (before[-1:].isspace() or "=" in before)


def without_flag(line: str, flag: str, placeholder: str) -> str:
    """The command line without an option whose value is a placeholder, quotes and all."""
    value = re.escape(placeholder)
    return re.sub(rf"""\s*{re.escape(flag)}(?:\s+|=)(?:"{value}"|'{value}'|{value})(?=\s|$)""", "", line)
