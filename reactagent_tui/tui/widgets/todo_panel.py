"""The checklist of the session: in the sidebar, and as one line over the prompt where the sidebar is folded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from reactagent_tui.core.display import clean_line
from reactagent_tui.locales import Translate
from reactagent_tui.tui.widgets.line_layout import cut, spread
from reactagent_tui.tui.widgets.painted import Painted

if TYPE_CHECKING:
    from reactagent_tui.core.events import TodoItem

MOST_ROWS = 8
"""Items that the sidebar shows at once."""
_GLYPHS = {"open": ("○", "$text-muted"), "doing": ("◐", "$primary"), "done": ("●", "$success")}


class TodoPanel(Painted):
    """A heading with the count, then the items around the one that is being done; hidden while there are none."""

    def __init__(self, t: Translate, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._t = t
        self._items: tuple[TodoItem, ...] = ()
        self.display = False

    def update_todo(self, items: Sequence[TodoItem]) -> None:
        """The whole list."""
        if tuple(items) == self._items:
            return
        self._items = tuple(items)
        self.display = bool(items)
        rows = min(len(items), MOST_ROWS) + 2
        if items and (self.styles.height is None or self.styles.height.value != rows):
            self.styles.height = rows
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Content]:
        inner = width - 2
        heading = Content.styled(self._t("todo.heading"), "bold")
        count = Content.styled(_count(self._items), "$text-muted")
        first = _first_shown(self._items)
        rows = [_row(item, inner) for item in self._items[first : first + MOST_ROWS]]
        return [Content(""), *(Content.assemble(" ", line) for line in (spread(heading, count, inner), *rows))]


class TodoLine(Painted):
    """What is being done and how far it is; only where the sidebar is not shown."""

    def __init__(self, t: Translate, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._t = t
        self._items: tuple[TodoItem, ...] = ()
        self._wanted = False
        self.display = False

    def update_todo(self, items: Sequence[TodoItem]) -> None:
        """The whole list; one that is done is shown no more."""
        if tuple(items) == self._items:
            return
        self._items = tuple(items)
        self._fit()

    def show_instead(self, wanted: bool) -> None:
        """Whether the sidebar is folded."""
        self._wanted = wanted
        self._fit()

    def _fit(self) -> None:
        self.display = self._wanted and any(item.state != "done" for item in self._items)
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Content]:
        now = next((i for i in self._items if i.state == "doing"), None)
        now = now or next((i for i in self._items if i.state == "open"), None)
        if now is None:
            return ()
        count = Content.styled(f"{self._t('todo.heading')} {_count(self._items)}", "$text-muted")
        row = _row(now, max(width - 4 - count.cell_length - 2, 4))
        return [Content.assemble("   ", spread(row, count, width - 4, gap=2), " ")]


def _count(items: Sequence[TodoItem]) -> str:
    return f"{sum(item.state == 'done' for item in items)}/{len(items)}"


def _first_shown(items: Sequence[TodoItem]) -> int:
    """From where on a long list shows, so that what is being done is in sight with one done item over it."""
    at = next((index for index, item in enumerate(items) if item.state != "done"), len(items))
    return min(max(at - 1, 0), max(len(items) - MOST_ROWS, 0))


def _row(item: TodoItem, width: int) -> Content:
    glyph, style = _GLYPHS[item.state]
    text = Content(cut(clean_line(item.text), max(width - 2, 1)))
    return Content.assemble((glyph, style), " ", text.stylize("$text-muted") if item.state == "done" else text)
