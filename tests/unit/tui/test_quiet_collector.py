"""Full garbage collections wait for a quiet moment, and come all the same."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from reactagent_tui.tui import quiet_collector
from reactagent_tui.tui.quiet_collector import QuietCollector


class Place:
    """A screen as far as the collector asks: the newest key, a run, the clock; and the collections it saw."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.key, self.running, self.middle, self.full = 100.0, 0.0, False, 0, 0
        self.frozen = 0
        monkeypatch.setattr(gc, "get_count", lambda: (0, 0, self.middle))
        monkeypatch.setattr(gc, "collect", self._collect)
        monkeypatch.setattr(gc, "freeze", self._freeze)
        monkeypatch.setattr(quiet_collector, "QUIET", 0.001)
        self.collector = QuietCollector(
            asyncio.get_running_loop(), lambda: self.key, lambda: self.running, clock=lambda: self.now
        )

    def _collect(self) -> int:
        self.full += 1
        self.middle = 0
        return 0

    def _freeze(self) -> None:
        self.frozen += 1

    def fill(self, middle: int) -> None:
        """The middle generation was collected once more."""
        self.middle = middle
        self.collector._collected("stop", {"generation": 1})

    async def turn(self, times: int = 20) -> None:
        for _ in range(times):
            await asyncio.sleep(0.002)


@pytest.fixture
async def place(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Place(monkeypatch)
    yield made
    made.collector.stop()


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds, callbacks = gc.get_threshold(), list(gc.callbacks)
    yield
    assert gc.get_threshold() == thresholds
    assert gc.callbacks == callbacks


async def test_python_starts_none_and_gets_them_back(place: Place) -> None:
    before = gc.get_threshold()
    place.collector.start()
    assert gc.get_threshold()[:2] == before[:2]
    assert gc.get_threshold()[2] > quiet_collector.ENOUGH
    assert place.frozen == 1
    assert gc.isenabled()


async def test_a_due_one_comes_when_it_is_quiet(place: Place) -> None:
    place.fill(quiet_collector.DUE - 1)
    await place.turn()
    assert place.full == 0
    place.fill(quiet_collector.DUE)
    await place.turn()
    assert place.full == 1
    place.fill(quiet_collector.DUE)
    await place.turn()
    assert place.full == 2, "the next one is asked for again"


async def test_a_key_and_a_run_put_it_off(place: Place) -> None:
    place.key, place.running = place.now, True
    place.fill(quiet_collector.DUE)
    await place.turn()
    assert place.full == 0
    place.key = 0.0
    await place.turn()
    assert place.full == 0, "a run is on"
    place.running = False
    await place.turn()
    assert place.full == 1


async def test_one_that_is_late_waits_for_no_run_and_then_for_nothing(place: Place) -> None:
    place.key, place.running = place.now, True
    place.fill(quiet_collector.OVERDUE)
    await place.turn()
    assert place.full == 0, "a key was just pressed"
    place.key = 0.0
    await place.turn()
    assert place.full == 1
    place.key = place.now
    place.fill(quiet_collector.ENOUGH)
    await place.turn()
    assert place.full == 2


async def test_modules_that_came_later_are_set_aside(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.collector.start()
    for number in range(60):
        monkeypatch.setitem(sys.modules, f"later_{number}", ModuleType(f"later_{number}"))
    place.fill(quiet_collector.DUE)
    await place.turn()
    assert (place.full, place.frozen) == (1, 2)
    place.fill(quiet_collector.DUE)
    await place.turn()
    assert (place.full, place.frozen) == (2, 2)


async def test_a_collection_after_the_end_of_the_loop_is_no_fault() -> None:
    loop = asyncio.new_event_loop()
    collector = QuietCollector(loop, lambda: 0.0, lambda: False)
    loop.close()
    collector._collected("stop", {"generation": 1})
    for _ in range(quiet_collector.DUE + 1):
        gc.collect(1)
    collector._collected("stop", {"generation": 1})
