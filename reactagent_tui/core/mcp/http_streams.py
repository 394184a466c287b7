"""Streams to a server with an address: streamable HTTP or the older SSE, and what its answers say of the connection.

Imported when such a server is reached: it brings the SDK along.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any, Literal, Self

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from reactagent_tui.core.mcp.config import ServerConfig

HTTP_IDLE = 600.0
"""Seconds without a byte while a server owes an answer."""
CONNECT = 15.0
_OLDER = frozenset({400, 404, 405})
"""Answers to the first POST after which the protocol says to try SSE."""
_REFUSED = 401


class HttpWatch:
    """Sees every answer after the signing. `lost` is set when the connection cannot go on."""

    def __init__(self, config: ServerConfig, lost: asyncio.Event) -> None:
        self.reason = ""
        """Why it cannot go on."""
        self.needs_login = False
        self.may_be_older = False
        """The first message was refused in the way of a server that only knows SSE."""
        self._config = config
        self._lost = lost
        self._first = True
        self._reading: anyio.CancelScope | None = None

    def answered(self, request: httpx2.Request, response: httpx2.Response, *, is_sse: bool) -> None:
        """A response as the SDK gets it."""
        status = response.status_code
        if request.method == "POST" and self._first and not is_sse:
            self._first = False
            self.may_be_older = status in _OLDER
        if status == _REFUSED:
            self.needs_login = not self._config.signs_itself
            login = f"a login is needed: /mcp login {self._config.name}"
            self.end(login if self.needs_login else f"HTTP {status}: the Authorization header is refused")
        elif is_sse and request.method == "POST" and status >= 400:
            self.end(f"HTTP {status}")  # the SDK writes no more then, and the caller would wait for ever
        if is_sse and self._lost.is_set() and self._reading is not None:
            self._reading.cancel()

    def broken(self, error: Exception) -> None:
        """A message of the older transport could not be sent."""
        self.end(str(error) or type(error).__name__)
        if self._reading is not None:
            self._reading.cancel()

    def end(self, reason: str) -> None:
        """The connection is over."""
        self.reason = self.reason or reason
        self._lost.set()

    async def next_of(self, stream: Any) -> Any:
        """The next message. StopAsyncIteration at the end of the stream, or when sending failed."""
        with anyio.CancelScope() as scope:
            self._reading = scope
            try:
                return await anext(stream)
            except StopAsyncIteration:
                self.end("the connection was closed")
                raise
            finally:
                self._reading = None
        raise StopAsyncIteration


class _Client(httpx2.AsyncClient):
    """Tells the watch of every answer; hooks of the library also see those that the signing deals with."""

    watch: HttpWatch
    is_sse: bool = False

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            response = await super().send(request, **options)
        except httpx2.TransportError as error:
            if self.is_sse and request.method == "POST":
                self.watch.broken(error)
            raise
        self.watch.answered(request, response, is_sse=self.is_sse)
        return response


class _Reading:
    """The SDK's stream of messages, with an end that the watch sees and can bring about."""

    def __init__(self, stream: Any, watch: HttpWatch) -> None:
        self._stream = stream
        self._watch = watch

    @property
    def last_context(self) -> Any:
        """What the SDK asks its own streams for."""
        return getattr(self._stream, "last_context", None)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._stream.__aexit__(*error)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return await self._watch.next_of(self._stream)


@contextlib.asynccontextmanager
async def http_streams(
    config: ServerConfig, kind: Literal["http", "sse"], watch: HttpWatch, auth: httpx2.Auth | None
) -> AsyncGenerator[tuple[Any, Any]]:
    """Reach the server in one of the two ways. Raises what the SDK raises."""

    def client(headers: dict[str, str] | None, timeout: httpx2.Timeout | None, auth: httpx2.Auth | None) -> _Client:
        made = _Client(headers=headers, timeout=timeout or CONNECT, auth=auth)
        made.watch, made.is_sse = watch, kind == "sse"
        return made

    headers = dict(config.headers)
    if kind == "sse":
        async with sse_client(
            config.url,
            headers=headers,
            timeout=CONNECT,
            sse_read_timeout=HTTP_IDLE,
            httpx_client_factory=lambda headers=None, timeout=None, auth=None: client(headers, timeout, auth),
            auth=auth,
        ) as (read, write):
            yield _Reading(read, watch), write
        return
    async with (
        client(headers, httpx2.Timeout(CONNECT, read=HTTP_IDLE), auth) as http,
        streamable_http_client(config.url, http_client=http) as (read, write),
    ):
        yield read, write
