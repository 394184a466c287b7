"""B19 B62 B63 B65 in the real program: servers that are slow, dead or hostile cost neither start, prompt nor exit."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.mcp_place import DEAD, McpPlace, fake
from tests.fakes.model_server import ModelServer, ask_tools, say
from tests.fakes.oauth_server import login_server
from tests.fakes.program import Place, eventually

pytestmark = [pytest.mark.e2e, pytest.mark.external]


def tools_of(server: ModelServer) -> list[dict[str, Any]]:
    """The tools of the newest request."""
    return [tool["function"] for tool in server.exchanges[-1].body.get("tools", ())]


def test_dead_servers_hold_neither_the_prompt_nor_the_exit(place: Place, server: ModelServer) -> None:
    servers = McpPlace(place, DEAD)
    server.play(say("hello back"))
    with place.screen() as terminal:
        terminal.send("hello\r")
        terminal.wait("hello back")
        terminal.wait("MCP 0/10")
        terminal.send("/mcp\r")
        terminal.wait("exited with 1", "/no/such", "0 of 10 ready")
        terminal.press_until_gone("\x1b", "0 of 10 ready")
        began = time.monotonic()
        terminal.send("\x11")
        assert terminal.wait_exit() == 0
        assert time.monotonic() - began < 20  # not a measure of speed: a hang is a minute
        eventually(lambda: not servers.left({terminal.process.pid}), "nothing is left")


@pytest.mark.parametrize("way", ["quit", "crash"])
def test_nothing_of_servers_is_left(place: Place, server: ModelServer, way: str) -> None:
    servers = McpPlace(place, {"good": fake(), **{name: DEAD[name] for name in ("sleeps", "wrapper", "deaf")}})
    with place.screen() as terminal:
        terminal.wait("MCP 1/4")
        assert len(servers.left({terminal.process.pid})) >= 4
        if way == "crash":
            terminal.process.kill()
        else:
            terminal.send("\x11")
        terminal.wait_exit()
        eventually(lambda: not servers.left({terminal.process.pid}), "nothing is left")


def test_esc_in_a_call_reaches_the_server(place: Place, server: ModelServer) -> None:
    servers = McpPlace(place, {"good": fake()})
    server.play(ask_tools(("mcp__good__slow", {})), say("after that"))
    with place.screen("--mode", "auto") as terminal:
        eventually(lambda: servers.journal.exists(), "the server starts")
        terminal.send("/mcp\r")
        terminal.wait("15 tools")
        terminal.press_until_gone("\x1b", "15 tools")
        terminal.send("go\r")
        eventually(lambda: servers.noted("call slow"), "the call")
        terminal.send("\x1b")
        terminal.wait("stopped")
        eventually(lambda: servers.noted("cancelled slow"), "the cancellation")
        terminal.send("again\r")
        terminal.wait("after that")


def test_a_login_from_the_list_of_servers(place: Place, server: ModelServer, tmp_path: Path) -> None:
    browser = tmp_path / "browser.py"
    browser.write_text("import sys, urllib.request; urllib.request.urlopen(sys.argv[1])", "utf-8")
    place.env["BROWSER"] = f"{sys.executable} -S {browser}"
    with login_server() as (desk, base):
        McpPlace(place, {"tickets": {"url": f"{base}/mcp"}})
        with place.screen(shows="tickets needs a login") as terminal:
            assert desk.done == []
            terminal.send("/mcp\r")
            terminal.wait("login needed", "i log in")
            desk.other_state = True
            terminal.send("i")
            terminal.wait("MCP login", "/authorize?")
            terminal.press_until_gone("\x1b", "1-2 choose")
            terminal.wait("The login to tickets was cancelled.")
            desk.other_state = False
            terminal.send("/mcp login tickets\r")
            terminal.wait("Logged in to tickets.")
            terminal.send("/mcp\r")
            terminal.wait("15 tools")


def test_the_demo_uses_a_tool(place: Place, server: ModelServer) -> None:
    McpPlace(place, {"good": fake()})
    with place.screen("--demo", "--mode", "auto") as terminal:
        terminal.send("/mcp\r")
        terminal.wait("15 tools")
        terminal.press_until_gone("\x1b", "15 tools")
        terminal.send('use an MCP tool: "round trip"\r')
        terminal.wait("mcp__good__echo gave:", "round trip")
    ended = place.run("--demo", "-p", 'use an MCP tool: "without a screen"', "--allow", "mcp__good")
    assert ended.code == 0
    assert "without a screen" in ended.stdout


def test_names_and_schemas_as_a_provider_takes_them(place: Place, server: ModelServer) -> None:
    McpPlace(place, {"my very long server name with spaces": fake("names"), "schemas": fake("schemas")})
    server.play(say("fine"))
    ended = place.run("-p", "hello", "--output", "stream-json")
    assert ended.code == 0
    first = json.loads(ended.stdout.splitlines()[0])
    assert {entry["status"] for entry in first["mcp_servers"]} == {"connected"}
    tools = {tool["name"]: tool for tool in tools_of(server)}
    remote = [name for name in tools if name.startswith("mcp__")]
    assert len(remote) == 9
    assert all(len(name) <= 64 for name in remote)
    assert remote == sorted(remote)
    assert "$ref" not in json.dumps(tools["mcp__schemas__hard"])


def test_many_tools_are_found_by_search(place: Place, server: ModelServer) -> None:
    McpPlace(place, {"many": fake("many"), "good": fake()})
    place.more_config = "mcp:\n  defer_above: 5000\n"
    search = ask_tools(("mcp_search_tools", {"query": "select:echo"}))
    server.play(search, ask_tools(("mcp__good__echo", {"text": "found"})), say("done"))
    ended = place.run("-p", "hello", "--mode", "auto")
    assert ended.code == 0
    offered = [[tool["function"]["name"] for tool in exchange.body["tools"]] for exchange in server.exchanges[-3:]]
    assert not [name for name in offered[0] if name.startswith("mcp__")]
    assert "mcp_search_tools" in offered[0]
    assert [name for name in offered[1] if name.startswith("mcp__")] == ["mcp__good__echo"]
    assert "found" in json.dumps(server.exchanges[-1].body["messages"])
