"""One agent thread: its loop and what lives in it."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reactagent_tui.tui.agent_reporter import AgentReporter

if TYPE_CHECKING:
    from reactagent_tui.core.live import LiveSession
    from reactagent_tui.core.runtime import Runtime
    from reactagent_tui.core.tools.jobs import Keep


@dataclass
class Agent:
    """One agent thread: its loop and what lives in it."""

    loop: asyncio.AbstractEventLoop
    reporter: AgentReporter
    thread: threading.Thread | None = None
    runtime: Runtime | None = None
    session: LiveSession | None = None
    closing: asyncio.Event | None = None
    keep_jobs: Keep = "kept"
    """Which background jobs run on after the end."""
    tasks: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])
    told_of_neighbours: set[str] = field(default_factory=set[str])
    """Folders in which another open session was noticed."""
