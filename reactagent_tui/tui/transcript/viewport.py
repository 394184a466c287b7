"""The part of the transcript that can be seen: rows made when first looked at, few kept, the view never jumping.

A `ScrollView` that paints whole rows itself. Its scroll position is moved without asking for a layout, and its
scrollbar is the last cell of each row.
"""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from reactagent_tui.tui.transcript.column import Column
from reactagent_tui.tui.transcript.items import Item, gap_between
from reactagent_tui.tui.transcript.rows import Page, Row, Translate
from reactagent_tui.tui.transcript.styles import Palette

_KEPT_ROWS = 4000
"""Rows of items that are kept drawn; beyond that, those seen longest ago are dropped."""


class Viewport(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows a column of items."""

    DEFAULT_CSS = """
    Viewport {
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 0;
        background: $background;
        color: $foreground;
    }
    """
    ALLOW_SELECT = True

    def __init__(self, t: Translate, column: Column, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.t = t
        self.column = column
        self.follow = True
        """Stay at the end when something is added."""
        self.verbosity = "normal"
        self.page = Page(80, Palette({}), t)
        self._palette_key: object = None
        self._drawn: dict[Item, int] = {}
        self._drawn_rows = 0
        self._thumb = (0, 0)
        self._dragging: int | None = None
        self._placing = False
        self._anchor: tuple[Item, int] | None = None
        """The item at the top of the view and its row on the screen (0 or less): what a reader looks at."""

    # --- the page: width and palette

    def on_mount(self) -> None:
        self._renew_page()

    def on_resize(self) -> None:
        if self.size.width != self.page.width:
            self._renew_page()
        else:
            self.settle()
            self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted and self._key_of_palette() != self._palette_key:
            self._renew_page()

    def _key_of_palette(self) -> object:
        app = self.app
        return (app.theme, id(app.theme_variables), tuple(app.get_line_filters()))

    def _renew_page(self) -> None:
        """Another width, theme or verbosity: every row is made anew when it is seen; the reading position stays."""
        app = self.app
        key = self._key_of_palette()
        palette = self.page.palette
        if key != self._palette_key:
            self._palette_key = key
            palette = Palette(app.theme_variables, ansi=app.current_theme.ansi, filters=app.get_line_filters())
        for item in self._drawn:
            item.rows = None
        self._drawn.clear()
        self._drawn_rows = 0
        self.page = Page(self.size.width or 80, palette, self.t, self.verbosity)
        self.settle()
        if self.column.items:
            self.refresh()

    # --- rows

    def rows_of(self, index: int) -> list[Row]:
        """The rows of an item, made now if they are not there."""
        item = self.column.items[index]
        if item.rows is None or item.measured is not self.page:
            self.draw(index)
        rows = item.rows
        return rows if rows is not None else []

    def draw(self, index: int) -> bool:
        """Make the rows of an item anew; whether its height changed. Rows that read the same are kept."""
        item = self.column.items[index]
        body = [] if item.hidden(self.verbosity) else item.body(self.page)
        item.gap = gap_between(self._above(index), item) if body else 0
        rows = [self.page.blank] * item.gap + body
        if item.rows is not None and item.measured is self.page:
            rows = _keep_same(item.rows, rows)
        item.rows = rows
        item.measured = self.page
        self._drawn_rows += len(rows) - self._drawn.pop(item, 0)
        self._drawn[item] = len(rows)
        if len(rows) == item.height:
            return False
        item.height = len(rows)
        self.column.changed(index)
        return True

    def _above(self, index: int) -> Item | None:
        """The item above that shows something."""
        items = self.column.items
        while index > 0:
            index -= 1
            item = items[index]
            if not item.hidden(self.verbosity) and (item.height or item.measured is not self.page):
                return item
        return None

    def forget(self, item: Item) -> None:
        """Drop an item's rows."""
        self._drawn_rows -= self._drawn.pop(item, 0)
        item.rows = None

    def _drop_unseen(self) -> None:
        if self._drawn_rows <= _KEPT_ROWS:
            return
        y = int(self.scroll_y)
        height = self.size.height
        near = set(self.column.items[self.column.at(y - height) : self.column.at(y + 2 * height) + 1])
        for item in list(self._drawn):
            if item not in near:
                self.forget(item)
            if self._drawn_rows <= _KEPT_ROWS // 2:
                return

    # --- position

    @property
    def last_top(self) -> int:
        """The scroll position at the end."""
        return max(self.column.total - self.size.height, 0)

    def settle(self, anchor: tuple[Item, int] | None = None) -> None:
        """Give what is seen, and one screen above it, its true height, and keep the view where it is.

        `anchor`: the item that shall stand at a row of the screen; else the one that was at the top stays there.
        """
        height = self.size.height
        if not height:
            return
        anchor = self._anchor if anchor is None else anchor
        for _ in range(8):
            y = self._wanted(anchor)
            if not self._measure(y - height, y + height):
                break
        self._place(self._wanted(anchor))
        self._remember()
        self._drop_unseen()

    def _remember(self) -> None:
        """Note what stands at the top of the view."""
        self._anchor = None
        if len(self.column):
            y = int(self.scroll_y)
            index = self.column.at(y)
            self._anchor = (self.column.items[index], self.column.top(index) - y)

    def _wanted(self, anchor: tuple[Item, int] | None) -> int:
        if self.follow or anchor is None:
            y = self.last_top if self.follow else int(self.scroll_y)
        else:
            item, offset = anchor
            index = self.column.index(item)
            y = self.column.top(index) - max(offset, 1 - max(item.height, 1)) if index >= 0 else int(self.scroll_y)
        return max(0, min(y, self.last_top))

    def _measure(self, low: int, high: int) -> bool:
        """Draw the items between two rows that were not measured; whether a height changed."""
        if not len(self.column):
            return False
        index = self.column.at(low)
        y = self.column.top(index)
        changed = False
        items = self.column.items
        while index < len(items) and y < high:
            if items[index].measured is not self.page:
                changed = self.draw(index) or changed
            y += items[index].height
            index += 1
        return changed

    def _place(self, y: int) -> None:
        """Move the view without a layout, and without taking it for a wish of the user."""
        size = Size(self.size.width, self.column.total)
        if size != self.virtual_size:
            self.set_reactive(ScrollView.virtual_size, size)  # type: ignore[arg-type]  # a descriptor
        if y != self.scroll_y:
            self.set_reactive(Widget.scroll_y, float(y))  # type: ignore[arg-type]
            self.refresh()
        self.set_reactive(Widget.scroll_target_y, float(y))  # type: ignore[arg-type]
        thumb = self._thumb_rows()
        if thumb != self._thumb:
            self._thumb = thumb
            self.refresh(Region(self.size.width - 1, 0, 1, self.size.height))

    def _thumb_rows(self) -> tuple[int, int]:
        """First and last row (exclusive) of the scrollbar's thumb; nothing when all fits."""
        height, total = self.size.height, self.column.total
        if total <= height or not height:
            return (0, 0)
        length = max(1, height * height // total)
        last = self.last_top
        top = round((height - length) * (int(self.scroll_y) / last)) if last else 0
        return (top, top + length)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The user scrolled: by wheel, key, drag or selection."""
        if round(old_value) == round(new_value) or self._placing:
            return
        self._placing = True
        self.follow = round(new_value) >= self.last_top
        self._remember()
        self.settle()
        self.follow = int(self.scroll_y) >= self.last_top
        self._placing = False
        self.refresh()
        self.scrolled()

    def scrolled(self) -> None:
        """The view was moved by the user."""

    def scroll_rows(self, rows: int) -> None:
        """Move the view down, or up when negative."""
        self.scroll_to(y=int(self.scroll_y) + rows, animate=False, force=True)

    def page_up(self) -> None:
        self.scroll_rows(-max(self.size.height - 2, 1))

    def page_down(self) -> None:
        self.scroll_rows(max(self.size.height - 2, 1))

    def to_top(self) -> None:
        self.scroll_to(y=0, animate=False, force=True)

    def to_end(self) -> None:
        """Go to the end and stay there."""
        was_there = self.follow
        self.follow = True
        self.settle()
        self.refresh()
        if not was_there:
            self.scrolled()

    # --- painting

    def render_lines(self, crop: Region) -> list[Strip]:
        first = int(self.scroll_y) + crop.y
        strips = self.strips_at(first, crop.height, crop.y)
        if crop.x or crop.width < self.size.width:
            return [strip.crop(crop.x, crop.x + crop.width) for strip in strips]
        return strips

    def strips_at(self, y: int, count: int, screen_y: int) -> list[Strip]:
        """The strips from row `y` on; `screen_y` is where the first of them stands on the screen."""
        strips: list[Strip] = []
        self.walk(y, count, lambda _index, _number, row: strips.append(row))
        blank = self.page.blank
        strips += [blank] * (count - len(strips))
        low, high = self._thumb
        thumb = self.page.thumb
        for number in range(max(low - screen_y, 0), min(high - screen_y, count)):
            strip = strips[number]
            if isinstance(strip, Row):
                strips[number] = strip.on_thumb(thumb)
        return strips

    def walk(self, y: int, count: int, visit: Callable[[int, int, Row], None]) -> None:
        """Visit the rows from `y` on: item index, row of the item, row."""
        column = self.column
        if not len(column) or y >= column.total:
            return
        index = column.at(y)
        number = y - column.top(index)
        while count > 0 and index < len(column.items):
            height = column.items[index].height
            rows = self.rows_of(index)
            for number_now in range(number, height):
                visit(index, number_now, rows[number_now] if number_now < len(rows) else self.page.blank)
                count -= 1
                if not count:
                    return
            index += 1
            number = 0

    def item_at(self, screen_y: int) -> tuple[int, int] | None:
        """The item and its row at a row of the screen."""
        y = int(self.scroll_y) + screen_y
        if not 0 <= y < self.column.total:
            return None
        index = self.column.at(y)
        return index, y - self.column.top(index)

    # --- the scrollbar

    def on_mouse_down(self, event: events.MouseDown) -> None:
        low, high = self._thumb
        if event.x != self.size.width - 1 or low == high:
            return
        event.stop()
        event.prevent_default()
        self._dragging = event.y - low if low <= event.y < high else (high - low) // 2
        self.capture_mouse()
        self._drag_to(event.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragging is not None:
            event.stop()
            self._drag_to(event.y)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._dragging is not None:
            event.stop()
            self._dragging = None
            self.release_mouse()

    def _drag_to(self, y: int) -> None:
        low, high = self._thumb
        room = self.size.height - (high - low)
        if room > 0 and self._dragging is not None:
            share = max(0.0, min((y - self._dragging) / room, 1.0))
            self.scroll_to(y=round(share * self.last_top), animate=False, force=True)


def _keep_same(old: list[Row], new: list[Row]) -> list[Row]:
    """The new rows, with the old one wherever they read the same: it was painted already."""
    return [
        before if before is row or (before == row and before.joint == row.joint) else row
        for before, row in zip(old, new, strict=False)
    ] + new[len(old) :]
