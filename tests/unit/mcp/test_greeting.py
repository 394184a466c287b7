"""Servers are greeted before the SDK is there: the same bytes, no import for those that do not answer."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from reactagent_tui.core.mcp.client import Connection
from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.greeting import CLIENT, greeting, knock
from reactagent_tui.core.mcp.sdk import SdkImport
from reactagent_tui.core.mcp.stdio import ServerGone
from tests.unit.mcp.kit import PATIENCE, fake, running

pytestmark = pytest.mark.external

LEAN = """
import asyncio, sys
from reactagent_tui.core.mcp.sdk import HTTP_MODULES, SdkImport

async def main():
    sdk = SdkImport()
    await asyncio.gather(sdk.finished(), sdk.finished(HTTP_MODULES))

asyncio.run(main())
print([name for name in ("mcp.server", "mcp.client.client", "starlette", "uvicorn") if name in sys.modules])
import mcp
session = sys.modules["mcp.client.session"]
assert mcp.client.session is session
assert mcp.ClientSession is session.ClientSession
from mcp.client import Client
from mcp.server.lowlevel import Server
"""
EARLY_PING = """
import json, sys
say = lambda **fields: print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)
seen = []
for line in sys.stdin:
    got = json.loads(line)
    seen.append(got.get("method"))
    if got.get("method") == "initialize":
        first = got["id"]
        print("Welcome!", flush=True)
        say(id="are you there", method="ping")
    elif got.get("id") == "are you there":
        assert "result" in got
        info = {"name": "early", "version": "1"}
        say(id=first, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info})
    elif got.get("method") == "tools/list":
        assert got["id"] != first
        assert seen.count("initialize") == 1
        say(id=got["id"], result={"tools": [{"name": "one", "inputSchema": {"type": "object"}}]})
"""
EARLY = ServerConfig("early", "stdio", (sys.executable, "-c", EARLY_PING))


class NoSdk(SdkImport):
    """Counts who wants it."""

    asked = 0

    async def finished(self, modules: tuple[str, ...] = ()) -> None:
        self.asked += 1
        raise ImportError("not here")


@pytest.mark.asyncio
async def test_the_greeting_is_what_the_sdk_would_send() -> None:
    import anyio
    from mcp.client.session import ClientSession
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
    from mcp_types import Implementation

    from reactagent_tui import __version__

    to_session, read = anyio.create_memory_object_stream[Any](1)
    write, from_session = anyio.create_memory_object_stream[Any](1)
    link: Any = Connection(ServerConfig("x", "stdio"), "x", cast("Any", None), SdkImport())
    async with (
        to_session,
        from_session,
        ClientSession(
            dispatcher=JSONRPCDispatcher(read, write),
            sampling_callback=link._on_sample,
            elicitation_callback=link._on_elicit,
            list_roots_callback=link._on_roots,
            logging_callback=link._on_log,
            message_handler=link._on_message,
            client_info=Implementation(name=CLIENT, version=__version__),
        ) as session,
    ):
        asking = asyncio.create_task(session.initialize())
        message = (await from_session.receive()).message
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
    assert message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n" == greeting()


def test_the_sdk_comes_without_its_servers_and_is_whole_for_others() -> None:
    done = subprocess.run([sys.executable, "-c", LEAN], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


@pytest.mark.asyncio
async def test_servers_that_never_answer_cost_no_import(tmp_path: Path) -> None:
    sdk = NoSdk()
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        configs = [
            fake("hangs", timeout=1.0),
            fake("exits"),
            ServerConfig("echo", "stdio", ("cat",)),
            ServerConfig("noise", "stdio", ("sh", "-c", "echo hello; exec sleep 600"), timeout=1.0),
            ServerConfig("none", "stdio", ("/no/such/program",)),
            ServerConfig("refuses", "http", url="http://127.0.0.1:9/mcp"),
            ServerConfig("deaf", "http", url=f"http://127.0.0.1:{deaf.getsockname()[1]}/mcp", timeout=1.0),
        ]
        async with running(tmp_path, *configs, sdk=sdk) as (servers, told):
            await told.until(lambda: all(state.phase == "failed" for state in servers.states()))
            reasons = {state.name: state.reason for state in servers.states()}
    assert sdk.asked == 0
    assert "sends back" in reasons["echo"]
    assert "Connection refused" in reasons["refuses"]
    assert "exited with 4: no licence found" in reasons["exits"]
    assert reasons["deaf"] == reasons["hangs"] == "no answer within 1 s"


@pytest.mark.asyncio
async def test_one_that_answers_does(tmp_path: Path) -> None:
    sdk = NoSdk()
    async with running(tmp_path, fake("good"), sdk=sdk) as (servers, told):
        await told.until(lambda: all(state.phase == "failed" for state in servers.states()))
        assert servers.states()[0].reason == "not here"
    assert sdk.asked == 1


@pytest.mark.asyncio
async def test_a_server_may_ask_before_it_answers(tmp_path: Path) -> None:
    async with running(tmp_path, EARLY) as (servers, told):
        await told.until(lambda: servers.states()[0].phase != "starting")
        assert [tool.real for tool in servers.servers["early"].tools] == ["one"], servers.states()


@pytest.mark.asyncio
async def test_whoever_answers_anything_is_there() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.write(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n")

    asked: list[bytes] = []
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        await knock(f"http://127.0.0.1:{port}/mcp?a=b")
        assert asked == [b"OPTIONS /mcp?a=b HTTP/1.1\r\n"]
        await knock(f"https://127.0.0.1:{port}/mcp")
    with pytest.raises(ServerGone, match="label"):
        await knock(f"http://{'x' * 70}/mcp")


@pytest.mark.asyncio
async def test_who_was_waited_for_in_vain_is_waited_for_briefly(tmp_path: Path) -> None:
    configs = (ServerConfig("hangs", "stdio", ("sleep", "600")), EARLY)
    async with running(tmp_path, *configs) as (servers, told):
        servers.servers["early"].log.mark_late(True)
        await told.until(lambda: servers.servers["early"].is_ready)
        assert not servers.servers["early"].log.was_late
        assert await servers.settled(0.01) == ["hangs"]
    async with running(tmp_path, *configs) as (servers, _), asyncio.timeout(PATIENCE):
        assert await servers.settled(600, 0.01) == ["hangs"]
        assert servers.servers["early"].is_ready
    async with running(tmp_path, EARLY) as (servers, _):
        assert await servers.settled(600, 600) == []


@pytest.mark.asyncio
async def test_quiet_is_waited_for() -> None:
    answers = [False, False, True]
    asked: list[bool] = []

    def is_quiet() -> bool:
        asked.append(answers[min(len(asked), 2)])
        return asked[-1]

    sdk = SdkImport(is_quiet)
    await sdk.finished(("json",))
    await sdk.finished(("json",))
    assert asked == [False, False, True]
