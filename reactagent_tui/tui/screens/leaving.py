"""Leaving with jobs that run: end them, let them run on, or stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import ModalScreen

from reactagent_tui.core.display import clean_line
from reactagent_tui.locales import Translate
from reactagent_tui.tui.widgets.filter_head import Lines
from reactagent_tui.tui.widgets.line_layout import cut

Choice = Literal["kill", "keep", "cancel"]
_MOST_SHOWN = 4
_KEYS: dict[str, Choice] = {"k": "kill", "l": "keep", "escape": "cancel", "c": "cancel"}
_AGAIN = ("ctrl+q", "ctrl+c", "ctrl+d")
"""Keys that brought the user here: once more means it."""


class LeavingScreen(ModalScreen[Choice]):
    """One question over the chat. Enter does nothing: neither way is harmless."""

    DEFAULT_CSS = """
    LeavingScreen { align: center middle; background: $background 60%; }
    LeavingScreen Lines { width: 68; max-width: 96%; background: $surface; padding: 1 2; }
    """

    def __init__(self, t: Translate, commands: Sequence[str]) -> None:
        super().__init__()
        self._t = t
        self._commands = [clean_line(command) for command in commands]

    def compose(self) -> ComposeResult:
        lines = Lines(self._paint, id="leaving")
        lines.styles.height = len(self._shown()) + 7
        yield lines

    def _shown(self) -> list[str]:
        shown = self._commands[:_MOST_SHOWN]
        hidden = len(self._commands) - len(shown)
        return [*shown, self._t("leaving.more", n=hidden)] if hidden else shown

    def _paint(self, width: int, height: int) -> Sequence[Content]:
        t = self._t
        rows = (("k", t("leaving.kill")), ("l", t("leaving.keep")), ("esc", t("leaving.cancel")))
        return [
            Content.styled(cut(t("leaving.jobs", n=len(self._commands)), width), "bold"),
            *(Content.styled(f"  {cut(command, width - 2)}", "$text-muted") for command in self._shown()),
            Content(""),
            *(Content.assemble((f"{key:<4}", "$primary"), cut(text, width - 4)) for key, text in rows),
        ]

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        choice = "kill" if event.key in _AGAIN else _KEYS.get(event.key)
        if choice is not None:
            self.dismiss(choice)
