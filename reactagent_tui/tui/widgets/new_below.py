"""The chip over the transcript's last row: so many lines came below what is shown. A click goes there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.content import Content
from textual.message import Message

from reactagent_tui.tui.widgets.painted import Painted

WIDTH = 24


class NewBelow(Painted):
    """Lies over the widget before it in the same container; hidden while the transcript follows."""

    DEFAULT_CSS: ClassVar[str] = """
    NewBelow { display: none; overlay: screen; width: 24; height: 1; }
    """

    class Wanted(Message):
        """The user wants to see the end."""

    def __init__(self, t: Callable[..., str], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._t = t
        self._lines = 0

    def update(self, following: bool, unseen: int) -> None:
        """Show or hide the chip."""
        self._lines = unseen
        shown = not following and unseen > 0
        if shown:
            width = self.parent.size.width if self.parent is not None else WIDTH  # type: ignore[union-attr]
            self.styles.offset = (max(0, width - WIDTH - 2), -1)
        if self.display != shown:
            self.display = shown
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Content]:
        text = f" ↓ {self._t('transcript.new_below', n=self._lines)} "
        return [Content.styled(text.rjust(width), "bold $primary on $panel")]

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Wanted())
