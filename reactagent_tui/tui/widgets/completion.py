"""The list above the prompt that completes `/commands`, `@files` and earlier prompts. The prompt keeps the focus.

It lies over the transcript instead of pushing it up, so that opening it repaints eight rows and lays out nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest
from typing import ClassVar, NamedTuple, TypeVar

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reactagent_tui.core.display import clean_line

MAX_ROWS = 8
LABEL_WIDTH = 24
MAX_SURVIVORS = 5000

T = TypeVar("T")


class Completion(NamedTuple):
    """What is put into the prompt, how it is called, and a few words about it."""

    value: str
    label: str = ""
    detail: str = ""


def match_score(query: str, text: str) -> tuple[int, int, int] | None:
    """How well lower-case `text` fits lower-case `query`, smaller is better; None: not all letters occur in order.

    A match in the last part of a path goes first, then one at the start of a word, then the shorter text.
    """
    if not query:
        return 0, 0, len(text)
    tail = text.rfind("/", 0, len(text) - 1) + 1
    at = text.find(query, tail)
    if at == tail:
        return 0, 0, len(text)
    if at > 0:
        return 1, 0 if text[at - 1] in "/_-. " else 1, len(text)
    at = text.find(query)
    if at >= 0:
        return 2, 0 if at == 0 or text[at - 1] in "/_-. " else 1, len(text)
    position, gaps = -1, 0
    for letter in query:
        found = text.find(letter, position + 1)
        if found < 0:
            return None
        gaps += position >= 0 and found != position + 1
        position = found
    return 3, gaps, len(text)


def fuzzy_filter(query: str, items: Iterable[T], text: Callable[[T], str], limit: int = 50) -> list[T]:
    """The best `limit` items for `query`, best first; equal ones keep their order."""
    query = query.lower()
    scored = (
        (score, index, item)
        for index, item in enumerate(items)
        if (score := match_score(query, text(item).lower())) is not None
    )
    return [item for _, _, item in nsmallest(limit, scored, key=lambda entry: entry[:2])]


class CompletionPopup(OptionList, can_focus=False):
    """At most eight rows directly above the widget that follows it in the same container."""

    DEFAULT_CSS: ClassVar[str] = """
    CompletionPopup {
        display: none;
        overlay: screen;
        width: 1fr;
        height: auto;
        max-height: 8;
        background: $surface;
        border: none;
        padding: 0 2;
        scrollbar-size-vertical: 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        & > .option-list--option-highlighted { background: $primary 30%; color: $foreground; text-style: bold; }
    }
    """

    class Toggled(Message):
        """The list opened or closed: ESC means something else now."""

        def __init__(self, is_open: bool) -> None:
            super().__init__()
            self.is_open = is_open

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False, compact=True)
        self._items: Sequence[Completion] = ()
        self._wanted = ("", "")

    @property
    def is_open(self) -> bool:
        """Whether it is on screen."""
        return bool(self._items)

    @property
    def kind(self) -> str:
        """What is being completed: command, file, history; "" when closed."""
        return self._wanted[0] if self.is_open else ""

    def answers(self, kind: str, query: str) -> bool:
        """Whether the rows shown belong to this question, not to an earlier one."""
        return self.is_open and self._wanted == (kind, query)

    @property
    def chosen(self) -> Completion | None:
        """The highlighted row."""
        if self.highlighted is None or not self._items:
            return None
        return self._items[self.highlighted]

    def show(self, items: Sequence[Completion], kind: str = "command", query: str = "") -> None:
        """Show `items`, the first one chosen; none closes the list."""
        if not items:
            self.close()
            return
        opened = not self.is_open
        self._items = items
        self._wanted = (kind, query)
        widest = max((cell_len(clean_line(i.label or i.value)) for i in items if i.detail), default=0)
        self.set_options(Option(_row(item, min(widest, LABEL_WIDTH))) for item in items)
        self.highlighted = 0
        self.styles.offset = (0, -min(len(items), MAX_ROWS))
        self.display = True
        if opened:
            self.post_message(self.Toggled(True))

    def close(self) -> None:
        """Take the list off the screen."""
        if not self.is_open:
            return
        self._items = ()
        self._wanted = ("", "")
        self.display = False
        self.post_message(self.Toggled(False))

    def move(self, step: int) -> None:
        """Choose another row, around the ends."""
        if self._items:
            self.highlighted = ((self.highlighted or 0) + step) % len(self._items)


def _row(item: Completion, label_width: int) -> Content:
    """Label and detail in two columns, on one line: what does not fit is cut by the list."""
    label = clean_line(item.label or item.value)
    if not item.detail:
        return Content(label)
    gap = " " * (max(label_width - cell_len(label), 0) + 2)
    return Content.assemble(label, gap, (clean_line(item.detail), "dim"))
