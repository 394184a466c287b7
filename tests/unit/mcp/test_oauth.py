"""Logins against an authorisation server on the SDK: discovery, registration, PKCE, refresh, refusals."""

from __future__ import annotations

import asyncio
import json
import logging
import stat
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from reactagent_tui.core.config.schema import LogSettings
from reactagent_tui.core.mcp.client import Surroundings
from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.oauth_access import Logins
from reactagent_tui.core.mcp.oauth_login import LoginFailed, LoginPage, _is_safe
from reactagent_tui.core.mcp.oauth_settings import OauthSettings
from reactagent_tui.core.mcp.server import McpServer
from reactagent_tui.core.mcp.server_log import ServerLog
from reactagent_tui.core.mcp.servers import ServerSet
from reactagent_tui.core.mcp.stdio import ServerError
from reactagent_tui.core.program_log import open_program_log
from reactagent_tui.core.tools.process import spawn
from tests.fakes.oauth_server import MARK, Desk, login_server, query_of
from tests.unit.mcp.kit import Port, Told


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Desk, str]]:
    with login_server() as found:
        yield found


@pytest.fixture
def desk(servers: tuple[Desk, str]) -> Desk:
    servers[0].reset()
    return servers[0]


@pytest.fixture
def web(servers: tuple[Desk, str]) -> ServerConfig:
    return ServerConfig("web", "http", url=f"{servers[1]}/mcp")


@pytest.fixture
def logins(tmp_path: Path) -> Logins:
    return Logins.of(tmp_path / "state")


class Browser:
    """A person who goes where the page says, at once."""

    def __init__(self) -> None:
        self.pages: list[LoginPage] = []
        self.answers: list[httpx.Response] = []
        self.shown = asyncio.Event()
        self.goes = True
        self._trips: set[asyncio.Task[None]] = set()

    def __call__(self, page: LoginPage) -> None:
        self.pages.append(page)
        self.shown.set()
        if self.goes:
            self._trips.add(asyncio.create_task(self.go(page.url)))

    async def go(self, url: str) -> None:
        async with httpx.AsyncClient(follow_redirects=True, trust_env=False) as client:
            self.answers.append(await client.get(url))

    async def back(self) -> None:
        """Until every page has come."""
        await asyncio.gather(*self._trips)


async def logged_in(logins: Logins, config: ServerConfig) -> Browser:
    browser = Browser()
    await logins.log_in(config, browser)
    await browser.back()
    return browser


@asynccontextmanager
async def started(folder: Path, logins: Logins, config: ServerConfig) -> AsyncIterator[tuple[McpServer, Told]]:
    """The server as the program starts it, when it no longer starts."""
    told = Told()

    def around(_config: ServerConfig, log: ServerLog) -> Surroundings:
        return Surroundings(spawn=spawn, workdir=folder, env={}, note=log.note, auth=logins.auth)

    servers = ServerSet(around, folder / "logs")
    servers.configure([config])
    servers.listeners["test"] = told
    servers.start()
    server = servers.servers[config.name]
    try:
        await told.until(lambda: server.state.phase != "starting")
        yield server, told
    finally:
        await servers.close()


async def failure(logins: Logins, config: ServerConfig) -> LoginFailed:
    with pytest.raises(LoginFailed) as found:
        await logged_in(logins, config)
    return found.value


async def echo(server: McpServer) -> str:
    return (await server.call("echo", {"text": "by token"}, Port())).text


async def test_a_start_without_a_login_asks_for_one_and_costs_nothing(
    tmp_path: Path, desk: Desk, web: ServerConfig, logins: Logins
) -> None:
    async with started(tmp_path, logins, web) as (server, _):
        assert server.state.phase == "login"
        assert server.state.tokens == 0
        assert server.tools == ()
        assert desk.done == []
        with pytest.raises(ServerError, match="/mcp login web"):
            await echo(server)


async def test_a_login_by_discovery_registration_and_pkce(
    tmp_path: Path, desk: Desk, web: ServerConfig, logins: Logins
) -> None:
    browser = await logged_in(logins, web)
    assert desk.done == ["register", "authorize", "token"]
    asked = query_of(browser.pages[0].url)
    assert asked["code_challenge_method"] == "S256"
    assert asked["resource"] == web.url
    assert asked["redirect_uri"].startswith("http://127.0.0.1:")
    (page,) = browser.answers
    assert page.status_code == 200
    assert "Logged in" in page.text
    assert MARK not in page.text
    file = logins.file(web).path
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [one.name for one in file.parent.iterdir()] == [file.name]
    async with started(tmp_path, logins, web) as (server, _):
        assert server.is_ready, server.state.reason
        assert await echo(server) == "by token"
        assert logins.log_out(web)
        await server.restart()
        assert not file.exists()
        assert not logins.log_out(web)


async def test_the_port_is_closed_after_the_login(desk: Desk, web: ServerConfig, logins: Logins) -> None:
    browser = await logged_in(logins, web)
    await refuses(browser.pages[0])


async def refuses(page: LoginPage) -> None:
    """Nobody listens any more where the browser would come back to."""
    back = httpx.URL(query_of(page.url)["redirect_uri"])
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", back.port)


async def test_a_second_login_uses_the_registration_again(desk: Desk, web: ServerConfig, logins: Logins) -> None:
    first = await logged_in(logins, web)
    second = await logged_in(logins, web)
    assert desk.done.count("register") == 1
    uris = [query_of(browser.pages[0].url)["redirect_uri"] for browser in (first, second)]
    assert uris[0] == uris[1]


async def test_a_registered_port_that_is_taken_costs_a_new_registration(
    desk: Desk, web: ServerConfig, logins: Logins
) -> None:
    browser = await logged_in(logins, web)
    port = httpx.URL(query_of(browser.pages[0].url)["redirect_uri"]).port
    taken = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", port)
    with closing(taken):
        await logged_in(logins, web)
    assert desk.done.count("register") == 2


async def test_refusals(desk: Desk, web: ServerConfig, logins: Logins) -> None:
    desk.deny = True
    assert (await failure(logins, web)).key == "mcp.login.denied"
    assert not logins.file(web).read().tokens
    desk.registers, desk.deny = False, False
    logins.log_out(web)
    assert (await failure(logins, web)).key == "mcp.login.no_registration"
    open_server = replace(web, url=web.url.replace("/mcp", "/plain/sse"))
    assert (await failure(logins, open_server)).key in ("mcp.login.not_needed", "mcp.login.no_registration")
    signed = replace(web, headers={"authorization": "Bearer mine"})
    assert (await failure(logins, signed)).key == "mcp.login.none"
    assert (await failure(logins, ServerConfig("x", "stdio", ("x",)))).key == "mcp.login.none"
    nowhere = replace(web, url="http://127.0.0.1:9/mcp")
    assert (await failure(logins, nowhere)).key == "mcp.login.failed"


async def test_an_answer_with_a_foreign_state_changes_nothing(desk: Desk, web: ServerConfig, logins: Logins) -> None:
    desk.other_state = True
    browser = Browser()
    work = asyncio.create_task(logins.log_in(web, browser))
    await browser.shown.wait()
    await browser.back()
    (page,) = browser.answers
    assert page.status_code == 400
    assert "foreign" not in page.text
    assert not work.done()
    assert not browser.pages[0].paste("http://127.0.0.1/callback?code=x&state=foreign")
    assert not browser.pages[0].paste("no code at all")
    desk.other_state = False
    await browser.go(browser.pages[0].url)
    await work
    assert logins.file(web).read().is_good()


@pytest.mark.parametrize("whole", [True, False])
async def test_an_address_or_a_code_can_be_pasted(desk: Desk, web: ServerConfig, logins: Logins, whole: bool) -> None:
    browser = Browser()
    browser.goes = False
    work = asyncio.create_task(logins.log_in(web, browser))
    await browser.shown.wait()
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(browser.pages[0].url)
    ended_at = answer.headers["location"]
    assert browser.pages[0].paste(f"  {ended_at if whole else query_of(ended_at)['code']}\n")
    await work
    assert logins.file(web).read().is_good()


async def test_cancelling_frees_the_port_at_once(desk: Desk, web: ServerConfig, logins: Logins) -> None:
    browser = Browser()
    browser.goes = False
    work = asyncio.create_task(logins.log_in(web, browser))
    await browser.shown.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await refuses(browser.pages[0])


async def test_a_configured_client_port_and_scopes(
    tmp_path: Path, desk: Desk, web: ServerConfig, logins: Logins
) -> None:
    from mcp.shared.auth import OAuthClientInformationFull

    desk.registers = False
    probe = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0)
    port = probe.sockets[0].getsockname()[1]
    settings = OauthSettings("own-id", f"{MARK}-secret", scopes=("read",), callback_port=port)
    config = replace(web, oauth=settings)
    assert MARK not in repr(config)
    assert (await failure(logins, config)).key == "mcp.login.port"
    probe.close()
    await probe.wait_closed()
    desk.clients["own-id"] = OAuthClientInformationFull(
        client_id="own-id",
        client_secret=f"{MARK}-secret",
        redirect_uris=[f"http://127.0.0.1:{port}/callback"],
        token_endpoint_auth_method="client_secret_post",
        scope="read write",
    )
    await logged_in(logins, config)
    assert desk.done == ["authorize read", "token"]
    assert f"{MARK}-secret" not in logins.file(config).path.read_text("utf-8")
    desk.revoke(also_refresh=False)
    async with started(tmp_path, logins, config) as (server, _):
        assert server.is_ready, server.state.reason
        assert desk.done[-1] == "refresh"


async def test_a_token_that_ran_out_is_refreshed_at_the_start(
    tmp_path: Path, desk: Desk, web: ServerConfig, logins: Logins
) -> None:
    desk.lifetime = 1
    await logged_in(logins, web)
    desk.lifetime = 3600
    async with started(tmp_path, logins, web) as (server, _):
        assert await echo(server) == "by token"
    assert desk.done.count("refresh") == 1
    assert logins.file(web).read().is_good()


async def test_a_refusal_in_mid_session_is_refreshed_unseen_and_the_next_asks_for_a_login(
    tmp_path: Path, desk: Desk, web: ServerConfig, logins: Logins
) -> None:
    await logged_in(logins, web)
    async with started(tmp_path, logins, web) as (server, told):
        desk.revoke(also_refresh=False)
        assert await echo(server) == "by token"
        assert desk.done.count("refresh") == 1
        desk.revoke(also_refresh=True)
        with pytest.raises(ServerError, match="/mcp login web"):
            await echo(server)
        await told.until(lambda: server.state.phase == "login")
        assert not logins.file(web).read().tokens
        assert logins.file(web).read().client
        assert desk.done.count("register") == 1
        await logged_in(logins, web)
        await server.restart()
        await told.until(lambda: server.state.phase != "starting")
        assert await echo(server) == "by token"


async def test_an_authorisation_server_that_is_down_costs_no_login(
    tmp_path: Path, desk: Desk, web: ServerConfig, logins: Logins
) -> None:
    desk.lifetime = 1
    await logged_in(logins, web)
    desk.refresh_status = 503
    async with started(tmp_path, logins, web) as (server, told):
        assert server.state.phase == "failed"
        assert "refreshed: HTTP 503" in server.state.reason
        desk.refresh_status = 0
        await server.restart()
        await told.until(lambda: server.state.phase != "starting")
        assert server.is_ready, server.state.reason


async def test_two_programs_refresh_once(desk: Desk, web: ServerConfig, logins: Logins) -> None:
    desk.lifetime = 1
    await logged_in(logins, web)
    desk.lifetime = 3600
    auths: list[Any] = [await logins.auth(web) for _ in range(4)]
    tokens = await asyncio.gather(*(auth._current(None) for auth in auths))
    assert len(set(tokens)) == 1
    assert desk.done.count("refresh") == 1


async def test_configured_headers_win_and_a_wrong_one_is_no_login(
    tmp_path: Path, desk: Desk, web: ServerConfig, logins: Logins
) -> None:
    await logged_in(logins, web)
    desk.seen.clear()
    signed = replace(web, headers={"Authorization": "Bearer mine-alone"})
    async with started(tmp_path, logins, signed) as (server, _):
        assert server.state.phase == "failed"
        assert "Authorization header is refused" in server.state.reason
    assert set(desk.seen) == {"Bearer mine-alone"}


async def test_sse_behind_a_login(tmp_path: Path, desk: Desk, web: ServerConfig, logins: Logins) -> None:
    config = replace(web, name="old", transport="sse", url=web.url.replace("/mcp", "/sse"))
    async with started(tmp_path, logins, config) as (server, told):
        assert server.state.phase == "login"
        await logged_in(logins, config)
        await server.restart()
        await told.until(lambda: server.state.phase != "starting")
        assert await echo(server) == "by token"
        desk.revoke(also_refresh=True)
        with pytest.raises(ServerError, match="/mcp login old"):
            await echo(server)
        await told.until(lambda: server.state.phase == "login")


async def test_no_token_gets_into_a_log(
    tmp_path: Path, desk: Desk, web: ServerConfig, logins: Logins, capfd: pytest.CaptureFixture[str]
) -> None:
    log = open_program_log(tmp_path / "logs", LogSettings(level="debug"), {})
    try:
        desk.lifetime = 1
        await logged_in(logins, web)
        async with started(tmp_path, logins, web) as (server, told):
            assert await echo(server) == "by token"
            desk.revoke(also_refresh=True)
            with pytest.raises(ServerError):
                await echo(server)
            await told.until(lambda: server.state.phase == "login")
        desk.refresh_status = 400
        assert (await failure(logins, web)).key == "mcp.login.failed"
        tokens = f'{{"access_token": "{MARK}-1", "refresh_token": "{MARK}-2"}}'
        logging.getLogger("mcp.client.auth").error("Token exchange failed: %s", tokens)
    finally:
        log.close()
    written = "".join(file.read_text("utf-8") for file in (tmp_path / "logs").rglob("*") if file.is_file())
    assert "Token exchange failed" in written
    assert MARK not in written
    printed = capfd.readouterr()
    assert MARK not in printed.out + printed.err
    assert "Traceback" not in printed.err


async def test_tokens_do_not_go_over_an_open_line(desk: Desk, web: ServerConfig, logins: Logins) -> None:
    desk.metadata = {"token_endpoint": "http://login.invalid/token"}
    failed = await failure(logins, web)
    assert (failed.key, failed.params["host"]) == ("mcp.login.insecure", "login.invalid")
    assert "authorize" not in " ".join(desk.done)
    desk.metadata = {"issuer": "http://127.0.0.1:1"}
    assert "issuer" in (await failure(logins, web)).params["reason"]


def test_what_goes_out_only_encrypted() -> None:
    for url in ("https://a.b/authorize", "http://127.0.0.1:9/token", "http://[::1]/token", "http://localhost/token"):
        assert _is_safe(url)
    for url in ("http://a.b/authorize", "http://127.0.0.1.a.b/", "ftp://127.0.0.1/", "javascript:alert(1)"):
        assert not _is_safe(url)


def test_a_file_of_another_server_or_a_broken_one_is_no_login(logins: Logins, web: ServerConfig) -> None:
    file = logins.file(web)
    file.path.parent.mkdir(parents=True)
    file.path.write_text("{", "utf-8")
    assert not file.read().tokens
    data = {"server": "other", "url": web.url, "tokens": {"access_token": "t"}}
    file.path.write_text(json.dumps(data), "utf-8")
    assert not file.read().tokens
    file.path.write_text(json.dumps(data | {"server": "web"}), "utf-8")
    assert file.read().is_good()
    assert not file.read().is_good(rejected="t")
    file.path.write_text(json.dumps(data | {"server": "web", "expires_at": time.time() - 1}), "utf-8")
    assert not file.read().is_good()
    assert logins.file(replace(web, url="http://127.0.0.1/other")).path != file.path
