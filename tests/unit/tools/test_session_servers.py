"""When servers' tools join a session's, and in what order; what is hidden behind the search."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from reactagent_tui.core.mcp.catalogue import Catalogue, RemoteResource, RemoteTool
from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.server import McpServer
from reactagent_tui.core.mcp.servers import ServerSet
from reactagent_tui.core.tools.mcp_search import find_tools
from reactagent_tui.core.tools.session_servers import SessionServers
from reactagent_tui.core.tools.todo import TodoWrite
from reactagent_tui.core.tools.toolkit import Toolkit

OWN = ["todo_write"]


def tool(server: str, name: str, told: str = "", tokens: int = 10) -> RemoteTool:
    return RemoteTool(f"mcp__{server}__{name}", name, told, {"type": "object"}, {"type": "object"}, tokens)


@dataclass
class Holder:
    toolkit: Toolkit = field(default_factory=lambda: Toolkit([TodoWrite()]))


@dataclass
class Run:
    setup: Holder = field(default_factory=Holder)
    executor: Holder = field(default_factory=Holder)


def servers(folder: Path, **offers: Catalogue) -> ServerSet:
    """Servers that are ready with these catalogues; nothing is started."""
    found = ServerSet(cast("Any", None), folder)
    found.configure(ServerConfig(name, "stdio", ("x",)) for name in offers)
    for name, catalogue in offers.items():
        set_ready(found.servers[name], catalogue)
    return found


def set_ready(server: McpServer, catalogue: Catalogue) -> None:
    server.catalogue = catalogue
    server._set("ready")  # pyright: ignore[reportPrivateUsage]


def test_tools_join_at_a_turn_and_stay_for_it(tmp_path: Path) -> None:
    found = servers(tmp_path, b=Catalogue((tool("b", "y"),)), a=Catalogue((tool("a", "z"), tool("a", "x"))))
    session, run = Holder(), Run()
    use = SessionServers(found, cast("Any", None), 1_000)
    use.begin_turn(session)
    assert session.toolkit.names == [*OWN, "mcp__a__x", "mcp__a__z", "mcp__b__y"]
    set_ready(found.servers["a"], Catalogue((tool("a", "new"),)))
    before = session.toolkit
    use.begin_step(session, run)
    assert session.toolkit is before
    use.begin_turn(session)
    assert session.toolkit.names == [*OWN, "mcp__a__new", "mcp__b__y"]
    found.servers["b"].set_tool("y", False)
    use.begin_turn(session)
    assert session.toolkit.names == [*OWN, "mcp__a__new"]


def test_an_equal_turn_keeps_the_same_kit(tmp_path: Path) -> None:
    session = Holder()
    use = SessionServers(servers(tmp_path, a=Catalogue((tool("a", "x"),))), cast("Any", None), 1_000)
    use.begin_turn(session)
    before = session.toolkit
    use.begin_turn(session)
    assert session.toolkit is before


def test_a_first_turn_without_any_takes_what_becomes_ready(tmp_path: Path) -> None:
    found = servers(tmp_path, a=Catalogue())
    session, run = Holder(), Run()
    use = SessionServers(found, cast("Any", None), 1_000)
    use.begin_turn(session)
    set_ready(found.servers["a"], Catalogue((tool("a", "x"),)))
    use.begin_step(session, run)
    assert run.executor.toolkit is run.setup.toolkit is session.toolkit
    assert "mcp__a__x" in session.toolkit
    set_ready(found.servers["a"], Catalogue((tool("a", "y"),)))
    use.begin_step(session, run)
    assert "mcp__a__y" not in session.toolkit


def test_many_tools_are_hidden_until_they_are_asked_for(tmp_path: Path) -> None:
    offers = tuple(tool("a", f"t{number}", "makes tea" if number == 3 else "") for number in range(20))
    session, run = Holder(), Run()
    use = SessionServers(servers(tmp_path, a=Catalogue(offers)), cast("Any", None), 100)
    use.begin_turn(session)
    assert session.toolkit.names == [*OWN, "mcp_search_tools"]
    search = cast("Any", session.toolkit.find("mcp_search_tools"))
    search._load(find_tools(search._hidden(), "tea please"))
    use.begin_step(session, run)
    assert run.executor.toolkit.names == [*OWN, "mcp_search_tools", "mcp__a__t3"]
    use.begin_turn(session)
    assert session.toolkit.names == [*OWN, "mcp_search_tools", "mcp__a__t3"]


def test_resources_bring_their_reader(tmp_path: Path) -> None:
    session = Holder()
    offers = Catalogue(resources=(RemoteResource("demo://note", "note"),))
    use = SessionServers(servers(tmp_path, a=offers), cast("Any", None), 100)
    use.begin_turn(session)
    assert session.toolkit.names == [*OWN, "mcp_read_resource"]
    assert use.resources == [("@a:demo://note", "note")]
