"""B19 B65 and the rest of a server's bad days: right behaviour for each, one at a time and all at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.results import Blob, RemoteResult
from reactagent_tui.core.mcp.stdio import ServerError, ServerGone
from reactagent_tui.core.reporter import Answer
from reactagent_tui.core.tools.process import running_children
from reactagent_tui.core.tools.process_table import entry_of, is_same_process
from tests.unit.mcp.kit import PATIENCE, Port, fake, journal, noted, ready, running

pytestmark = pytest.mark.external


@pytest.mark.asyncio
async def test_what_a_server_offers(tmp_path: Path) -> None:
    async with ready(tmp_path) as server:
        names = [tool.name for tool in server.tools]
        assert "mcp__good__echo" in names
        assert server.state.tools == len(names)
        assert server.state.tokens > 0
        assert [prompt.name for prompt in server.catalogue.prompts] == ["write"]
        assert server.catalogue.prompts[0].arguments == (("topic", True),)
        assert [resource.uri for resource in server.catalogue.resources] == ["demo://note"]
        assert (await server.get_prompt("write", {"topic": "tea"})).text == "Write about tea."
        assert "the note" in (await server.read_resource("demo://note")).text


@pytest.mark.asyncio
async def test_results_of_every_kind(tmp_path: Path) -> None:
    async with ready(tmp_path) as server:

        async def result(tool: str) -> RemoteResult:
            return await server.call(tool, {"text": "hello"}, Port())

        assert await result("echo") == RemoteResult("hello")
        (image,) = (await result("image")).blobs
        assert image.media_type == "image/png"
        assert image.data.startswith(b"\x89PNG")
        assert (await result("audio")).blobs == (Blob(b"RIFF", "audio/wav"),)
        assert "demo://page" in (await result("link")).text
        assert (await result("embedded")).text == "[resource demo://inner]\ninside"
        assert '"answer": 42' in (await result("structured")).text
        assert await result("fails") == RemoteResult("it did not work", (), True)
        assert len((await result("big")).text) == 5_000_100


@pytest.mark.asyncio
async def test_progress_roots_and_questions(tmp_path: Path) -> None:
    async with ready(tmp_path) as server:
        port = Port(
            answers=[Answer("choice", choice=0), Answer("choice", comment="seven"), Answer("once", comment="7")]
        )
        assert (await server.call("progress", {}, port)).text == "all parts"
        assert port.shown == ["1/3 part 1\n", "2/3 part 2\n", "3/3 part 3\n"]
        assert (await server.call("root", {}, port)).text == tmp_path.as_uri()
        assert (await server.call("elicit", {}, port)).text == "accept {'colour': 'red', 'count': 7}"
        assert len(port.questions) == 3  # "seven" is no integer and was asked for again
        assert (await server.call("elicit", {}, Port())).text == "decline None"
        assert (await server.call("sample", {}, port)).text == "sampled: well"
        assert port.samples[0].turns == (("user", "Say something."),)


@pytest.mark.asyncio
async def test_cancelling_a_call_tells_the_server(tmp_path: Path) -> None:
    async with ready(tmp_path) as server:
        call = asyncio.create_task(server.call("slow", {}, Port()))
        await noted(tmp_path, "call slow")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await noted(tmp_path, "cancelled slow")
        assert (await server.call("echo", {"text": "still here"}, Port())).text == "still here"


@pytest.mark.asyncio
async def test_a_question_goes_with_its_call(tmp_path: Path) -> None:
    async with ready(tmp_path) as server:
        port = Port(waits=asyncio.Event())
        call = asyncio.create_task(server.call("elicit", {}, port))
        assert port.waits is not None
        await port.waits.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await server.call("echo", {"text": "fine"}, Port())).text == "fine"


@pytest.mark.asyncio
async def test_lists_that_change_while_a_call_runs(tmp_path: Path) -> None:
    async with running(tmp_path, fake("good")) as (servers, told):
        server = servers.servers["good"]
        await told.until(lambda: server.is_ready)
        slow = asyncio.create_task(server.call("slow", {}, Port()))
        await noted(tmp_path, "call slow")
        await server.call("change", {}, Port())
        await told.until(lambda: any(tool.real == "later" for tool in server.tools))
        assert not slow.done()
        slow.cancel()


@pytest.mark.asyncio
async def test_death_in_a_call_then_one_restart_then_failed(tmp_path: Path) -> None:
    async with running(tmp_path, fake("good")) as (servers, told):
        server = servers.servers["good"]
        await told.until(lambda: server.is_ready)
        with pytest.raises(ServerGone):
            await server.call("dies", {}, Port())
        await told.until(lambda: [state.phase for state in told.states].count("ready") == 2)
        assert (await server.call("echo", {"text": "back"}, Port())).text == "back"
        with pytest.raises(ServerGone):
            await server.call("dies", {}, Port())
        await told.until(lambda: server.state.phase == "failed")
        assert "exited with 3" in server.state.reason
        with pytest.raises(ServerGone, match="failed"):
            await server.call("echo", {"text": "x"}, Port())
        await server.restart()
        await told.until(lambda: server.is_ready)


@pytest.mark.asyncio
async def test_bad_servers_fail_apart_from_each_other(tmp_path: Path) -> None:
    configs = [
        fake("good"),
        fake("floods"),
        fake("exits"),
        fake("hangs", timeout=3.0),
        ServerConfig("echo", "stdio", ("cat",)),
        ServerConfig("none", "stdio", ("/no/such/program",)),
        ServerConfig("silent", "http", url="http://127.0.0.1:9/mcp", timeout=3.0),
        ServerConfig("wrong", "stdio", problem="x.json: neither `command` nor `url`"),
    ]
    async with running(tmp_path, *configs) as (servers, told):
        await told.until(lambda: all(state.phase != "starting" for state in servers.states()))
        states = {state.name: state for state in servers.states()}
        assert states["good"].phase == states["floods"].phase == "ready"
        assert "exited with 4: no licence found" in states["exits"].reason
        assert states["hangs"].reason == "no answer within 3 s"
        assert states["echo"].phase == states["silent"].phase == "failed"
        assert "/no/such/program" in states["none"].reason
        assert "neither" in states["wrong"].reason
        log = servers.servers["floods"].log.path.read_text("utf-8")
        assert "stdout: Welcome to the fake server!" in log
        assert log.count("warning: something") == 20_000


@pytest.mark.asyncio
async def test_names_schemas_and_many_tools(tmp_path: Path) -> None:
    async with running(tmp_path, fake("names"), fake("schemas"), fake("many")) as (servers, told):
        await told.until(lambda: all(state.phase == "ready" for state in servers.states()))
        names = [tool.name for tool in servers.servers["names"].tools]
        assert len(set(names)) == len(names) == 8
        schemas = servers.servers["schemas"]
        assert [tool.real for tool in schemas.tools] == ["hard"]
        assert "200," in schemas.catalogue.dropped["huge"]
        assert servers.servers["many"].state.tools == 300


@pytest.mark.asyncio
async def test_switches(tmp_path: Path) -> None:
    async with running(tmp_path, fake("good")) as (servers, told):
        server = servers.servers["good"]
        await told.until(lambda: server.is_ready)
        server.set_tool("echo", False)
        assert "echo" not in [tool.real for tool in server.tools]
        await server.set_enabled(False)
        assert server.state.phase == "off"
        assert not server.tools
        with pytest.raises(ServerError):
            await server.call("echo", {"text": "x"}, Port())
        await server.set_enabled(True)
        await told.until(lambda: server.is_ready)


@pytest.mark.asyncio
async def test_nothing_is_left_of_closed_servers(tmp_path: Path) -> None:
    wrapper = ServerConfig("wrapper", "stdio", ("bash", "-c", "sleep 4711 & echo $! >&2; exec sleep 4711"))
    async with running(tmp_path, fake("good"), fake("hangs"), wrapper) as (servers, told):
        await told.until(lambda: servers.servers["good"].is_ready)
        await noted(tmp_path, next(line for line in journal(tmp_path) if line.startswith("started good")))
        pids = [int(line.split()[2]) for line in journal(tmp_path) if line.startswith("started")]
        async with asyncio.timeout(30):
            while not (grandchild := servers.servers["wrapper"].log.tail(1).strip()):
                await asyncio.sleep(0.01)
        pids.append(int(grandchild))
        await servers.close()
        assert len(pids) >= 2
        assert [pid for pid in pids if entry_of(pid) is not None] == []


@pytest.mark.asyncio
async def test_the_guard_sees_servers_off_that_nobody_waits_for(tmp_path: Path) -> None:
    told_pid = "& echo $! >&2"
    configs = [
        ServerConfig("deaf", "stdio", ("bash", "-c", f"trap '' TERM; sleep 4712 {told_pid}; wait; sleep 4712")),
        ServerConfig("session", "stdio", ("bash", "-c", f"setsid sleep 4712 {told_pid}; exec sleep 4712")),
    ]
    async with running(tmp_path, *configs) as (servers, _):
        pids: list[int] = []
        async with asyncio.timeout(PATIENCE):
            for server in servers.servers.values():
                while not (line := server.log.tail(1).strip()).isdigit():
                    await asyncio.sleep(0.01)
                pids.append(int(line))
        entries = [entry for pid in pids if (entry := entry_of(pid)) is not None]
        assert len(entries) == 2
        await servers.close(leave=True)
        assert not running_children()
        async with asyncio.timeout(PATIENCE):
            while any(is_same_process(entry) for entry in entries):
                await asyncio.sleep(0.01)
