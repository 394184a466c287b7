"""What a server offers, as our own data: tools with cleaned schemas, prompts and resources."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from reactagent_tui.core.llm.base import ToolSpec
from reactagent_tui.core.llm.schema_refs import SchemaError
from reactagent_tui.core.llm.tokens import weigh_tools
from reactagent_tui.core.mcp.naming import tool_names
from reactagent_tui.core.mcp.schemas import cleaned

log = logging.getLogger(__name__)
MOST_PAGES = 200
MOST_TOOLS = 2_000
RawRequest: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
LONGEST_DESCRIPTION = 8_000
"""Characters a server may say about one tool: it is paid for in every request."""


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """One tool of a server."""

    name: str
    """What the model calls it."""
    real: str
    """What the server calls it."""
    description: str
    parameters: Mapping[str, Any]
    original: Mapping[str, Any]
    """The schema as the server gave it."""
    tokens: int = 0
    """What it costs in every request, estimated."""
    reads_only: bool = False
    """By the server's own word."""


@dataclass(frozen=True, slots=True)
class RemotePrompt:
    name: str
    description: str
    arguments: tuple[tuple[str, bool], ...] = ()
    """(name, is required)."""


@dataclass(frozen=True, slots=True)
class RemoteResource:
    uri: str
    name: str
    description: str = ""
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All that a server offers now."""

    tools: tuple[RemoteTool, ...] = ()
    prompts: tuple[RemotePrompt, ...] = ()
    resources: tuple[RemoteResource, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tools that cannot be offered to any model, and why."""


async def read_tools(ask: RawRequest, server: str, slug: str) -> tuple[tuple[RemoteTool, ...], dict[str, str]]:
    """Every tool of a server, and those that had to be dropped with the reason.

    Read tool by tool: one that is malformed must not cost the others.
    """
    import mcp_types as types
    from pydantic import ValidationError

    async def page(cursor: str | None) -> tuple[list[Any], str | None]:
        result = await ask("tools/list", {"cursor": cursor} if cursor else {})
        listed = result.get("tools")
        return list(cast("list[Any]", listed)) if isinstance(listed, list) else [], result.get("nextCursor")

    found: list[types.Tool] = []
    dropped: dict[str, str] = {}
    for number, raw in enumerate((await _all_pages(page))[:MOST_TOOLS]):
        fields = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
        name = str(fields.get("name") or number)
        try:
            found.append(types.Tool.model_validate(_with_schema(fields)))
        except ValidationError as error:
            dropped[name] = f"malformed: {error.errors()[0]['msg']}"
    names = tool_names(server, slug, [tool.name for tool in found])
    tools: dict[str, RemoteTool] = {}
    for tool in found:
        try:
            tools[tool.name] = _as_tool(tool, names[tool.name])
        except SchemaError as error:
            dropped[tool.name] = str(error)
    for name, why in dropped.items():
        log.warning("server %s: tool %s is left out: %s", server, name, why)
    return tuple(tools.values()), dropped


def _as_tool(tool: Any, name: str) -> RemoteTool:
    schema = cleaned(tool.input_schema)
    told = (tool.description or tool.title or "").strip()[:LONGEST_DESCRIPTION]
    hints = tool.annotations
    return RemoteTool(
        name=name,
        real=tool.name,
        description=told,
        parameters=schema,
        original=tool.input_schema,
        tokens=round(weigh_tools([ToolSpec(name, told, schema)]).total),
        reads_only=hints is not None and hints.read_only_hint is True,
    )


def _with_schema(given: Mapping[str, Any]) -> dict[str, Any]:
    """A tool with the schemas that the protocol demands: none, null and `true` mean that it takes anything."""
    fields = dict(given)
    if fields.get("inputSchema") in (None, True):
        fields["inputSchema"] = {"type": "object", "properties": {}}
    fields.pop("outputSchema", None)
    return fields


async def read_prompts(session: Any) -> tuple[RemotePrompt, ...]:
    import mcp_types as types

    async def page(cursor: str | None) -> tuple[list[Any], str | None]:
        result = await session.list_prompts(params=types.PaginatedRequestParams(cursor=cursor) if cursor else None)
        return result.prompts, result.next_cursor

    return tuple(
        RemotePrompt(
            prompt.name,
            (prompt.description or prompt.title or "").strip(),
            tuple((argument.name, bool(argument.required)) for argument in prompt.arguments or ()),
        )
        for prompt in await _all_pages(page)
    )


async def read_resources(session: Any) -> tuple[RemoteResource, ...]:
    import mcp_types as types

    async def page(cursor: str | None) -> tuple[list[Any], str | None]:
        result = await session.list_resources(params=types.PaginatedRequestParams(cursor=cursor) if cursor else None)
        return result.resources, result.next_cursor

    return tuple(
        RemoteResource(str(one.uri), one.title or one.name, (one.description or "").strip(), one.mime_type or "")
        for one in await _all_pages(page)
    )


async def _all_pages(page: Callable[[str | None], Awaitable[tuple[list[Any], str | None]]]) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(MOST_PAGES):
        items, cursor = await page(cursor)
        found += items
        if not cursor or cursor in seen:
            break
        seen.add(cursor)
    return found
