"""A session of the real core with the four servers at hand, and the model to be chosen for each turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.embed import RecordingReporter
from reactagent_tui.core.events import AgentEvent, TextDelta, ThinkingDelta, ToolFinished, ToolOutput
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.messages import Attachment, UserMessage
from reactagent_tui.core.react.state import RunResult
from reactagent_tui.core.runtime import Options, Runtime
from tests.fakes.api_servers import ApiServer
from tests.fakes.api_servers.houses import APIS, ApiName, configuration, serve_all
from tests.fakes.api_servers.minds import obeys
from tests.fakes.api_servers.server import mark_of


class Watcher(RecordingReporter):
    """Records, and does something when an event comes."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = asyncio.Event()
        self.busy = asyncio.Event()
        """A command has begun."""
        self.switch_at_result: str | None = None
        self.session: LiveSession | None = None
        self.runtime: Runtime | None = None

    def emit(self, event: AgentEvent) -> None:
        super().emit(event)
        match event:
            case TextDelta() | ThinkingDelta():
                self.shown.set()
            case ToolOutput():
                self.busy.set()
            case ToolFinished() if self.switch_at_result is not None:
                assert self.session is not None
                assert self.runtime is not None
                name, self.switch_at_result = self.switch_at_result, None
                self.session.set_provider(self.runtime.provider(name))
            case _:
                pass


class Desk:
    """A session with four models to choose from."""

    def __init__(self, runtime: Runtime, session: LiveSession, watcher: Watcher, servers: dict[ApiName, ApiServer]):
        self.runtime = runtime
        self.session = session
        self.watcher = watcher
        self.servers = servers

    def use(self, api: str, protocol: str = "native") -> None:
        """Switch the model."""
        self.session.set_provider(self.runtime.provider(f"{api}-{protocol}"))

    async def ask(self, task: str, *pictures: Path) -> RunResult:
        """One turn to its end."""
        files = tuple(Attachment(str(picture), "image/png") for picture in pictures)
        return await self.session.run(UserMessage(task, files))

    async def ask_and_stop(self) -> None:
        """A turn that is interrupted while the reply streams."""
        self.watcher.shown.clear()
        run = asyncio.create_task(self.session.run(UserMessage("Task: hang")))
        await self.watcher.shown.wait()
        self.session.interrupt()
        assert (await run).reason == "INTERRUPTED"

    async def ask_and_stop_command(self) -> None:
        """A turn that is interrupted while a command runs, with another call waiting behind it."""
        hold = self.session.workdir / "hold.sh"
        hold.write_text("#!/bin/sh\necho holding\nexec sleep 600\n")
        hold.chmod(0o755)
        self.watcher.busy.clear()
        calls = "run_shell_command command=./hold.sh & run_shell_command command=pwd"
        run = asyncio.create_task(self.session.run(UserMessage(f"Task: read_file path=a.txt ; {calls} ; answer")))
        await self.watcher.busy.wait()
        self.session.interrupt()
        assert (await run).reason == "INTERRUPTED"

    def complaints(self) -> list[str]:
        return [f"{api}: {said}" for api, server in self.servers.items() for said in server.complaints]

    def leaks(self) -> list[str]:
        """Thinking and seals that went to another server than the one that made them."""
        return [
            f"{sign} at {api}, request {request.number}"
            for api, server in self.servers.items()
            for request in server.requests
            for maker in APIS
            if maker != api
            for sign in (mark_of(maker, "")[:-1], f"_{maker}_sealed")
            if sign in json.dumps(request.body)
        ]


@asynccontextmanager
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    with serve_all(obeys) as servers:
        config = tmp_path / "four.yaml"
        config.write_text(configuration(servers))
        config.chmod(0o600)
        work = tmp_path / "work"
        (work / "a.txt").write_text("apples\n")
        (work / "b.txt").write_text("pears\n")
        watcher = Watcher()
        options = Options(config_file=config, overrides=Overrides(model="anthropic-native", mode="auto"))
        runtime = Runtime.load(watcher, options)
        session = runtime.open_session(work)
        watcher.session, watcher.runtime = session, runtime
        try:
            yield Desk(runtime, session, watcher, servers)
        finally:
            await runtime.close()


def picture(tmp_path: Path) -> Path:
    path = tmp_path / "work" / "dot.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    return path
