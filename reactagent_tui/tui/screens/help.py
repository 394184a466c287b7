"""Help: every key as it is bound now and every command, with a filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from reactagent_tui.core.display import DisplayBlock, TextBlock
from reactagent_tui.locales import Translate
from reactagent_tui.tui.screens.picker import PickerItem, PickerScreen

_WIDEST_NAME = 18


@dataclass(frozen=True, slots=True)
class HelpEntry:
    """A key (`ctrl+b`) or command (`/model`), what it does, and more to read about it."""

    name: str
    text: str
    more: str = ""


@dataclass(frozen=True, slots=True)
class HelpSection:
    """Entries under one heading: where the keys count, or `commands`."""

    title: str
    entries: tuple[HelpEntry, ...]


class HelpScreen(PickerScreen):
    """Read-only: Enter does nothing, ESC goes back. All texts come in the user's language."""

    def __init__(self, t: Translate, sections: Sequence[HelpSection]) -> None:
        entries = {
            f"{number}.{index}": (section, entry)
            for number, section in enumerate(sections)
            for index, entry in enumerate(section.entries)
        }
        items = [PickerItem(key, entry.name, entry.text, section.title) for key, (section, entry) in entries.items()]

        def preview(item: PickerItem) -> Sequence[DisplayBlock]:
            section, entry = entries[item.id]
            blocks = [TextBlock(entry.name, "bold"), TextBlock(section.title, "dim"), TextBlock(f"\n{entry.text}")]
            return [*blocks, TextBlock(f"\n{entry.more}")] if entry.more else blocks

        longest = max((cell_len(entry.name) for _, entry in entries.values()), default=0)
        super().__init__(
            t,
            t("help.title"),
            items,
            preview=preview,
            choosable=False,
            label_width=min(longest, _WIDEST_NAME),
            empty=t("help.none"),
        )
