"""What a front end shows: display blocks, and the one place where foreign text becomes safe to show.

Blocks are plain data. Text in them is sanitised when a block or row is made, never earlier: history, tool
arguments and the wire keep every character.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Tone = Literal["plain", "dim", "bold", "ok", "warn", "error"]


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Plain lines."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """Markdown written by us or by a model."""

    text: str


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Source text with a language name for colours (`""`: none) and the number of its first line."""

    text: str
    language: str = ""
    first_line: int | None = None


@dataclass(frozen=True, slots=True)
class OutputBlock:
    """What a command printed: SGR colours may be inside, everything else was reduced."""

    text: str


@dataclass(frozen=True, slots=True)
class DiffBlock:
    """A change of one file as unified hunks (lines start with ' ', '+', '-' or '@@')."""

    path: str
    lines: tuple[str, ...]
    added: int
    removed: int
    created: bool = False


@dataclass(frozen=True, slots=True)
class CommandBlock:
    """A command line about to run, with its folder when that is not the session's."""

    command: str
    workdir: str | None = None


@dataclass(frozen=True, slots=True)
class TableBlock:
    """Rows under headings; `align` holds l or r per column."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    align: str = ""


DisplayBlock: TypeAlias = TextBlock | MarkdownBlock | CodeBlock | OutputBlock | DiffBlock | CommandBlock | TableBlock

_KINDS: dict[str, type[Any]] = {
    "text": TextBlock,
    "markdown": MarkdownBlock,
    "code": CodeBlock,
    "output": OutputBlock,
    "diff": DiffBlock,
    "command": CommandBlock,
    "table": TableBlock,
}
_NAMES = {cls: name for name, cls in _KINDS.items()}


def block_to_record(block: DisplayBlock) -> dict[str, Any]:
    """A JSON-ready dict with `type` and the block's fields."""
    return {"type": _NAMES[type(block)]} | {name: getattr(block, name) for name in block.__slots__}


def block_from_record(record: Mapping[str, Any]) -> DisplayBlock:
    """The block that `block_to_record` wrote; an unknown type becomes its text, so that old files stay readable."""
    cls = _KINDS.get(record.get("type", ""))
    if cls is None:
        return TextBlock(str(record.get("text", "")))
    values = {key: value for key, value in record.items() if key in cls.__slots__}
    if cls is DiffBlock:
        values["lines"] = tuple(values["lines"])
    if cls is TableBlock:
        values["columns"] = tuple(values["columns"])
        values["rows"] = tuple(tuple(row) for row in values["rows"])
    return cls(**values)
