"""SKILL.md bytes to front matter and body; strict YAML first, then prose that only lacks quotes is recovered.

Nothing is ever dropped in silence: what cannot be read raises `Unreadable`, what was recovered is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 1_000_000
"""Of SKILL.md, REACT_AGENT.md and pipeline.yaml each."""
MAX_FRONT_MATTER = 64_000
"""Characters."""
TEXT_KEYS = frozenset(
    {"name", "description", "license", "compatibility", "allowed-tools", "when_to_use", "argument-hint", "version"}
)
"""Keys whose value is prose: only these are recovered by quoting."""
_ENTRY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
_SCHEMA_NODES = 2_000


class Unreadable(Exception):
    """The file is not a SKILL.md. `key` and `params` as in models.REASONS; `line` counted from 1."""

    def __init__(self, key: str, line: int | None = None, **params: Any) -> None:
        super().__init__(key)
        self.key = key
        self.line = line
        self.params = params


@dataclass(frozen=True, slots=True)
class Document:
    """A SKILL.md taken apart."""

    values: Mapping[str, Any]
    lines: Mapping[str, int]
    """Line of each top-level key."""
    body: str
    body_line: int
    recovered: tuple[str, ...] = ()
    """Keys that were read as prose after the strict reading failed; `""` stands for tabs."""


@dataclass(slots=True)
class _Entry:
    """A top-level key with the lines that belong to it."""

    line: int
    rows: list[str] = field(default_factory=list[str])

    @property
    def key(self) -> str:
        found = _ENTRY.match(self.rows[0])
        return found[1] if found else ""


def decode(data: bytes) -> str:
    """The text of a skill's file: BOM off, line ends LF. Raises Unreadable."""
    if len(data) > MAX_BYTES:
        raise Unreadable("too_large", limit=MAX_BYTES)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Unreadable("not_utf8", line, byte=f"{data[error.start]:02X}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse(text: str) -> Document:
    """Front matter and body of a decoded SKILL.md. Raises Unreadable."""
    if not text.strip():
        raise Unreadable("empty")
    rows = text.split("\n")
    start = next(number for number, row in enumerate(rows) if row.strip())
    if rows[start].rstrip() != "---":
        raise Unreadable("no_front_matter", start + 1)
    end = next((n for n in range(start + 1, len(rows)) if rows[n].rstrip() == "---"), None)
    if end is None:
        raise Unreadable("unclosed", start + 1)
    head = rows[start + 1 : end]
    if sum(map(len, head)) > MAX_FRONT_MATTER:
        raise Unreadable("too_large", start + 1, limit=MAX_FRONT_MATTER)
    values, recovered = _values(head, start + 2)
    lines = {entry.key: entry.line for entry in _entries(head, start + 2) if entry.key}
    return Document(values, lines, "\n".join(rows[end + 1 :]).strip("\n"), end + 2, recovered)


def _values(head: list[str], first_line: int) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The front matter as a mapping, and the keys that needed recovery."""
    recovered: list[str] = []
    try:
        value = load_yaml("\n".join([*head, ""]), first_line)
    except Unreadable as strict:
        spaced = [_untabbed(row) for row in head]
        if spaced != head:
            recovered.append("")
        repaired, keys = _quoted_prose(_entries(spaced, first_line))
        recovered += keys
        if not recovered:
            raise
        try:
            value = load_yaml("\n".join([*repaired, ""]), first_line)
        except Unreadable:
            raise strict from None
    if not isinstance(value, dict):
        raise Unreadable("not_mapping", first_line)
    return {str(key): item for key, item in cast("dict[object, Any]", value).items()}, tuple(recovered)


def load_yaml(text: str, first_line: int = 1) -> Any:
    """The YAML value of `text`. Raises Unreadable with the line, counted from `first_line`."""
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        what = (error.problem or "syntax error").splitlines()[0]
        raise Unreadable("bad_yaml", first_line + _place(error, text), error=what) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # ValueError: 2024-99-99 looks like a date
        what = (str(error) or type(error).__name__).splitlines()[0]
        raise Unreadable("bad_yaml", first_line, error=what) from None


def _place(error: yaml.MarkedYAMLError, text: str) -> int:
    """The row of an error, from 0. What is never closed shows at the end: then where it was opened, or the last row."""
    marks = [mark.line for mark in (error.problem_mark, error.context_mark) if mark is not None]
    rows = text.rstrip().count("\n")
    return next((line for line in marks if line <= rows), rows if marks else 0)


def _entries(head: list[str], first_line: int) -> list[_Entry]:
    entries: list[_Entry] = []
    for number, row in enumerate(head):
        starts = bool(row) and not row[0].isspace() and row[0] not in "#-}]"
        if starts or not entries:
            entries.append(_Entry(first_line + number))
        entries[-1].rows.append(row)
    return entries


def _quoted_prose(entries: list[_Entry]) -> tuple[list[str], list[str]]:
    """The lines again, with the values of text keys quoted where YAML refuses them; and those keys."""
    rows: list[str] = []
    keys: list[str] = []
    for entry in entries:
        found = _ENTRY.match(entry.rows[0])
        is_block = bool(found and (found[2] or "").startswith(("|", ">")))
        if found and found[1] in TEXT_KEYS and not is_block and not _is_mapping_of_one(entry):
            prose = " ".join([found[2] or "", *(row.strip() for row in entry.rows[1:])]).strip()
            rows.append(f"{found[1]}: '" + prose.replace("'", "''") + "'")
            rows += [""] * (len(entry.rows) - 1)  # keeps the line numbers of what follows
            keys.append(found[1])
        else:
            rows += entry.rows
    return rows, keys


def _is_mapping_of_one(entry: _Entry) -> bool:
    try:
        value = load_yaml("\n".join(entry.rows))
    except Unreadable:
        return False
    return isinstance(value, dict)


def _untabbed(row: str) -> str:
    """Tabs in the indentation as two spaces each."""
    text = row.lstrip(" \t")
    return row[: len(row) - len(text)].replace("\t", "  ") + text


def is_small_tree(value: object) -> bool:
    """A value that can be written out: aliases may make a short file endless."""
    left = _SCHEMA_NODES
    stack = [value]
    while stack:
        left -= 1
        if left < 0:
            return False
        node = stack.pop()
        if isinstance(node, dict):
            stack.extend(cast("dict[object, object]", node).values())
        elif isinstance(node, list):
            stack.extend(cast("list[object]", node))
    return True
