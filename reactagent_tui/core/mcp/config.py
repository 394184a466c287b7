"""Which servers are configured: `mcp_servers:` of our own file, and the `mcpServers` of other tools as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from reactagent_tui.core.config.schema import McpServerEntry
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.mcp.oauth_settings import OauthSettings, oauth_settings
from reactagent_tui.core.trust import PROJECT_SERVERS

Transport = Literal["stdio", "http", "sse"]
START_TIMEOUT = 30.0
_MAX_BYTES = 1_000_000
_KEYS = ("mcpServers", "mcp_servers", "servers", "context_servers")
"""Claude and Cursor, our own, VS Code, Zed."""
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}")
_HTTP = ("http", "streamable-http", "streamable_http", "streamablehttp", "streamableHttp")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """How one server is started or reached."""

    name: str
    transport: Transport
    command: tuple[str, ...] = ()
    """Program and arguments."""
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Beside what every child gets."""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    oauth: OauthSettings = field(default_factory=OauthSettings)
    enabled: bool = True
    tools_off: frozenset[str] = frozenset()
    timeout: float = START_TIMEOUT
    """Seconds to start."""
    call_timeout: float | None = None
    """Seconds for one call; None: as long as it takes."""
    origin: str = ""
    """The file that names it."""
    problem: str = ""
    """Why it cannot be started as it is written."""

    @property
    def signs_itself(self) -> bool:
        """Do the configured headers say who we are? They win over a login."""
        found = (value for name, value in self.headers.items() if name.lower() == "authorization")
        return any(value.strip().lower() not in ("", "bearer") for value in found)  # a variable may be empty


def configured_servers(
    own: Mapping[str, McpServerEntry], user_file: Path, workdir: Path, env: Mapping[str, str], *, trusted: bool
) -> list[ServerConfig]:
    """All servers that count in a folder. The folder's own come last and never replace the user's.

    A file that cannot be read is one server with a problem, so that it is seen where servers are.
    """
    found: dict[str, ServerConfig] = {}
    for name, entry in own.items():
        fields = entry.model_dump(exclude_none=True)
        fields["headers"] = {key: value.get_secret_value() for key, value in entry.headers.items()}
        if entry.oauth is not None and entry.oauth.client_secret is not None:
            fields["oauth"] = {**fields["oauth"], "client_secret": entry.oauth.client_secret.get_secret_value()}
        found[name] = server_of(name, fields, {}, "config.yaml")
    files = [user_file, *((workdir / path for path in PROJECT_SERVERS) if trusted else ())]
    for file in files:
        try:
            entries = read_servers(file)
        except ConfigError as error:
            found.setdefault(file.name, ServerConfig(file.name, "stdio", origin=str(file), problem=str(error)))
            continue
        for name, entry in entries.items():
            found.setdefault(name, server_of(name, entry, env, str(file)))
    return list(found.values())


def read_servers(file: Path) -> dict[str, Mapping[str, Any]]:
    """The entries of a JSON file of whichever tool; none when there is no file. Raises ConfigError."""
    try:
        with file.open("rb") as opened:
            raw = opened.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror or error}") from error
    if len(raw) > _MAX_BYTES:
        raise ConfigError(f"{file}: larger than {_MAX_BYTES:,} bytes")
    try:
        data: object = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: not JSON: {error}") from error
    return entries_of(data, str(file))


def entries_of(data: object, where: str) -> dict[str, Mapping[str, Any]]:
    """The servers in a parsed file. Raises ConfigError."""
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: not an object with `mcpServers`")
    fields = cast("dict[str, Any]", data)
    nested = cast("dict[str, Any]", fields["mcp"]) if isinstance(fields.get("mcp"), dict) else {}
    found = next((part[key] for part in (fields, nested) for key in _KEYS if key in part), None)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigError(f"{where}: `mcpServers` is not an object of servers by name")
    entries = cast("dict[str, Any]", found)
    return {name: cast("Mapping[str, Any]", e) if isinstance(e, dict) else {} for name, e in entries.items()}


def server_of(name: str, entry: Mapping[str, Any], env: Mapping[str, str], origin: str) -> ServerConfig:
    """One entry, `${VAR}` put in; keys that are not known are another tool's business. Never raises."""
    missing: list[str] = []

    def text(value: object) -> str:
        return _expanded(str(value), env, missing)

    command = entry.get("command")
    if isinstance(command, tuple):
        command = list(cast("tuple[str, ...]", command))
    if isinstance(command, dict):  # Zed: {"path": …, "args": […], "env": {…}}
        inner = cast("dict[str, Any]", command)
        entry = {**entry, "args": inner.get("args", ()), "env": inner.get("env", {}), "command": inner.get("path")}
        command = entry["command"]
    words = _list(cast("object", command)) if isinstance(command, list) else [command] if command else []
    head = [text(part) for part in words]
    argv = (*head, *(text(part) for part in _list(entry.get("args"))))
    url = text(entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl") or "")
    transport = _transport(entry, url)
    config = ServerConfig(
        name=name,
        transport=transport,
        command=argv if transport == "stdio" else (),
        cwd=Path(text(entry["cwd"])).expanduser() if entry.get("cwd") else None,
        env=_texts(entry.get("env"), env, missing),
        url="" if transport == "stdio" else url,
        headers=_texts(entry.get("headers"), env, missing),
        oauth=oauth_settings(entry.get("oauth"), text),
        enabled=entry.get("enabled", True) is not False and entry.get("disabled", False) is not True,
        tools_off=frozenset(map(str, (*_list(entry.get("disabled_tools")), *_list(entry.get("disabledTools"))))),
        timeout=_seconds(entry.get("start_timeout")) or START_TIMEOUT,
        call_timeout=_seconds(entry.get("call_timeout")),
        origin=origin,
        problem=f"{origin}: variable {missing[0]} is not set" if missing else _lacks(transport, argv, url, origin),
    )
    return config


def _lacks(transport: Transport, argv: tuple[str, ...], url: str, origin: str) -> str:
    if transport == "stdio":
        return "" if argv else f"{origin}: neither `command` nor `url`"
    return "" if re.match(r"https?://[^/\s]+", url) else f"{origin}: no http address: {url or 'url is missing'}"


def _transport(entry: Mapping[str, Any], url: str) -> Transport:
    kind = entry.get("type") or entry.get("transport") or ""
    if kind == "sse":
        return "sse"
    if kind in _HTTP:
        return "http"
    if url and not entry.get("command"):
        return "sse" if urlsplit(url).path.rstrip("/").endswith("/sse") else "http"
    return "stdio"


def _expanded(value: str, env: Mapping[str, str], missing: list[str]) -> str:
    def put(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if default is not None:
            return env.get(name) or default
        if name not in env:
            missing.append(name)
        return env.get(name, "")

    return _VARIABLE.sub(put, value)


def _texts(value: object, env: Mapping[str, str], missing: list[str]) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    fields = cast("dict[str, Any]", value)
    return {str(key): _expanded(_plain(one), env, missing) for key, one in fields.items() if one is not None}


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _list(value: object) -> list[Any]:
    return list(cast("Iterable[Any]", value)) if isinstance(value, (list, tuple)) else []


def _seconds(value: object) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value <= 86_400 else None  # type: ignore[operator, arg-type]
