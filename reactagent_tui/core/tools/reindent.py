"""Indentation of a replacement: from the model's own to the file's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reactagent_tui.core.tools.lines import BLANK


def indent_of(line: str) -> str:
    """The blanks in front."""
    return line[: len(line) - len(line.lstrip(BLANK))]


def reindented(old: Sequence[str], matched: Sequence[str], new: Sequence[str]) -> list[str]:
    """`new` lines as they belong in the file, where `matched` are the file's lines that `old` stands for.

    The indentations of old -> file are learned line by line when they agree; otherwise the smallest indentation of
    `new` goes onto that of the first matched line. Blank lines become empty.
    """
    levels = _levels(old, matched)
    solid = [line for line in new if line.strip(BLANK)]
    if levels is not None and all(_base(levels, indent_of(line)) is not None for line in solid):
        return [_by_levels(levels, line) for line in new]
    base = next((indent_of(line) for line in matched if line.strip(BLANK)), "")
    least = min((indent_of(line) for line in solid), key=len, default="")
    return [_on_base(base, least, line) for line in new]


def _levels(old: Sequence[str], matched: Sequence[str]) -> dict[str, str] | None:
    """Indentation in old_text -> in the file; None when one of the former stands for two of the latter."""
    levels: dict[str, str] = {}
    for ours, theirs in zip(old, matched, strict=True):
        if ours.strip(BLANK) and levels.setdefault(indent_of(ours), indent_of(theirs)) != indent_of(theirs):
            return None
    return levels


def _base(levels: Mapping[str, str], indent: str) -> str | None:
    """The deepest known indentation that this one starts with."""
    return max((known for known in levels if indent.startswith(known)), key=len, default=None)


def _by_levels(levels: Mapping[str, str], line: str) -> str:
    if not line.strip(BLANK):
        return ""
    indent = indent_of(line)
    known = _base(levels, indent)
    assert known is not None
    return levels[known] + _in_the_files_unit(levels, indent[len(known) :]) + line[len(indent) :]


def _in_the_files_unit(levels: Mapping[str, str], deeper: str) -> str:
    """Deeper spaces as tabs where the file indents with tabs and old_text showed how wide one is."""
    if not deeper or "\t" in deeper or not any("\t" in theirs for theirs in levels.values()):
        return deeper
    widths = {
        len(ours) / len(theirs) for ours, theirs in levels.items() if theirs.strip("\t") == "" and ours and theirs
    }
    width = int(widths.pop()) if len(widths) == 1 else 0
    return "\t" * (len(deeper) // width) + deeper[: len(deeper) % width] if width else deeper


def _on_base(base: str, least: str, line: str) -> str:
    if not line.strip(BLANK):
        return ""
    return base + (line[len(least) :] if line.startswith(least) else line.lstrip(BLANK))
