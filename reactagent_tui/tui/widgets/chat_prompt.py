"""The prompt of the chat: the screen may take a key or a paste before the draft gets it (an open question does)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import events

from reactagent_tui.tui.widgets.prompt_input import PromptInput


class ChatPrompt(PromptInput, inherit_bindings=False):
    """`offer` and `offer_paste` return True when they used the event."""

    DEFAULT_CSS = ""

    def __init__(
        self, *, offer: Callable[[events.Key], bool], offer_paste: Callable[[events.Paste], bool], **options: Any
    ) -> None:
        super().__init__(**options)
        self._offer = offer
        self._offer_paste = offer_paste

    async def _on_key(self, event: events.Key) -> None:
        if self._offer(event):
            event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        if self._offer_paste(event):
            event.stop()
            event.prevent_default()
            return
        await super()._on_paste(event)

    def take_back(self, letters: str) -> None:
        """Handle letters, typed a moment ago, as keys pressed here."""
        for letter in letters:
            if not self._handle(events.Key(letter, letter)):
                self.insert_typed(letter)

    def _copy_or_clear(self) -> bool:
        """Without a selection the screen's ladder decides: it clears the draft and says how to get it back."""
        return not self.selection.is_empty and super()._copy_or_clear()
