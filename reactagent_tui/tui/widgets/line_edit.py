"""A single-line text being edited: keys in, text and caret out. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_WORD_LEFT = re.compile(r"\S*\s*$")


@dataclass(slots=True)
class LineEdit:
    """Text with a caret; `caret` counts characters from the start."""

    text: str = ""
    caret: int = 0

    @classmethod
    def holding(cls, text: str) -> LineEdit:
        """A line that starts with `text`, caret at its end."""
        return cls(text, len(text))

    def insert(self, text: str) -> None:
        """Puts text at the caret; line ends become spaces, other control characters go."""
        line = "".join(" " if ch in "\r\n\t" else ch for ch in text if ch.isprintable() or ch in "\r\n\t")
        self.text = self.text[: self.caret] + line + self.text[self.caret :]
        self.caret += len(line)

    def press(self, key: str, character: str | None) -> bool:
        """Whether the key edits a line; if so, it was applied."""
        action = _ACTIONS.get(key)
        if action is not None:
            action(self)
            return True
        if character is None or not character.isprintable() or key.startswith(("ctrl+", "alt+", "super+")):
            return False
        self.insert(character)
        return True

    def clear(self) -> None:
        self.text, self.caret = "", 0

    def _cut(self, start: int, end: int) -> None:
        start, end = max(start, 0), min(end, len(self.text))
        self.text = self.text[:start] + self.text[end:]
        self.caret = start

    def _backspace(self) -> None:
        self._cut(self.caret - 1, self.caret)

    def _delete(self) -> None:
        self._cut(self.caret, self.caret + 1)

    def _delete_word(self) -> None:
        match = _WORD_LEFT.search(self.text[: self.caret])
        self._cut(match.start() if match else 0, self.caret)

    def _delete_to_start(self) -> None:
        self._cut(0, self.caret)

    def _delete_to_end(self) -> None:
        self._cut(self.caret, len(self.text))

    def _left(self) -> None:
        self.caret = max(self.caret - 1, 0)

    def _right(self) -> None:
        self.caret = min(self.caret + 1, len(self.text))

    def _home(self) -> None:
        self.caret = 0

    def _end(self) -> None:
        self.caret = len(self.text)


_ACTIONS: dict[str, Callable[[LineEdit], None]] = {
    "backspace": LineEdit._backspace,
    "delete": LineEdit._delete,
    "ctrl+d": LineEdit._delete,
    "ctrl+h": LineEdit._backspace,
    "ctrl+w": LineEdit._delete_word,
    "alt+backspace": LineEdit._delete_word,
    "ctrl+u": LineEdit._delete_to_start,
    "ctrl+k": LineEdit._delete_to_end,
    "left": LineEdit._left,
    "right": LineEdit._right,
    "home": LineEdit._home,
    "ctrl+a": LineEdit._home,
    "end": LineEdit._end,
    "ctrl+e": LineEdit._end,
}
