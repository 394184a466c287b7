"""Servers in our own configuration and in the files of other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reactagent_tui.core.config.schema import McpServerEntry
from reactagent_tui.core.mcp.config import configured_servers, entries_of, server_of
from reactagent_tui.core.mcp.oauth_settings import OauthSettings


def read(entry: dict[str, Any], **env: str) -> Any:
    return server_of("x", entry, env, "file")


def test_the_shapes_of_other_tools() -> None:
    claude = read({"command": "npx", "args": ["-y", "thing"], "env": {"A": "1"}})
    assert claude.transport == "stdio"
    assert claude.command == ("npx", "-y", "thing")
    assert claude.env == {"A": "1"}
    assert read({"type": "http", "url": "https://a.b/mcp", "headers": {"K": "v"}}).transport == "http"
    assert read({"type": "streamable-http", "url": "https://a.b/mcp"}).transport == "http"
    assert read({"type": "sse", "url": "https://a.b/sse"}).transport == "sse"
    assert read({"url": "https://a.b/mcp"}).transport == "http"
    assert read({"transport": "sse", "url": "https://a.b/x"}).transport == "sse"
    assert read({"url": "https://a.b/v1/sse/?key=1"}).transport == "sse"
    assert read({"type": "http", "url": "https://a.b/sse"}).transport == "http"
    assert read({"url": "https://a.b/mcp?next=/sse"}).transport == "http"
    assert read({"serverUrl": "https://a.b/mcp", "timeout": 5, "alwaysAllow": ["x"]}).problem == ""
    zed = read({"source": "custom", "command": {"path": "uvx", "args": ["t"], "env": {"B": "2"}}})
    assert zed.command == ("uvx", "t")
    assert zed.env == {"B": "2"}
    assert read({"command": ["uvx", "t"], "args": ["u"]}).command == ("uvx", "t", "u")
    assert not read({"command": "x", "disabled": True}).enabled
    assert not read({"command": "x", "enabled": False}).enabled
    for key in ("mcpServers", "servers", "context_servers", "mcp_servers"):
        assert entries_of({key: {"a": {"command": "x"}}}, "f") == {"a": {"command": "x"}}
    assert entries_of({"mcp": {"servers": {"a": {"command": "x"}}}}, "f") == {"a": {"command": "x"}}


def test_variables() -> None:
    entry = {"command": "${HOME}/x", "args": ["${A:-b}", "${env:C}"], "env": {"T": "${T}"}}
    found = read(entry, HOME="/h", C="c", T="secret")
    assert found.command == ("/h/x", "b", "c")
    assert found.env == {"T": "secret"}
    assert not found.problem
    assert "secret" not in repr(found)
    assert "T is not set" in read(entry, HOME="/h", C="c").problem


def test_what_a_login_needs() -> None:
    own = {"client_id": "${ID}", "client_secret": "s3cret", "scopes": ["a", "b"], "callback_port": 4000}
    others = {"clientId": "i", "clientSecret": "s3cret", "scope": "a b", "callbackPort": "4000"}
    for entry in (own, others):
        found = read({"url": "https://a.b/mcp", "oauth": entry}, ID="i").oauth
        assert found == OauthSettings("i", "s3cret", scopes=("a", "b"), callback_port=4000)
        assert "s3cret" not in repr(found)
    for odd in (None, "yes", [], {"scopes": 5, "callback_port": -1}, {"callback_port": 70_000}, {"client_id": None}):
        assert read({"url": "https://a.b/mcp", "oauth": odd}).oauth == OauthSettings()
    entry = McpServerEntry.model_validate({"url": "https://a.b/mcp", "oauth": own})
    assert "s3cret" not in repr(entry)
    (config,) = configured_servers({"x": entry}, Path("none"), Path("none"), {}, trusted=False)
    assert config.oauth.client_secret == "s3cret"


def test_which_headers_say_who_we_are() -> None:
    for value, signs in (("Bearer t", True), ("Basic dTpw", True), ("Bearer ", False), ("", False)):
        assert read({"url": "https://a.b", "headers": {"authorization": value}}).signs_itself is signs
    assert not read({"url": "https://a.b", "headers": {"X-Key": "k"}}).signs_itself


def test_what_cannot_be_started_says_why() -> None:
    assert "neither" in read({}).problem
    assert "address" in read({"url": "ftp://x"}).problem
    assert read({"command": 5, "args": "no list", "env": ["x"], "start_timeout": "soon"}).command == ("5",)


def test_only_a_trusted_folder_brings_servers_and_never_replaces_the_users(tmp_path: Path) -> None:
    own = {"mine": McpServerEntry(command="mine")}
    servers = {"mcpServers": {"mine": {"command": "evil"}, "theirs": {"command": "theirs"}}}
    (tmp_path / ".mcp.json").write_text(json.dumps(servers), "utf-8")
    user = tmp_path / "none.json"
    untrusted = configured_servers(own, user, tmp_path, {}, trusted=False)
    assert [(one.name, one.command) for one in untrusted] == [("mine", ("mine",))]
    trusted = configured_servers(own, user, tmp_path, {}, trusted=True)
    assert [(one.name, one.command) for one in trusted] == [("mine", ("mine",)), ("theirs", ("theirs",))]


def test_a_broken_file_is_a_server_with_a_problem(tmp_path: Path) -> None:
    user = tmp_path / "mcp.json"
    user.write_text("{", "utf-8")
    (found,) = configured_servers({}, user, tmp_path, {}, trusted=False)
    assert found.name == "mcp.json"
    assert "not JSON" in found.problem
