"""Vim keys of the prompt: a normal mode on top of the same actions, for who chooses the preset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

if TYPE_CHECKING:
    from reactagent_tui.tui.widgets.prompt_input import PromptInput

_TWICE = frozenset({"delete_line", "text_start"})
"""Actions whose key is pressed twice: `dd`, `gg`."""


class VimMode:
    """Insert or normal. Starts, and after each prompt sent goes on, in insert mode."""

    def __init__(self, prompt: PromptInput) -> None:
        self._prompt = prompt
        self._half: str | None = None
        self.normal = False

    def handle(self, event: events.Key) -> bool | None:
        """True: done; False: the screen may have the key; None: the prompt handles it as text."""
        if not self.normal:
            if event.key != "escape":
                return None
            self.switch(normal=True)
            self._prompt.action_cursor_left()
            return True
        action = self._prompt.keymap.action("vim", event.key)
        half, self._half = self._half, None
        if action is None:
            return event.is_printable
        if action in _TWICE and half != action:
            self._half = action
            return True
        return self._run(action)

    def switch(self, *, normal: bool) -> None:
        """Change the mode and say so in the border."""
        self.normal = normal
        self._prompt.refresh_mode()
        self._prompt.post_message(self._prompt.HoldsEscape(not normal))

    def _run(self, action: str) -> bool:
        prompt = self._prompt
        match action:
            case "insert":
                pass
            case "insert_line_start":
                prompt.action_cursor_line_start()
            case "append":
                prompt.action_cursor_right()
            case "append_line_end":
                prompt.move_cursor(prompt.get_line_end())
            case "open_below":
                prompt.move_cursor(prompt.get_line_end())
                prompt.insert_typed("\n")
            case _:
                return prompt.do(action)
        self.switch(normal=False)
        return True
