"""`/mcp login` and `/mcp logout`: the browser, a question while it is open, and what the user may paste instead."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from reactagent_tui.core.commands.registry import CommandResult, Host, Translate
from reactagent_tui.core.display import TextBlock, clean
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.mcp.oauth_access import LoginDesk
from reactagent_tui.core.mcp.oauth_login import LoginFailed, LoginPage
from reactagent_tui.core.mcp.server import McpServer
from reactagent_tui.core.reporter import Answer, ChoiceQuestion
from reactagent_tui.core.tools.session_servers import SessionServers

_FLASH = 0.5
"""Seconds; what takes no longer is not worth a question."""


async def log_in(host: Host, servers: SessionServers, server: McpServer) -> CommandResult:
    """Log in and connect again. ESC ends it at once."""
    t, desk = host.t, servers.desk
    if desk is None or desk.browser is None:
        return _problem(t("mcp.login.nobody", server=server.name))
    if host.is_running:
        return _problem(t("mcp.login.busy"))
    attempt = _Attempt(host, desk, server)
    try:
        if not await attempt.run():
            return CommandResult((TextBlock(t("mcp.login.stopped", server=server.name), "dim"),))
    except LoginFailed as failure:
        return _problem(clean(t(failure.key, **failure.params)))
    await server.restart()
    return CommandResult((TextBlock(t("mcp.login.done", server=server.name), "ok"),))


async def log_out(servers: SessionServers, server: McpServer, t: Translate) -> CommandResult:
    """Forget tokens and registration, and connect again without them."""
    try:
        found = servers.desk is not None and await asyncio.to_thread(servers.desk.logins.log_out, server.config)
    except StorageError as error:
        return _problem(str(error))
    if not found:
        return CommandResult((TextBlock(t("mcp.logout.none", server=server.name), "dim"),))
    await server.restart()
    return CommandResult((TextBlock(t("mcp.logout.done", server=server.name)),))


class _Attempt:
    """One login with the user looking on."""

    def __init__(self, host: Host, desk: LoginDesk, server: McpServer) -> None:
        self._host = host
        self._desk = desk
        self._server = server
        self._page: LoginPage | None = None
        self._shown = asyncio.Event()
        self._opening: set[asyncio.Task[bool]] = set()

    async def run(self) -> bool:
        """False: the user ended it. Raises LoginFailed."""
        work = asyncio.create_task(self._desk.logins.log_in(self._server.config, self._show))
        try:
            if not await self._attended(work):
                return False
            await work
            return True
        finally:
            for task in (work, *self._opening):
                task.cancel()
            await asyncio.wait((work, *self._opening))

    def _show(self, page: LoginPage) -> None:
        self._page = page
        self._shown.set()

    async def _attended(self, work: asyncio.Task[None]) -> bool:
        """Until the login ended; False: the user wants no more of it."""
        shown = asyncio.create_task(self._shown.wait())
        try:
            if not await self._passed((work, shown)):
                return False
        finally:
            shown.cancel()
        if (page := self._page) is None:
            return True
        self._open(page)
        self._desk.tell("mcp.login.address", self._server.name, page.url)
        again = False
        while not work.done():
            answer = await self._answer(_question(self._server, page, again=again), (work,))
            if answer is None:
                return True
            if answer.verdict in ("deny", "stop"):
                return False
            if answer.comment.strip():
                again = not page.paste(answer.comment)
                if not again:
                    return await self._passed((work,))
            elif answer.choice == 0:
                self._open(page)
            else:
                return False
        return True

    async def _passed(self, until: Sequence[asyncio.Task[Any]]) -> bool:
        """Until one of these is done, which takes a moment; False: it took longer, and the user wants no more of it."""
        await asyncio.wait(until, timeout=_FLASH, return_when=asyncio.FIRST_COMPLETED)
        return any(task.done() for task in until) or await self._answer(_waiting(self._server), until) is None

    async def _answer(self, question: ChoiceQuestion, until: Sequence[asyncio.Task[Any]]) -> Answer | None:
        """What the user said; None: one of these is done, and nobody needs to say anything."""
        asking = asyncio.create_task(self._host.ask(question))
        try:
            await asyncio.wait((asking, *until), return_when=asyncio.FIRST_COMPLETED)
            return None if any(task.done() for task in until) else asking.result()
        finally:
            asking.cancel()
            await asyncio.wait((asking,))

    def _open(self, page: LoginPage) -> None:
        assert self._desk.browser is not None
        task: asyncio.Task[bool] = asyncio.ensure_future(self._desk.browser(page.url))
        self._opening.add(task)


def _waiting(server: McpServer) -> ChoiceQuestion:
    params = {"server": clean(server.name)}
    return ChoiceQuestion("mcp.login.waiting", ("mcp.login.cancel",), params=params, title="mcp.login.title")


def _question(server: McpServer, page: LoginPage, *, again: bool) -> ChoiceQuestion:
    key = "mcp.login.again" if again else "mcp.login.ask"
    params = {"server": clean(server.name), "host": clean(urlsplit(page.url).netloc)}
    options = ("mcp.login.open", "mcp.login.cancel")
    return ChoiceQuestion(key, options, params=params, title="mcp.login.title", commented=True)


def _problem(text: str) -> CommandResult:
    return CommandResult((TextBlock(text, "error"),), level="error")
