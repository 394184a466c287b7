"""`mcp_search_tools`: finds servers' tools whose schemas are too many to be sent with every request, and loads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from pydantic import Field

from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase
from reactagent_tui.core.tools.mcp import McpTool
from reactagent_tui.core.tools.schema import ToolArgs

NAME = "mcp_search_tools"
MOST_FOUND = 10
_SHOWN = 300
_WORD = re.compile(r"[^\W_]+")


class SearchArgs(ToolArgs):
    """Arguments of mcp_search_tools."""

    query: str = Field(
        max_length=500, description="Words for what the tool should do, or `select:name,name` for exact names."
    )

    synonyms: ClassVar[Mapping[str, str]] = {"q": "query", "text": "query", "search": "query", "name": "query"}


class McpSearchTools(ToolBase[SearchArgs]):
    """Loads what it finds: the tools are there from the next step on."""

    name = NAME
    args_type = SearchArgs

    def __init__(self, hidden: Callable[[], Sequence[McpTool]], load: Callable[[Sequence[McpTool]], None]) -> None:
        super().__init__()
        self._hidden = hidden
        self._load = load
        servers = sorted({tool.server.slug for tool in hidden()})
        self.description = f"{self.description}\n\nServers: {', '.join(servers)}."

    def access_of(self, args: SearchArgs, ctx: ToolContext) -> Access:
        return Access(tool=self.name, workdir=ctx.workdir)

    async def perform(self, args: SearchArgs, ctx: ToolContext) -> ToolOutcome:
        found = find_tools(self._hidden(), args.query)
        if not found:
            servers = ", ".join(sorted({tool.server.slug for tool in self._hidden()}))
            return ToolOutcome(f"No tool matches. Try other words. Servers: {servers}.", summary="nothing")
        self._load(found)
        lines = [f"- {tool.name}: {' '.join(tool.description.split())[:_SHOWN]}" for tool in found]
        text = "These tools are loaded; call them from the next step on:\n" + "\n".join(lines)
        return ToolOutcome(text, summary=f"{len(found)} tools")


def find_tools(tools: Sequence[McpTool], query: str) -> list[McpTool]:
    """The tools that fit best, best first; equal ones by name."""
    if query.startswith("select:"):
        wanted = {name.strip() for name in query.removeprefix("select:").split(",")}
        return [tool for tool in tools if tool.name in wanted or tool.tool.real in wanted]
    words = [word.casefold() for word in _WORD.findall(query)]
    scored = [(_score(tool, words), tool) for tool in tools]
    fitting = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], pair[1].name))
    return [tool for _, tool in fitting[:MOST_FOUND]]


def _score(tool: McpTool, words: Sequence[str]) -> int:
    """A word in the name counts more than one in the description."""
    name, told = tool.name.casefold(), tool.description.casefold()
    in_name = set(_WORD.findall(name.replace("-", " ")))
    return sum(4 if word in in_name else 2 if word in name else 1 if word in told else 0 for word in words)
