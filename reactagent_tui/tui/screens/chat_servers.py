"""MCP servers on the chat screen: the status line while they start, a line when one fails, the full screen."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from reactagent_tui.core.display import clean_line
from reactagent_tui.locales import Translate
from reactagent_tui.tui.widgets.completion import Completion

if TYPE_CHECKING:
    from reactagent_tui.core.events import ServerStateChanged
    from reactagent_tui.tui.screens.chat import ChatScreen

_COMPLETIONS = 20
_NAMED = 2
"""Servers that start and are named."""


def server_changed(chat: ChatScreen, event: ServerStateChanged) -> None:
    """One server of the session on screen changed."""
    before = chat.servers.get(event.server)
    chat.servers[event.server] = event
    chat.status.show_servers(servers_line(chat.servers.values(), chat.t))
    if event.state == "login" and (before is None or before.state != "login"):
        chat.transcript.add_notice(chat.t("mcp.login.needed", server=clean_line(event.server)), level="warn")
    if event.state == "failed" and (before is None or before.state != "failed"):
        chat.transcript.add_notice(chat.t("mcp.failed", server=event.server, reason=event.reason), level="warn")


def servers_line(servers: Iterable[ServerStateChanged], t: Translate) -> str:
    """`MCP 3/4 · x …`: while one starts or has failed; "" when there is nothing to say."""
    wanted = [server for server in servers if server.state != "off"]
    starting = [server.server for server in wanted if server.state == "starting"]
    is_ready = sum(server.state == "ready" for server in wanted)
    if is_ready == len(wanted):
        return ""
    names = ", ".join(starting[:_NAMED]) + (" …" if starting else "")
    return t("mcp.status", ready=is_ready, all=len(wanted)) + (f" {names}" if names.strip() else "")


async def resource_completions(chat: ChatScreen, prefix: str) -> list[Completion]:
    """`@server:uri` of resources that fit what is typed after the `@`."""
    if not any(server.state == "ready" for server in chat.servers.values()):
        return []

    async def find(agent: Any) -> list[tuple[str, str]]:
        servers = agent.session.servers
        return [] if servers is None else servers.resources

    wanted = prefix.casefold()
    found = [item for item in await chat.home.bridge.query(find) if wanted in item[0].casefold()]
    return [Completion(value, clean_line(name)) for value, name in found[:_COMPLETIONS]]


def open_servers(chat: ChatScreen) -> None:
    """The list with tools, switches and logs."""
    from reactagent_tui.tui.screens.mcp import McpScreen, ServerView, ToolView

    bridge = chat.home.bridge

    async def look() -> list[ServerView]:
        async def find(agent: Any) -> list[ServerView]:
            session = agent.session.servers
            if session is None:
                return []
            return [
                ServerView(
                    server.state,
                    server.enabled,
                    tuple(
                        ToolView(tool.real, tool.description, tool.tokens, tool.real not in server.tools_off)
                        for tool in server.catalogue.tools
                    ),
                    server.log.tail(200),
                    session.is_deferred,
                )
                for server in session.servers.servers.values()
            ]

        return await bridge.query(find)

    async def act(verb: str, target: str) -> None:
        await bridge.command("mcp", f"{verb} {target}")

    def left(login: str | None) -> None:
        if login is not None:
            chat.run_worker(partial(chat._core_command, f"/mcp login {login}"), exit_on_error=False)

    chat.app.push_screen(McpScreen(chat.t, look, act), left)
