"""What screens share that show a list above and a text below: rows, the marked one, the keys, the end of a log."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from reactagent_tui.core.display import OutputBlock
from reactagent_tui.locales import Translate
from reactagent_tui.tui.widgets.block_lines import block_lines
from reactagent_tui.tui.widgets.line_layout import Part, join_parts, spread

_END = 100_000
SCROLL = {"pageup": 10, "pagedown": -10, "home": _END, "end": -_END}
"""Keys that scroll a text back, in lines."""


def rows_around(at: int, height: int, count: int) -> range:
    """The rows that show when row `at` must."""
    top = max(0, min(at - height + 1, count - height))
    return range(top, min(top + height, count))


def marked(line: Content) -> Content:
    """The row the cursor is on."""
    return line.stylize_before("$block-cursor-foreground on $block-cursor-background")


def title_line(title: str, right: str, width: int) -> Content:
    """` title            right ` at the top of a screen or of a part of it."""
    left = Content.styled(f" {title}", "bold")
    return Content.assemble(spread(left, Content.styled(right, "$text-muted"), width - 1), " ")


def keys_line(t: Translate, keys: Sequence[tuple[str, int]], width: int) -> Content:
    """The keys at the bottom, by locale key; those with the lowest number go first when there is no room."""
    parts = [Part(Content(t(key)), keep) for key, keep in keys]
    return Content.assemble(" ", join_parts(parts, width - 2, "   ")).stylize("$text-muted")


class TextTail:
    """The end of a text that grows; scrolled back it stays where it is."""

    def __init__(self) -> None:
        self.up = 0
        """Lines it is scrolled back from its end."""
        self._text = ""

    def begin(self) -> None:
        """Another text."""
        self._text, self.up = "", 0

    def show(self, text: str) -> None:
        """The text as it is now; not taken over while it is scrolled back."""
        if self.up == 0:
            self._text = text.rstrip("\n")

    def scroll(self, lines: int) -> None:
        """Back, or towards the end."""
        self.up = max(0, self.up + lines)

    def lines(self, width: int, height: int) -> Sequence[Content]:
        """What shows; nothing when there is no text."""
        if not self._text.strip():
            return ()
        lines = block_lines((OutputBlock(self._text),), max(width, 1))
        self.up = min(self.up, max(0, len(lines) - height))
        end = len(lines) - self.up
        return lines[max(0, end - height) : end]
