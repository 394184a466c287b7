"""The chat pane: one widget with the verbs the screen calls; cost per frame is the same at message 10,000 as at 1."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from textual.geometry import Region
from textual.message import Message as TextualMessage

from reactagent_tui.core.display import DisplayBlock
from reactagent_tui.core.messages import (
    AssistantMessage,
    Attachment,
    Message,
    Origin,
    ResultStatus,
    ToolCall,
    ToolResult,
    UserMessage,
)
from reactagent_tui.tui.transcript.browser import Browser, CursorItem
from reactagent_tui.tui.transcript.conversation import Conversation
from reactagent_tui.tui.transcript.items import Item, Level, ThinkingItem, Verbosity
from reactagent_tui.tui.transcript.rows import Translate

__all__ = ["CursorItem", "Transcript"]

_VERBOSITIES: tuple[Verbosity, ...] = ("compact", "normal", "verbose")


class Transcript(Browser, inherit_bindings=False):
    """Everything that was said and done. All verbs belong to the UI loop; none blocks, rows are made when seen."""

    class FollowChanged(TextualMessage):
        """Following began or ended, or more lines came below the view."""

        def __init__(self, following: bool, unseen_lines: int) -> None:
            super().__init__()
            self.following = following
            self.unseen_lines = unseen_lines

    class CallFocused(TextualMessage):
        """The cursor is on this call's row, or on no call's."""

        def __init__(self, call_id: str | None) -> None:
            super().__init__()
            self.call_id = call_id

    class OpenDetail(TextualMessage):
        """The user wants all the output of a call."""

        def __init__(self, call_id: str) -> None:
            super().__init__()
            self.call_id = call_id

    def __init__(
        self,
        t: Translate,
        *,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        self._story = Conversation(t, clock)
        super().__init__(t, self._story.column, id=id, classes=classes)
        self._show_thinking = False
        self._told = (True, 0)
        self._seen_bottom = 0

    # --- verbs: what is said

    def add_user(
        self, text: str, *, origin: Origin = "user", shown: str | None = None, attachments: tuple[Attachment, ...] = ()
    ) -> None:
        """A message of the user."""
        self._story.add_user(UserMessage(text, attachments, origin, shown))
        self.flush()

    def begin_message(self, key: str) -> None:
        """A reply begins; nothing is drawn until something arrives."""
        self._story.begin(key)

    def append_thinking(self, key: str, text: str) -> None:
        self._story.append(key, "thinking", text)

    def append_text(self, key: str, text: str) -> None:
        self._story.append(key, "text", text)

    def reclassify_text_as_thinking(self, key: str) -> None:
        """The text of this reply so far was reasoning."""
        self._story.reclassify_text_as_thinking(key)
        self.flush()

    def tool_delta(self, key: str, index: int, name: str, size: int) -> None:
        """Arguments of a call are arriving."""
        self._story.tool_delta(key, index, name, size)

    def finish_message(self, key: str, message: AssistantMessage) -> None:
        """The reply as the history has it."""
        self._story.finish(key, message)
        self.flush()

    def tool_started(self, call: ToolCall, *, waiting: bool = False) -> None:
        self._story.tool_started(call, waiting=waiting)
        self.flush()

    def tool_output(self, call_id: str, text: str) -> None:
        self._story.tool_output(call_id, text)

    def tool_finished(
        self,
        call_id: str,
        *,
        status: ResultStatus,
        text: str,
        blocks: Sequence[DisplayBlock] = (),
        is_error: bool = False,
        summary: str = "",
        seconds: float | None = None,
    ) -> None:
        """A call has its result."""
        result = ToolResult(call_id, "", text, tuple(blocks), is_error, status, summary, seconds)
        self._story.tool_finished(result)
        self.flush()

    def set_note(self, call_id: str, text: tuple[str, str]) -> None:
        """The state of the agent or pipeline that a call runs, left and right; drawn with the next `flush`."""
        self._story.note(call_id, text)

    def end_run(self) -> None:
        """The run is over: what still seems to arrive or run (a stop that had to be forced) is closed."""
        self._story.end_run()
        self.flush()

    def add_notice(self, text: str, *, level: Level = "info", blocks: Sequence[DisplayBlock] = ()) -> None:
        """Something that the program says."""
        self._story.add_notice(text, level, blocks)
        self.flush()

    def add_blocks(self, blocks: Sequence[DisplayBlock]) -> None:
        """What a command gave."""
        self._story.add_notice("", "info", blocks)
        self.flush()

    def add_turn_summary(self, text: str) -> None:
        """The dim line after a turn."""
        self._story.add_turn_summary(text)
        self.flush()

    def load(self, messages: Sequence[Message]) -> None:
        """A whole history; rows are made when they are seen, and what is old comes in soon after the newest."""
        if not self._story.complete(messages):
            self._reset()
            self._story.load(messages)
            self._estimate()
            self.to_end()
            self._tell_follow()
        if self._story.waits:
            self.call_after_refresh(self._prepare_older)

    def load_early(self, end: Sequence[Message]) -> None:
        """The end of a history, to be looked at until `load` brings all of it."""
        self._reset()
        self._story.load_early(end)
        self._estimate()
        self.to_end()
        self._tell_follow()

    def _prepare_older(self) -> None:
        """A piece at a time, so that no key waits; a text that is being selected stays where it is."""
        if not self._story.prepare_older():
            self.call_later(self._prepare_older)
        elif self.text_selection is not None:
            self.set_timer(0.5, self._prepare_older)
        else:
            self.whole()

    def whole(self) -> None:
        """Have all of the history here, now."""
        if not self._story.waits:
            return
        anchor = self._anchor
        before = self.column.total
        count = self._story.add_older()
        self._estimate(count)
        if count < len(self.column):
            self._story.touch(self.column.items[count])  # there is something above it now
        self._seen_bottom += self.column.total - before
        self.settle(anchor)
        self.flush()
        self.refresh()
        self._tell_follow()

    def clear(self) -> None:
        """Forget everything that is shown."""
        self._reset()
        self._story.clear()
        self.to_end()
        self._tell_follow()

    def _reset(self) -> None:
        for item in list(self._drawn):
            self.forget(item)
        self._forget_place()
        self._seen_bottom = 0
        self.follow = True

    def _estimate(self, first: int | None = None) -> None:
        """Of all items, or of the first so many."""
        width, verbosity = self.size.width or 80, self.verbosity
        for item in self.column.items[:first]:
            if self._show_thinking and isinstance(item, ThinkingItem):
                item.open = True
            if item.measured is not self.page:
                item.height = item.estimate(width, verbosity)
        self.column.changed(0)

    # --- frames

    def flush(self) -> bool:
        """Draw what has changed since the last time. The cost is that of the open end, not of the whole."""
        story = self._story
        story.apply()
        if not story.touched:
            return False
        touched, story.touched = story.touched, {}
        low, high = self._redraw(touched)
        estimated, y, before = self.column.total, int(self.scroll_y), self.virtual_size.height
        self.settle()
        if int(self.scroll_y) == y:
            total = self.column.total  # settling gave new items their true height
            moved = story.structure_changed or not estimated == total == before
            self._refresh_rows(low, max(high, estimated, total) if moved else high)
        story.structure_changed = False
        self._tell_follow()
        return True

    def _redraw(self, touched: dict[Item, None]) -> tuple[int, int]:
        """Draw those anew that were drawn, estimate the others; the rows that read otherwise now (low, high).

        What was never drawn is drawn when the view settles, if it can be seen: a flood costs no more than a screen.
        """
        before = self.column.total
        low, high = before, 0
        first_new = len(self.column)
        bottom = int(self.scroll_y) + self.size.height
        for index, item in self._places(touched):
            if self._show_thinking and isinstance(item, ThinkingItem):
                item.open = True
            if item.rows is None or (not self.follow and self.column.top(index) > bottom):
                self._estimate_item(index)
                first_new = min(first_new, index)
                continue
            top, old = self.column.top(index), item.rows
            grew = self.draw(index)
            rows = item.rows or []
            same = next((at for at, pair in enumerate(zip(old, rows, strict=False)) if pair[0] is not pair[1]), None)
            low = min(low, top + (min(len(old), len(rows)) if same is None else same))
            high = max(high, top + len(rows))
            if grew:
                high = max(high, self.column.total, before)
        if first_new < len(self.column):
            low, high = min(low, self.column.top(first_new)), max(high, self.column.total, before)
        return low, high

    def _places(self, touched: dict[Item, None]) -> list[tuple[int, Item]]:
        """Where the items are, those that are still there."""
        if len(touched) < 8:
            found = [(self.column.index(item), item) for item in touched]
        else:
            found = [(index, item) for index, item in enumerate(self.column.items) if item in touched]
        return [place for place in found if place[0] >= 0]

    def _estimate_item(self, index: int) -> None:
        item = self.column.items[index]
        self.forget(item)
        item.measured = None
        item.gap = 1
        item.height = item.estimate(self.page.width, self.verbosity)
        self.column.changed(index)

    def _refresh_rows(self, low: int, high: int) -> None:
        """Paint anew the rows between two positions, as far as they can be seen."""
        y = int(self.scroll_y)
        first, last = max(low - y, 0), min(high - y, self.size.height)
        if first < last:
            self.refresh(Region(0, first, self.size.width, last - first))

    def tick(self, now: float) -> None:
        """Move the clocks of what is running."""
        for item in list(self._story.running):
            if item.tick(now):
                self._story.touched[item] = None
        self.flush()

    def scrolled(self) -> None:
        if self.scroll_y < self.size.height:
            self.whole()
        self._tell_follow()

    def cursor_moved(self, call_id: str | None) -> None:
        self.post_message(self.CallFocused(call_id))

    def detail_wanted(self, call_id: str) -> None:
        self.post_message(self.OpenDetail(call_id))

    def _tell_follow(self) -> None:
        self._seen_bottom = min(max(self._seen_bottom, int(self.scroll_y) + self.size.height), self.column.total)
        unseen = 0 if self.follow else self.column.total - self._seen_bottom
        if (self.follow, unseen) != self._told:
            self._told = (self.follow, unseen)
            self.post_message(self.FollowChanged(self.follow, unseen))

    # --- how much is shown

    def set_verbosity(self, verbosity: Verbosity) -> None:
        """compact: rows only; normal: diffs and live output; verbose: thinking and output too."""
        if verbosity == self.verbosity:
            return
        self.verbosity = verbosity
        self._remake()

    def cycle_verbosity(self) -> Verbosity:
        """The next verbosity, which is set."""
        at = _VERBOSITIES.index(self.verbosity) if self.verbosity in _VERBOSITIES else 0
        following = _VERBOSITIES[(at + 1) % len(_VERBOSITIES)]
        self.set_verbosity(following)
        return following

    def toggle_thinking(self) -> bool:
        """Show all thinking, or fold it again; whether it is shown now."""
        self._show_thinking = not self._show_thinking
        for item in self.column.items:
            if isinstance(item, ThinkingItem):
                item.open = self._show_thinking
                self.forget(item)
        self._remake()
        return self._show_thinking

    def _remake(self) -> None:
        anchor = self._anchor
        self._renew_page()
        self._estimate()
        self.settle(anchor)
        self.refresh()
        self._tell_follow()

    def focus_call(self, call_id: str) -> bool:
        """Put the cursor on a call's row and show it; whether there is one."""
        self.whole()
        item = self._story.tool_item(call_id)
        if item is None or self.column.index(item) < 0:
            return False
        self.set_cursor(item)
        self.show_row(item, min(item.gap, 1))
        return True
