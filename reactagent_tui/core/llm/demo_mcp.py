"""The demo model's scene with an MCP server: it calls a tool with what its schema asks for, and tells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from reactagent_tui.core.llm.base import JsonSchema
from reactagent_tui.core.llm.demo_turn import Call, Reply, Turn, quote

SEARCH = "mcp_search_tools"
ASKED = (r"\bmcp\b[\s:：]*(.*)$",)
_NAME = re.compile(r"mcp__[\w-]+")
_QUOTED = re.compile(r"[\"“'‘「]([^\"”'’」]+)[\"”'’」]")
_HARMLESS = ("echo", "time", "list", "read", "get", "status")
"""Words in the names of tools that are tried first."""


def play(turn: Turn) -> Reply:
    """Search where the tools are hidden, then one call, then what it gave."""
    done = [call.tool for step in turn.steps for call in step.calls]
    if any(name.startswith("mcp__") for name in done):
        return _tell(turn, next(name for name in reversed(done) if name.startswith("mcp__")))
    tool = _tool_for(turn)
    if tool is not None:
        text = turn.say(f"An MCP server offers `{tool}`: I call it.", f"MCP 服务器提供了 `{tool}`，我来调用它。")
        return Reply(text, calls=(Call(tool, _arguments(turn, turn.schemas.get(tool, {}))),))
    if SEARCH in turn.tools and SEARCH not in done:
        words = turn.word(0) or "echo time list read get"
        return Reply(turn.say("I look for a tool first.", "我先找一个工具。"), calls=(Call(SEARCH, {"query": words}),))
    return Reply(
        turn.say(
            "No MCP server is ready, so there are no tools that begin with `mcp__`. `/mcp` shows the servers; "
            "`reactagent mcp add NAME -- COMMAND` adds one.",
            "没有就绪的 MCP 服务器，所以没有以 `mcp__` 开头的工具。`/mcp` 显示服务器；"
            "`reactagent mcp add 名称 -- 命令` 可添加一个。",
        )
    )


def _tool_for(turn: Turn) -> str | None:
    offered = sorted(name for name in turn.tools if name.startswith("mcp__"))
    named = _NAME.search(turn.prompt)
    if named is not None and named[0] in offered:
        return named[0]
    asked = turn.prompt.casefold()
    by_name = [name for name in offered if name.rpartition("__")[2].casefold() in re.findall(r"[\w-]+", asked)]
    harmless = [name for word in _HARMLESS for name in offered if word in name.rpartition("__")[2].casefold()]
    return next(iter((*by_name, *harmless, *offered)), None)


def _arguments(turn: Turn, schema: JsonSchema) -> dict[str, Any]:
    """What is required, of the right type; a text is the one in quotes, or what was typed."""
    fields = cast("Mapping[str, Any]", schema.get("properties") or {})
    quoted = _QUOTED.search(turn.prompt)
    text = quoted[1] if quoted else turn.word(0) or turn.say("hello", "你好")
    required = cast("list[str]", list(schema.get("required") or ()))
    return {name: _value(cast("Mapping[str, Any]", fields.get(name) or {}), text) for name in required}


def _value(field: Mapping[str, Any], text: str) -> Any:
    if field.get("enum"):
        return field["enum"][0]
    match field.get("type"):
        case "integer" | "number":
            number = re.search(r"-?\d+", text)
            return int(number[0]) if number else 1
        case "boolean":
            return True
        case "array":
            return []
        case "object":
            return {}
        case _:
            return text


def _tell(turn: Turn, tool: str) -> Reply:
    shown = quote(turn.output())
    return Reply(turn.say(f"`{tool}` gave:\n\n{shown}", f"`{tool}` 的结果：\n\n{shown}"))
