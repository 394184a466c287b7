"""Notices that a reply which had begun brings nothing any more, long before the time-out ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

STALL_AFTER = 10.0
"""Seconds without anything before it is told."""
TICK = 1.0
"""Seconds between two tellings."""


class StallWatch:
    """Calls `tell(seconds of silence)` again and again while nothing comes. Costs one timer, not one per `beat`."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        self._tell = tell
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def beat(self) -> None:
        """Something came."""
        loop = asyncio.get_running_loop()
        self._last = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(STALL_AFTER, self._look)

    def stop(self) -> None:
        """The reply is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        silent = loop.time() - self._last
        if silent >= STALL_AFTER - 0.001:
            self._tell(silent)
            self._timer = loop.call_later(TICK, self._look)
        else:
            self._timer = loop.call_later(STALL_AFTER - silent, self._look)
