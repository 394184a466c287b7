"""Servers of a test: the fake one in its modes, started as the program starts them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reactagent_tui.core.mcp.client import Surroundings
from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.ports import SampleReply, SampleRequest
from reactagent_tui.core.mcp.sdk import SdkImport
from reactagent_tui.core.mcp.server import McpServer, ServerState
from reactagent_tui.core.mcp.server_log import ServerLog
from reactagent_tui.core.mcp.servers import ServerSet
from reactagent_tui.core.reporter import Answer, Question
from reactagent_tui.core.tools.process import spawn, sweep_all

FAKE = Path(__file__).parents[2] / "fakes" / "mcp_server.py"
PATIENCE = 60.0
"""Seconds after which a test has failed."""


def fake(mode: str, *, name: str = "", **fields: Any) -> ServerConfig:
    """The fake server in one of its modes."""
    return ServerConfig(name or mode, "stdio", (sys.executable, str(FAKE), mode), **fields)


@dataclass
class Port:
    """A call's session."""

    answers: list[Answer] = field(default_factory=list[Answer])
    shown: list[str] = field(default_factory=list[str])
    questions: list[Question] = field(default_factory=list[Question])
    samples: list[SampleRequest] = field(default_factory=list[SampleRequest])
    waits: asyncio.Event | None = None
    """Set when a question is asked; nobody answers it then."""

    def progress(self, text: str) -> None:
        self.shown.append(text)

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        if self.waits is not None:
            self.waits.set()
            await asyncio.Event().wait()
        return self.answers.pop(0) if self.answers else Answer("deny")

    async def sample(self, request: SampleRequest) -> SampleReply:
        self.samples.append(request)
        return SampleReply("well", "script")


@dataclass
class Told:
    """What a set said of its servers, and a way to wait for it."""

    states: list[ServerState] = field(default_factory=list[ServerState])
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, state: ServerState) -> None:
        self.states.append(state)
        self._changed.set()

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not true():
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def running(
    folder: Path, *configs: ServerConfig, sdk: SdkImport | None = None
) -> AsyncIterator[tuple[ServerSet, Told]]:
    """Start them, and end them whatever happens."""
    told = Told()
    env = {**os.environ, "FAKE_MCP_JOURNAL": str(folder / "journal")}

    def around(_config: ServerConfig, log: ServerLog) -> Surroundings:
        return Surroundings(spawn=spawn, workdir=folder, env=env, note=log.note)

    servers = ServerSet(around, folder / "logs", sdk=sdk)
    servers.configure(configs)
    servers.listeners["test"] = told
    servers.start()
    try:
        yield servers, told
    finally:
        await servers.close()
        await sweep_all()


@asynccontextmanager
async def ready(folder: Path, mode: str = "good", **fields: Any) -> AsyncIterator[McpServer]:
    """One server that is ready."""
    async with running(folder, fake(mode, **fields)) as (servers, told):
        server = servers.servers[mode]
        await told.until(lambda: server.state.phase != "starting")
        assert server.is_ready, server.state.reason
        yield server


def journal(folder: Path) -> list[str]:
    """What the server noted."""
    path = folder / "journal"
    return path.read_text("utf-8").splitlines() if path.exists() else []


async def noted(folder: Path, line: str) -> None:
    """Until the server noted it."""
    async with asyncio.timeout(PATIENCE):
        while line not in journal(folder):
            await asyncio.sleep(0.01)
