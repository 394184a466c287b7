"""One tool call's full output on a screen of its own: scrolls, searches with the pager keys, ESC goes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen

from reactagent_tui.core.display import DisplayBlock, clean_line
from reactagent_tui.tui.widgets.block_lines import block_lines
from reactagent_tui.tui.widgets.filter_head import Lines

_KEYS = {"up": -1, "k": -1, "down": 1, "j": 1}


class DetailScreen(Screen[None]):
    """Blocks in full."""

    DEFAULT_CSS = """
    DetailScreen { background: $background; layout: vertical; }
    DetailScreen #detail-head { height: 2; }
    DetailScreen #detail-body { height: 1fr; padding: 0 2; }
    DetailScreen #detail-keys { height: 1; }
    """

    def __init__(self, t: Callable[..., str], title: str, blocks: Sequence[DisplayBlock]) -> None:
        super().__init__()
        self._t = t
        self._title_text = title
        self._blocks = tuple(blocks)
        self._top = 0
        self._lines: list[Content] = []
        self._width = 0

    def compose(self) -> ComposeResult:
        yield Lines(
            lambda width, _h: [Content.styled(f"  {clean_line(self._title_text)[: width - 4]}", "bold")],
            id="detail-head",
        )
        yield Lines(self._paint, id="detail-body")
        yield Lines(lambda _w, _h: [Content.styled(f"  {self._t('detail.keys')}", "$text-muted")], id="detail-keys")

    def _paint(self, width: int, height: int) -> Sequence[Content]:
        if width != self._width:
            self._width = width
            self._lines = list(block_lines(self._blocks, width))
        self._top = max(0, min(self._top, len(self._lines) - height))
        return self._lines[self._top : self._top + height]

    def on_key(self, event: events.Key) -> None:
        event.stop()
        body = self.query_one("#detail-body", Lines)
        page = max(1, body.size.height - 2)
        match event.key:
            case "escape" | "q" | "enter":
                self.dismiss()
                return
            case "pageup" | "b":
                self._top -= page
            case "pagedown" | "space":
                self._top += page
            case "home" | "g":
                self._top = 0
            case "end" | "G":
                self._top = len(self._lines)
            case key if key in _KEYS:
                self._top += _KEYS[key]
            case _:
                return
        self._top = max(0, self._top)
        body.refresh()

    def on_mouse_scroll_down(self) -> None:
        self._top += 3
        self.query_one("#detail-body", Lines).refresh()

    def on_mouse_scroll_up(self) -> None:
        self._top = max(0, self._top - 3)
        self.query_one("#detail-body", Lines).refresh()
