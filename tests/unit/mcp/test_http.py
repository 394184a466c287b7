"""The same server by its address: streamable HTTP on loopback."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reactagent_tui.core.mcp.config import ServerConfig
from tests.unit.mcp.kit import FAKE, PATIENCE, Port, running

pytestmark = pytest.mark.external


@pytest.fixture
def port() -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(FAKE), "good", "--http", str(number)])
    try:
        yield number
    finally:
        process.kill()
        process.wait()


@pytest.mark.asyncio
async def test_calls_over_http(tmp_path: Path, port: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            except OSError:
                await asyncio.sleep(0.02)
    async with running(tmp_path, ServerConfig("web", "http", url=f"http://127.0.0.1:{port}/mcp")) as (servers, told):
        server = servers.servers["web"]
        await told.until(lambda: server.state.phase != "starting")
        assert server.is_ready, server.state.reason
        assert (await server.call("echo", {"text": "by wire"}, Port())).text == "by wire"
        shown = Port()
        assert (await server.call("progress", {}, shown)).text == "all parts"
        assert len(shown.shown) == 3
        slow = asyncio.create_task(server.call("slow", {}, Port()))
        await asyncio.sleep(0)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert (await server.call("echo", {"text": "still"}, Port())).text == "still"
