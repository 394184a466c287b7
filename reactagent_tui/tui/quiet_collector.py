"""Full garbage collections while nobody would notice: one takes 50 ms and more, and the screen stands still for it.

Python starts one in the middle of whatever allocates: behind ESC, behind a key. Here only the young generations are
collected as they fill; the old one waits for a moment without a key and without a run, and when none comes for very
long, for a moment without a key. Modules are set aside: they live as long as the program.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Mapping

DUE, OVERDUE, ENOUGH = 10, 100, 1000
"""Collections of the middle generation after which a full one is due (as Python has it), no longer waits for the end of
a run, and no longer waits for anything."""
QUIET = 1.5
"""Seconds without a key before a full collection."""
_NEVER = 1_000_000
_MANY_MODULES = 50


class QuietCollector:
    """Collects in `loop`; nothing wakes up while nothing fills the generations. `last_key` tells `clock` seconds."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        last_key: Callable[[], float],
        is_running: Callable[[], bool],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._loop = loop
        self._last_key = last_key
        self._is_running = is_running
        self._clock = clock
        self._modules = 0
        self._asked = False
        self._timer: asyncio.TimerHandle | None = None
        self._thresholds = gc.get_threshold()

    def start(self) -> None:
        """Take over from Python's own full collections."""
        self._thresholds = gc.get_threshold()
        self._set_aside()
        gc.set_threshold(*self._thresholds[:2], _NEVER)
        gc.callbacks.append(self._collected)
        gc.enable()

    def stop(self) -> None:
        """Give them back."""
        if self._collected in gc.callbacks:
            gc.callbacks.remove(self._collected)
            gc.set_threshold(*self._thresholds)
        if self._timer is not None:
            self._timer.cancel()

    def _collected(self, phase: str, info: Mapping[str, int]) -> None:
        """Called by the collector, in any thread."""
        if phase == "stop" and info["generation"] == 1 and not self._asked and gc.get_count()[2] >= DUE:
            self._asked = True
            try:
                self._loop.call_soon_threadsafe(self._look)
            except RuntimeError:  # the loop has ended
                return

    def _look(self) -> None:
        waited = gc.get_count()[2]
        key_just_now = self._clock() - self._last_key() < QUIET
        if waited < ENOUGH and (key_just_now or (waited < OVERDUE and self._is_running())):
            self._timer = self._loop.call_later(QUIET, self._look)
            return
        self._timer, self._asked = None, False
        gc.collect()
        if len(sys.modules) - self._modules >= _MANY_MODULES:
            self._set_aside()

    def _set_aside(self) -> None:
        self._modules = len(sys.modules)
        gc.freeze()
