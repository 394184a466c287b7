"""MCP servers of the runtime: one set for each folder, shared by the sessions in it, started behind their backs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

from reactagent_tui.core.config.loader import LoadedConfig
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.display import CodeBlock
from reactagent_tui.core.events import Notice, ServerStateChanged
from reactagent_tui.core.llm.base import ChatProvider
from reactagent_tui.core.mcp.client import Surroundings
from reactagent_tui.core.mcp.config import ServerConfig, configured_servers
from reactagent_tui.core.mcp.oauth_access import LoginDesk, Logins
from reactagent_tui.core.mcp.oauth_browser import OpenBrowser
from reactagent_tui.core.mcp.sdk import SdkImport
from reactagent_tui.core.mcp.server import ServerState
from reactagent_tui.core.mcp.server_log import ServerLog
from reactagent_tui.core.mcp.servers import ServerSet
from reactagent_tui.core.mcp.switches import Switches
from reactagent_tui.core.paths import Paths, folder_slug
from reactagent_tui.core.reporter import Reporter
from reactagent_tui.core.tools.mcp_sampling import Sampling
from reactagent_tui.core.tools.process import spawn
from reactagent_tui.core.tools.session_servers import SessionServers
from reactagent_tui.core.tools.shell_env import PROVIDER_KEYS
from reactagent_tui.core.tools.toolkit import Toolkit

USER_FILE = "mcp.json"
"""In the user's folder, beside config.yaml: the same shape as `.mcp.json`."""

LATE_WAIT = 2.0
"""Seconds for a server that was waited for in vain and has not been ready since."""


class Trust(Protocol):
    def is_trusted(self, folder: Path) -> bool: ...


class RuntimeLike(Protocol):
    """The part of the runtime that servers need."""

    loaded: LoadedConfig
    paths: Paths
    env: Mapping[str, str]
    reporter: Reporter

    @property
    def trust(self) -> Trust: ...
    @property
    def sessions(self) -> Mapping[str, object]: ...


class SessionLike(Protocol):
    """The part of a session that servers need."""

    toolkit: Toolkit
    workdir: Path
    provider: ChatProvider
    ledger: Ledger
    servers: SessionServers | None

    @property
    def id(self) -> str: ...


class RuntimeServers:
    """Single-threaded, in the agent's loop."""

    def __init__(self, runtime: RuntimeLike) -> None:
        self._runtime = runtime
        self._sets: dict[Path, ServerSet] = {}
        self.is_quiet: Callable[[], bool] = lambda: True
        """Is this a good moment for work that slows the screen? Asked from any thread."""
        self._sdk = SdkImport(lambda: self.is_quiet())
        self.browser: OpenBrowser | None = None
        """Of a front end with somebody before it who may log in."""

    def open(self, session: SessionLike) -> None:
        """Give a session the servers of its folder. Nothing is started here: that is `start`."""
        servers = self._sets.get(session.workdir)
        if servers is None:
            servers = self._sets[session.workdir] = self._made(session.workdir)
        sampling = Sampling(lambda: session.provider, lambda: session.ledger)
        desk = LoginDesk(Logins.of(self._runtime.paths.state), partial(self._say, session.id), self.browser)
        session.servers = SessionServers(servers, sampling, self._runtime.loaded.config.mcp.defer_above, desk)
        for closed in servers.listeners.keys() - self._runtime.sessions.keys():
            del servers.listeners[closed]
        servers.listeners[session.id] = partial(self._tell, session.id)
        if servers.servers:
            asyncio.get_running_loop().call_soon(servers.start)

    async def settled(self) -> list[str]:
        """Wait for servers that are starting, as long as the configuration says; the names of those that still are."""
        seconds = self._runtime.loaded.config.mcp.wait
        sets = list(self._sets.values())
        late = await asyncio.gather(*(servers.settled(seconds, LATE_WAIT) for servers in sets))
        return [name for names in late for name in names]

    def begin_turn(self, session: SessionLike) -> None:
        """What is ready joins the session's tools."""
        if session.servers is not None:
            session.servers.begin_turn(session)

    def reload(self, workdir: Path) -> None:
        """The folder is trusted now, or not any more, or its files changed."""
        servers = self._sets.get(workdir)
        if servers is not None:
            servers.configure(self._configs(workdir))
            servers.start()

    async def close(self) -> None:
        """End every server. The guard of processes sees to it: nobody waits for a server that does not want to."""
        sets, self._sets = list(self._sets.values()), {}
        await asyncio.gather(*(servers.close(leave=True) for servers in sets))

    def _made(self, workdir: Path) -> ServerSet:
        runtime = self._runtime
        logs = runtime.paths.logs / "mcp" / folder_slug(workdir)
        switches = Switches.of_folder(runtime.paths, workdir)
        servers = ServerSet(partial(_around, runtime, workdir), logs, switches, self._sdk)
        servers.configure(self._configs(workdir))
        return servers

    def _configs(self, workdir: Path) -> list[ServerConfig]:
        runtime = self._runtime
        return configured_servers(
            runtime.loaded.config.mcp_servers,
            runtime.paths.config / USER_FILE,
            workdir,
            runtime.env,
            trusted=runtime.trust.is_trusted(workdir),
        )

    def _say(self, session_id: str, key: str, server: str, url: str) -> None:
        blocks = (CodeBlock(url),)
        self._runtime.reporter.emit(Notice(session_id=session_id, key=key, params={"server": server}, blocks=blocks))

    def _tell(self, session_id: str, state: ServerState) -> None:
        self._runtime.reporter.emit(
            ServerStateChanged(
                session_id=session_id,
                server=state.name,
                state=state.phase,
                tools=state.tools,
                tokens=state.tokens,
                reason=state.reason,
            )
        )


def _around(runtime: RuntimeLike, workdir: Path, config: ServerConfig, log: ServerLog) -> Surroundings:
    hidden = {*PROVIDER_KEYS, *(name for name in runtime.env if name.endswith("_API_KEY"))}
    env = {name: value for name, value in runtime.env.items() if name not in hidden}
    logins = Logins.of(runtime.paths.state)
    return Surroundings(spawn=spawn, workdir=workdir, env=env, note=log.note, auth=logins.auth)
