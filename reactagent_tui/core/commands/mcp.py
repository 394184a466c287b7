"""`/mcp`: the MCP servers of this folder, what they offer and cost, switches, logs; prompts by `/server:prompt`."""

from __future__ import annotations

import shlex

from reactagent_tui.core.commands.mcp_login import log_in, log_out
from reactagent_tui.core.commands.registry import Command, CommandResult, Host, Translate
from reactagent_tui.core.display import DisplayBlock, OutputBlock, TableBlock, TextBlock, clean
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.mcp.catalogue import RemotePrompt
from reactagent_tui.core.mcp.server import McpServer, ServerState
from reactagent_tui.core.mcp.stdio import ServerError
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.money import format_tokens
from reactagent_tui.core.tools.session_servers import SessionServers

USAGE = (
    "[server | enable|disable server[/tool] | reset server|all | restart server|all | login|logout server | log server]"
)
LOG_LINES = 40
_DESCRIPTION = 100


def mcp_commands() -> list[Command]:
    """The commands of this module."""
    return [Command("mcp", show_mcp, USAGE)]


async def show_mcp(host: Host, arguments: str) -> CommandResult:
    """Without arguments the servers; with a name what it offers; otherwise a verb and a server."""
    t, words, servers = host.t, arguments.split(maxsplit=1), host.servers
    if servers is None or not servers.states:
        return CommandResult((TextBlock(t("mcp.none"), "dim"),))
    match words:
        case []:
            return CommandResult((server_table(servers, t),))
        case ["enable" | "disable" as verb, target]:
            return await _switch(servers, target, verb == "enable", t)
        case ["reset", target] if target == "all" or servers.find(target) is not None:
            return await _reset(servers, target, t)
        case ["restart", "all"]:
            for server in servers.servers.servers.values():
                await server.restart()
            return CommandResult((TextBlock(t("mcp.restarted", server="*")),))
        case ["restart", name] if (server := servers.find(name)) is not None:
            await server.restart()
            return CommandResult((TextBlock(t("mcp.restarted", server=server.name)),))
        case ["log", name] if (server := servers.find(name)) is not None:
            return CommandResult((OutputBlock(clean(server.log.tail(LOG_LINES)) or t("mcp.no_log")),))
        case ["login", name] if (server := servers.find(name)) is not None:
            return await log_in(host, servers, server)
        case ["logout", name] if (server := servers.find(name)) is not None:
            return await log_out(servers, server, t)
        case ["restart" | "reset" | "log" | "login" | "logout", name]:
            return _unknown(name, t)
        case _:
            server = servers.find(arguments.strip())
            return CommandResult(_offers(server, t)) if server is not None else _unknown(arguments.strip(), t)


def server_table(servers: SessionServers, t: Translate) -> TableBlock:
    """Every server with its state."""
    rows = tuple(_row(state, t) for state in servers.states)
    columns = tuple(t(f"mcp.column.{name}") for name in ("server", "state", "tools", "tokens", "about"))
    return TableBlock(columns, rows, "llrrl")


def _row(state: ServerState, t: Translate) -> tuple[str, ...]:
    about = state.reason if state.phase == "failed" else f"{state.transport} · {state.origin}"
    if state.phase == "login":
        about = t("mcp.login.how", server=state.name)
    tokens = format_tokens(state.tokens) if state.tools else ""
    return (clean(state.name), t(f"mcp.state.{state.phase}"), str(state.tools or ""), tokens, " ".join(about.split()))


def _offers(server: McpServer, t: Translate) -> tuple[DisplayBlock, ...]:
    blocks: list[DisplayBlock] = [TextBlock(f"{clean(server.name)}: {t(f'mcp.state.{server.state.phase}')}")]
    if server.state.reason:
        blocks.append(TextBlock(clean(server.state.reason), "warn"))
    rows = [
        (
            clean(tool.real),
            t("mcp.off") if tool.real in server.tools_off else t("mcp.on"),
            format_tokens(tool.tokens),
            clean(" ".join(tool.description.split()))[:_DESCRIPTION],
        )
        for tool in server.catalogue.tools
    ]
    if rows:
        columns = tuple(t(f"mcp.column.{name}") for name in ("tool", "state", "tokens", "about"))
        blocks.append(TableBlock(columns, tuple(rows), "llrl"))
    for name, why in server.catalogue.dropped.items():
        blocks.append(TextBlock(clean(f"{name}: {why}"), "warn"))
    for prompt in server.catalogue.prompts:
        blocks.append(TextBlock(clean(f"/{server.slug}:{prompt.name} {prompt_usage(prompt)}  {prompt.description}")))
    for resource in server.catalogue.resources:
        blocks.append(TextBlock(clean(f"@{server.slug}:{resource.uri}  {resource.name}"), "dim"))
    return tuple(blocks)


def _unknown(name: str, t: Translate) -> CommandResult:
    return CommandResult((TextBlock(t("mcp.unknown", server=name), "error"),), level="error")


async def _switch(servers: SessionServers, target: str, on: bool, t: Translate) -> CommandResult:
    """`server` or `server/tool`; both are kept for this folder."""
    server, tool = servers.find(target), ""
    if server is None:
        name, _, tool = target.partition("/")
        server = servers.find(name)
    if server is None or (tool and tool not in {one.real for one in server.catalogue.tools}):
        return _unknown(target, t)
    try:
        await servers.servers.switch(server, tool, on)
    except StorageError as error:
        return _not_kept(error, t)
    return CommandResult((TextBlock(t("mcp.enabled" if on else "mcp.disabled", what=target)),))


async def _reset(servers: SessionServers, target: str, t: Translate) -> CommandResult:
    """Forget the switches of one server, or of `all`."""
    try:
        await servers.servers.reset(None if target == "all" else servers.find(target))
    except StorageError as error:
        return _not_kept(error, t)
    return CommandResult((TextBlock(t("mcp.reset", server="*" if target == "all" else target)),))


def _not_kept(error: StorageError, t: Translate) -> CommandResult:
    return CommandResult((TextBlock(t("mcp.not_kept", reason=str(error)), "warn"),))


def prompt_usage(prompt: RemotePrompt) -> str:
    """The arguments of a prompt, optional ones in brackets."""
    return " ".join(name if required else f"[{name}]" for name, required in prompt.arguments)


async def server_prompt(host: Host, name: str, arguments: str) -> CommandResult | None:
    """`/server:prompt arguments` as a message; None when there is no such prompt."""
    slug, colon, wanted = name.partition(":")
    server = host.servers.find(slug) if colon and host.servers is not None else None
    prompt = None if server is None else next((one for one in server.catalogue.prompts if one.name == wanted), None)
    if server is None or prompt is None:
        return None
    given = _arguments(prompt, arguments)
    missing = [name for name, required in prompt.arguments if required and name not in given]
    if missing:
        usage = f"/{name} {prompt_usage(prompt)}"
        text = host.t("mcp.prompt_needs", missing=", ".join(missing), usage=usage)
        return CommandResult((TextBlock(text, "error"),), level="error")
    try:
        result = await server.get_prompt(prompt.name, given)
    except ServerError as error:
        return CommandResult((TextBlock(clean(f"{server.name}: {error}"), "error"),), level="error")
    return CommandResult(submit=UserMessage(result.text, origin="skill", shown=f"/{name} {arguments}".rstrip()))


def _arguments(prompt: RemotePrompt, text: str) -> dict[str, str]:
    """`name=value` pairs and words in order; the last argument takes all that is left."""
    names = [name for name, _ in prompt.arguments]
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    found: dict[str, str] = {}
    plain: list[str] = []
    for word in words:
        key, equals, value = word.partition("=")
        if equals and key in names:
            found[key] = value
        else:
            plain.append(word)
    open_names = [name for name in names if name not in found]
    for number, name in enumerate(open_names):
        if plain:
            is_last = number == len(open_names) - 1
            found[name] = " ".join(plain) if is_last else plain.pop(0)
            if is_last:
                break
    return found
