"""A call that is given up: nobody waits for the SDK, which tells the server for as long as that takes."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from reactagent_tui.core.mcp.client import Connection
from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.sdk import SdkImport
from tests.unit.mcp.kit import PATIENCE, Port


@pytest.mark.asyncio
async def test_a_stuck_connection_holds_nobody() -> None:
    asked, stuck, told = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def send_request(*_: Any, **__: Any) -> None:
        try:
            asked.set()
            await asyncio.Event().wait()
        finally:
            await stuck.wait()
            told.set()

    link: Any = Connection(ServerConfig("x", "http"), "x", cast("Any", None), SdkImport())
    link._session = SimpleNamespace(send_request=send_request)
    call = asyncio.create_task(link.call("slow", {}, Port()))
    async with asyncio.timeout(PATIENCE):
        await asked.wait()
        call.cancel()
        try:
            await asyncio.wait((call,), timeout=PATIENCE / 2)
            assert call.cancelled()
            assert not told.is_set()
        finally:
            stuck.set()
        await told.wait()
        while link._abandoned:
            await asyncio.sleep(0)
