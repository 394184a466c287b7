"""The messages that wait for a step or turn boundary, listed over the prompt; hidden when there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from reactagent_tui.core.display import clean_line
from reactagent_tui.locales import Translate
from reactagent_tui.tui.widgets.line_layout import pad, spread
from reactagent_tui.tui.widgets.painted import Painted

if TYPE_CHECKING:
    from reactagent_tui.core.events import QueuedMessage

_MOST_LINES = 3


class QueueList(Painted):
    """One line per message, newest at the bottom beside the prompt; at most three lines."""

    def __init__(self, t: Translate, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._t = t
        self._items: tuple[QueuedMessage, ...] = ()
        self.display = False

    def update_queue(self, items: Sequence[QueuedMessage]) -> None:
        """The whole queue, oldest first."""
        self._items = tuple(items)
        lines = min(len(self._items), _MOST_LINES)
        self.display = lines > 0
        if lines and self.styles.height != lines:
            self.styles.height = lines
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Content]:
        hidden = len(self._items) - _MOST_LINES
        shown = self._items[-_MOST_LINES:] if hidden <= 0 else self._items[-_MOST_LINES + 1 :]
        lines = [self._line(item, width, last=item is shown[-1]) for item in shown]
        if hidden > 0:
            more = self._t("queue.more", n=hidden + 1)
            lines.insert(0, Content.styled(f"   {more}", "$text-muted"))
        return lines

    def _line(self, item: QueuedMessage, width: int, *, last: bool) -> Content:
        kind = self._t("queue.steer" if item.kind == "steer" else "queue.follow_up")
        text = Content.assemble((f"   {pad(kind, 8)}", "$text-muted"), clean_line(" ".join(item.text.split())))
        hint = Content.styled(self._t("queue.edit"), "$text-muted") if last and width >= 40 else Content("")
        return Content.assemble(spread(text, hint, width - 1, gap=2), " ")
