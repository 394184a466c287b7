"""The line under the transcript that searches it: type to search, Enter or Down next, Up previous, ESC closes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.content import Content
from textual.message import Message

from reactagent_tui.core.display import clean_line
from reactagent_tui.tui.widgets.line_edit import LineEdit
from reactagent_tui.tui.widgets.painted import Painted


class SearchBar(Painted, can_focus=True):
    """One line; has the keyboard while it is open."""

    DEFAULT_CSS = """
    SearchBar { display: none; height: 1; background: $surface; color: $foreground; }
    """

    class Changed(Message):
        """The text to search for changed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Step(Message):
        """To the next (1) or previous (-1) match."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Toggled(Message):
        """The bar opened or closed."""

        def __init__(self, is_open: bool) -> None:
            super().__init__()
            self.is_open = is_open

    def __init__(self, t: Callable[..., str], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._t = t
        self._line = LineEdit()
        self._count: int | None = None

    @property
    def is_open(self) -> bool:
        return bool(self.display)

    def open(self) -> None:
        """Show the bar with the last text and take the keyboard."""
        self.display = True
        self.focus()
        self.post_message(self.Toggled(True))

    def close(self) -> None:
        """Hide the bar."""
        if self.is_open:
            self.display = False
            self.post_message(self.Toggled(False))

    def show_count(self, count: int) -> None:
        """How many places match."""
        self._count = count
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Content]:
        note = "" if self._count is None or not self._line.text else self._t("search.count", n=self._count)
        return [
            Content.assemble(
                ("  / ", "bold $primary"), clean_line(self._line.text), ("▏", "$primary"), ("   " + note, "$text-muted")
            )
        ]

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if event.key == "escape":
            self.close()
        elif event.key in ("enter", "down", "ctrl+n"):
            self.post_message(self.Step(1))
        elif event.key in ("up", "ctrl+p"):
            self.post_message(self.Step(-1))
        elif self._line.press(event.key, event.character):
            self.post_message(self.Changed(self._line.text))
            self.repaint()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self._line.insert(event.text)
        self.post_message(self.Changed(self._line.text))
        self.repaint()
