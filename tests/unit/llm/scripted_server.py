"""A local HTTP server that a test scripts: one handler per request, requests kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass
class Call:
    """One request and the socket to answer on."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def head(self, status: str = "200 OK", kind: str = "text/event-stream", **headers: str) -> None:
        """Headers of an answer whose body ends with the connection."""
        lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", "connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.send("\r\n".join(lines) + "\r\n\r\n")

    async def send(self, text: str | bytes) -> None:
        self.writer.write(text.encode() if isinstance(text, str) else text)
        await self.writer.drain()

    async def text(self, *pieces: str) -> None:
        for piece in pieces:
            await self.send(f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': piece}}]})}\n\n")

    async def finish(self) -> None:
        await self.send('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')

    async def reply(self, *pieces: str) -> None:
        """A whole good answer."""
        await self.head()
        await self.text(*pieces)
        await self.finish()

    async def refuse(self, status: str, body: str, kind: str = "application/json", **headers: str) -> None:
        await self.head(status, kind, **headers)
        await self.send(body)

    async def gone(self) -> None:
        """Returns when the client has closed its side."""
        while True:
            try:
                if not await self.reader.read(4096):
                    return
            except ConnectionError:
                return


Handler: TypeAlias = Callable[[Call], Awaitable[None]]


@dataclass
class Server:
    """What was asked, and where to ask."""

    base: str
    calls: list[Call] = field(default_factory=list[Call])


@asynccontextmanager
async def serving(*handlers: Handler) -> AsyncIterator[Server]:
    """The n-th request is answered by the n-th handler, later ones by the last."""
    running: set[asyncio.Task[None]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            call = Call(head[0].split(" ")[1], headers, json.loads(body or b"{}"), reader, writer)
            server.calls.append(call)
            await handlers[min(len(server.calls), len(handlers)) - 1](call)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went, or the test is over
        finally:
            writer.close()
            running.discard(task)

    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    server = Server(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}")
    try:
        yield server
    finally:
        listener.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
