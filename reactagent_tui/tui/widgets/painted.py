"""A widget that is a few lines of styled text: painted for its size, sent to the screen only when they changed."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Region
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

    _shown: tuple[Content, ...] | None = None
    """The lines as they were last given to the screen."""

    def paint(self, width: int, height: int) -> Sequence[Content]:
        """The lines for this size in cells."""
        raise NotImplementedError

    def render(self) -> Content:
        width, height = self.size
        self._shown = tuple(self.paint(width, height)[:height]) if width > 0 else ()
        return Content("\n").join(self._shown)

    def repaint(self) -> None:
        """Shows a change, if there is one to see: only the lines that are others now go to the terminal."""
        if not self.is_attached or not self.display:
            return
        shown, (width, height) = self._shown, self.size
        if shown is None or width <= 0:
            self.refresh()
            return
        lines = self.paint(width, height)[:height]
        if len(lines) != len(shown):
            self.refresh()
            return
        changed = [y for y, (new, old) in enumerate(zip(lines, shown, strict=True)) if not new.is_same(old)]
        if changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))
