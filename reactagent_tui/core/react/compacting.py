"""A compaction that the user asked for, outside of a run. To the front end it looks like one, so that ESC stops it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from reactagent_tui.core.events import AgentEvent, RunEnded, RunStarted, StopReport
from reactagent_tui.core.money import NOTHING_SPENT, NOTHING_USED
from reactagent_tui.core.react.room import Outcome, Room
from reactagent_tui.core.react.state import RunResult, RunSetup

log = logging.getLogger(__name__)


class Compacting:
    """One compaction. `outcome` is there when `done` is."""

    def __init__(self, setup: RunSetup, focus: str = "", *, told: bool = False) -> None:
        """`told`: its outcome is a notice; else whoever waits for it says so."""
        self.setup = setup
        self.focus = focus
        self._told = told
        self.outcome: Outcome | None = None
        """None after the end: it was stopped."""
        self._room = Room(setup, self._emit)
        self.done = asyncio.Event()
        self._work: asyncio.Task[Outcome] | None = None
        self._interrupted = False

    def interrupt(self) -> None:
        """Stop it; the history stays as it was. Idempotent."""
        self._interrupted = True
        if self._work is not None:
            self._work.cancel()

    def take_fallback(self) -> bool:
        """Go on with the next model instead of waiting; False: nothing waits."""
        return self._room.patience.take_fallback()

    async def run(self) -> None:
        """Compact. Never raises but when cancelled from outside."""
        self._emit(RunStarted, {"prompt": None, "model": self.setup.provider.info.name})
        try:
            await self._compact()
        finally:
            self.done.set()
            if self._told:
                self._room.tell_outcome(self.outcome)
            reason, stop = ("INTERRUPTED", StopReport()) if self.outcome is None else ("ANSWER", None)
            result = RunResult(reason, "", NOTHING_USED, NOTHING_SPENT, 0, 0.0, stop=stop)
            self._emit(RunEnded, result.event_values())

    async def _compact(self) -> None:
        if self._interrupted:
            return
        self._work = asyncio.create_task(self._room.compact(self.focus, 0, asked=True), name="compaction")
        try:
            self.outcome = await asyncio.shield(self._work)
        except asyncio.CancelledError:
            if self._interrupted:
                return
            self._work.cancel()
            raise
        except Exception as error:
            # the border of a turn: a fault ends the compaction, not the program
            log.exception("the compaction failed")
            self.outcome = Outcome("failed", reason=f"{type(error).__name__}: {error}")

    def _emit(self, kind: type[AgentEvent], values: dict[str, Any]) -> None:
        setup = self.setup
        setup.reporter.emit(kind(session_id=setup.session_id, run_id=setup.run_id, **values))
