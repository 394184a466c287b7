"""`reactagent mcp`: list, add, remove and test MCP servers, and be one."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from argparse import REMAINDER, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reactagent_tui.core.config.loader import Overrides, load_config
from reactagent_tui.core.display import clean
from reactagent_tui.core.errors import ConfigError, ReactAgentError, StorageError
from reactagent_tui.core.mcp.client import Surroundings
from reactagent_tui.core.mcp.config import ServerConfig, configured_servers, read_servers, server_of
from reactagent_tui.core.mcp.oauth_access import Logins
from reactagent_tui.core.mcp.server import McpServer
from reactagent_tui.core.mcp.server_log import ServerLog
from reactagent_tui.core.mcp.servers import ServerSet
from reactagent_tui.core.mcp.switches import Switches
from reactagent_tui.core.money import format_tokens
from reactagent_tui.core.paths import folder_slug, user_paths
from reactagent_tui.core.runtime_servers import USER_FILE
from reactagent_tui.core.tools.process import spawn, sweep_all
from reactagent_tui.core.tools.shell_env import PROVIDER_KEYS
from reactagent_tui.core.trust import PROJECT_SERVERS, TrustStore
from reactagent_tui.headless.mcp_login import login, logout
from reactagent_tui.locales import Translator, detect_language

EXAMPLES = """\
examples:
  reactagent mcp list
  reactagent mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  reactagent mcp add tickets --url https://mcp.example.com/mcp --header "Authorization: Bearer TOKEN"
  reactagent mcp add git --project --env GIT_PAGER=cat -- uvx mcp-server-git
  reactagent mcp test files
  reactagent mcp login tickets
  reactagent mcp remove files
  reactagent mcp serve --help"""


def main(argv: list[str]) -> int:
    """Exit code 0, 1 when a server does not work, 2 for wrong usage."""
    if argv[:1] == ["serve"]:
        from reactagent_tui.headless.mcp_serve import main as serve

        return serve(argv[1:])
    args = _parser().parse_args(argv)
    t = Translator(detect_language(os.environ))
    try:
        match args.verb:
            case "add":
                return _add(args, t)
            case "remove":
                return _remove(args, t)
            case "test":
                here = Path(os.path.realpath(os.getcwd()))
                return asyncio.run(_test(_configs(args), args.name, here, t))
            case "login":
                return login(_configs(args), args.name, t, with_browser=not args.no_browser)
            case "logout":
                return logout(_configs(args), args.name, t)
            case _:
                return _list([_switches().applied(config) for config in _configs(args)], t)
    except ReactAgentError as error:
        sys.stderr.write(f"reactagent: {error}\n")
        return 2 if isinstance(error, ConfigError) else 1
    except KeyboardInterrupt:
        return 130


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="reactagent mcp",
        description="MCP servers: other people's tools.",
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", metavar="FILE", help="configuration file instead of the user's")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="every server that counts in this folder, and where it is from")
    add = verbs.add_parser("add", help="write one to mcp.json")
    add.add_argument("name")
    add.add_argument("--project", action="store_true", help="to this folder's .mcp.json instead of the user's")
    add.add_argument("--url", help="an address instead of a command")
    add.add_argument("--sse", action="store_true", help="the address speaks the older SSE transport")
    add.add_argument("--header", action="append", default=[], metavar="NAME: VALUE")
    add.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    add.add_argument("command", nargs=REMAINDER, help="the program and its arguments, after --")
    remove = verbs.add_parser("remove", help="take one out of mcp.json")
    remove.add_argument("name")
    remove.add_argument("--project", action="store_true", help="from this folder's .mcp.json")
    log_in = verbs.add_parser("login", help="log in to a server with an address, in the browser")
    log_in.add_argument("name")
    log_in.add_argument("--no-browser", action="store_true", help="only show the address")
    log_out = verbs.add_parser("logout", help="remove the tokens of a server from this machine")
    log_out.add_argument("name")
    test = verbs.add_parser("test", help="start servers and say what they offer")
    test.add_argument("name", nargs="?", help="one of them (default: all)")
    verbs.add_parser("serve", help="be an MCP server: other programs give the agent tasks")
    return parser


def _configs(args: Namespace) -> list[ServerConfig]:
    paths, workdir = user_paths(), Path(os.path.realpath(os.getcwd()))
    config = Path(args.config) if args.config else None
    loaded = load_config(explicit=config, env=dict(os.environ), paths=paths, flags=Overrides())
    trusted = TrustStore.of(paths).is_trusted(workdir)
    if not trusted and any((workdir / path).exists() for path in PROJECT_SERVERS):
        sys.stderr.write("reactagent: this folder is not trusted: its own servers are left out (/trust yes)\n")
    return configured_servers(
        loaded.config.mcp_servers, paths.config / USER_FILE, workdir, dict(os.environ), trusted=trusted
    )


def _switches() -> Switches:
    return Switches.of_folder(user_paths(), Path(os.path.realpath(os.getcwd())))


def _list(configs: list[ServerConfig], t: Translator) -> int:
    if not configs:
        _say(t("mcp.none"))
    for config in configs:
        how = config.url or " ".join(config.command)
        off = "" if config.enabled else f" ({t('mcp.state.off')})"
        _say(f"{config.name}{off}  {config.transport}  {how}  [{config.origin}]")
        if config.tools_off:
            _say(f"  {t('mcp.tools_off', names=', '.join(sorted(config.tools_off)))}")
        if config.problem:
            _say(f"  ! {config.problem}")
    return 0


def _file(project: bool) -> Path:
    return Path.cwd() / PROJECT_SERVERS[0] if project else user_paths().config / USER_FILE


def _add(args: Namespace, t: Translator) -> int:
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if bool(command) == bool(args.url):
        raise ConfigError("give either a command after -- or --url")
    entry: dict[str, Any] = {}
    if args.url:
        entry = {"type": "sse" if args.sse else "http", "url": args.url}
        if headers := dict(_pair(header, ":") for header in args.header):
            entry["headers"] = headers
    else:
        entry = {"command": command[0], "args": command[1:]}
    if env := dict(_pair(one, "=") for one in args.env):
        entry["env"] = env
    file = _file(args.project)
    servers = {**read_servers(file), args.name: entry}
    _write(file, servers)
    _say(t("mcp.added", server=args.name, file=str(file)))
    return 0


def _remove(args: Namespace, t: Translator) -> int:
    file = _file(args.project)
    servers = dict(read_servers(file))
    if args.name not in servers:
        raise ConfigError(f"{file}: no server {args.name}")
    removed = server_of(args.name, servers.pop(args.name), dict(os.environ), str(file))
    Logins.of(user_paths().state).log_out(removed)
    _write(file, servers)
    _say(t("mcp.removed", server=args.name, file=str(file)))
    return 0


def _pair(text: str, sign: str) -> tuple[str, str]:
    name, found, value = text.partition(sign)
    if not found or not name.strip():
        raise ConfigError(f"not NAME{sign}VALUE: {text}")
    return name.strip(), value.strip()


def _write(file: Path, servers: Mapping[str, Any]) -> None:
    """The file with these servers; what else stands in it stays."""
    data: dict[str, Any] = {}
    if file.exists():
        data = json.loads(file.read_text("utf-8-sig"))
    key = next((name for name in ("mcpServers", "servers", "mcp_servers", "context_servers") if name in data), None)
    data[key or "mcpServers"] = dict(servers)
    temp = file.with_name(f".{file.name}.{secrets.token_hex(4)}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as opened:
            json.dump(data, opened, ensure_ascii=False, indent=2)
            opened.write("\n")
        os.replace(temp, file)
    except OSError as error:
        temp.unlink(missing_ok=True)
        raise StorageError(f"{file} cannot be written: {error.strerror or error}") from error


async def _test(configs: list[ServerConfig], name: str | None, workdir: Path, t: Translator) -> int:
    """Start them, tell what each offers, end them."""
    chosen = [replace(config, enabled=True) for config in configs if name in (None, config.name)]
    if not chosen:
        raise ConfigError(f"no server {name}" if name else t("mcp.none"))
    env = {key: value for key, value in os.environ.items() if key not in PROVIDER_KEYS}

    def around(_config: ServerConfig, log: ServerLog) -> Surroundings:
        auth = Logins.of(user_paths().state).auth
        return Surroundings(spawn=spawn, workdir=workdir, env=env, note=log.note, auth=auth)

    servers = ServerSet(around, user_paths().logs / "mcp" / folder_slug(workdir))
    servers.configure(chosen)
    try:
        await servers.settled(max(config.timeout for config in chosen) + 1)
        for server in servers.servers.values():
            _tell(server, t)
        return 0 if all(server.is_ready for server in servers.servers.values()) else 1
    finally:
        await servers.close()
        await sweep_all()


def _tell(server: McpServer, t: Translator) -> None:
    state = server.state
    _say(f"{server.name}: {t(f'mcp.state.{state.phase}')}" + (f": {state.reason}" if state.reason else ""))
    if state.phase == "login":
        _say(f"  reactagent mcp login {server.name}")
    for tool in server.catalogue.tools:
        _say(f"  {tool.name}  {format_tokens(tool.tokens)}  {' '.join(tool.description.split())[:80]}")
    for dropped, why in server.catalogue.dropped.items():
        _say(f"  ! {dropped}: {why}")
    for prompt in server.catalogue.prompts:
        _say(f"  /{server.slug}:{prompt.name}")
    for resource in server.catalogue.resources:
        _say(f"  @{server.slug}:{resource.uri}")


def _say(line: str) -> None:
    sys.stdout.write((clean(line) if sys.stdout.isatty() else line) + "\n")
