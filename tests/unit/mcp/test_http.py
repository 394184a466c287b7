"""The same server by its address: streamable HTTP on loopback."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reactagent_tui.core.mcp.config import ServerConfig
from tests.unit.mcp.kit import FAKE, PATIENCE, Port, noted, running

pytestmark = pytest.mark.external


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number = probe.getsockname()[1]
    env = {**os.environ, "FAKE_MCP_JOURNAL": str(tmp_path / "journal")}
    process = subprocess.Popen([sys.executable, str(FAKE), "good", "--http", str(number)], env=env)
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
        await noted(tmp_path, "call slow")
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        await noted(tmp_path, "cancelled slow")
        assert (await server.call("echo", {"text": "still"}, Port())).text == "still"
