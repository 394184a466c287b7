"""Markdown to rows. The parser is CommonMark with tables and strikethrough; HTML is text; styles are names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.segment import Segment

from reactagent_tui.core.display import clean_line
from reactagent_tui.tui.transcript.chunks import Chunk
from reactagent_tui.tui.transcript.code import CodeRows
from reactagent_tui.tui.transcript.highlight import language_of
from reactagent_tui.tui.transcript.links import bare_links, named_target, safe_link
from reactagent_tui.tui.transcript.rows import Lead, Page, Row
from reactagent_tui.tui.transcript.tables import Cell, fit_widths, natural_widths, table_rows

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token as MarkdownToken

_BULLETS = "•◦▪"
_TASK = re.compile(r"\[([ xX])\] ")
_STYLES = {"em_open": "em", "strong_open": "strong", "s_open": "strike"}


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def warm() -> None:
    """Import and build the parser; call it off the UI thread."""
    _parser().parse("*x*")


def render_chunk(chunk: Chunk, page: Page, definitions: Mapping[str, str], lead: Lead) -> list[Row]:
    """The rows of one chunk, without the blank row before it."""
    match chunk.kind:
        case "code":
            return CodeRows(chunk, page, lead).rows(chunk.source, whole=True)
        case "table":
            rows = _Renderer(page, lead, definitions).table_chunk(chunk)
        case "prose":
            rows = _Renderer(page, lead, definitions).render(chunk.source)
    if chunk.joint is not None and rows:
        rows[0].joint = chunk.joint
    return rows


class _Level:
    """A list or quote that is open."""

    __slots__ = ("first", "loose", "number", "ordered", "quote", "rest", "used")

    def __init__(
        self, rest: Segment, *, quote: bool = False, ordered: bool = False, number: int = 1, loose: bool = True
    ) -> None:
        self.first = rest
        self.rest = rest
        self.quote = quote
        self.used = quote
        """The bullet or number was drawn."""
        self.ordered = ordered
        self.number = number
        self.loose = loose


class _Renderer:
    """Walks the parser's tokens once and makes rows."""

    def __init__(self, page: Page, lead: Lead, definitions: Mapping[str, str]) -> None:
        self._page = page
        self._lead = lead
        self._definitions = definitions
        self._rows: list[Row] = []
        self._levels: list[_Level] = []
        self._gap = False
        self._tokens: list[MarkdownToken] = []
        self._entities = False
        """The source may name characters (`&#x202e;`) that must not reach the screen."""

    def _parse(self, source: str) -> None:
        self._entities = "&" in source
        references = {label.upper(): {"href": href, "title": ""} for label, href in self._definitions.items()}
        self._tokens = _parser().parse(source, {"references": references} if references else {})

    def render(self, source: str) -> list[Row]:
        self._parse(source)
        index = 0
        while index < len(self._tokens):
            index = self._block(index)
        return self._rows

    def _block(self, index: int) -> int:
        """Take the token at `index`; the index of the next one to take."""
        token = self._tokens[index]
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self._open_list(index)
            case "list_item_open":
                self._open_item(index)
            case "list_item_close":
                self._gap = self._levels[-1].loose
            case "blockquote_open":
                self._levels.append(_Level(Segment("│ ", self._page.palette["text faint"]), quote=True))
            case "bullet_list_close" | "ordered_list_close" | "blockquote_close":
                self._levels.pop()
                self._gap = not self._levels or self._levels[-1].loose
            case "inline":
                self._text(index)
            case "fence" | "code_block":
                self._code(token)
            case "hr":
                width = min(self._page.body, 40)
                self._emit([("─" * width, self._page.palette["text faint"])])
            case "table_open":
                return self._table(index)
            case "html_block":
                for line in token.content.rstrip("\n").split("\n"):
                    self._emit([(clean_line(line), self._page.palette["text muted"])], gap=False)
            case _:
                pass
        return index + 1

    # --- structure

    def _open_list(self, index: int) -> None:
        token = self._tokens[index]
        loose = False
        for later in self._tokens[index + 1 :]:
            if later.level <= token.level:
                break
            if later.type == "paragraph_open" and later.level == token.level + 2 and not later.hidden:
                loose = True
                break
        if self._rows and not self._levels:
            self._gap = True
        level = _Level(
            Segment("  ", self._page.text_style),
            ordered=token.type == "ordered_list_open",
            number=int(token.attrs.get("start", 1)),
            loose=loose,
        )
        self._levels.append(level)

    def _open_item(self, index: int) -> None:
        level = self._levels[-1]
        depth = sum(1 for item in self._levels if not item.quote)
        style = self._page.palette["text muted"]
        if level.ordered:
            marker = f"{level.number}{self._tokens[index].markup or '.'} "
            level.number += 1
        else:
            marker = f"{_BULLETS[(depth - 1) % len(_BULLETS)]} "
        level.first = Segment(marker, style)
        level.rest = Segment(" " * len(marker), self._page.text_style)
        level.used = False

    def _leads(self) -> tuple[Lead, Lead]:
        """The lead of a block's first row and that of its other rows."""
        first = rest = self._lead
        for level in self._levels:
            shown = level.rest if level.used else level.first
            first = first.add(shown.text, shown.style or self._page.text_style, copied=not level.used)
            rest = rest.add(level.rest.text, level.rest.style or self._page.text_style)
            level.used = True
        skip = min(first.skip, first.cells)
        return Lead(first.segments, first.cells, skip), rest

    def _space(self, *, gap: bool) -> None:
        if self._gap and self._rows:
            lead = self._lead
            for level in self._levels:
                if level.used:
                    lead = lead.add(level.rest.text, level.rest.style or self._page.text_style)
            self._rows.append(self._page.row(lead, ()))
        self._gap = gap and (not self._levels or self._levels[-1].loose)

    def _emit(self, runs: Cell, *, gap: bool = True) -> None:
        self._space(gap=gap)
        first, rest = self._leads()
        self._rows += self._page.lines(runs, first, rest)

    # --- leaves

    def _text(self, index: int) -> None:
        before = self._tokens[index - 1]
        names = "text heading" if before.type == "heading_open" else "text"
        if before.type == "heading_open" and before.tag == "h1":
            names += " underline"
        if any(level.quote for level in self._levels):
            names += " muted"
        lines = self._inline(self._tokens[index], names)
        if self._levels and not self._levels[-1].used:
            lines[0] = _with_task_box(lines[0])
        self._space(gap=True)
        for line in lines:
            first, rest = self._leads()
            self._rows += self._page.lines(line, first, rest)

    def _code(self, token: MarkdownToken) -> None:
        self._space(gap=True)
        first, rest = self._leads()
        source = token.content.rstrip("\n")
        chunk = Chunk("code", source, language=language_of(token.info))
        rows = CodeRows(chunk, self._page, rest).rows(source, whole=True)
        if first.segments != rest.segments:
            self._rows.append(self._page.row(first, ()))
        self._rows += rows

    def _inline(self, token: MarkdownToken, names: str) -> list[Cell]:
        """The runs of a paragraph, one list per hard line."""
        page = self._page
        lines: list[Cell] = [[]]
        styles = [names]
        links: list[str] = []
        for child in token.children or ():
            kind = child.type
            if kind in ("text", "html_inline"):
                self._add_text(lines[-1], child.content, styles[-1], links)
            elif kind == "code_inline":
                lines[-1].append((clean_line(child.content), page.palette[f"{styles[-1]} inline"]))
            elif kind == "softbreak":
                lines[-1].append((" ", page.palette[styles[-1]]))
            elif kind == "hardbreak":
                lines.append([])
            elif kind in _STYLES:
                styles.append(f"{styles[-1]} {_STYLES[kind]}")
            elif kind == "link_open":
                links.append(str(child.attrs.get("href", "")))
                styles.append(styles[-1])
            elif kind == "link_close":
                styles.pop()
                label = lines[-1][-1][0] if lines[-1] else ""
                if target := named_target(label, links.pop()):
                    lines[-1].append((target, page.palette[f"{names} muted"]))
            elif kind == "image":
                self._add_text(lines[-1], f"[{child.content}]", styles[-1], [str(child.attrs.get("src", ""))])
            elif kind.endswith("_close") and len(styles) > 1:
                styles.pop()
        return lines

    def _add_text(self, line: Cell, text: str, names: str, links: Sequence[str]) -> None:
        palette = self._page.palette
        if self._entities:
            text = clean_line(text)
        if links:
            target = safe_link(links[-1])
            style = palette[names] if target is None else palette.link(names, target)
            line.append((text, style))
            return
        at = 0
        for start, end, target in bare_links(text):
            if start > at:
                line.append((text[at:start], palette[names]))
            line.append((text[start:end], palette.link(names, target)))
            at = end
        if at < len(text):
            line.append((text[at:], palette[names]))

    # --- tables

    def table_chunk(self, chunk: Chunk) -> list[Row]:
        """A table of its own, or a further part of one (its columns are at least as wide as in the first part)."""
        source = chunk.source
        head = chunk.before
        if head is not None:
            source = "\n".join([*head.source.split("\n", 2)[:2], source])
        self._parse(source)
        header, body, align, _ = self._read_table(0)
        if not align:
            return self.render(source)
        room = self._page.width - 2 - self._lead.cells
        widths: tuple[int, ...] | None = None
        if head is None:
            widths = fit_widths(natural_widths([header, *body], len(align)), room)
            chunk.widths, chunk.widths_for = widths, room
        else:
            if head.widths_for != room:
                _Renderer(self._page, self._lead, self._definitions).table_chunk(head)
            if head.widths:
                needed = natural_widths(body, len(align))
                widths = fit_widths([max(pair) for pair in zip(head.widths, needed, strict=False)], room)
                header = []
        return table_rows(self._page, self._lead, header, body, align, widths=widths)

    def _table(self, index: int) -> int:
        header, body, align, after = self._read_table(index)
        self._space(gap=True)
        first, rest = self._leads()
        rows = table_rows(self._page, rest, header, body, align)
        if first.segments != rest.segments:
            self._rows.append(self._page.row(first, ()))
        self._rows += rows
        return after

    def _read_table(self, index: int) -> tuple[list[Cell], list[list[Cell]], str, int]:
        rows: list[list[Cell]] = []
        align = ""
        while index < len(self._tokens):
            token = self._tokens[index]
            index += 1
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "th_open":
                align += {"text-align:right": "r", "text-align:center": "c"}.get(str(token.attrs.get("style")), "l")
            elif token.type == "inline" and rows:
                names = "text" if len(rows) > 1 else "text strong"
                rows[-1].append([run for line in self._inline(token, names) for run in line])
            elif token.type == "table_close":
                break
        return (rows[0] if rows else []), rows[1:], align, index


def _with_task_box(line: Cell) -> Cell:
    """`[x] ` at the start of an item as a box."""
    if line and (found := _TASK.match(line[0][0])):
        box = "☐ " if found[1] == " " else "☑ "
        return [(box + line[0][0][found.end() :], line[0][1]), *line[1:]]
    return line
