"""Agents and pipelines of this turn in the sidebar: one row each, children below their parents; hidden without any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message

from reactagent_tui.locales import Translate
from reactagent_tui.tui.widgets.line_layout import cut, pad_left, spread
from reactagent_tui.tui.widgets.painted import Painted

MOST_ROWS = 10
_LEAST_NAME = 9
_GAP = 1


class TreeRow(NamedTuple):
    """One agent or pipeline, its figures as text."""

    id: str
    name: str
    glyph: str
    style: str
    step: str = ""
    time: str = ""
    tokens: str = ""
    cost: str = ""
    depth: int = 0
    agent: bool = True
    """False: a pipeline, `id` is its tool call."""
    running: bool = True


class AgentTree(Painted, can_focus=True):
    """Arrows move, Enter or a click opens the row under the cursor; what ESC does is the screen's to say."""

    class Opened(Message):
        """The user wants to see this agent or pipeline."""

        def __init__(self, row: TreeRow) -> None:
            super().__init__()
            self.row = row

    class Moved(Message):
        """Another row is under the cursor."""

    def __init__(self, t: Translate, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._t = t
        self._rows: tuple[TreeRow, ...] = ()
        self._cursor = 0
        self._top = 0
        self.display = False

    @property
    def rows(self) -> Sequence[TreeRow]:
        """What is shown, from top to bottom."""
        return self._rows

    @property
    def focused_row(self) -> TreeRow | None:
        """The row under the cursor while the tree has the keyboard."""
        return self._rows[self._cursor] if self.has_focus and self._rows else None

    def update_rows(self, rows: Sequence[TreeRow]) -> None:
        """All rows as they are now. The cursor stays on its agent."""
        before = self._rows[self._cursor].id if self._rows else ""
        self._rows = tuple(rows)
        ids = [row.id for row in self._rows]
        self._cursor = ids.index(before) if before in ids else min(self._cursor, max(len(ids) - 1, 0))
        if bool(rows) != self.display:
            self.display = bool(rows)
            if not rows and self.has_focus:
                self.blur()
        height = 1 + min(len(rows), MOST_ROWS)
        if rows and (self.styles.height is None or self.styles.height.value != height):
            self.styles.height = height
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Content]:
        inner = width - 2
        running = sum(row.running and row.agent for row in self._rows)
        count = Content.styled(str(running) if running else "", "$text-muted")
        lines = [spread(Content.styled(self._t("agents.heading"), "bold"), count, inner)]
        place = max(height - 1, 1)
        if self.has_focus:
            self._top = min(max(self._top, self._cursor - place + 1), self._cursor)
        self._top = max(min(self._top, len(self._rows) - place), 0)
        columns = self._columns(inner)
        for index, row in enumerate(self._rows[self._top : self._top + place], self._top):
            line = _line(row, columns, inner)
            if self.has_focus and index == self._cursor:
                line = line.stylize_before("$block-cursor-foreground on $block-cursor-background")
            lines.append(line)
        return [Content.assemble(" ", line) for line in lines]

    def _columns(self, width: int) -> dict[str, int]:
        """Widths of the figures that fit beside the names; the step goes first, then tokens, then the time."""
        fields = ("step", "time", "tokens", "cost")
        widths = {name: max((cell_len(getattr(row, name)) for row in self._rows), default=0) for name in fields}
        names = max((2 * row.depth + cell_len(row.name) for row in self._rows), default=0)
        wanted = min(max(names, 1), _LEAST_NAME)
        for name in ("step", "tokens", "time", "cost"):
            if sum(cells + _GAP for cells in widths.values() if cells) + wanted + 2 <= width:
                break
            widths[name] = 0
        return widths

    def on_click(self, event: events.Click) -> None:
        index = event.y - 1 + self._top
        if event.y >= 1 and index < len(self._rows):
            self._cursor = index
            self.post_message(self.Opened(self._rows[index]))
            self.repaint()
        event.stop()

    def on_key(self, event: events.Key) -> None:
        moves = {"up": -1, "down": 1, "pageup": -MOST_ROWS, "pagedown": MOST_ROWS, "home": -1000, "end": 1000}
        if event.key == "enter" and self._rows:
            self.post_message(self.Opened(self._rows[self._cursor]))
        elif event.key in moves:
            self._cursor = min(max(self._cursor + moves[event.key], 0), max(len(self._rows) - 1, 0))
            self.post_message(self.Moved())
            self.repaint()
        else:
            return
        event.stop()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll(2)
        event.stop()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll(-2)
        event.stop()

    def _scroll(self, lines: int) -> None:
        self._top = max(min(self._top + lines, len(self._rows) - MOST_ROWS), 0)
        self.repaint()

    def on_focus(self) -> None:
        self.repaint()

    def on_blur(self) -> None:
        self.repaint()


def _line(row: TreeRow, columns: dict[str, int], width: int) -> Content:
    cells = [pad_left(getattr(row, name), wide) for name, wide in columns.items() if wide]
    right = (" " * _GAP).join(cells)
    room = max(width - 2 - 2 * row.depth - (cell_len(right) + 1 if right else 0), 1)
    name = Content.styled(cut(row.name, room), "" if row.running else "$text-muted")
    left = Content.assemble(" " * (2 * row.depth), (row.glyph, row.style), " ", name)
    return spread(left, Content.styled(right, "$text-muted"), width)
