"""The editor inside the prompt: a text area with a `>` at its left, folded pastes that move and go as one, colours.

Knows nothing of sending, history or keys; `PromptInput` adds those.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.content import Content
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import EditResult, Location, Selection

from reactagent_tui.core.display import clean
from reactagent_tui.tui.folds import UNFOLD_LIMIT, Span, fold, should_fold, spans

MARK = "> "
FENCE = "```"
COLOURED_LINES = 2000
"""Lines up to which fenced code is looked for on each edit."""

_FILE = re.compile(r'(?:(?<=\s)|^)@(?:"[^"]*"?|\S+)')
_COMMAND = re.compile(r"/\S*")
_PREFIX = re.compile(r"!!?|#")
_PICTURES = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)}
_PICTURES |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xB7)
_PICTURES |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xB7)


class PromptArea(TextArea, inherit_bindings=False):
    """See the module. `t` translates the placeholder and the labels of folded pastes."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "prompt--mark",
        "prompt--command",
        "prompt--file",
        "prompt--fold",
        "prompt--code",
    }

    DEFAULT_CSS = """
    PromptArea {
        height: auto;
        min-height: 3;
        max-height: 12;
        border: round $foreground 30%;
        border-title-align: right;
        border-title-color: $text-muted;
        background: $background;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        &:focus {
            border: round $primary;
            border-title-color: $primary;
        }
        & .prompt--mark { color: $primary; text-style: bold; }
        & .prompt--command { color: $accent; text-style: bold; }
        & .prompt--file { color: $secondary; }
        & .prompt--fold { color: $foreground; background: $boost; text-style: italic; }
        & .prompt--code { color: $text-muted; }
    }
    """

    def __init__(self, *, t: Callable[..., str], id: str | None = None, classes: str | None = None) -> None:
        self.t = t
        self.pastes: dict[str, str] = {}
        self.typed_first = True
        self._pasted = False
        self._fences: list[int] | None = None
        super().__init__(
            id=id,
            classes=classes,
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder=Content(t("prompt.placeholder")),
        )
        self.cursor_blink = False
        self.match_cursor_bracket = False

    def speak(self) -> None:
        """`t` has another language now: so has the placeholder."""
        self.placeholder = Content(self.t("prompt.placeholder"))

    # -- folded pastes --------------------------------------------------------------------------------------------

    def insert_pasted(self, text: str) -> None:
        """Put `text` at the cursor, folded if it is long; its first character does not count as typed."""
        if self.document_start_selected:
            self.typed_first = False
        self._pasted = True
        shown = fold(text, self.pastes, self.t) if should_fold(text) else text
        self._replace_via_keyboard(shown, *self.selection)

    def insert_typed(self, text: str) -> None:
        """Put typed text at the cursor."""
        if self.document_start_selected:
            self.typed_first = True
        self._replace_via_keyboard(text, *self.selection)

    @property
    def document_start_selected(self) -> bool:
        """Whether what is inserted now becomes the first character."""
        return min(self.selection) == (0, 0)

    def fold_at(self, location: Location) -> Span | None:
        """The folded paste that the location touches."""
        row, column = location
        return next((span for span in self._spans(row) if span.start <= column <= span.end), None)

    def unfold(self, row: int, span: Span) -> bool:
        """Replace a label by what it stands for, without control characters; False if that is too long to edit."""
        text = clean(self.pastes[span.label])
        if len(text) > UNFOLD_LIMIT:
            return False
        self.replace(text, (row, span.start), (row, span.end), maintain_selection_offset=False)
        return True

    def _spans(self, row: int) -> list[Span]:
        if not self.pastes or row >= self.document.line_count:
            return []
        return list(spans(self.document.get_line(row), self.pastes))

    def _outside(self, location: Location, *, forward: bool | None = None) -> Location:
        """The location, moved to an edge if it lies inside a label: the end, the start, or the nearer one."""
        row, column = location
        for span in self._spans(row):
            if span.start < column < span.end:
                to_end = column - span.start > span.end - column if forward is None else forward
                return row, span.end if to_end else span.start
        return location

    def _validate_selection(self, selection: Selection) -> Selection:
        start, end = super()._validate_selection(selection)
        return Selection(self._outside(start), self._outside(end))

    def get_cursor_left_location(self) -> Location:
        """One character, or one folded paste, to the left."""
        return self._outside(super().get_cursor_left_location(), forward=False)

    def get_cursor_right_location(self) -> Location:
        """One character, or one folded paste, to the right."""
        return self._outside(super().get_cursor_right_location(), forward=True)

    def get_cursor_word_left_location(self) -> Location:
        """The start of the word to the left."""
        return self._outside(super().get_cursor_word_left_location(), forward=False)

    def get_cursor_word_right_location(self) -> Location:
        """The end of the word to the right."""
        return self._outside(super().get_cursor_word_right_location(), forward=True)

    def get_line_end(self) -> Location:
        """End of the logical line the cursor is in."""
        row = self.cursor_location[0]
        return row, len(self.document.get_line(row))

    def _delete_via_keyboard(self, start: Location, end: Location) -> EditResult | None:
        first, last = sorted((start, end))
        if first == (0, 0) and self._pasted:
            self.typed_first = False
        return super()._delete_via_keyboard(self._outside(first, forward=False), self._outside(last, forward=True))

    def _replace_via_keyboard(self, insert: str, start: Location, end: Location) -> EditResult | None:
        first, last = sorted((start, end))
        if first != last:
            first, last = self._outside(first, forward=False), self._outside(last, forward=True)
        return super()._replace_via_keyboard(insert, first, last)

    def load_text(self, text: str) -> None:
        """Replace everything; the history of edits starts anew."""
        self._pasted = False
        super().load_text(text)

    # -- looks ----------------------------------------------------------------------------------------------------

    @property
    def gutter_width(self) -> int:
        """Cells of the mark at the left."""
        return len(MARK)

    def render_line(self, y: int) -> Strip:
        """One row; an empty prompt shows the placeholder behind the mark."""
        if self.document.end != (0, 0):
            return super().render_line(y)
        style = self.rich_style
        if y:
            return Strip.blank(self.size.width, style)
        hint = self.placeholder.plain if isinstance(self.placeholder, Content) else self.placeholder
        line = Text(hint or " ", self.get_component_rich_style("text-area--placeholder"), end="", no_wrap=True)
        if self._draw_cursor and self._theme and self._theme.cursor_style:
            line.stylize(self._theme.cursor_style, 0, 1)
        row = Strip([self._mark_segment(True), *line.render(self.app.console)])
        return row.adjust_cell_length(self.size.width, style).apply_style(style)

    def _render_line(self, y: int) -> Strip:
        first = y + self.scroll_offset.y == 0
        row = super()._render_line(y)
        return Strip([self._mark_segment(first), *row]).adjust_cell_length(self.size.width, self.rich_style)

    def _mark_segment(self, first: bool) -> Segment:
        return Segment(MARK if first else " " * len(MARK), self.rich_style + self._style("mark"))

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"prompt--{name}", partial=True)

    def get_line(self, line_index: int) -> Text:
        """A line with its colours: commands, files, folded pastes, fenced code."""
        source = self.document.get_line(line_index)
        line = Text(source.translate(_PICTURES), end="", no_wrap=True)
        if not source:
            return line
        if self._in_fence(line_index):
            line.stylize(self._style("code"))
            return line
        if line_index == 0 and self.typed_first:
            if found := _COMMAND.match(source):
                line.stylize(self._style("command"), 0, found.end())
            elif found := _PREFIX.match(source):
                line.stylize(self._style("mark"), 0, found.end())
        for found in _FILE.finditer(source):
            line.stylize(self._style("file"), *found.span())
        for span in self._spans(line_index):
            line.stylize(self._style("fold"), span.start, span.end)
        return line

    def _build_highlight_map(self) -> None:
        super()._build_highlight_map()
        self._fences = None

    def _in_fence(self, row: int) -> bool:
        if self._fences is None:
            count = self.document.line_count
            rows = range(count) if count <= COLOURED_LINES else ()
            self._fences = [at for at in rows if self.document.get_line(at).lstrip().startswith(FENCE)]
        above = sum(1 for at in self._fences if at < row)
        return above % 2 == 1 or row in self._fences
