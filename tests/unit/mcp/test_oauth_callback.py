"""Where the browser comes back to, and which browser is opened."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from reactagent_tui.core.mcp.oauth_browser import browser_command, browser_of
from reactagent_tui.core.mcp.oauth_callback import CallbackServer

URL = "https://login.example/authorize?state=s"


@pytest_asyncio.fixture
async def callback() -> AsyncIterator[CallbackServer]:
    server = await CallbackServer().open()
    server.expect("s3cret-state")
    yield server
    await server.close()


async def sent(server: CallbackServer, request: bytes) -> bytes:
    """The answer to these bytes; b"" when the connection is just closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


async def test_only_the_right_answer_counts(callback: CallbackServer) -> None:
    answer = asyncio.create_task(callback.answer())
    for wrong in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /callback?code=c&state=s3cret-state HTTP/1.1\r\n\r\n",
        b"GET /callback?code=c HTTP/1.1\r\n\r\n",
        b"GET /callback?code=c&state=<script> HTTP/1.1\r\n\r\n",
        b"GET /callback?state=s3cret-state HTTP/1.1\r\n\r\n",
        b"GET http://[::1/callback HTTP/1.1\r\n\r\n",
        b"\xff\xfe\r\n\r\n",
    ):
        got = await sent(callback, wrong)
        assert got.startswith(b"HTTP/1.1 4")
        assert b"<script>" not in got
    assert await sent(callback, b"GET /" + b"x" * 40_000 + b"\r\n\r\n") in (b"",)
    assert not answer.done()
    got = await sent(callback, b"GET /callback?code=c%20d&state=s3cret-state&iss=i HTTP/1.1\r\nHost: x\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 200")
    found = await answer
    assert (found.code, found.state, found.issuer, found.error) == ("c d", "s3cret-state", "i", "")
    assert "s3cret" not in repr(found)
    again = await sent(callback, b"GET /callback?code=e&state=s3cret-state HTTP/1.1\r\n\r\n")
    assert again.startswith(b"HTTP/1.1 400")


async def test_an_error_is_an_answer_too(callback: CallbackServer) -> None:
    got = await sent(callback, b"GET /callback?error=access_denied&state=s3cret-state HTTP/1.1\r\n\r\n")
    assert b"Not logged in" in got
    assert (await callback.answer()).error == "access_denied"


async def test_a_client_that_sends_nothing_does_not_hold_the_port(callback: CallbackServer) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", callback.port)
    await sent(callback, b"GET / HTTP/1.1\r\n\r\n")  # the silent one is accepted by now
    await callback.close()
    assert await reader.read() == b""
    writer.close()
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", callback.port)


def test_nothing_counts_before_a_state_is_expected() -> None:
    async def work() -> None:
        server = CallbackServer()
        assert not server.paste("code")
        assert not server.paste("http://127.0.0.1/callback?code=c&state=")

    asyncio.run(work())


def test_which_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path=None: name if name == "xdg-open" else None)
    assert browser_command(URL, {"DISPLAY": ":0"}, "linux") == ["xdg-open", URL]
    assert browser_command(URL, {}, "linux") is None
    assert browser_command(URL, {"DISPLAY": ":0", "SSH_CONNECTION": "1"}, "linux") is None
    assert browser_command(URL, {}, "darwin") == ["open", URL]
    assert browser_command(URL, {"BROWSER": "fox --new"}, "linux") == ["fox", "--new", URL]
    assert browser_command(URL, {"BROWSER": "fox --at=%s:other", "SSH_TTY": "1"}, "linux") == ["fox", f"--at={URL}"]
    assert browser_command("file:///etc/passwd", {"BROWSER": "fox"}, "linux") is None
    assert browser_command("--version", {"BROWSER": "fox"}, "linux") is None


@pytest.mark.parametrize(("program", "opened"), [("import sys; sys.exit(3)", False), ("pass", True)])
async def test_a_browser_that_fails_is_none(program: str, opened: bool) -> None:
    env = {"BROWSER": f"{sys.executable} -S -c '{program}'"}
    assert await browser_of(env)(URL) is opened
    assert not await browser_of({"BROWSER": "/no/such/browser"})(URL)
