"""Selecting text with the mouse: positions that stay right while items grow, and clean text for the clipboard.

Textual wants a position as (x, y). Here y names an item and a row in it, so that it survives what happens above.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len
from rich.style import Style
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from reactagent_tui.tui.transcript.column import Column
from reactagent_tui.tui.transcript.rows import Row
from reactagent_tui.tui.transcript.search import restyle

_ROW_BITS = 20
_MOST_RENDERED = 300
"""Items that are drawn only to be copied; beyond that their sources are copied."""


def position(index: int, row: int) -> int:
    """The y of a row in an item."""
    return (index << _ROW_BITS) | row


def paint(strip: Strip, y: int, selection: Selection, style: Style, skip: int) -> Strip:
    """The strip with its selected part highlighted."""
    span = selection.get_span(y)
    if span is None:
        return strip
    start, end = span
    text = strip.text
    last = strip.cell_length - 1
    return restyle(
        strip, cell_len(text[: max(start, skip)]), last if end < 0 else min(cell_len(text[:end]), last), style
    )


def copied_text(column: Column, selection: Selection, rows_of: Callable[[int], list[Row]]) -> str:
    """The selected text: no gutter, no padding, wrapped lines joined."""
    if not len(column):
        return ""
    start = selection.start or Offset(0, 0)
    last_index = len(column) - 1
    end = selection.end or Offset(-1, position(last_index + 1, 0))
    first, final = start.y >> _ROW_BITS, min(end.y >> _ROW_BITS, last_index)
    lines: list[str] = []
    rendered = 0
    for index in range(first, final + 1):
        if index not in (first, final) and rendered > _MOST_RENDERED:
            lines += ["", column.items[index].text()]
            continue
        rendered += 1
        for number, row in enumerate(rows_of(index)):
            span = Selection(start, end).get_span(position(index, number))
            if span is None:
                continue
            text = row.copied(span[0], None if span[1] < 0 else span[1])
            if row.joint is not None and lines:
                lines[-1] += row.joint + text
            else:
                lines.append(text)
    return "\n".join(lines)
