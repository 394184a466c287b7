"""The life of one server: started in the background, restarted once when it dies, then failed with the reason."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reactagent_tui.core.mcp.catalogue import Catalogue, RemoteTool
from reactagent_tui.core.mcp.client import Connection, Surroundings, innermost
from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.ports import CallPort
from reactagent_tui.core.mcp.results import RemoteResult
from reactagent_tui.core.mcp.sdk import SdkImport
from reactagent_tui.core.mcp.server_log import ServerLog
from reactagent_tui.core.mcp.stdio import ServerError, ServerGone

log = logging.getLogger(__name__)

ServerPhase = Literal["off", "starting", "ready", "failed", "login"]
"""`login`: it waits for the user to log in."""
RESTARTS = 1
_GONE = 2.5
"""Seconds that closing waits for a server's task."""
_LONGEST_REASON = 300
_STARTED = "reactagent: started"
"""Line in the log; what a server printed in an earlier life is not why it failed now."""
_TAIL = 6


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server as the screen shows it."""

    name: str
    phase: ServerPhase
    since: float
    """Monotonic seconds."""
    tools: int = 0
    """Tools that are switched on."""
    tokens: int = 0
    """What these cost in every request, estimated."""
    reason: str = ""
    """Why it failed."""
    transport: str = ""
    origin: str = ""


class McpServer:
    """One server. `told` is called whenever its state or its lists changed."""

    def __init__(
        self,
        config: ServerConfig,
        slug: str,
        around: Callable[[ServerLog], Surroundings],
        log_file: Path,
        sdk: SdkImport,
    ) -> None:
        self.config = config
        self.slug = slug
        self.enabled = config.enabled
        self.tools_off = set(config.tools_off)
        self.catalogue = Catalogue()
        self.log = ServerLog(log_file)
        self.told: Callable[[McpServer], None] = lambda _server: None
        self._around = around
        self._sdk = sdk
        self._connection: Connection | None = None
        """One that is ready."""
        self._link: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._phase: ServerPhase = "off"
        self._since = time.monotonic()
        self._reason = ""
        self._refused = False
        """The last connection ended because nobody is logged in."""

    # -- what it is -------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def is_ready(self) -> bool:
        return self._phase == "ready"

    @property
    def tools(self) -> tuple[RemoteTool, ...]:
        """Those that a model may call now."""
        if not self.is_ready:
            return ()
        return tuple(tool for tool in self.catalogue.tools if tool.real not in self.tools_off)

    @property
    def state(self) -> ServerState:
        tools = self.tools
        return ServerState(
            name=self.name,
            phase=self._phase,
            since=self._since,
            tools=len(tools),
            tokens=sum(tool.tokens for tool in tools),
            reason=self._reason,
            transport=self.config.transport,
            origin=self.config.origin,
        )

    # -- starting and ending ----------------------------------------------------------------

    def start(self) -> None:
        """Begin in the background; nothing when it runs or is switched off."""
        if self.enabled and (self._task is None or self._task.done()):
            self._set("starting")
            self._task = asyncio.create_task(self._live(), name=f"mcp {self.name}")

    async def stop(self, *, leave: bool = False) -> None:
        """End it and its process. Waits no longer than a moment, whatever the server does; `leave`: not for it."""
        task, self._task = self._task, None
        if leave and self._link is not None:
            self._link.leave()
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait((task,), timeout=_GONE)
        self._connection = None
        self._set("off")

    async def restart(self) -> None:
        await self.stop()
        self.start()

    async def set_enabled(self, on: bool) -> None:
        self.enabled = on
        if on:
            self.start()
        else:
            await self.stop()

    def set_tool(self, real: str, on: bool) -> None:
        """Offer one tool or not, from the next turn on."""
        if on:
            self.tools_off.discard(real)
        else:
            self.tools_off.add(real)
        self.told(self)

    async def _live(self) -> None:
        if self.config.problem:
            self._fail(self.config.problem)
            return
        for attempt in range(RESTARTS + 1):
            was_ready, reason = await self._once()
            if self._refused:
                self._reason = ""
                self._set("login")
                return
            if not was_ready or attempt == RESTARTS:
                self._fail(reason)
                return
            log.warning("server %s: %s; it is started again", self.name, reason)
            self._reason = reason
            self._set("starting")

    async def _once(self) -> tuple[bool, str]:
        """One start and life. (Whether it was ready, why it ended.)"""
        self.log.note(f"{_STARTED}\n".encode())
        connection = self._link = Connection(self.config, self.slug, self._around(self.log), self._sdk)
        was_ready = False
        try:
            async with contextlib.AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout(self.config.timeout):
                        await connection.open(stack)
                        self.catalogue = await connection.catalogue()
                except TimeoutError:
                    return False, f"no answer within {self.config.timeout:g} s"
                self._connection = connection
                was_ready = True
                self._reason = ""
                self.log.mark_late(False)
                self._set("ready")
                await self._serve(connection)
            return True, connection.ending
        except Exception as error:
            # the border to other people's servers: whatever they or the SDK do ends this one server only
            log.info("server %s: %s", self.name, error, exc_info=not isinstance(error, (OSError, ServerError)))
            return was_ready, connection.refusal or _in_words(error)
        finally:
            self._connection = self._link = None
            self._refused = connection.needs_login

    async def _serve(self, connection: Connection) -> None:
        """Until the connection is lost; reads the lists again whenever the server says that they changed."""
        lost = asyncio.create_task(connection.lost.wait())
        try:
            while not lost.done():
                changed = asyncio.create_task(connection.changed.wait())
                await asyncio.wait((lost, changed), return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
                if connection.changed.is_set() and not lost.done():
                    connection.changed.clear()
                    self.catalogue = await connection.catalogue()
                    self.told(self)
        finally:
            lost.cancel()

    def _fail(self, reason: str) -> None:
        tail = self.log.tail(_TAIL).rpartition(_STARTED)[2].strip()
        self._reason = f"{reason}: {tail}"[:_LONGEST_REASON] if tail and reason not in tail else reason
        self._set("failed")

    def _set(self, phase: ServerPhase) -> None:
        self._phase = phase
        self._since = time.monotonic()
        self.told(self)

    # -- use --------------------------------------------------------------------------------

    async def call(self, real: str, args: Mapping[str, object], port: CallPort) -> RemoteResult:
        """Call a tool. Raises ServerError."""
        return await self._connected().call(real, args, port)

    async def read_resource(self, uri: str) -> RemoteResult:
        return await self._connected().read_resource(uri)

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> RemoteResult:
        return await self._connected().get_prompt(name, arguments)

    def _connected(self) -> Connection:
        if self._connection is None or not self.is_ready:
            told = f": {self._reason}" if self._reason else ""
            if self._phase == "login":
                raise ServerGone(
                    f"the server {self.name} needs a login: the user can do it with /mcp login {self.name}"
                )
            raise ServerGone(f"the server {self.name} is {self._phase}{told}")
        return self._connection


def _in_words(error: BaseException) -> str:
    """The innermost reason."""
    error = innermost(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:_LONGEST_REASON]
