"""Tables as rows: columns aligned by cells, shrunk and wrapped to the width, or one field a line when too narrow."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style

from reactagent_tui.tui.transcript.rows import Lead, Page, Row, wrap

Cell = list[tuple[str, Style]]
_BETWEEN = "  "
_NARROWEST = 6


def cell_width(cell: Cell) -> int:
    """Cells that the text needs on one line."""
    return sum([cell_len(text) for text, _ in cell])


def natural_widths(rows: Sequence[Sequence[Cell]], columns: int) -> list[int]:
    """The width of each column when there is room enough."""
    return [max([cell_width(row[index]) for row in rows if index < len(row)], default=0) for index in range(columns)]


def fit_widths(widths: Sequence[int], room: int) -> tuple[int, ...]:
    """The widths shrunk, widest first, so that all fit `room` cells; () when not even narrow columns fit."""
    room -= len(_BETWEEN) * (len(widths) - 1)
    if sum(widths) <= room:
        return tuple(max(width, 1) for width in widths)
    if sum([min(width, _NARROWEST) for width in widths]) > room:
        return ()
    low, high = _NARROWEST, max(widths)
    while low < high:
        middle = (low + high + 1) // 2
        if sum([min(width, middle) for width in widths]) <= room:
            low = middle
        else:
            high = middle - 1
    fitted = [max(min(width, low), 1) for width in widths]
    spare = room - sum(fitted)
    for index, width in enumerate(widths):
        if spare > 0 and fitted[index] < width:
            fitted[index] += 1
            spare -= 1
    return tuple(fitted)


def table_rows(
    page: Page,
    lead: Lead,
    header: Sequence[Cell],
    body: Sequence[Sequence[Cell]],
    align: str,
    *,
    widths: tuple[int, ...] | None = None,
    names: str = "text",
) -> list[Row]:
    """The rows of a table; `header` empty: a part that goes on; `align` holds l, r or c per column."""
    columns = len(align)
    room = page.width - 2 - lead.cells
    if widths is None:
        widths = fit_widths(natural_widths([header, *body], columns), room)
    if not widths:
        return _records(page, lead, header, body, names)
    rows: list[Row] = []
    text = page.palette[names]
    if header:
        rows += _table_line(page, lead, header, widths, align, text)
        rule = _BETWEEN.join("─" * width for width in widths)
        rows.append(page.row(lead, [(rule, page.palette["text faint"])]))
    for cells in body:
        rows += _table_line(page, lead, cells, widths, align, text)
    return rows


def _table_line(
    page: Page, lead: Lead, cells: Sequence[Cell], widths: Sequence[int], align: str, text: Style
) -> list[Row]:
    """One row of a table, several lines high when a cell is wrapped."""
    columns: list[list[Cell]] = []
    for index, width in enumerate(widths):
        cell = cells[index] if index < len(cells) else []
        columns.append(_wrap_cell(cell, width))
    rows: list[Row] = []
    for line in range(max(len(column) for column in columns)):
        runs: Cell = []
        for index, width in enumerate(widths):
            column = columns[index]
            part = column[line] if line < len(column) else []
            space = max(width - cell_width(part), 0)
            before = {"r": space, "c": space // 2}.get(align[index], 0)
            if before:
                runs.append((" " * before, text))
            runs += part
            last = index == len(widths) - 1
            runs.append((" " * (space - before) + ("" if last else _BETWEEN), text))
        rows.append(page.row(lead, runs))
    return rows


def _wrap_cell(cell: Cell, width: int) -> list[Cell]:
    text = "".join([part for part, _ in cell])
    cuts = wrap(text, width)
    if len(cuts) == 1:
        return [cell]
    lines: list[Cell] = []
    for start, end, _ in cuts:
        line: Cell = []
        at = 0
        for part, style in cell:
            low, high = max(start - at, 0), end - at
            if low < high and low < len(part):
                line.append((part[low:high], style))
            at += len(part)
        lines.append(line)
    return lines


def _records(page: Page, lead: Lead, header: Sequence[Cell], body: Sequence[Sequence[Cell]], names: str) -> list[Row]:
    """A table that is too wide, one field a line."""
    rows: list[Row] = []
    label = page.palette[f"{names} muted"]
    for number, cells in enumerate(body):
        if number:
            rows.append(page.row(lead, ()))
        for index, cell in enumerate(cells):
            name = "".join([text for text, _ in header[index]]) if index < len(header) else ""
            runs = [(f"{name}: ", label), *cell] if name else cell
            rows += page.lines(runs, lead, lead.add("  ", page.text_style))
    return rows
