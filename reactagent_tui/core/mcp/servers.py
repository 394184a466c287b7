"""The servers of one folder: all started at once in the background, all ended at once, told of as they change."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from reactagent_tui.core.mcp.client import Surroundings
from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.naming import server_slugs
from reactagent_tui.core.mcp.sdk import SdkImport
from reactagent_tui.core.mcp.server import McpServer, ServerState
from reactagent_tui.core.mcp.server_log import ServerLog
from reactagent_tui.core.mcp.switches import Switches

Around = Callable[[ServerConfig, ServerLog], Surroundings]


class ServerSet:
    """Servers by name. Nothing is started before `start`."""

    def __init__(
        self, around: Around, log_dir: Path, switches: Switches | None = None, sdk: SdkImport | None = None
    ) -> None:
        """`switches` None: none are kept."""
        self.servers: dict[str, McpServer] = {}
        self.listeners: dict[str, Callable[[ServerState], None]] = {}
        """Who wants to know, by session."""
        self._around = around
        self._log_dir = log_dir
        self._switches = switches
        self._sdk = sdk or SdkImport()
        self._ending: set[asyncio.Task[None]] = set()

    def configure(self, configs: Iterable[ServerConfig]) -> None:
        """These are the servers from now on: those that are new start, those that went end, the others run on."""
        configs = list(configs)
        slugs = server_slugs(config.name for config in configs)
        wanted = {config.name: config for config in configs}
        for name, server in list(self.servers.items()):
            if wanted.get(name) != server.config or slugs.get(name) != server.slug:
                del self.servers[name]
                task = asyncio.create_task(server.stop())
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)
        for name, config in wanted.items():
            if name not in self.servers:
                self.servers[name] = self._made(config, slugs[name])

    def _made(self, config: ServerConfig, slug: str) -> McpServer:
        file = self._log_dir / f"{re.sub(r'[^A-Za-z0-9_-]', '_', slug)}.log"
        server = McpServer(config, slug, lambda log: self._around(config, log), file, self._sdk)
        server.told = self._tell
        switched = config if self._switches is None else self._switches.applied(config)
        server.enabled, server.tools_off = switched.enabled, set(switched.tools_off)
        return server

    async def switch(self, server: McpServer, tool: str, on: bool) -> None:
        """On or off, and so in later runs; without a tool it is the server. Raises StorageError when it is not kept."""
        if tool:
            server.set_tool(tool, on)
        else:
            await server.set_enabled(on)
        if self._switches is not None:
            self._switches.keep(server.name, tool, on)

    async def reset(self, server: McpServer | None) -> None:
        """As the configuration says; None: all of them. Raises StorageError when it is not kept."""
        for one in self.servers.values() if server is None else (server,):
            one.tools_off = set(one.config.tools_off)
            if one.enabled != one.config.enabled:
                await one.set_enabled(one.config.enabled)
            self._tell(one)
        if self._switches is not None:
            self._switches.reset(None if server is None else server.name)

    def start(self) -> None:
        """Start all that are switched on. Returns at once."""
        for server in self.servers.values():
            server.log.begin()
            server.start()

    async def close(self, *, leave: bool = False) -> None:
        """End all of them at the same time; `leave`: whoever guards the program's children sees their end."""
        self.listeners.clear()
        stops = [asyncio.ensure_future(server.stop(leave=leave)) for server in self.servers.values()]
        if waiting := [*stops, *self._ending]:
            await asyncio.wait(waiting)

    async def settled(self, seconds: float, late_seconds: float | None = None) -> list[str]:
        """Until no server is starting, or so many seconds have passed; the names of those that still are.

        `late_seconds`: for those that were late before and have not been ready since.
        """
        self.start()
        ahead = None
        if any(server.state.phase == "starting" and not server.log.was_late for server in self.servers.values()):
            ahead = asyncio.create_task(self._sdk.ahead(), name="mcp import")  # while they start: somebody waits
        changed = asyncio.Event()
        self.listeners["settled"] = lambda _state: changed.set()
        clock = asyncio.get_running_loop().time
        brief = seconds if late_seconds is None else min(seconds, late_seconds)
        ends = {name: clock() + (brief if server.log.was_late else seconds) for name, server in self.servers.items()}
        try:
            while starting := [server for server in self.servers.values() if server.state.phase == "starting"]:
                end = max(ends.get(server.name, 0.0) for server in starting)
                if end <= clock():
                    break
                changed.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(end - clock()):
                        await changed.wait()
        finally:
            self.listeners.pop("settled", None)
            if ahead is not None:
                ahead.cancel()
        for server in starting:
            server.log.mark_late(True)
        return [server.name for server in starting]

    def states(self) -> tuple[ServerState, ...]:
        return tuple(server.state for server in self.servers.values())

    def find(self, name: str) -> McpServer | None:
        """By its name or by the short one in the names of its tools."""
        return self.servers.get(name) or next((one for one in self.servers.values() if one.slug == name), None)

    def _tell(self, server: McpServer) -> None:
        if self.servers.get(server.name) is server:
            for listener in list(self.listeners.values()):
                listener(server.state)
