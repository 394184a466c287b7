"""Where the browser comes back to after a login: a tiny server on 127.0.0.1 that hears one answer and is gone."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import parse_qs, urlsplit

HOST = "127.0.0.1"
PATH = "/callback"
_LONGEST = 16_384
"""Bytes of a request line and its headers."""
_PATIENCE = 10.0
"""Seconds for a client to send its request."""
_PAGE = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>ReactAgent</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;display:grid;place-items:center;min-height:90vh;margin:0;
color:#222;background:#fafafa}}main{{text-align:center}}@media(prefers-color-scheme:dark){{body{{color:#ddd;
background:#161616}}}}</style><main><h1>{head}</h1><p>{text}</p></main></html>"""
_DONE = ("Logged in", "You can close this tab and go back to ReactAgent.")
_DENIED = ("Not logged in", "The login was refused. You can close this tab.")
_FOREIGN = ("This is not the login that ReactAgent waits for", "Nothing was changed. You can close this tab.")


@dataclass(frozen=True, slots=True)
class Redirect:
    """What came back. Either a code or an error."""

    code: str = field(default="", repr=False)
    state: str = field(default="", repr=False)
    issuer: str | None = None
    error: str = ""


class CallbackServer:
    """Listens from `open` to `close`. Only an answer with the right state counts; others change nothing."""

    def __init__(self) -> None:
        self.port = 0
        self._server: asyncio.Server | None = None
        self._state = ""
        self._found: asyncio.Future[Redirect] = asyncio.get_running_loop().create_future()
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        """What the authorisation server sends the browser back to."""
        return f"http://{HOST}:{self.port}{PATH}"

    async def open(self, port: int = 0) -> Self:
        """Listen on this port, or on any. Raises OSError when it is taken."""
        self._server = await asyncio.start_server(self._accepted, HOST, port, limit=_LONGEST)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def close(self) -> None:
        """Free the port at once."""
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)
        if not self._found.done():
            self._found.cancel()

    def expect(self, state: str) -> None:
        """From now on an answer with this state counts."""
        self._state = state

    async def answer(self) -> Redirect:
        """What the browser or the user brought."""
        return await asyncio.shield(self._found)

    def paste(self, text: str) -> bool:
        """The address that the browser ended at, or the code in it. False: it is neither, or of another login."""
        text = text.strip()
        if "://" in text or "code=" in text or "error=" in text:
            query = urlsplit(text).query or text.lstrip("?")
            return self._take(parse_qs(query))
        if not text or any(sign.isspace() for sign in text):
            return False
        return self._take({"code": [text], "state": [self._state]})

    def _take(self, query: Mapping[str, list[str]]) -> bool:
        def one(name: str) -> str:
            return query.get(name, [""])[0]

        mine = self._state and secrets.compare_digest(one("state").encode(), self._state.encode())
        if not mine or not (one("code") or one("error")) or self._found.done():
            return False
        issuer = query["iss"][0] if query.get("iss") else None
        error = "" if one("code") else one("error")
        self._found.set_result(Redirect(one("code"), one("state"), issuer, error))
        return True

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(_PATIENCE):
                    head = await reader.readuntil(b"\r\n\r\n")
                    status, page = self._page_for(head)
                    writer.write(_response(status, page))
                    await writer.drain()
        finally:
            writer.close()

    def _page_for(self, head: bytes) -> tuple[str, tuple[str, str]]:
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        try:
            target = urlsplit(words[1] if len(words) == 3 else "")
            query = parse_qs(target.query)
        except ValueError:
            return "400 Bad Request", _FOREIGN
        if words[0] != "GET" or target.path != PATH:
            return "404 Not Found", _FOREIGN
        if not self._take(query):
            return "400 Bad Request", _FOREIGN
        return "200 OK", _DONE if query.get("code") else _DENIED


def _response(status: str, page: tuple[str, str]) -> bytes:
    """Only our own words: nothing of the request is repeated."""
    body = _PAGE.format(head=page[0], text=page[1]).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'; "
        "style-src 'unsafe-inline'\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
