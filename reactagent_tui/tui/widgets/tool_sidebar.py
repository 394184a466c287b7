"""The tool calls of this session, running ones on top: glyph, name, key argument, time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message

from reactagent_tui.core.messages import ResultStatus, ToolCall
from reactagent_tui.locales import Translate
from reactagent_tui.tui.presenter import format_seconds, key_argument, verb
from reactagent_tui.tui.widgets.line_layout import cut, pad, pad_left, spread
from reactagent_tui.tui.widgets.painted import Painted

MOST_ENTRIES = 500
_VERB_WIDTH = 6
_FINISHED = {
    "done": ("●", "$success"),
    "failed": ("✕", "$error"),
    "denied": ("⊘", "$warning"),
    "interrupted": ("⊘", "$warning"),
    "not_run": ("⊘", "$text-muted"),
    "lost": ("✕", "$warning"),
}


@dataclass(slots=True)
class _Entry:
    call_id: str
    verb: str
    argument: str
    started: float
    waiting: bool
    status: ResultStatus | None = None
    seconds: float | None = None


class ToolSidebar(Painted, can_focus=True):
    """A bounded list. Click or Enter posts Selected; the screen opens the call in the transcript."""

    class Selected(Message):
        """The user wants to see this call."""

        def __init__(self, call_id: str) -> None:
            super().__init__()
            self.call_id = call_id

    def __init__(self, t: Translate, *, clock: Callable[[], float] = time.monotonic, id: str | None = None) -> None:
        super().__init__(id=id)
        self._t = t
        self._clock = clock
        self._now = clock()
        self._entries: dict[str, _Entry] = {}
        self._cursor = 0
        self._top = 0

    def tool_started(self, call: ToolCall, *, waiting: bool = False) -> None:
        """A call begins, or (waiting) needs an answer first; the second time for one id it just goes on."""
        known = self._entries.get(call.id)
        if known is not None and known.status is None:
            known.waiting, known.started = waiting, self._clock()
        else:
            self._entries[call.id] = _Entry(call.id, verb(call.name), key_argument(call), self._clock(), waiting)
        self._bound()
        self.tick(self._clock())

    def tool_finished(self, call: ToolCall, *, status: ResultStatus, seconds: float) -> None:
        """A call has its result; also one that never ran."""
        entry = self._entries.get(call.id)
        if entry is None:
            entry = _Entry(call.id, verb(call.name), key_argument(call), self._clock(), False)
            self._entries[call.id] = entry
        entry.status, entry.seconds, entry.waiting = status, seconds, False
        self._bound()
        self.tick(self._clock())

    def clear(self) -> None:
        self._entries.clear()
        self._cursor = self._top = 0
        self.repaint()

    def tick(self, now: float) -> None:
        """Moves the timers of running calls."""
        self._now = now
        self.repaint()

    @property
    def is_running(self) -> bool:
        """Whether a timer moves here."""
        return any(entry.status is None and not entry.waiting for entry in self._entries.values())

    def shown(self) -> list[str]:
        """Call ids from top to bottom: open calls first, newest first in both parts."""
        return [entry.call_id for entry in self._ordered()]

    def paint(self, width: int, height: int) -> Sequence[Content]:
        inner = width - 2
        count = str(len(self._entries)) if self._entries else ""
        heading = spread(Content.styled(self._t("tools.heading"), "bold"), Content.styled(count, "$text-muted"), inner)
        rows = self._ordered()
        lines = [heading]
        if not rows:
            lines += Content.styled(self._t("tools.empty"), "$text-muted").wrap(max(inner, 1))
        place = max(height - 1, 1)
        self._keep_cursor_visible(len(rows), place)
        for index, entry in enumerate(rows[self._top : self._top + place], self._top):
            line = self._row(entry, inner)
            if self.has_focus and index == self._cursor:
                line = line.stylize_before("$block-cursor-foreground on $block-cursor-background")
            lines.append(line)
        return [Content.assemble(" ", line) for line in lines]

    def on_click(self, event: events.Click) -> None:
        index = event.y - 1 + self._top
        ids = self.shown()
        if event.y >= 1 and index < len(ids):
            self._cursor = index
            self.post_message(self.Selected(ids[index]))
            self.repaint()

    def on_key(self, event: events.Key) -> None:
        moves = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10, "home": -MOST_ENTRIES, "end": MOST_ENTRIES}
        ids = self.shown()
        if event.key == "enter" and ids:
            self.post_message(self.Selected(ids[min(self._cursor, len(ids) - 1)]))
        elif event.key in moves:
            self._cursor = min(max(self._cursor + moves[event.key], 0), max(len(ids) - 1, 0))
            self.repaint()
        else:
            return
        event.stop()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll(3, event)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll(-3, event)

    def on_focus(self) -> None:
        self.repaint()

    def on_blur(self) -> None:
        self.repaint()

    def _scroll(self, lines: int, event: events.MouseEvent) -> None:
        last = max(len(self._entries) - max(self.size.height - 1, 1), 0)
        self._top = min(max(self._top + lines, 0), last)
        if not self.has_focus:
            self._cursor = self._top
        else:
            self._cursor = min(max(self._cursor, self._top), self._top + max(self.size.height - 2, 0))
        event.stop()
        self.repaint()

    def _keep_cursor_visible(self, count: int, place: int) -> None:
        self._cursor = min(self._cursor, max(count - 1, 0))
        if self.has_focus:
            self._top = min(max(self._top, self._cursor - place + 1), self._cursor)
        self._top = min(self._top, max(count - place, 0))

    def _ordered(self) -> list[_Entry]:
        entries = list(reversed(self._entries.values()))
        return [e for e in entries if e.status is None] + [e for e in entries if e.status is not None]

    def _row(self, entry: _Entry, width: int) -> Content:
        if entry.status is None:
            glyph, style = ("○", "$warning") if entry.waiting else ("◐", "$primary")
            seconds = None if entry.waiting else self._now - entry.started
        else:
            glyph, style = _FINISHED[entry.status]
            seconds = entry.seconds if entry.status in ("done", "failed", "interrupted") else None
        clock = "" if seconds is None or width < 24 else pad_left(format_seconds(max(seconds, 0.0)), 6)
        name = pad(entry.verb, _VERB_WIDTH) if cell_len(entry.verb) <= _VERB_WIDTH else cut(entry.verb, 14)
        room = width - 2 - cell_len(name) - 1 - (len(clock) + 1 if clock else 0)
        argument = cut(entry.argument, room) if room > 2 else ""
        left = Content.assemble((glyph, style), " ", name, " ", (argument, "$text-muted"))
        return spread(left, Content.styled(clock, "$text-muted"), width)

    def _bound(self) -> None:
        while len(self._entries) > MOST_ENTRIES:
            oldest = next((e for e in self._entries.values() if e.status is not None), None)
            del self._entries[oldest.call_id if oldest else next(iter(self._entries))]
