"""Decides, in the input thread, whether an ESC stops the run at once or is left to the screen.

The UI says what an ESC would mean now (`target`). A key that may open something and is still on its way to the UI makes
that answer stale, so the ESC behind it is left to the screen too. Every method may be called from any thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal

from textual import events

EscTarget = Literal["RUN", "APPROVAL", "SCREEN"]

OPENING_CHARACTERS = frozenset("/@?!#")
"""Typed characters that may open a popup or a screen; other text never does."""

FORGOTTEN_AFTER = 2.0
"""Seconds after which an unacknowledged key no longer holds back ESC (its widget may be gone)."""

_USED = "_reactagent_esc_used"
_MODIFIER_SUFFIXES = ("_shift", "_control", "_alt", "_super", "_hyper", "_meta", "_lock", "_level3_shift")


def can_open(event: events.Event) -> bool:
    """Whether an input event may change what ESC means: presses and keys do, plain text and modifiers do not."""
    match event:
        case events.Key():
            if event.key == "escape" or event.key.endswith(_MODIFIER_SUFFIXES):
                return False
            return not event.is_printable or event.character in OPENING_CHARACTERS
        case events.MouseDown() | events.MouseUp() | events.Paste():
            return True
        case _:
            return False


class EscGate:
    """The atomic answer to "what does ESC mean now" and the keys that may be about to change it."""

    def __init__(
        self, on_interrupt: Callable[[], None] | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.on_interrupt: Callable[[], None] = on_interrupt or (lambda: None)
        self._clock = clock
        self._lock = threading.Lock()
        self._target: EscTarget = "SCREEN"
        self._pending: dict[int, float] = {}
        self._next_token = 0

    @property
    def esc_target(self) -> EscTarget:
        """What ESC acts on; the UI sets it on each change of focus, popup, screen or run."""
        return self._target

    @esc_target.setter
    def esc_target(self, target: EscTarget) -> None:
        with self._lock:
            self._target = target

    @property
    def pending(self) -> int:
        """How many keys that may open something were forwarded and not yet handled."""
        with self._lock:
            self._forget_old()
            return len(self._pending)

    def forwarded(self) -> int:
        """Count a key about to be sent to the UI; returns the token for `handled`."""
        with self._lock:
            self._next_token += 1
            self._pending[self._next_token] = self._clock()
            return self._next_token

    def handled(self, token: int) -> None:
        """The UI has dealt with that key. Calling twice is harmless."""
        with self._lock:
            self._pending.pop(token, None)

    def escape(self, event: events.Key) -> bool:
        """Interrupt now if ESC means that for sure; True if so, and the event is marked. Call in the input thread."""
        with self._lock:
            self._forget_old()
            now = self._target != "SCREEN" and not self._pending
        if now:
            setattr(event, _USED, True)  # the mark travels as the event is forwarded and bubbles
            self.on_interrupt()
        return now

    def was_used(self, event: events.Key) -> bool:
        """Whether this ESC has already stopped something: the screen then only shows it."""
        return bool(getattr(event, _USED, False))

    def _forget_old(self) -> None:
        limit = self._clock() - FORGOTTEN_AFTER
        for token in [token for token, since in self._pending.items() if since < limit]:
            del self._pending[token]
