"""A widget that is a few lines of styled text: painted for its size, sent to the screen only when they changed."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget


class Painted(Widget):
    """Base of the panels. `paint` gives the lines; `repaint` after a change; neither ever moves the layout."""

    DEFAULT_CSS = """
    Painted {
        height: 1;
        width: 1fr;
        text-wrap: nowrap;
        text-overflow: clip;
    }
    """

    _shown: Content | None = None

    def paint(self, width: int, height: int) -> Sequence[Content]:
        """The lines for this size in cells."""
        raise NotImplementedError

    def render(self) -> Content:
        width, height = self.size
        lines = self.paint(width, height)[:height] if width > 0 else ()
        self._shown = Content("\n").join(lines)
        return self._shown

    def repaint(self) -> None:
        """Shows a change, if there is one to see."""
        if not self.is_attached or not self.display:
            return
        shown, width = self._shown, self.size.width
        if shown is not None and width > 0:
            lines = self.paint(width, self.size.height)[: self.size.height]
            if Content("\n").join(lines).is_same(shown):
                return
        self.refresh()
