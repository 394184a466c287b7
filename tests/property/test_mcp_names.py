"""B63: whatever servers call their tools, every name is legal, its own, and the same whoever asks first."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.mcp.naming import LONGEST, real_name, server_slugs, tool_names
from reactagent_tui.core.safety.rules import parse_rule

LEGAL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
NAMES = st.lists(
    st.one_of(st.text(max_size=90), st.sampled_from(["do.it", "do-it", "do_it", "a__b", "_a", "a_", "日本", "n" * 70])),
    max_size=8,
    unique=True,
)


@given(NAMES, NAMES)
def test_names_are_legal_and_never_collide(servers: list[str], tools: list[str]) -> None:
    slugs = server_slugs(servers)
    names = [name for server in servers for name in tool_names(server, slugs[server], tools).values()]
    assert len(set(names)) == len(names) == len(servers) * len(tools)
    assert all(LEGAL.fullmatch(name) and len(name) <= LONGEST for name in names)
    for server in servers:
        found = tool_names(server, slugs[server], tools)
        assert [real_name(found[tool], found) for tool in tools] == tools


@given(NAMES)
def test_order_does_not_matter(names: list[str]) -> None:
    assert server_slugs(names) == server_slugs(reversed(names))
    assert tool_names("s", "s", names) == tool_names("s", "s", reversed(names))


@given(NAMES, NAMES)
def test_a_rule_for_a_server_covers_its_tools_and_no_others(servers: list[str], tools: list[str]) -> None:
    slugs = server_slugs(servers)
    for server in servers:
        rule = parse_rule(f"mcp__{slugs[server]}")
        for other in servers:
            for name in tool_names(other, slugs[other], tools).values():
                assert rule.covers_tool(name) == (other == server)


def test_plain_names_stay() -> None:
    assert server_slugs(["github", "my very long server name with spaces"])["github"] == "github"
    assert tool_names("github", "github", ["search", "shell"]) == {
        "search": "mcp__github__search",
        "shell": "mcp__github__shell",
    }
