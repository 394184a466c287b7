"""What `/mcp` switches is kept for the folder, weighs nothing any more, and can be forgotten."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from reactagent_tui.core.commands.mcp import show_mcp
from reactagent_tui.core.mcp.catalogue import Catalogue, RemoteTool
from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.servers import ServerSet
from reactagent_tui.core.mcp.switches import Switches
from reactagent_tui.core.tools.session_servers import SessionServers
from reactagent_tui.core.tools.toolkit import Toolkit

CONFIGS = (
    ServerConfig("a", "stdio", ("x",), tools_off=frozenset({"third"})),
    ServerConfig("b", "stdio", ("x",), enabled=False),
)


def tool(name: str) -> RemoteTool:
    return RemoteTool(f"mcp__a__{name}", name, "", {"type": "object"}, {"type": "object"}, 10)


def opened(folder: Path) -> SessionServers:
    """As in a new run: server `a` is ready with three tools."""
    servers = ServerSet(cast("Any", None), folder, Switches(folder / "deep" / "switches.jsonl"))
    servers.configure(CONFIGS)
    server = servers.servers["a"]
    server.catalogue = Catalogue((tool("first"), tool("second"), tool("third")))
    server._set("ready")  # pyright: ignore[reportPrivateUsage]
    return SessionServers(servers, cast("Any", None), 1_000)


async def command(use: SessionServers, arguments: str) -> str:
    host = cast("Any", SimpleNamespace(t=lambda key, **_: key, servers=use))
    return cast("Any", (await show_mcp(host, arguments)).blocks[0]).text


def offered(use: SessionServers) -> list[str]:
    session = SimpleNamespace(toolkit=Toolkit(()))
    use.begin_turn(cast("Any", session))
    return session.toolkit.names


async def test_a_switched_tool_stays_off_and_weighs_nothing(tmp_path: Path) -> None:
    use = opened(tmp_path)
    assert offered(use) == ["mcp__a__first", "mcp__a__second"]
    assert await command(use, "disable a/first") == "mcp.disabled"
    assert await command(use, "enable a/third") == "mcp.enabled"
    again = opened(tmp_path)
    for one in (use, again):
        assert offered(one) == ["mcp__a__second", "mcp__a__third"]
        assert one.servers.servers["a"].state.tokens == 20
    assert await command(again, "reset all") == "mcp.reset"
    assert offered(again) == offered(opened(tmp_path)) == ["mcp__a__first", "mcp__a__second"]


async def test_a_server_is_switched_and_reset_alone(tmp_path: Path) -> None:
    use = opened(tmp_path)
    await command(use, "disable a/second")
    await command(use, "disable a")
    servers = opened(tmp_path).servers.servers
    assert (servers["a"].enabled, servers["b"].enabled) == (False, False)
    Switches(tmp_path / "deep" / "switches.jsonl").keep("b", "", True)
    assert opened(tmp_path).servers.servers["b"].enabled
    await command(use, "reset a")
    servers = opened(tmp_path).servers.servers
    assert (servers["a"].enabled, servers["b"].enabled) == (True, True)
    assert servers["a"].tools_off == {"third"}
    assert await command(use, "reset nobody") == "mcp.unknown"


async def test_what_cannot_be_kept_holds_and_is_told(tmp_path: Path) -> None:
    use = opened(tmp_path)
    (tmp_path / "deep").write_text("no folder", "utf-8")
    assert await command(use, "disable a/first") == "mcp.not_kept"
    assert offered(use) == ["mcp__a__second"]


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    switches = Switches(tmp_path / "switches.jsonl")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: switches.keep("a", f"工具 {number}", False), range(100)))
    with switches.path.open("ab") as file:
        file.write(b'{"server": "a", "on"\n[1]\n{"server": "a", "tool": 3, "on": "no"}\n')
    switched = switches.applied(CONFIGS[0])
    assert switched.tools_off == {"third", *(f"工具 {number}" for number in range(100))}
    assert switched.enabled
