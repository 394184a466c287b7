"""The theme picker: the theme under the cursor is worn while one looks at it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import on
from textual.theme import BUILTIN_THEMES, Theme

from reactagent_tui.core.display import CodeBlock, DisplayBlock, TextBlock
from reactagent_tui.tui.screens.picker import PickerItem, PickerScreen


class ThemePicker(PickerScreen):
    """Dismisses with the chosen theme; the caller puts the old one back after ESC."""

    def __init__(self, t: Callable[..., str], themes: Sequence[Theme], current: str) -> None:
        ours = sorted(themes, key=lambda theme: (theme.name in BUILTIN_THEMES, not theme.name.startswith("reactagent")))
        items = [
            PickerItem(
                theme.name,
                theme.name,
                t("theme.dark" if theme.dark else "theme.light"),
                current=theme.name == current,
            )
            for theme in ours
        ]
        super().__init__(t, t("theme.title"), items, preview=lambda _item: _sample(t))

    @on(PickerScreen.Highlighted)
    def _wear(self, message: PickerScreen.Highlighted) -> None:
        self.app.theme = message.item_id


def _sample(t: Callable[..., str]) -> list[DisplayBlock]:
    return [
        TextBlock(t("theme.sample"), "bold"),
        CodeBlock('def hello(name: str) -> str:\n    return f"hello, {name}"  # a comment', "python"),
        TextBlock(t("theme.sample_dim"), "dim"),
        TextBlock("ok", "ok"),
        TextBlock("warn", "warn"),
        TextBlock("error", "error"),
    ]
