"""Display blocks to rows: text, code, command output with its colours, diffs, tables. Every block is bounded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from rich.segment import Segment
from rich.style import Style

from reactagent_tui.core.display import (
    CodeBlock,
    CommandBlock,
    DiffBlock,
    DisplayBlock,
    MarkdownBlock,
    OutputBlock,
    TableBlock,
    TextBlock,
    Tone,
    clean,
    clean_line,
    sgr_runs,
)
from reactagent_tui.tui.transcript.chunks import split
from reactagent_tui.tui.transcript.highlight import GROUP, State, language_of, lex_lines
from reactagent_tui.tui.transcript.markdown import render_chunk
from reactagent_tui.tui.transcript.rows import Lead, Page, Row
from reactagent_tui.tui.transcript.tables import Cell, table_rows

Shown = tuple[list[Row], int]
"""Rows, and how many lines were left out."""

_TONES: dict[Tone, str] = {
    "plain": "text",
    "dim": "text muted",
    "bold": "text strong",
    "ok": "text ok",
    "warn": "text warning",
    "error": "text failed",
}
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
_LONGEST_PAIRED_LINE = 400


def block_rows(block: DisplayBlock, page: Page, lead: Lead, limit: int) -> Shown:
    """At most `limit` rows of a block, and how many of its lines are missing."""
    match block:
        case TextBlock():
            style = page.palette[_TONES[block.tone]]
            return page.plain(clean(_head(block.text, page, limit)), style, lead, limit=limit)
        case MarkdownBlock():
            return _markdown_rows(block.text, page, lead, limit)
        case CodeBlock():
            return _code_rows(block, page, lead, limit)
        case OutputBlock():
            return output_rows(block.text, page, lead, limit)
        case DiffBlock():
            return diff_rows(block, page, lead, limit)
        case CommandBlock():
            return _command_rows(block, page, lead, limit)
        case TableBlock():
            return _table_rows(block, page, lead, limit)
        case _:
            assert_never(block)


def blocks_rows(blocks: Sequence[DisplayBlock], page: Page, lead: Lead, limit: int) -> Shown:
    """At most `limit` rows of several blocks, one under the other."""
    rows: list[Row] = []
    missing = 0
    for block in blocks:
        room = limit - len(rows)
        if room <= 0:
            missing += _line_count(block)
            continue
        more, left_out = block_rows(block, page, lead, room)
        rows += more
        missing += left_out
    return rows, missing


def _line_count(block: DisplayBlock) -> int:
    match block:
        case DiffBlock():
            return len(block.lines)
        case TableBlock():
            return len(block.rows)
        case CommandBlock():
            return block.command.count("\n") + 1
        case _:
            return block.text.count("\n") + 1


def _head(text: str, page: Page, limit: int) -> str:
    """Enough of a text for `limit` rows, with its other line ends, so that what is missing can be counted."""
    most = (limit + 1) * page.width * 2
    return text if len(text) <= most else text[:most] + "\n" * text.count("\n", most)


def _markdown_rows(text: str, page: Page, lead: Lead, limit: int) -> Shown:
    rows: list[Row] = []
    chunks, definitions = split(clean(text))
    for index, chunk in enumerate(chunks):
        if len(rows) >= limit:
            return rows[:limit], sum(later.source.count("\n") + 1 for later in chunks[index:])
        made = render_chunk(chunk, page, definitions, lead)
        if rows and made and not chunk.glued:
            rows.append(page.row(lead, ()))
        rows += made
    return rows[:limit], len(rows[limit:])


def _code_rows(block: CodeBlock, page: Page, lead: Lead, limit: int) -> Shown:
    lines = clean(_head(block.text.rstrip("\n"), page, limit)).split("\n")
    shown = lines[:limit]
    rows: list[Row] = []
    fill = page.palette["text on.code"]
    number_style = page.palette["text on.code faint"]
    number = block.first_line
    digits = 0 if number is None else len(str(number + len(shown)))
    state: State = ("root",)
    for at in range(0, len(shown), GROUP):
        coloured, state = lex_lines(language_of(block.language), shown[at : at + GROUP], state)
        for tokens in coloured:
            first = rest = lead
            if number is not None:
                first = lead.add(f"{number:>{digits}} ", number_style)
                rest = lead.add(" " * (digits + 1), number_style)
                number += 1
            runs = [(text, fill if kind is None else page.palette.token(kind)) for text, kind in tokens]
            rows += page.lines(runs, first, rest, fill=fill, limit=max(limit - len(rows), 1))
        if len(rows) >= limit:
            left = len(lines) - min(at + GROUP, len(lines))
            return rows[:limit], left + max(len(rows) - limit, 0)
    return rows, len(lines) - len(shown)


def output_rows(text: str, page: Page, lead: Lead, limit: int) -> Shown:
    """Command output in its own colours; of a long one the first quarter and the end of the rest."""
    text = text.rstrip("\n")
    if not text:
        return [], 0
    lines = text.count("\n") + 1
    if lines <= limit and len(text) <= limit * page.body:
        return _styled_rows(text, page, lead, limit), 0
    if lines <= limit:
        return _styled_rows(text[: limit * page.width * 2], page, lead, limit), 1
    head = max(limit // 4, 1)
    tail = limit - head - 1
    if tail < 2:
        return _styled_rows(_first_lines(text, limit), page, lead, limit), lines - limit
    rows = _styled_rows(_first_lines(text, head), page, lead, head)
    note = page.t("transcript.lines_left_out", count=f"{lines - head - tail:,}")
    rows.append(page.row(lead, [(note, page.palette["text faint"])]))
    last = _styled_rows(_last_lines(text, tail), page, lead, 4 * tail)
    return rows + last[-tail:], lines - head - tail


def _first_lines(text: str, count: int) -> str:
    at = -1
    for _ in range(count):
        at = text.find("\n", at + 1)
        if at < 0:
            return text
    return text[:at]


def _last_lines(text: str, count: int) -> str:
    at = len(text)
    for _ in range(count):
        at = text.rfind("\n", 0, at)
        if at < 0:
            return text
    return text[at + 1 :]


def _styled_rows(text: str, page: Page, lead: Lead, limit: int) -> list[Row]:
    """Lines with terminal colours, each cut before it could fill more than `limit` rows."""
    rows: list[Row] = []
    line: Cell = []
    for run in sgr_runs(text[: (limit + 1) * page.width * 8]):
        style = page.palette.terminal("text", run.style)
        for index, part in enumerate(run.text.split("\n")):
            if index:
                rows += page.lines(line, lead, limit=max(limit - len(rows), 1))
                line = []
            if part:
                line.append((part, style))
            if len(rows) >= limit:
                return rows[:limit]
    rows += page.lines(line, lead, limit=max(limit - len(rows), 1))
    return rows[:limit]


def _command_rows(block: CommandBlock, page: Page, lead: Lead, limit: int) -> Shown:
    fill = page.palette["text on.code"]
    first = lead.add("$ ", page.palette["text on.code muted"])
    rest = lead.add("  ", fill)
    rows, missing = page.plain(clean(_head(block.command, page, limit)), fill, first, rest=rest, limit=limit)
    if block.workdir and len(rows) < limit:
        rows += page.lines([(clean_line(block.workdir), page.palette["text muted"])], rest)
    return rows, missing


def _table_rows(block: TableBlock, page: Page, lead: Lead, limit: int) -> Shown:
    strong, text = page.palette["text strong"], page.palette["text"]
    header: list[Cell] = [[(clean_line(name), strong)] for name in block.columns]
    columns = max([len(header), *(len(row) for row in block.rows[:limit])])
    body: list[Cell] | list[list[Cell]] = [[[(clean_line(cell), text)] for cell in row] for row in block.rows[:limit]]
    align = (block.align + "l" * columns)[:columns]
    rows = table_rows(page, lead, header, body, align)  # type: ignore[arg-type]
    return rows[:limit], len(block.rows) - len(block.rows[:limit]) + len(rows[limit:])


def diff_rows(block: DiffBlock, page: Page, lead: Lead, limit: int) -> Shown:
    """A diff with line numbers, tinted lines, and the words that changed in paired lines."""
    lines = [clean_line(line) for line in block.lines[: limit + 1]]
    words = _changed_words(lines)
    digits = _digits(block.lines)
    both = page.body >= 70 and not block.created
    rows: list[Row] = []
    old = new = 1
    for index, line in enumerate(lines[:limit]):
        if len(rows) >= limit:
            return rows[:limit], len(block.lines) - index
        if found := _HUNK.match(line):
            old, new = int(found[1]), int(found[2])
            if index or found[3]:
                rows.append(page.row(lead, [(f"⋯ {found[3]}".rstrip(), page.palette["text faint"])]))
            continue
        sign, text = (line[:1] or " "), line[1:]
        on, state = {"+": (" on.add", "ok"), "-": (" on.remove", "failed")}.get(sign, ("", "faint"))
        numbers = _numbers(sign, old, new, digits, both=both)
        old += sign in " -"
        new += sign in " +"
        fill = page.palette[f"text{on}"]
        margin = lead.add(numbers, page.palette[f"text{on} faint"])
        first = margin.add(f"{sign} ", page.palette[f"text{on} {state}"])
        rest = lead.add(" " * (first.cells - lead.cells), fill)
        runs = _marked(text, words.get(index), fill, page.palette[f"text{on}.word" if on else "text"])
        rows += page.lines(runs, first, rest, fill=fill, limit=max(limit - len(rows), 1))
    return rows, max(len(block.lines) - limit, 0)


def _digits(lines: Sequence[str]) -> int:
    most = 1
    for line in lines:
        if line.startswith("@@") and (found := _HUNK.match(line)):
            most = max(most, int(found[1]), int(found[2]))
    return len(str(most + min(len(lines), 1000)))


def _numbers(sign: str, old: int, new: int, digits: int, *, both: bool) -> str:
    if not both:
        return f"{old if sign == '-' else new:>{digits}} "
    left = "" if sign == "+" else str(old)
    right = "" if sign == "-" else str(new)
    return f"{left:>{digits}} {right:>{digits}} "


def _marked(text: str, span: tuple[int, int] | None, fill: Style, word: Style) -> Cell:
    if span is None or span[0] >= span[1]:
        return [(text, fill)]
    parts = [(text[: span[0]], fill), (text[span[0] : span[1]], word), (text[span[1] :], fill)]
    return [part for part in parts if part[0]]


def _changed_words(lines: Sequence[str]) -> dict[int, tuple[int, int]]:
    """Line index to the span that changed, for runs of as many removed as added lines."""
    spans: dict[int, tuple[int, int]] = {}
    at = 0
    while at < len(lines):
        removed = at
        while removed < len(lines) and lines[removed].startswith("-"):
            removed += 1
        added = removed
        while added < len(lines) and lines[added].startswith("+"):
            added += 1
        count = removed - at
        if count and count == added - removed:
            for offset in range(count):
                pair = _span_of_change(lines[at + offset][1:], lines[removed + offset][1:])
                if pair is not None:
                    spans[at + offset], spans[removed + offset] = pair
        at = max(added, at + 1)
    return spans


def _span_of_change(old: str, new: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """What differs between two lines; None when too little is common for marks to help."""
    shortest = min(len(old), len(new))
    if max(len(old), len(new)) > _LONGEST_PAIRED_LINE:
        return None
    start = 0
    while start < shortest and old[start] == new[start]:
        start += 1
    end = 0
    while end < shortest - start and old[-1 - end] == new[-1 - end]:
        end += 1
    common = old[:start].strip() + (old[len(old) - end :].strip() if end else "")
    if len(common) < max(len(old.strip()), len(new.strip())) * 0.3:
        return None
    return (start, len(old) - end), (start, len(new) - end)


def indent(lead: Lead, page: Page, cells: int = 2) -> Lead:
    """A lead moved to the right."""
    return Lead((*lead.segments, Segment(" " * cells, page.text_style)), lead.cells + cells, lead.cells + cells)
