"""The checklist of a session: what it holds, how it is kept with the session, how it looks as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, cast

from reactagent_tui.core.events import TodoItem

EVENT = "todo"
"""Name of the session's event that holds the list."""
GLYPHS = {"open": "○", "doing": "◐", "done": "●"}

Show = Callable[[tuple[TodoItem, ...]], None]


class Keeper(Protocol):
    """The part of a session file that the list is kept in."""

    events: list[Mapping[str, Any]]

    def append(self, kind: Literal["event"], data: Mapping[str, Any]) -> None: ...


class TodoList:
    """The items of one session; begins with what `file` holds. `show` hears of every list that differs."""

    def __init__(self, show: Show | None = None, file: Keeper | None = None) -> None:
        self._show = show
        self._file = file
        self._items = () if file is None else _last_kept(file.events)

    @property
    def items(self) -> tuple[TodoItem, ...]:
        return self._items

    def set(self, items: Iterable[TodoItem]) -> None:
        """Replace the whole list."""
        items = tuple(items)
        if items == self._items:
            return
        self._items = items
        if self._file is not None:
            self._file.append("event", _record(items))
        self.tell()

    def tell(self) -> None:
        """Show the list as it is."""
        if self._show is not None:
            self._show(self._items)


def _record(items: Iterable[TodoItem]) -> dict[str, Any]:
    return {"name": EVENT, "items": [{"text": item.text, "state": item.state} for item in items]}


def _last_kept(events: Sequence[Mapping[str, Any]]) -> tuple[TodoItem, ...]:
    said = [event for event in events if event.get("name") == EVENT]
    return _from_record(said[-1].get("items")) if said else ()


def _from_record(items: Any) -> tuple[TodoItem, ...]:
    """The items of a record; what is no item is left out."""
    found: list[TodoItem] = []
    for item in cast("list[Any]", items) if isinstance(items, list) else ():
        if isinstance(item, Mapping):
            entry = cast("Mapping[str, Any]", item)
            text, state = entry.get("text"), entry.get("state")
            if isinstance(text, str) and state in GLYPHS:
                found.append(TodoItem(text, state))
    return tuple(found)


def as_lines(items: Iterable[TodoItem]) -> list[str]:
    """One line an item, its glyph in front."""
    return [f"{GLYPHS[item.state]} {item.text}" for item in items]
