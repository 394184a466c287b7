"""Looking around in the transcript: search, the block cursor, opening and closing, selecting, the mouse."""

from __future__ import annotations

from typing import NamedTuple

from rich.segment import Segment
from textual import events
from textual.selection import Selection
from textual.strip import Strip

from reactagent_tui.tui.transcript.column import Column
from reactagent_tui.tui.transcript.export import code_of, plain_text
from reactagent_tui.tui.transcript.items import AnswerItem, Item, ThinkingItem, UserItem
from reactagent_tui.tui.transcript.rows import Row, Translate
from reactagent_tui.tui.transcript.search import Search
from reactagent_tui.tui.transcript.selection import copied_text, paint, position
from reactagent_tui.tui.transcript.tool_item import ToolItem
from reactagent_tui.tui.transcript.viewport import Viewport


class CursorItem(NamedTuple):
    """What the block cursor is on. `prompt` counts the user's prompts from 0, -1 when it is none."""

    kind: str
    text: str
    call_id: str | None = None
    prompt: int = -1


class Browser(Viewport, inherit_bindings=False):
    """A viewport that a reader moves in. What happens is told by the hooks that the widget fills in."""

    def __init__(self, t: Translate, column: Column, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(t, column, id=id, classes=classes)
        self._cursor: Item | None = None
        self._search: Search | None = None
        self._pressed: tuple[int, int] | None = None

    def flush(self) -> bool:
        """Draw what has changed."""
        raise NotImplementedError

    def whole(self) -> None:
        """Have all of the history here, now."""

    def cursor_moved(self, call_id: str | None) -> None:
        """The cursor is on this call's row now, or on none."""

    def detail_wanted(self, call_id: str) -> None:
        """The user wants all the output of a call."""

    def _forget_place(self) -> None:
        """Other items are shown now."""
        self._cursor = None
        self._search = None

    # --- search

    def search(self, text: str) -> int:
        """Look for a text in everything; how often it is there. Goes to the last hit at or above the view."""
        if not text.strip():
            self.end_search()
            return 0
        self.whole()
        self.flush()
        self._search = Search(text, self.column.items, self.verbosity)
        bottom = self.column.at(int(self.scroll_y) + self.size.height)
        order = {item: index for index, item in enumerate(self.column.items)}
        shown = [at for at, hit in enumerate(self._search.hits) if order[hit.item] <= bottom]
        self._search.at = (shown[-1] if shown else 0) + 1
        self.search_previous()
        return len(self._search.hits)

    def search_next(self) -> None:
        self._go_to_hit(1)

    def search_previous(self) -> None:
        self._go_to_hit(-1)

    def end_search(self) -> None:
        """No marks any more; the view stays."""
        if self._search is not None:
            self._search = None
            self.refresh()

    def _go_to_hit(self, step: int) -> None:
        search = self._search
        hit = None if search is None else search.move(step)
        self.refresh()
        if search is None or hit is None:
            return
        index = self.column.index(hit.item)
        if index < 0:
            return
        rows = self.rows_of(index)
        if hit.item.can_open and not hit.item.open and search.needle not in "\n".join(r.text for r in rows).casefold():
            hit.item.open = True
            self.draw(index)
            rows = self.rows_of(index)
        self.show_row(hit.item, search.row_of(hit, rows))

    def show_row(self, item: Item, row: int) -> None:
        """Bring a row of an item into the view, a third from the top when it was not there."""
        index = self.column.index(item)
        y = self.column.top(index) + row
        top, height = int(self.scroll_y), self.size.height
        if top <= y < top + height - 1:
            self.follow = False if not self.follow else self.column.total <= top + height
            self.settle()
        else:
            self.follow = False
            self.settle((item, height // 3 - row))
            self.follow = int(self.scroll_y) >= self.last_top
        self.refresh()
        self.scrolled()

    # --- the block cursor

    def cursor_up(self) -> None:
        self._move_cursor(-1)

    def cursor_down(self) -> None:
        self._move_cursor(1)

    def to_top(self) -> None:
        self.whole()
        super().to_top()

    def _move_cursor(self, step: int) -> None:
        self.whole()
        items = self.column.items
        if self._cursor is None:
            index = min(self.column.at(int(self.scroll_y) + self.size.height - 1) + 1, len(items))
            step = -1
        else:
            index = self.column.index(self._cursor)
        index += step
        while 0 <= index < len(items) and (not items[index].is_stop or items[index].hidden(self.verbosity)):
            index += step
        if 0 <= index < len(items):
            self.set_cursor(items[index])
            self.show_row(items[index], min(items[index].gap, 1))
        elif step > 0:
            self.clear_cursor()
            self.to_end()

    def clear_cursor(self) -> None:
        """No item is marked any more."""
        self.set_cursor(None)

    def set_cursor(self, item: Item | None) -> None:
        """Mark an item."""
        if item is self._cursor:
            return
        before, self._cursor = self.focused_call_id(), item
        self.refresh()
        call_id = self.focused_call_id()
        if call_id != before:
            self.cursor_moved(call_id)

    def focused_call_id(self) -> str | None:
        """The call whose row the cursor is on."""
        return self._cursor.call_id if isinstance(self._cursor, ToolItem) else None

    def cursor_item(self) -> CursorItem | None:
        """What the cursor is on."""
        match self._cursor:
            case None:
                return None
            case UserItem() as item:
                return CursorItem("user", item.shown, prompt=item.number)
            case AnswerItem() as item:
                return CursorItem("answer", item.answer.source)
            case ThinkingItem() as item:
                return CursorItem("thinking", item.text())
            case ToolItem() as item:
                return CursorItem("tool", item.text(), item.call_id)
            case item:
                return CursorItem("notice", item.text())

    def prompt_above_cursor(self) -> int:
        """The number of the prompt whose turn the cursor is in; -1: it is nowhere, or above all of them."""
        number = -1
        for item in self.column.items if self._cursor is not None else ():
            number = item.number if isinstance(item, UserItem) else number
            if item is self._cursor:
                break
        return number

    def toggle_item(self) -> None:
        """Open or close what the cursor is on; what is longer than its place goes to the full view."""
        if self._cursor is not None:
            self._toggle(self._cursor)

    def _toggle(self, item: Item) -> None:
        index = self.column.index(item)
        if not item.can_open or index < 0:
            return
        if isinstance(item, ToolItem) and item.call_id is not None and (item.capped or item.opens_view):
            self.detail_wanted(item.call_id)
            if item.opens_view:
                return
        item.open = not item.open
        y = int(self.scroll_y)
        offset = self.column.top(index) - y
        was_at_end = self.follow
        self.follow = False
        self.draw(index)
        self.settle((item, offset))
        self.follow = int(self.scroll_y) >= self.last_top or (was_at_end and self.column.total <= self.size.height)
        self.refresh()
        self.scrolled()

    # --- copying

    def last_answer(self) -> str:
        """The text of the newest answer, as the model wrote it."""
        self.whole()
        for item in reversed(self.column.items):
            if isinstance(item, AnswerItem):
                return item.answer.source
        return ""

    def code_blocks(self) -> list[str]:
        """The code blocks of the answer the cursor is on, else of the newest one."""
        cursor = self._cursor
        source = cursor.answer.source if isinstance(cursor, AnswerItem) else self.last_answer()
        return code_of(source)

    def copy_text_of_cursor(self) -> str:
        """The text of what the cursor is on."""
        if isinstance(self._cursor, ToolItem):
            return self._cursor.details()
        item = self.cursor_item()
        return "" if item is None else item.text

    def export_text(self) -> str:
        """Everything as plain text."""
        self.whole()
        return plain_text(self.column.items)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        if selection.start is None and selection.end is None:
            return self.export_text(), "\n"
        return copied_text(self.column, selection, self.rows_of), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    # --- painting what lies over the rows

    def strips_at(self, y: int, count: int, screen_y: int) -> list[Strip]:
        strips = super().strips_at(y, count, screen_y)
        selection = self.text_selection
        if selection is None and self._search is None and self._cursor is None:
            return strips
        at = 0

        def overlay(index: int, number: int, row: Row) -> None:
            nonlocal at
            strips[at] = self._overlaid(strips[at], index, number, selection, row)
            at += 1

        self.walk(y, count, overlay)
        return strips

    def _overlaid(self, strip: Strip, index: int, number: int, selection: Selection | None, row: Row) -> Strip:
        palette = self.page.palette
        item = self.column.items[index]
        if self._search is not None:
            current = self._search.current
            on_hit = (
                current is not None and current.item is item and self._search.row_of(current, item.rows or []) == number
            )
            strip = self._search.mark(strip, palette["match.current" if on_hit else "match"])
        if selection is not None:
            strip = paint(strip, position(index, number), selection, palette["selected"], row.skip)
        if self._cursor is not None and number >= item.gap and self._is_under_cursor(item):
            width = strip.cell_length
            strip = Strip.join([Strip([Segment("▎", palette["text cursor"])], 1), strip.crop(1, width)])
        return strip

    def _is_under_cursor(self, item: Item) -> bool:
        cursor = self._cursor
        if isinstance(item, AnswerItem) and isinstance(cursor, AnswerItem):
            return item.answer is cursor.answer
        return item is cursor

    def render_line(self, y: int) -> Strip:
        """One row with the position of its text in it: the compositor asks here where the mouse is."""
        found = self.item_at(y)
        if found is None:
            last = max(len(self.column) - 1, 0)
            return self.page.blank.apply_offsets(0, position(last, (1 << 19)))
        index, number = found
        rows = self.rows_of(index)
        row = rows[number] if number < len(rows) else self.page.blank
        return row.apply_offsets(0, position(index, number))

    # --- mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._pressed = (event.x, event.y)

    def on_click(self, event: events.Click) -> None:
        """A click on the head row of something that opens, opens it; ctrl and click on a link follows it."""
        if self._pressed != (event.x, event.y) or event.x >= self.size.width - 1:
            return
        link = event.style.link
        if event.ctrl and link:
            self.app.open_url(link)
            return
        found = self.item_at(event.y)
        if found is None:
            return
        item = self.column.items[found[0]]
        on_head = found[1] == item.gap or (item.rows is not None and found[1] == len(item.rows) - 1)
        if item.can_open and on_head:
            self.set_cursor(item)
            self._toggle(item)
