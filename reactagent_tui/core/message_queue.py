"""What the user said while a turn runs: messages that wait for a step or for the end of the turn."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from reactagent_tui.core.events import QueuedMessage
from reactagent_tui.core.messages import UserMessage, message_from_record, message_to_record

QueueKind = Literal["steer", "follow_up", "command"]
"""steer: for the next step; follow_up: for the next turn; command: a slash command, for what comes first."""


@dataclass
class MessageQueue:
    """Oldest first. `changed` is called after every change."""

    changed: Callable[[], None]
    _items: list[QueuedMessage] = field(default_factory=list[QueuedMessage])
    _messages: dict[str, UserMessage] = field(default_factory=dict[str, UserMessage])

    def __bool__(self) -> bool:
        return bool(self._items)

    @property
    def items(self) -> tuple[QueuedMessage, ...]:
        """As the screen shows them."""
        return tuple(self._items)

    def whole(self) -> tuple[tuple[UserMessage, QueueKind], ...]:
        """What waits, whole; read from another thread by the watchdog."""
        return tuple((self._messages.get(i.id, UserMessage(i.text)), i.kind) for i in tuple(self._items))

    def restore(self, waiting: Iterable[tuple[UserMessage, QueueKind]]) -> None:
        """What an earlier program left waiting; nobody is told yet."""
        for message, kind in waiting:
            item = QueuedMessage(secrets.token_hex(4), message.shown or message.text, kind)
            self._messages[item.id] = message
            self._items.append(item)

    def add(self, message: UserMessage, kind: QueueKind) -> None:
        self.restore([(message, kind)])
        self.changed()

    def next(self) -> UserMessage:
        """Take the oldest."""
        first = self._items.pop(0)
        self.changed()
        return self._message(first)

    def next_command(self) -> str | None:
        """Take the oldest when it is a command; None: it is a message, or there is none."""
        return self.next().text if self._items and self._items[0].kind == "command" else None

    def take_commands(self) -> list[str]:
        """Take the commands that run at a step boundary: those before the first message of a later turn."""
        upto = next((at for at, item in enumerate(self._items) if item.kind == "follow_up"), len(self._items))
        ripe = [item for item in self._items[:upto] if item.kind == "command"]
        if not ripe:
            return []
        self._items = [item for item in self._items if item not in ripe]
        self.changed()
        return [self._message(item).text for item in ripe]

    def take_back(self, message_id: str | None = None) -> UserMessage | None:
        """Remove a message (the newest when no id is given) and hand it back, whole."""
        for index in range(len(self._items) - 1, -1, -1):
            if message_id in (None, self._items[index].id):
                taken = self._items.pop(index)
                self.changed()
                return self._message(taken)
        return None

    def take_steered(self) -> list[UserMessage]:
        """Take those that enter at a step boundary."""
        steered = [item for item in self._items if item.kind == "steer"]
        if not steered:
            return []
        self._items = [item for item in self._items if item.kind != "steer"]
        self.changed()
        return [replace(self._message(item), origin="steer") for item in steered]

    def _message(self, item: QueuedMessage) -> UserMessage:
        return self._messages.pop(item.id, UserMessage(item.text))


def queue_record(waiting: Sequence[tuple[UserMessage, QueueKind]]) -> list[dict[str, Any]]:
    """What waits, for the session file: a crash must not lose it."""
    return [{"kind": kind, "message": message_to_record(message)} for message, kind in waiting]


def queue_of(events: Sequence[Mapping[str, Any]]) -> list[tuple[UserMessage, QueueKind]]:
    """What waited last by the events of a session file; what cannot be read is left out."""
    found: list[tuple[UserMessage, QueueKind]] = []
    kept = [event for event in events if event.get("name") == "queue"]
    items: Sequence[Mapping[str, Any]] = kept[-1].get("items") or () if kept else ()
    for item in items:
        try:
            message = message_from_record(item["message"])
        except (KeyError, TypeError, ValueError):
            continue
        if isinstance(message, UserMessage):
            kind = item.get("kind")
            found.append((message, kind if kind in ("steer", "command") else "follow_up"))
    return found
