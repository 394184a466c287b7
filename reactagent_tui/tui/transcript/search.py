"""Search over the sources of all items, drawn or not; the hits are marked in the rows that are painted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from reactagent_tui.tui.transcript.items import Item
from reactagent_tui.tui.transcript.rows import Row


class Hit(NamedTuple):
    """The `nth` occurrence in the source of an item."""

    item: Item
    nth: int


class Search:
    """One search: its hits in order, and which one is looked at."""

    def __init__(self, needle: str, items: Sequence[Item], verbosity: str) -> None:
        self.needle = needle.casefold()
        self.hits: list[Hit] = []
        self.at = -1
        for item in items:
            if item.hidden(verbosity):
                continue
            count = item.text().casefold().count(self.needle)
            self.hits += [Hit(item, nth) for nth in range(count)]

    @property
    def current(self) -> Hit | None:
        """The hit that is looked at."""
        return self.hits[self.at] if 0 <= self.at < len(self.hits) else None

    def move(self, step: int) -> Hit | None:
        """The next or previous hit; after the last comes the first."""
        if not self.hits:
            return None
        self.at = (self.at + step) % len(self.hits)
        return self.hits[self.at]

    def row_of(self, hit: Hit, rows: Sequence[Row]) -> int:
        """The row of an item that shows a hit; its first one when no row does (a word that was wrapped)."""
        seen = 0
        found = 0
        for index, row in enumerate(rows):
            count = row.text.casefold().count(self.needle)
            if count:
                found = index
                seen += count
                if seen > hit.nth:
                    break
        return found

    def mark(self, strip: Strip, style: Style) -> Strip:
        """The strip with every occurrence marked."""
        text = strip.text
        folded = text.casefold()
        if self.needle not in folded or len(folded) != len(text):
            return strip
        at = folded.find(self.needle)
        while at >= 0:
            strip = restyle(strip, cell_len(text[:at]), cell_len(text[: at + len(self.needle)]), style)
            at = folded.find(self.needle, at + len(self.needle))
        return strip


def restyle(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """The strip with the cells from `start` to `end` drawn in another style."""
    width = strip.cell_length
    start, end = max(start, 0), min(end, width)
    if start >= end:
        return strip
    marked = [Segment(segment.text, (segment.style or style) + style) for segment in strip.crop(start, end)]
    return Strip.join([strip.crop(0, start), Strip(marked, end - start), strip.crop(end, width)])
