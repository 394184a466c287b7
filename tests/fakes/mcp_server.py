"""A server of every behaviour, on the SDK: `python mcp_server.py MODE [--http PORT]`.

Modes: `good`, `hangs`, `exits`, `floods` (stderr and noise on stdout), `many` (300 tools), `names`, `schemas`.
With FAKE_MCP_JOURNAL set, what it sees is appended to that file, a line each.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HARD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"$ref": "#/$defs/T", "description": "d", "default": "x"},
        "b": {"type": ["string", "null"]},
        "c": {"type": "array"},
        "d": {"anyOf": [{"type": "array"}, {"type": "null"}]},
        "e": {"type": "array", "items": {"$ref": "#/properties/h"}},
        "h": {"type": "object"},
        "r": {"$ref": "#/$defs/Node"},
        "no.type": {"description": "anything"},
    },
    "$defs": {
        "T": {"enum": ["x", "y"], "type": "string"},
        "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}},
    },
}
ODD_NAMES = ("do.it", "do-it", "do_it", "1st", "日本", "shell", "n" * 70, "n" * 64 + "other")


def journal(line: str) -> None:
    """Note it where the test can read it."""
    path = os.environ.get("FAKE_MCP_JOURNAL")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")


def build(mode: str) -> Any:
    """The low-level server."""
    import mcp_types as types
    from mcp.server.lowlevel import Server

    extra: list[str] = []
    plain = {"type": "object", "properties": {}}

    def tool(name: str, schema: dict[str, Any] | None = None) -> Any:
        return types.Tool(name=name, description=f"The tool {name}.", input_schema=schema or plain)

    async def list_tools(_ctx: Any, _params: Any) -> Any:
        if mode == "many":
            return types.ListToolsResult(tools=[tool(f"tool_{n:03}") for n in range(300)])
        if mode == "names":
            return types.ListToolsResult(tools=[tool(name) for name in ODD_NAMES])
        if mode == "schemas":
            return types.ListToolsResult(
                tools=[tool("hard", HARD), tool("huge", {"type": "object", "x": "y" * 200_000})]
            )
        text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        names = ("slow", "dies", "big", "image", "audio", "link", "embedded", "structured", "fails", "change")
        more = ("elicit", "sample", "root", "progress")
        return types.ListToolsResult(tools=[tool("echo", text), *(tool(name) for name in (*names, *more, *extra))])

    async def call_tool(ctx: Any, params: Any) -> Any:
        args = params.arguments or {}
        journal(f"call {params.name}")
        content, structured, is_error = await act(ctx, params.name, args)
        blocks: Any = [types.TextContent(text=content)] if isinstance(content, str) else content
        return types.CallToolResult(content=blocks, structured_content=structured, is_error=is_error)

    async def act(ctx: Any, name: str, args: dict[str, Any]) -> tuple[Any, Any, bool]:
        session = ctx.session
        match name:
            case "echo":
                return args.get("text", ""), None, False
            case "slow":
                try:
                    await asyncio.sleep(600)
                except BaseException:
                    journal("cancelled slow")
                    raise
            case "dies":
                os._exit(3)
            case "big":
                return "x" * 99 + "\n" + ("y" * 99 + "\n") * 50_000, None, False
            case "image":
                return [types.ImageContent(data=PIXEL, mime_type="image/png")], None, False
            case "audio":
                return [types.AudioContent(data="UklGRg==", mime_type="audio/wav")], None, False
            case "link":
                return [types.ResourceLink(name="page", uri="demo://page", description="a page")], None, False
            case "embedded":
                inner = types.TextResourceContents(uri="demo://inner", text="inside")
                return [types.EmbeddedResource(resource=inner)], None, False
            case "structured":
                return "", {"answer": 42}, False
            case "fails":
                return "it did not work", None, True
            case "change":
                extra.append("later")
                await session.send_tool_list_changed()
                return "changed", None, False
            case "elicit":
                schema = {
                    "type": "object",
                    "properties": {
                        "colour": {"type": "string", "enum": ["red", "blue"]},
                        "count": {"type": "integer"},
                    },
                    "required": ["colour", "count"],
                }
                found = await session.elicit_form("Which?", schema, related_request_id=ctx.request_id)
                return f"{found.action} {found.content}", None, False
            case "sample":
                message = types.SamplingMessage(role="user", content=types.TextContent(text="Say something."))
                found = await session.create_message([message], max_tokens=50, related_request_id=ctx.request_id)
                return f"sampled: {found.content.text}", None, False
            case "root":
                found = await session.list_roots()
                return " ".join(str(root.uri) for root in found.roots), None, False
            case "progress":
                for number in (1, 2, 3):
                    await session.report_progress(number, 3, f"part {number}")
                return "all parts", None, False
            case _:
                return f"called {name}", None, False
        return "", None, False

    async def list_prompts(_ctx: Any, _params: Any) -> Any:
        argument = types.PromptArgument(name="topic", required=True)
        return types.ListPromptsResult(
            prompts=[types.Prompt(name="write", description="Writes.", arguments=[argument])]
        )

    async def get_prompt(_ctx: Any, params: Any) -> Any:
        text = f"Write about {(params.arguments or {}).get('topic')}."
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=types.TextContent(text=text))])

    async def list_resources(_ctx: Any, _params: Any) -> Any:
        return types.ListResourcesResult(resources=[types.Resource(uri="demo://note", name="note")])

    async def read_resource(_ctx: Any, params: Any) -> Any:
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=str(params.uri), text="the note")])

    return Server(
        "fake",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


async def over_stdio(server: Any) -> None:
    from mcp.server.lowlevel import NotificationOptions
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        options = server.create_initialization_options(NotificationOptions(tools_changed=True))
        await server.run(read, write, options)


def over_http(server: Any, port: int) -> None:
    import uvicorn

    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=port, log_level="warning")


def main() -> None:
    """Behave as told."""
    mode = sys.argv[1]
    journal(f"started {mode} {os.getpid()}")
    if mode == "hangs":
        import time

        time.sleep(600)
    if mode == "exits":
        sys.stderr.write("no licence found\n")
        sys.exit(4)
    if mode == "floods":
        sys.stdout.write("Welcome to the fake server!\n{broken json\n\n")
        sys.stdout.flush()
        sys.stderr.write("warning: something\n" * 20_000)
    server = build(mode)
    if "--http" in sys.argv:
        over_http(server, int(sys.argv[sys.argv.index("--http") + 1]))
    else:
        asyncio.run(over_stdio(server))


if __name__ == "__main__":
    main()
