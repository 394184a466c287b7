"""What the user said while a turn runs: messages that wait for a step or for the end of the turn."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from reactagent_tui.core.events import QueuedMessage
from reactagent_tui.core.messages import UserMessage

QueueKind = Literal["steer", "follow_up"]


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

    def add(self, message: UserMessage, kind: QueueKind) -> None:
        item = QueuedMessage(secrets.token_hex(4), message.shown or message.text, kind)
        self._messages[item.id] = message
        self._items.append(item)
        self.changed()

    def next(self) -> UserMessage:
        """Take the oldest."""
        first = self._items.pop(0)
        self.changed()
        return self._message(first)

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
