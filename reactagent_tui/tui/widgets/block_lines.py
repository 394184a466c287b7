"""Display blocks as lines for a dock or a preview: everything visible, nothing interpreted.

What a command holds but a terminal would hide (controls, bidi overrides, zero-width characters) is spelled
out here, so that what the user approves looks like what runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from rich.cells import cell_len
from textual.content import Content

from reactagent_tui.core.display import (
    CodeBlock,
    CommandBlock,
    DiffBlock,
    DisplayBlock,
    MarkdownBlock,
    OutputBlock,
    TableBlock,
    TextBlock,
    clean_line,
)
from reactagent_tui.locales import Translate
from reactagent_tui.tui.widgets.line_layout import pad, pad_left

MAX_LINES = 2000
"""More lines than anybody reads in a dock; the last line says how many are not shown."""

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)")
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\U000e0000-\U000e0fff]"
    "|(?<![\u2190-\u3299\U0001f000-\U0001faff\ufe0f])\u200d"  # a joiner is honest only inside an emoji
)
_TONES = {"plain": "", "dim": "$text-muted", "bold": "bold", "ok": "$success", "warn": "$warning", "error": "$error"}


def block_lines(blocks: Sequence[DisplayBlock], width: int) -> list[Content]:
    """All blocks as lines of at most `width` cells; long lines go on in the next one."""
    lines: list[Content] = []
    missing = 0
    for block in blocks:
        for line in _lines(block, width):
            if len(lines) < MAX_LINES:
                lines.append(line)
            else:
                missing += 1
    if missing:
        lines.append(Content.styled(f"… {missing:,}", "$text-muted"))
    return lines


def risk_lines(risk: str, width: int, t: Translate) -> list[Content]:
    """One line of the risk (a locale key, a tab, its value) in the user's language, wrapped."""
    key, _, value = risk.partition("\t")
    text = revealed(t(key, value=value))
    return [Content.assemble(("┊ ", "$warning"), piece) for piece in text.wrap(max(width - 2, 1))]


def revealed(text: str) -> Content:
    """One line with every hidden character spelled out, `<U+202E>`, in the error colour."""
    parts: list[Content | tuple[str, str]] = []
    start = 0
    for match in _HIDDEN.finditer(text):
        parts.append(Content(clean_line(text[start : match.start()])))
        parts.append((f"<U+{ord(match.group()):04X}>", "$error"))
        start = match.end()
    parts.append(Content(clean_line(text[start:])))
    return Content.assemble(*parts)


def fold(line: Content, width: int, *, at_blanks: bool = False) -> list[Content]:
    """A line broken at `width` cells, nothing left out; `at_blanks`: at a blank where there is one, which may go."""
    if width < 2 or line.cell_length <= width:
        return [line]
    pieces: list[Content] = []
    plain, start, used = line.plain, 0, 0
    for index, character in enumerate(plain):
        cells = cell_len(character)
        if used + cells > width and at_blanks and character == " ":
            pieces.append(line[start:index])
            start, used = index + 1, 0
            continue
        if used + cells > width:
            blank = plain.rfind(" ", start, index) + 1 if at_blanks else 0
            end = blank if blank > start else index
            pieces.append(line[start:end])
            start, used = end, cell_len(plain[end:index])
            if used + cells > width:  # a wide character behind a word that just fits
                pieces.append(line[start:index])
                start, used = index, 0
        used += cells
    return [*pieces, line[start:]] if start < len(plain) else pieces


def _lines(block: DisplayBlock, width: int) -> Iterator[Content]:
    match block:
        case DiffBlock():
            yield from _diff_lines(block, width)
        case CommandBlock(command, workdir):
            if workdir:
                yield from fold(Content.assemble(("in ", "$text-muted"), revealed(workdir)), width)
            for number, text in enumerate(command.split("\n")):
                mark = "$ " if number == 0 else "  "
                for index, piece in enumerate(fold(revealed(text), width - 2)):
                    yield Content.assemble((mark if index == 0 else "  ", "$text-muted"), piece)
        case CodeBlock(text, _, first_line):
            yield from _numbered(text.split("\n"), first_line, width)
        case TextBlock(text, tone):
            for plain in text.split("\n"):
                yield from fold(Content.styled(clean_line(plain), _TONES[tone]), width, at_blanks=True)
        case MarkdownBlock(text) | OutputBlock(text):
            for plain in text.split("\n"):
                yield from fold(Content(clean_line(plain)), width, at_blanks=True)
        case TableBlock():
            yield from _table_lines(block)
        case _:
            assert_never(block)


def _numbered(texts: Iterable[str], first: int | None, width: int) -> Iterator[Content]:
    for number, text in enumerate(texts, first or 1):
        gutter = "" if first is None else f"{number:>4} "
        for index, piece in enumerate(fold(revealed(text.removesuffix("\r")), width - len(gutter))):
            yield Content.assemble((gutter if index == 0 else " " * len(gutter), "$text-muted"), piece)


def _diff_lines(block: DiffBlock, width: int) -> Iterator[Content]:
    old = new = 1
    for text in block.lines:
        sign, rest = text[:1], text[1:]
        if sign == "@":
            if match := _HUNK.match(text):
                old, new = int(match.group(1)), int(match.group(2))
            continue
        number = old if sign == "-" else new
        old += sign in (" ", "-", "")
        new += sign in (" ", "+", "")
        yield from _diff_line(number, sign, rest, width)


def _diff_line(number: int, sign: str, rest: str, width: int) -> Iterator[Content]:
    style = {"+": "$foreground on $diff-add-background", "-": "$foreground on $diff-remove-background"}.get(sign, "")
    sign_style = {"+": "$success", "-": "$error"}.get(sign, "$text-muted")
    for index, piece in enumerate(fold(revealed(rest.removesuffix("\r")), width - 7)):
        gutter = pad_left(str(number), 4) if index == 0 else "    "
        fill = " " * max(width - 7 - piece.cell_length, 0) if style else ""
        body = Content.assemble((f" {sign or ' '} ", sign_style), piece, fill).stylize_before(style)
        yield Content.assemble((gutter, "$text-muted"), body)


def _table_lines(block: TableBlock) -> Iterator[Content]:
    rows = [tuple(clean_line(cell) for cell in row) for row in (block.columns, *block.rows)]
    widths = [max(cell_len(row[index]) for row in rows if index < len(row)) for index in range(len(block.columns))]
    for position, row in enumerate(rows):
        cells = [
            pad_left(cell, widths[index]) if block.align[index : index + 1] == "r" else pad(cell, widths[index])
            for index, cell in enumerate(row[: len(widths)])
        ]
        yield Content.styled("  ".join(cells).rstrip(), "$text-muted" if position == 0 else "")
