"""Code blocks as rows: tinted, coloured, and cheap while they grow."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style

from reactagent_tui.tui.transcript.chunks import Chunk
from reactagent_tui.tui.transcript.highlight import GROUP, State, lex_lines
from reactagent_tui.tui.transcript.rows import Lead, Page, Row


class CodeRows:
    """The rows of a code chunk that may still grow: groups of lines that are complete are lexed once."""

    def __init__(self, chunk: Chunk, page: Page, lead: Lead) -> None:
        self.chunk = chunk
        self._page = page
        self._fill = page.palette["text on.code"]
        self._lead = _code_lead(page, lead, self._fill)
        self._state = _entry_state(chunk)
        self._done: list[Row] = []
        self._lines_done = 0
        self._offset = 0

    def rows(self, source: str, *, whole: bool) -> list[Row]:
        """All rows of the source so far; `whole`: nothing more will come."""
        lines = source[self._offset :].split("\n")
        while len(lines) > GROUP:
            group = lines[:GROUP]
            rows, self._state = self._lex(group)
            self._done += rows
            self._offset += sum(map(len, group)) + GROUP
            lines = lines[GROUP:]
        rows, state = self._lex(lines)
        if whole:
            self.chunk.exit_state = state
        return self._done + rows

    def _lex(self, lines: Sequence[str]) -> tuple[list[Row], State]:
        page = self._page
        coloured, state = lex_lines(self.chunk.language, lines, self._state)
        rows: list[Row] = []
        token_style = page.palette.token
        for tokens in coloured:
            runs = [(text, self._fill if kind is None else token_style(kind)) for text, kind in tokens]
            rows += page.lines(runs, self._lead, fill=self._fill)
        return rows, state


def _code_lead(page: Page, lead: Lead, fill: Style) -> Lead:
    """The lead of a code row: its last column is tinted already, so that code begins where text does."""
    if not lead.segments or not lead.segments[-1].text.endswith(" "):
        return lead
    last = lead.segments[-1]
    kept = Segment(last.text[:-1], last.style)
    segments = (*lead.segments[:-1], *((kept,) if kept.text else ()), Segment(" ", fill))
    return Lead(segments, lead.cells, lead.cells)


def _entry_state(chunk: Chunk, depth: int = 4) -> State:
    """The lexer's state before a chunk: that after the part before it, found at most a few parts back."""
    before = chunk.before
    if before is None:
        return ("root",)
    if before.exit_state is None:
        if depth == 0:
            return ("root",)
        state = _entry_state(before, depth - 1)
        lines = before.source.split("\n")
        for at in range(0, len(lines), GROUP):
            _, state = lex_lines(before.language, lines[at : at + GROUP], state)
        before.exit_state = state
    return before.exit_state
