"""The prompt: every key is handled here, in the order typed, through the one key table.

Stock Textual handles printable keys in the widget but bound keys in the app, so keys that arrive together overtake each
other. Here nothing is bound; `_on_key` does all. A key that means nothing to the prompt bubbles to the screen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from textual import events
from textual.content import Content

from reactagent_tui.core.display import clean
from reactagent_tui.tui.folds import PASTE_LIMIT
from reactagent_tui.tui.history import Draft, PromptHistory
from reactagent_tui.tui.image_paste import image_chip, pasted_images
from reactagent_tui.tui.keymap import Keymap
from reactagent_tui.tui.widgets.completion import Completion, CompletionPopup
from reactagent_tui.tui.widgets.prompt_area import PromptArea
from reactagent_tui.tui.widgets.prompt_messages import (
    CompletionWanted,
    HoldsEscape,
    Kind,
    Queued,
    Sent,
    Submitted,
    TakeBack,
    TextEmptyChanged,
    TypedFirst,
    completable,
    kind_of,
)
from reactagent_tui.tui.widgets.prompt_vim import VimMode


class PromptInput(PromptArea, inherit_bindings=False):
    """See the module. `popup` may be set later; without one nothing is completed."""

    Submitted = Submitted
    Queued = Queued
    TypedFirst = TypedFirst
    CompletionWanted = CompletionWanted
    TextEmptyChanged = TextEmptyChanged
    TakeBack = TakeBack
    HoldsEscape = HoldsEscape

    def __init__(
        self,
        *,
        t: Callable[..., str],
        keymap: Keymap,
        popup: CompletionPopup | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(t=t, id=id, classes=classes)
        self.keymap = keymap
        self.popup = popup
        self.queued = 0
        self._turn_runs = False
        self._past = PromptHistory()
        self._was_empty = True
        self._kind: Kind = ""
        self._wanted = ("", "")
        self._killed = ""
        self._mode = ("", "")
        self.vim = VimMode(self) if keymap.preset == "vim" else None
        self._actions: dict[str, Callable[[], bool | None]] = self._action_table()

    def on_mount(self) -> None:
        """Say that ESC leaves vim's insert mode."""
        if self.vim is not None:
            self.post_message(HoldsEscape(True))

    # -- for the screen -------------------------------------------------------------------------------------------

    @property
    def draft(self) -> Draft:
        """The text as it is now, pastes folded."""
        return Draft(self.text, {k: v for k, v in self.pastes.items() if k in self.text}, self.typed_first)

    @property
    def kind(self) -> Kind:
        """What the text would be if sent now."""
        return self._kind

    def set_mode(self, label: str, note: str = "") -> None:
        """Name of the permission mode, and a note, in the border."""
        self._mode = (label, note)
        self.refresh_mode()

    def refresh_mode(self) -> None:
        """Draw the mode in the border anew."""
        vim = self.t("prompt.mode_vim_normal") if self.vim is not None and self.vim.normal else ""
        self.border_title = Content(" ── ".join(part for part in (vim, *self._mode) if part))

    def set_keymap(self, keymap: Keymap) -> None:
        """Use another key table from now on; the vim preset starts in insert mode."""
        held = self.vim is not None and not self.vim.normal
        self.keymap = keymap
        self.vim = VimMode(self) if keymap.preset == "vim" else None
        if held != (self.vim is not None):
            self.post_message(HoldsEscape(self.vim is not None))
        self.refresh_mode()

    def set_running(self, running: bool) -> None:
        """Whether a turn runs: Tab then queues."""
        self._turn_runs = running

    def set_queued(self, count: int) -> None:
        """How many prompts wait: Up on an empty prompt then takes the last one back."""
        self.queued = count

    def take_draft(self) -> Draft:
        """Empty the prompt and return what was in it."""
        draft = self.draft
        self.restore("")
        return draft

    def restore(self, text: Draft | str) -> None:
        """Replace the text, the cursor at its end."""
        if isinstance(text, Draft):
            self.pastes = dict(text.pastes)
            self.load_text(text.shown)
            self.typed_first = text.typed
        else:
            self.pastes = {}
            self.load_text("")
            if text:
                self.insert_pasted(text)
            self.typed_first = True
        self.move_cursor(self.document.end)
        self._changed()

    def insert_text(self, text: str) -> None:
        """Put text at the cursor, folded if it is long."""
        self.insert_pasted(text)
        self._changed(complete=False)

    def insert_typed(self, text: str) -> None:
        """Put typed text at the cursor, as if its keys had been pressed here."""
        super().insert_typed(text)
        self._changed()

    def clear_to_history(self) -> Draft | None:
        """Empty the prompt; Up brings the text back. Returns it, None if there was none."""
        draft = self.draft
        if not draft.shown:
            return None
        self._past.add(draft)
        self.restore("")
        return draft

    def load_history(self, entries: Iterable[Draft]) -> None:
        """Earlier prompts, old to new; those sent meanwhile stay the newest."""
        self._past = PromptHistory([*entries, *self._past.entries])

    def sent_as(self, shown: str) -> Draft | None:
        """The newest draft that was sent with this text on the screen, its folded pastes included."""
        return next((entry for entry in reversed(self._past.entries) if entry.shown == shown), None)

    @property
    def wanted(self) -> tuple[str, str]:
        """Kind and beginning of the word that can be completed at the cursor; ("", "") when there is none."""
        return self._wanted

    def complete(self, item: Completion) -> None:
        """Put a completion in place of the word it completes; an earlier prompt in place of everything."""
        kind, prefix = self._wanted
        if self.popup is not None and self.popup.kind == "history":
            self.restore(next((e for e in self._past.search("", 10_000) if e.shown == item.value), Draft(item.value)))
        elif kind:
            row, column = self.cursor_location
            start = (row, max(0, column - len(prefix) - 1))
            gap = "" if item.value.endswith("/") else " "
            self._replace_via_keyboard(item.value + gap, start, (row, column))
        if self.popup is not None:
            self.popup.close()
        self._changed()

    # -- keys -----------------------------------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        event.prevent_default()
        if self._handle(event):
            event.stop()

    def _handle(self, event: events.Key) -> bool:
        key = event.key
        if self._popup_key(key):
            return True
        if self.vim is not None and (taken := self.vim.handle(event)) is not None:
            if taken:
                self._changed(complete=False)
            return taken
        action = self.keymap.action("prompt", key)
        if action is not None:
            return self.do(action)
        if not event.is_printable or event.character is None:
            return False
        if self.document.end == (0, 0) and self.keymap.action("screen", key):
            return False
        self.insert_typed(event.character)
        return True

    def do(self, action: str) -> bool:
        """Run an action of the key table; False if it means nothing here now, and the screen may have it."""
        method = self._actions.get(action)
        if method is None or method() is False:
            return False
        self._changed()
        return True

    def _popup_key(self, key: str) -> bool:
        popup = self.popup
        if popup is None or not popup.is_open:
            return False
        match self.keymap.action("popup", key):
            case "next":
                popup.move(1)
            case "previous":
                popup.move(-1)
            case "close":
                popup.close()
            case "take":
                return self._take(popup)
            case _:
                return False
        return True

    def _take(self, popup: CompletionPopup) -> bool:
        item = popup.chosen
        if item is None or not (popup.kind == "history" or popup.answers(*self._wanted)):
            popup.close()  # it answers an older question: the key means what it means without it
            return False
        kind, prefix = self._wanted
        if popup.kind != "history" and item.value[1:] == prefix and kind == "command":
            popup.close()
            return False
        self.complete(item)
        return True

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        if len(event.text) > PASTE_LIMIT:
            size, limit = f"{len(event.text) / 1048576:.0f}", PASTE_LIMIT // 1048576
            self.app.notify(self.t("prompt.paste_too_big", size=size, limit=limit), severity="warning", markup=False)
            return
        images = pasted_images(event.text)
        for path in images:
            label = self.t("prompt.chip_image", name=clean(os.path.basename(path)))
            self.insert_typed(image_chip(path, self.pastes, label) + " ")
        if event.text and not images:
            self.insert_text(event.text)

    async def _on_click(self, event: events.Click) -> None:
        location = self.get_target_document_location(event)
        span = self.fold_at(location)
        if span is not None and span.start <= location[1] < span.end:
            self._unfold(location[0])

    # -- actions --------------------------------------------------------------------------------------------------

    def _action_table(self) -> dict[str, Callable[[], bool | None]]:
        return {
            "send": self._send,
            "newline": lambda: self.insert_typed("\n"),
            "queue": self._queue,
            "history_prev": self._history_prev,
            "history_next": self._history_next,
            "history_search": self._history_search,
            "cursor_left": self.action_cursor_left,
            "cursor_right": self.action_cursor_right,
            "word_left": self.action_cursor_word_left,
            "word_right": self.action_cursor_word_right,
            "line_start": self.action_cursor_line_start,
            "line_end": self._line_end,
            "text_start": lambda: self.move_cursor((0, 0)),
            "text_end": lambda: self.move_cursor(self.document.end),
            "select_left": lambda: self.action_cursor_left(True),
            "select_right": lambda: self.action_cursor_right(True),
            "select_up": lambda: self.action_cursor_up(True),
            "select_down": lambda: self.action_cursor_down(True),
            "select_line_start": lambda: self.action_cursor_line_start(True),
            "select_line_end": lambda: self.action_cursor_line_end(True),
            "delete_left": self.action_delete_left,
            "delete_right": self.action_delete_right,
            "delete_or_quit": self._delete_or_pass,
            "delete_word_left": lambda: self._kill(self.get_cursor_word_left_location()),
            "delete_word_right": lambda: self._kill(self.get_cursor_word_right_location()),
            "delete_to_line_start": lambda: self._kill((self.cursor_location[0], 0)),
            "delete_to_line_end": self._kill_line_end,
            "delete_line": self.action_delete_line,
            "undo": self.action_undo,
            "redo": self.action_redo,
            "paste_back": lambda: self.insert_typed(self._killed) if self._killed else None,
            "expand_paste": lambda: self._unfold(self.cursor_location[0]),
            "clear_or_copy_or_stop_or_quit": self._copy_or_clear,
        }

    def _send(self) -> bool:
        row, column = self.cursor_location
        if column and self.selection.is_empty and self.document.get_line(row)[column - 1] == "\\":
            self._replace_via_keyboard("\n", (row, column - 1), (row, column))
            return True
        return self._post_sent(self.Submitted)

    def _queue(self) -> bool:
        return self._turn_runs and self._post_sent(self.Queued)

    def _post_sent(self, message: type[Sent]) -> bool:
        draft, kind = self.draft, kind_of(self.text, self.typed_first)
        if not draft.shown.strip():
            return False
        self._past.add(draft)
        self.restore("")
        self.post_message(message(draft, kind))
        return True

    def _history_prev(self) -> None:
        if self.queued and self.document.end == (0, 0):
            self.post_message(self.TakeBack())
        elif not self.navigator.is_first_wrapped_line(self.cursor_location):
            self.action_cursor_up()
        elif (entry := self._past.previous(self.draft)) is not None:
            self.restore(entry)
            self.move_cursor((0, len(self.document.get_line(0))))

    def _history_next(self) -> None:
        if not self.navigator.is_last_wrapped_line(self.cursor_location):
            self.action_cursor_down()
        elif (entry := self._past.next()) is not None:
            self.restore(entry)

    def _history_search(self) -> None:
        if self.popup is None:
            return
        if self.popup.kind == "history":
            self.popup.move(1)
            return
        self._show_history()
        if not self.popup.is_open:
            self.app.notify(self.t("prompt.no_history"), markup=False)

    def _show_history(self) -> None:
        if self.popup is not None:
            found = self._past.search(self.text)
            self.popup.show([Completion(entry.shown) for entry in found], "history", self.text)

    def _line_end(self) -> bool:
        if self.document.end == (0, 0):
            return False
        self.action_cursor_line_end()
        return True

    def _delete_or_pass(self) -> bool:
        if self.document.end == (0, 0):
            return False
        self.action_delete_right()
        return True

    def _copy_or_clear(self) -> bool:
        if not self.selection.is_empty:
            self.app.copy_to_clipboard(Draft(self.selected_text, self.pastes).text)
            return True
        return self.clear_to_history() is not None

    def _kill_line_end(self) -> None:
        row, column = self.cursor_location
        at_end = column == len(self.document.get_line(row))
        self._kill((row + 1, 0) if at_end and row < self.document.line_count - 1 else self.get_line_end())

    def _kill(self, to: tuple[int, int]) -> None:
        start, end = self.selection
        removed = self._delete_via_keyboard(start if start != end else to, end)
        if removed is not None and removed.replaced_text:
            self._killed = removed.replaced_text

    def _unfold(self, row: int) -> bool:
        span = self.fold_at(self.cursor_location) or next(iter(self._spans(row)), None)
        if span is None:
            return False
        if not self.unfold(row, span):
            self.app.notify(self.t("prompt.too_long_to_expand"), severity="warning", markup=False)
        return True

    # -- what others hear about -----------------------------------------------------------------------------------

    def _changed(self, *, complete: bool = True) -> None:
        empty = self.document.end == (0, 0)
        if empty != self._was_empty:
            self._was_empty = empty
            self.post_message(self.TextEmptyChanged(empty))
        if empty:
            self.pastes.clear()
        kind = kind_of(self.document.get_line(0), self.typed_first)
        if kind != self._kind:
            self._kind = kind
            self.post_message(self.TypedFirst(kind))
        if self.popup is not None and self.popup.kind == "history":
            if not self.popup.answers("history", self.text):
                self._show_history()
            return
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        wanted = completable(before, kind if row == 0 else "") if complete else ("", "")
        if wanted != self._wanted:
            self._wanted = wanted
            if not wanted[0] and self.popup is not None:
                self.popup.close()
            self.post_message(self.CompletionWanted(*wanted))
