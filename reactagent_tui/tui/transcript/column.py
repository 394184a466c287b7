"""Items one under the other: which item is at row y, and where an item begins, in logarithmic time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from reactagent_tui.tui.transcript.items import Item


class Column:
    """Items with their heights. Changes near the end are cheap, wherever they are they are correct."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._tops = [0]
        self._valid = 0
        """How many items the entries of `_tops` are right for."""

    def __len__(self) -> int:
        return len(self.items)

    @property
    def total(self) -> int:
        """Rows of all items."""
        return self._up_to_date()[-1]

    def top(self, index: int) -> int:
        """The row where an item begins; for `len(column)`, where the next one would."""
        return self._up_to_date()[index]

    def at(self, y: int) -> int:
        """The index of the item at row `y`; the first or last when `y` is outside."""
        tops = self._up_to_date()
        return max(0, min(bisect_right(tops, max(y, 0)) - 1, len(self.items) - 1))

    def index(self, item: Item) -> int:
        """Where an item is, sought from the end; -1 when it is not here."""
        items = self.items
        for index in range(len(items) - 1, -1, -1):
            if items[index] is item:
                return index
        return -1

    def append(self, item: Item) -> None:
        self.items.append(item)

    def extend(self, items: Iterable[Item]) -> None:
        self.items.extend(items)

    def prepend(self, items: Iterable[Item]) -> None:
        self.items[:0] = items
        self.changed(0)

    def insert(self, index: int, item: Item) -> None:
        self.items.insert(index, item)
        self.changed(index)

    def remove(self, index: int) -> None:
        del self.items[index]
        self.changed(index)

    def clear(self) -> None:
        self.items.clear()
        self.changed(0)

    def changed(self, index: int) -> None:
        """The height of the item at `index`, or what stands there, is another one."""
        self._valid = min(self._valid, index)

    def _up_to_date(self) -> list[int]:
        count = len(self.items)
        if self._valid < count or len(self._tops) != count + 1:
            start = min(self._valid, count)
            heights = [item.height for item in self.items[start:]]
            self._tops[start:] = accumulate(heights, initial=self._tops[start] if start else 0)
            self._valid = count
        return self._tops
