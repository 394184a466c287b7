"""The older transport against a server on the SDK, and servers that know only that one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.server import McpServer
from reactagent_tui.core.mcp.stdio import ServerError
from tests.fakes.oauth_server import Desk, login_server
from tests.unit.mcp.kit import Port, running


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Desk, str]]:
    with login_server() as found:
        yield found


@pytest.fixture
def old(servers: tuple[Desk, str]) -> ServerConfig:
    servers[0].reset()
    return ServerConfig("old", "sse", url=f"{servers[1]}/plain/sse")


async def echo(server: McpServer) -> str:
    return (await server.call("echo", {"text": "by stream"}, Port())).text


async def test_connect_list_call_progress_change_and_close(
    tmp_path: Path, servers: tuple[Desk, str], old: ServerConfig
) -> None:
    async with running(tmp_path, old) as (found, told):
        server = found.servers["old"]
        await told.until(lambda: server.state.phase != "starting")
        assert server.is_ready, server.state.reason
        assert await echo(server) == "by stream"
        port = Port()
        assert (await server.call("progress", {}, port)).text == "all parts"
        assert len(port.shown) == 3
        before = len(server.tools)
        await server.call("change", {}, Port())
        await told.until(lambda: len(server.tools) == before + 1)
        slow = asyncio.create_task(server.call("slow", {}, Port()))
        await asyncio.sleep(0)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert await echo(server) == "by stream"
        await server.stop()
        assert server.state.phase == "off"


async def test_death_is_seen_at_once_ends_calls_and_is_mended_once(
    tmp_path: Path, servers: tuple[Desk, str], old: ServerConfig
) -> None:
    desk = servers[0]
    async with running(tmp_path, old) as (found, told):
        server = found.servers["old"]
        await told.until(lambda: server.state.phase != "starting")
        call = asyncio.create_task(server.call("slow", {}, Port()))
        assert await echo(server) == "by stream"  # the slow one is under way
        desk.drop_streams()
        with pytest.raises(ServerError):
            await call
        await told.until(lambda: server.state.phase == "starting")
        await told.until(lambda: server.state.phase == "ready")
        assert await echo(server) == "by stream"
        desk.refuses_streams = True
        desk.drop_streams()
        await told.until(lambda: server.state.phase == "failed")
        assert "closed" in server.state.reason


async def test_a_message_that_is_refused_ends_the_connection_instead_of_hanging(
    tmp_path: Path, servers: tuple[Desk, str], old: ServerConfig
) -> None:
    async with running(tmp_path, old) as (found, told):
        server = found.servers["old"]
        await told.until(lambda: server.state.phase != "starting")
        servers[0].refuses_messages = True
        with pytest.raises(ServerError, match="HTTP 500"):
            await echo(server)
        await told.until(lambda: server.state.phase == "failed")
        assert "HTTP 500" in server.state.reason


async def test_a_server_that_refuses_streamable_http_is_tried_with_sse(
    tmp_path: Path, servers: tuple[Desk, str], old: ServerConfig
) -> None:
    new = ServerConfig("old", "http", url=old.url)
    async with running(tmp_path, new) as (found, told):
        server = found.servers["old"]
        await told.until(lambda: server.state.phase != "starting")
        assert server.is_ready, server.state.reason
        assert await echo(server) == "by stream"


async def test_a_server_that_knows_neither_says_what_came_both_times(
    tmp_path: Path, servers: tuple[Desk, str], old: ServerConfig
) -> None:
    nothing = ServerConfig("none", "http", url=f"{servers[1]}/nothing")
    async with running(tmp_path, nothing) as (found, told):
        server = found.servers["none"]
        await told.until(lambda: server.state.phase != "starting")
        assert server.state.phase == "failed"
        assert "404" in server.state.reason
        assert "streamable HTTP: Not Found; SSE is tried" in server.state.reason
