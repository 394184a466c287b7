"""The first sign of life of a server, looked for before the SDK is there: one that never answers costs no import.

A child gets the request that every session begins with as soon as it runs; the SDK's own is not sent again. What is
listened to over the network is asked for its options.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import threading
from typing import Any
from urllib.parse import urlsplit

from reactagent_tui import __version__
from reactagent_tui.core.mcp.stdio import FIRST_ID, ServerGone

CLIENT = "reactagent"
_PARAMS: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {
        "sampling": {},
        "elicitation": {"form": {}, "url": {}},
        "roots": {"listChanged": True},
    },
    "clientInfo": {"name": CLIENT, "version": __version__},
}
"""What the SDK's session would say with the callbacks that `Connection` gives it; a test compares."""
_SHY = 5.0
"""Seconds for a listener that takes the connection and says nothing; then the SDK tries, as the server may be one
that answers its own protocol only."""


def greeting() -> bytes:
    """The line that begins a session, as the SDK would write it."""
    message = {"jsonrpc": "2.0", "id": FIRST_ID, "method": "initialize", "params": _PARAMS}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


async def knock(url: str) -> None:
    """Until somebody answers at this address, or cannot be asked in plain words (TLS, a proxy).

    Raises ServerGone when nobody listens there.
    """
    from reactagent_tui.core.llm.http import proxy_for

    parts = urlsplit(url)
    host = parts.hostname or ""
    if proxy_for(host, parts.scheme) is not None:
        return
    reader, writer = await _connected(host, parts.port or (443 if parts.scheme == "https" else 80))
    try:
        if parts.scheme == "https":
            return
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        writer.write(f"OPTIONS {target} HTTP/1.1\r\nHost: {parts.netloc.rpartition('@')[2]}\r\n\r\n".encode())
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(_SHY):
                await reader.read(1)
    finally:
        writer.transport.abort()


async def _connected(host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    problem: OSError = OSError(0, "no address")
    for address in await _addresses(host, port):
        try:
            return await asyncio.open_connection(address, port)
        except OSError as error:
            problem = error
    told = os.strerror(problem.errno) if problem.errno else str(problem)
    raise ServerGone(f"{host}:{port}: {told}") from problem


async def _addresses(host: str, port: int) -> list[str]:
    """A name server that hangs holds a thread of its own: a program that ends waits for those of the loop's pool."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def settle(addresses: list[str], error: OSError | None) -> None:
        if found.done():
            return
        if error is None:
            found.set_result(addresses)
        else:
            found.set_exception(ServerGone(f"{host}: {error.strerror or error}"))

    def work() -> None:
        addresses, problem = list[str](), None
        try:
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(info[4][0]) for info in infos))
        except (OSError, UnicodeError) as error:
            problem = error if isinstance(error, OSError) else OSError(0, str(error))
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, addresses, problem)

    threading.Thread(target=work, name=f"address of {host}", daemon=True).start()
    return await found
