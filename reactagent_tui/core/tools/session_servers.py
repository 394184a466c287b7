"""The MCP servers as one session uses them: which of their tools are in its requests, and when that may change.

Tools join at the beginning of a turn, so that requests within a turn begin with the same bytes. Two exceptions: tools
that the model itself has loaded, and those of servers that become ready while the first turn runs without any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from reactagent_tui.core.mcp.oauth_access import LoginDesk
from reactagent_tui.core.mcp.server import McpServer, ServerState
from reactagent_tui.core.mcp.servers import ServerSet
from reactagent_tui.core.tools.base import Tool
from reactagent_tui.core.tools.mcp import McpTool, Sampler
from reactagent_tui.core.tools.mcp_resource import NAME as RESOURCE
from reactagent_tui.core.tools.mcp_resource import McpReadResource
from reactagent_tui.core.tools.mcp_search import NAME as SEARCH
from reactagent_tui.core.tools.mcp_search import McpSearchTools
from reactagent_tui.core.tools.toolkit import Toolkit


class HasToolkit(Protocol):
    """A session, or the executor of a run."""

    toolkit: Toolkit


class Run(Protocol):
    """A run whose next step may have other tools."""

    setup: Any
    executor: Any


@dataclass
class SessionServers:
    """Single-threaded."""

    servers: ServerSet
    sample: Sampler
    defer_above: int
    """Tokens of schemas from which tools are hidden behind the search."""
    desk: LoginDesk | None = None
    """Where the user logs in to servers."""
    changed: Callable[[], None] = lambda: None
    off: frozenset[str] = frozenset()
    """Servers, by the name in their tools, that this session does without."""
    loaded: list[str] = field(default_factory=list[str])
    """Hidden tools that the model asked for, in that order."""
    _turns: int = 0
    _load_now: bool = False
    _has_resources: bool = False
    _offered: tuple[McpTool, ...] = ()
    """Everything that counts in this turn, also what is hidden."""

    @property
    def states(self) -> tuple[ServerState, ...]:
        return self.servers.states()

    def find(self, name: str) -> McpServer | None:
        return self.servers.find(name)

    @property
    def is_deferred(self) -> bool:
        """Are the tools hidden behind the search now?"""
        return sum(tool.tool.tokens for tool in self._offered) > self.defer_above

    @property
    def resources(self) -> list[tuple[str, str]]:
        """(`@server:uri`, name) of every resource, for completion."""
        ready = [server for server in self.servers.servers.values() if server.is_ready]
        return [(f"@{server.slug}:{one.uri}", one.name) for server in ready for one in server.catalogue.resources]

    def switch(self, slug: str, session: HasToolkit, *, now: bool) -> None:
        """Do without a server in this session, or with it again: `now`, or from the next turn on."""
        self.off ^= {slug}
        if now:
            self._put(session)

    def begin_turn(self, session: HasToolkit) -> None:
        """What is ready now is in the toolkit of this turn."""
        self._turns += 1
        self._put(session)

    def begin_step(self, session: HasToolkit, run: Run) -> None:
        """Within a turn the tools stay what they are, but for the two exceptions."""
        late = self._turns == 1 and not self._offered
        if not (late or self._load_now):
            return
        self._load_now = False
        before = session.toolkit
        self._put(session, keep=not late)
        if session.toolkit is not before:
            run.setup.toolkit = run.executor.toolkit = session.toolkit

    def _put(self, session: HasToolkit, *, keep: bool = False) -> None:
        if not keep:
            self._has_resources = bool(self.resources)
            used = (server for server in self.servers.servers.values() if server.slug not in self.off)
            self._offered = tuple(McpTool(server, tool, self.sample) for server in used for tool in server.tools)
        session.toolkit = with_servers(session.toolkit, self._shown())

    def _shown(self) -> Sequence[Tool]:
        reader = [McpReadResource(self.servers)] if self._has_resources else []
        if not self.is_deferred:
            return [*reader, *self._offered]
        by_name = {tool.name: tool for tool in self._offered}
        return [
            *reader,
            McpSearchTools(lambda: self._offered, self._load),
            *(by_name[n] for n in self.loaded if n in by_name),
        ]

    def _load(self, tools: Sequence[McpTool]) -> None:
        self.loaded += [tool.name for tool in tools if tool.name not in self.loaded]
        self._load_now = True


def with_servers(kit: Toolkit, tools: Sequence[Tool]) -> Toolkit:
    """The kit with these tools of servers instead of those it had; the same kit when nothing changes."""
    own = [tool for tool in kit if not isinstance(tool, McpTool | McpSearchTools | McpReadResource)]
    before = [tool for tool in kit if isinstance(tool, McpTool)]
    wanted = sorted((tool for tool in tools if isinstance(tool, McpTool)), key=lambda tool: tool.name)
    helpers = [{tool.name for tool in some} & {SEARCH, RESOURCE} for some in (kit, tools)]
    if before == wanted and helpers[0] == helpers[1]:
        return kit
    return Toolkit([*own, *tools])
