"""The end of a headless run: notes for memory take a model call, and a signal leaves without them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING

from reactagent_tui.core.remembering import EXTRACT_SECONDS, will_note
from reactagent_tui.core.tools.process import sweep_now

if TYPE_CHECKING:
    from reactagent_tui.core.runtime import Runtime
    from reactagent_tui.core.tools.jobs import Keep
    from reactagent_tui.headless.reporter import HeadlessReporter

_SIGNALS = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]


async def close_noting(runtime: Runtime, reporter: HeadlessReporter, keep_jobs: Keep, *, stopped: bool) -> None:
    """Close the program. `stopped`: the user ended the run by a signal, so nothing is noted."""
    memory = runtime.memory
    if stopped:
        memory.hurry()
    elif any(will_note(memory, session) for session in runtime.sessions.values()):
        reporter.say(reporter.t("leaving.noting_here", seconds=round(EXTRACT_SECONDS)), always=True)

    def on_signal() -> None:
        if memory.hurried:
            sweep_now()  # commands have sessions of their own: they would live on
            os._exit(130)
        memory.hurry()

    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, on_signal)
    try:
        await runtime.close(keep_jobs)
    finally:
        for number in _SIGNALS:
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.remove_signal_handler(number)
