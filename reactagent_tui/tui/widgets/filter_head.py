"""What full-screen lists share: lines painted by their screen, and the head with title, filter and count."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content

from reactagent_tui.core.display import clean_line
from reactagent_tui.locales import Translate
from reactagent_tui.tui.widgets.line_edit import LineEdit
from reactagent_tui.tui.widgets.line_layout import spread
from reactagent_tui.tui.widgets.painted import Painted


class Lines(Painted):
    """Lines that a screen paints."""

    def __init__(self, painter: Callable[[int, int], Sequence[Content]], *, id: str) -> None:
        super().__init__(id=id)
        self._painter = painter

    def paint(self, width: int, height: int) -> Sequence[Content]:
        return self._painter(width, height)


def filter_head(title: str, line: LineEdit, count: str, width: int, t: Translate) -> Content:
    """` title  > typed text            count` with the caret reversed."""
    before = clean_line(line.text[: line.caret])
    at = clean_line(line.text[line.caret : line.caret + 1]) or " "
    hint = "" if line.text else f" {t('picker.filter')}"
    typed = Content.assemble(before, (at, "reverse"), clean_line(line.text[line.caret + 1 :]), (hint, "$text-muted"))
    left = Content.assemble((f" {title}", "bold"), "  ", ("> ", "$primary"), typed)
    return Content.assemble(spread(left, Content.styled(count, "$text-muted"), width - 1), " ")
