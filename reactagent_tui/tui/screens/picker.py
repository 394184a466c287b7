"""A full-screen list: the filter has the keyboard at once, the list is on the left, what it is on the right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.message import Message
from textual.screen import Screen

from reactagent_tui.core.display import DisplayBlock, clean_line
from reactagent_tui.locales import Translate
from reactagent_tui.tui.widgets.block_lines import block_lines
from reactagent_tui.tui.widgets.filter_head import Lines, filter_head
from reactagent_tui.tui.widgets.line_edit import LineEdit
from reactagent_tui.tui.widgets.line_layout import Part, cut, cut_content, flow, join_parts, pad, spread

NARROW = 72
"""Below this many columns the preview hides."""


@dataclass(frozen=True, slots=True)
class PickerItem:
    """One line of the list. All texts may come from anywhere; they are made safe here."""

    id: str
    label: str
    detail: str = ""
    """Shown dim at the right edge."""
    group: str = ""
    """Heading over the first item of each group."""
    words: str = ""
    """More text that the filter finds."""
    current: bool = False


@dataclass(frozen=True, slots=True)
class PickerKey:
    """A key besides Enter: it closes the picker with its action, or (`stays`) only posts ActionPressed."""

    key: str
    action: str
    hint: str
    """Shown in the key line, already in the user's language."""
    stays: bool = False


@dataclass(frozen=True, slots=True)
class PickerResult:
    """What was chosen: Enter gives the action `choose`."""

    item_id: str
    action: str = "choose"


Preview = Callable[[PickerItem], Sequence[DisplayBlock]]


def matching(items: Sequence[PickerItem], filter_text: str) -> list[PickerItem]:
    """The items that hold every word of the filter; those whose label starts with it come first within a group."""
    words = filter_text.casefold().split()
    if not words:
        return list(items)
    found = [item for item in items if all(word in _haystack(item) for word in words)]
    groups = {item.group: index for index, item in reversed(list(enumerate(items)))}
    return sorted(found, key=lambda item: (groups[item.group], not item.label.casefold().startswith(words[0])))


def _haystack(item: PickerItem) -> str:
    return f"{item.label} {item.detail} {item.group} {item.words}".casefold()


@dataclass(slots=True)
class _Shown:
    """What the list shows now."""

    items: list[PickerItem] = field(default_factory=list)
    cursor: int = 0

    @property
    def item(self) -> PickerItem | None:
        return self.items[self.cursor] if self.items else None


class PickerScreen(Screen[PickerResult | None]):
    """Models, themes, sessions, skills, help. Dismisses with a PickerResult, or None on ESC."""

    CSS_PATH = "../styles/screens.tcss"
    choose_hint = "picker.key_choose"
    """Locale key: what Enter does."""
    most_key_lines = 1
    """Lines the keys may take; what has no room is dropped."""
    details_from = 0
    """Cells of the list from which details stand beside the labels; the preview tells them anyway."""

    class Highlighted(Message):
        """The cursor is on another item."""

        def __init__(self, item_id: str) -> None:
            super().__init__()
            self.item_id = item_id

    class ActionPressed(Message):
        """A key that stays was pressed on an item."""

        def __init__(self, item_id: str, action: str) -> None:
            super().__init__()
            self.item_id = item_id
            self.action = action

    def __init__(
        self,
        t: Translate,
        title: str,
        items: Sequence[PickerItem],
        *,
        preview: Preview | None = None,
        keys: Sequence[PickerKey] = (),
        choosable: bool = True,
        label_width: int = 0,
        empty: str | None = None,
    ) -> None:
        """`label_width` sets details in a column of their own instead of at the right edge."""
        super().__init__()
        self._t = t
        self._heading = title
        self._all = list(items)
        self._preview = preview
        self._extra_keys = {key.key: key for key in keys}
        self._choosable = choosable
        self._label_width = label_width
        self._empty = empty or t("picker.empty")
        self._filter = LineEdit()
        self._shown = _Shown(list(items), next((i for i, item in enumerate(items) if item.current), 0))
        self._list_top = self._preview_top = 0
        self._row_items: list[int | None] = []
        self._preview_cache: tuple[str, int, list[Content]] | None = None

    def compose(self) -> ComposeResult:
        yield Lines(self._paint_head, id="picker-head")
        with Container(id="picker-body"):
            yield Lines(self._paint_list, id="picker-list")
            yield Lines(self._paint_preview, id="picker-preview")
        yield Lines(self._paint_keys, id="picker-keys")

    def on_mount(self) -> None:
        self._announce()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < NARROW or self._preview is None, "-narrow")
        if self.most_key_lines > 1:
            self.query_one("#picker-keys").styles.height = len(self._key_lines(event.size.width))

    @property
    def highlighted(self) -> PickerItem | None:
        """The item under the cursor."""
        return self._shown.item

    @property
    def filter_text(self) -> str:
        return self._filter.text

    def set_items(self, items: Sequence[PickerItem]) -> None:
        """Another list (the old cursor item stays under the cursor if it is still there)."""
        self._all = list(items)
        self._apply_filter()

    def preview_changed(self) -> None:
        """What the preview callable gives for the current item is different now."""
        self._preview_cache = None
        self._repaint()

    def on_key(self, event: events.Key) -> None:
        """All keys, in the order they came; nothing here has the focus."""
        key = event.key
        if key == "escape":
            self.dismiss(None)
        elif key == "enter":
            self._choose("choose")
        elif key in self._extra_keys:
            self._extra(self._extra_keys[key])
        elif not self._move_key(key):
            before = self._filter.text
            if not self._filter.press(key, event.character):
                return
            if self._filter.text != before:
                self._apply_filter()
            self._repaint()
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        self._filter.insert(event.text)
        self._apply_filter()
        event.stop()

    def on_click(self, event: events.Click) -> None:
        if event.widget is None or event.widget.id != "picker-list":
            return
        index = self._row_items[event.y] if 0 <= event.y < len(self._row_items) else None
        if index is None:
            return
        if index == self._shown.cursor and event.chain == 2:
            self._choose("choose")
        else:
            self._move_to(index)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -3)

    def _wheel(self, event: events.MouseEvent, lines: int) -> None:
        if event.widget is not None and event.widget.id == "picker-preview":
            self._scroll_preview(lines)
        else:
            self._move_to(self._shown.cursor + (1 if lines > 0 else -1))
        event.stop()

    def _move_key(self, key: str) -> bool:
        page = max(self.size.height - 5, 1)
        moves = {"up": -1, "down": 1, "pageup": -page, "pagedown": page}
        moves |= {"ctrl+p": -1, "ctrl+n": 1, "ctrl+home": -len(self._all), "ctrl+end": len(self._all)}
        if key in moves:
            self._move_to(self._shown.cursor + moves[key])
        elif key in ("ctrl+up", "ctrl+down"):
            self._scroll_preview(-1 if key == "ctrl+up" else 1)
        else:
            return False
        return True

    def _choose(self, action: str) -> None:
        item = self._shown.item
        if item is not None and (self._choosable or action != "choose"):
            self.dismiss(PickerResult(item.id, action))

    def _extra(self, key: PickerKey) -> None:
        item = self._shown.item
        if item is None:
            return
        if key.stays:
            self.post_message(self.ActionPressed(item.id, key.action))
        else:
            self._choose(key.action)

    def _apply_filter(self) -> None:
        before = self._shown.item
        items = self._matching()
        same = next((i for i, item in enumerate(items) if before is not None and item.id == before.id), 0)
        self._shown = _Shown(items, 0 if self._filter.text else same)
        self._announce()

    def _matching(self) -> list[PickerItem]:
        """What the filter leaves."""
        return matching(self._all, self._filter.text)

    def _move_to(self, index: int) -> None:
        self._shown.cursor = min(max(index, 0), max(len(self._shown.items) - 1, 0))
        self._announce()

    def _announce(self) -> None:
        self._preview_top = 0
        item = self._shown.item
        if item is not None:
            self.post_message(self.Highlighted(item.id))
        self._repaint()

    def _scroll_preview(self, lines: int) -> None:
        count = len(self._preview_cache[2]) if self._preview_cache else 0
        room = max(self.size.height - 3, 1)
        self._preview_top = min(max(self._preview_top + lines, 0), max(count - room, 0))
        self._repaint()

    def _repaint(self) -> None:
        if self.is_mounted:
            for lines in self.query(Lines):
                lines.repaint()

    def _paint_head(self, width: int, height: int) -> Sequence[Content]:
        count = f"{len(self._shown.items)}/{len(self._all)}" if self._filter.text else str(len(self._all))
        return [filter_head(self._heading, self._filter, count, width, self._t)]

    def _paint_list(self, width: int, height: int) -> Sequence[Content]:
        rows = self._rows()
        self._row_items = []
        if not rows:
            text = self._none() if self._filter.text else self._empty
            return [Content.assemble("   ", (cut(text, width - 4), "$text-muted"))]
        cursor_row = next(row for row, index in enumerate(rows) if index == self._shown.cursor)
        top_needed = cursor_row - 1 if cursor_row and isinstance(rows[cursor_row - 1], str) else cursor_row
        self._list_top = min(max(self._list_top, cursor_row - height + 1), top_needed, max(len(rows) - height, 0))
        visible = rows[max(self._list_top, 0) : max(self._list_top, 0) + height]
        self._row_items = [row if isinstance(row, int) else None for row in visible]
        return [self._row(row, width) for row in visible]

    def _none(self) -> str:
        """What stands in a list that the filter leaves empty."""
        return self._t("picker.none")

    def _rows(self) -> list[int | str]:
        """Indexes of items with the group headings between them."""
        rows: list[int | str] = []
        group = ""
        for index, item in enumerate(self._shown.items):
            if item.group != group:
                group = item.group
                rows.append(group)
            rows.append(index)
        return rows

    def _row(self, row: int | str, width: int) -> Content:
        if isinstance(row, str):
            return Content.styled(f" {cut(clean_line(row), width - 2)}", "$text-muted")
        item = self._shown.items[row]
        mark = ("● ", "$primary") if item.current else "  "
        label = clean_line(item.label)
        if self._label_width:
            label, detail = pad(label, max(self._label_width, cell_len(label))), clean_line(item.detail)
            text = Content.assemble(
                mark, label, "  ", (cut(detail, max(width - cell_len(label) - 6, 0)), "$text-muted")
            )
            line = Content.assemble(" ", spread(text, Content(""), width - 2), " ")
        else:
            detail = Content("")
            if width >= self.details_from:
                detail = Content.styled(cut(clean_line(item.detail), max(width // 2, 0)), "$text-muted")
            line = Content.assemble(" ", spread(Content.assemble(mark, label), detail, width - 2, gap=2), " ")
        if row == self._shown.cursor:
            line = line.stylize_before("$block-cursor-foreground on $block-cursor-background")
        return line

    def _paint_preview(self, width: int, height: int) -> Sequence[Content]:
        item = self._shown.item
        if item is None or self._preview is None:
            return []
        if self._preview_cache is None or self._preview_cache[:2] != (item.id, width):
            self._preview_cache = (item.id, width, block_lines(self._preview(item), max(width - 3, 1)))
        lines = self._preview_cache[2][self._preview_top : self._preview_top + height]
        return [Content.assemble("  ", line) for line in lines]

    def _paint_keys(self, width: int, height: int) -> Sequence[Content]:
        return [
            cut_content(Content.assemble(" ", line), width).stylize("$text-muted") for line in self._key_lines(width)
        ]

    def _key_lines(self, width: int) -> list[Content]:
        """The keys in as many lines as they may take; those that matter least are dropped first."""
        hints = [("picker.key_move", 3), (self.choose_hint, 4)] if self._choosable else [("picker.key_move", 3)]
        parts = [Part(Content(self._t(key)), keep) for key, keep in hints]
        parts += [Part(Content(key.hint), 2) for key in self._extra_keys.values()]
        if self._preview is not None and not self.has_class("-narrow"):
            parts.append(Part(Content(self._t("picker.key_scroll")), 1))
        parts.append(Part(Content(self._t("picker.key_back")), 9))
        room = max(width - 2, 1)
        if self.most_key_lines == 1:
            return [join_parts(parts, room, "   ")]
        while len(lines := flow([part.content for part in parts], room)) > self.most_key_lines and len(parts) > 1:
            parts.remove(min(reversed(parts), key=lambda part: part.keep))
        return lines
