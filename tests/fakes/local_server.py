"""Scripted servers of this machine: answers by method and path, so that discovery and providers can be tried."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer; `hang` sends nothing until the client leaves, `raw` goes out as it is."""

    body: Any = ""
    status: int = 200
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False
    raw: bytes = b""


@dataclass
class Asked:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Route: TypeAlias = "Answer | Callable[[Asked], Answer]"


@dataclass
class LocalServer:
    """Where it stands and what was asked. `routes`: path (without query) to answer; the path "*" for all others."""

    routes: Mapping[str, Route]
    port: int = 0
    asked: list[Asked] = field(default_factory=list[Asked])

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def paths(self) -> list[str]:
        return [one.path for one in self.asked]

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            raw = await reader.readexactly(int(headers.get("content-length", "0")))
            asked = Asked(method, target.partition("?")[0], headers, json.loads(raw or b"{}"))
            self.asked.append(asked)
            route = self.routes.get(asked.path) or self.routes.get("*") or Answer({"error": "not found"}, 404)
            await self._send(route(asked) if callable(route) else route, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went, or the test is over
        finally:
            writer.close()

    async def _send(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if answer.hang:
            await reader.read()
            return
        if answer.raw:
            writer.write(answer.raw)
            await writer.drain()
            return
        body = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
        lines = [f"HTTP/1.1 {answer.status} X", f"content-type: {answer.kind}", "connection: close"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        writer.write(("\r\n".join(lines) + "\r\n\r\n" + body).encode())
        await writer.drain()


@asynccontextmanager
async def local_server(routes: Mapping[str, Route]) -> AsyncIterator[LocalServer]:
    """A server in the test's own loop."""
    server = LocalServer(routes)
    listener = await asyncio.start_server(server.answer, "127.0.0.1", 0, limit=1 << 24)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()


@contextmanager
def threaded_server(routes: Mapping[str, Route]) -> Iterator[LocalServer]:
    """A server in a thread of its own, for tests that wait for a program."""
    server, ready, loop = LocalServer(routes), threading.Event(), asyncio.new_event_loop()

    def serve() -> None:
        listener = loop.run_until_complete(asyncio.start_server(server.answer, "127.0.0.1", 0, limit=1 << 24))
        server.port = listener.sockets[0].getsockname()[1]
        ready.set()
        loop.run_forever()
        listener.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    thread = threading.Thread(target=serve, name="local server", daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)


def models(*names: str, owner: str = "", **more: Any) -> Answer:
    """A list of models as OpenAI-compatible servers send it."""
    rows = [{"id": name, "object": "model", "created": 1, "owned_by": owner} | more for name in names]
    return Answer({"object": "list", "data": rows})


def ollama(
    *names: str, loaded: Mapping[str, int] | None = None, parameters: str = "", most: int = 40_960
) -> dict[str, Route]:
    """The routes of an Ollama: its models, those that are loaded with their windows, and what /api/show says."""
    running = [{"name": name, "model": name, "context_length": size} for name, size in (loaded or {}).items()]
    return {
        "/v1/models": models(*names, owner="library"),
        "/api/ps": Answer({"models": running}),
        "/api/show": Answer({"parameters": parameters, "model_info": {"qwen3.context_length": most}}),
    }


def llamacpp(name: str, window: int) -> dict[str, Route]:
    """The routes of a llama.cpp server."""
    return {
        "/v1/models": models(name, owner="llamacpp", meta={"n_ctx_train": 131_072}),
        "/props": Answer({"default_generation_settings": {"n_ctx": window}, "total_slots": 1}),
    }


def chat(text: str = "OK", *, prompt: int = 20, output: int = 2) -> Answer:
    """A streamed chat completion."""
    usage = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
    chunks = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": usage},
    ]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return Answer(body, kind="text/event-stream")
