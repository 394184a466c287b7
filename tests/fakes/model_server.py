"""A scripted OpenAI-compatible server on loopback: plays what a test tells it, refuses what strict ones refuse.

Every request is checked like DeepSeek, OpenAI and Mistral templates check it; a bad one gets a 400 and is kept in
`complaints`. Each answer takes the next `Reply` of the script; without one it says `OK-TURN-n`. It runs in a thread of
its own, so that synchronous tests can wait on it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from tests.wire.validators import deepseek_complaints, openai_complaints

PATIENCE = 60.0
LONGEST_SILENCE = 20.0
USAGE = {"prompt_tokens": 1200, "completion_tokens": 20, "total_tokens": 1220}
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer: pieces as they go to the socket, and what happens before and after them."""

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    gap: float = 0.0
    """Seconds between pieces: the rate of a stream."""
    hang: Literal["", "before_headers", "after_headers", "at_end"] = ""
    """Where it falls silent until the client leaves."""
    ending: Literal["close", "reset"] = "close"
    gate: threading.Event | None = None
    """The pieces from `gate_at` on wait for it."""
    gate_at: int = 0

    def then_hang(self) -> Reply:
        """The same pieces, then silence: the client must leave by itself."""
        return replace(self, hang="at_end")

    def then_reset(self) -> Reply:
        """The same pieces, then a TCP reset."""
        return replace(self, ending="reset")

    def cut(self, size: int) -> Reply:
        """The same bytes in writes of `size`."""
        data = b"".join(self.pieces)
        return replace(self, pieces=tuple(data[at : at + size] for at in range(0, len(data), size)))


def event(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
    """One chunk of a chat completion; without a delta it has no choice at all (usage only)."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": choices}
    return b"data: " + json.dumps(chunk | more).encode() + b"\n\n"


def finished(finish: str = "stop") -> tuple[bytes, ...]:
    """The end of a healthy stream."""
    return (event({}, finish), event(None, usage=USAGE), DONE)


def text_pieces(text: str) -> tuple[bytes, ...]:
    """Text, one chunk for each word."""
    words = [word + " " for word in text.split(" ")]
    words[-1] = words[-1][:-1]
    return tuple(event({"content": word}) for word in words)


def say(text: str, *, gap: float = 0.0) -> Reply:
    """A complete answer."""
    return Reply((*text_pieces(text), *finished()), gap=gap)


def begin_to_say(text: str) -> Reply:
    """An answer that stops in the middle and leaves the connection open."""
    return Reply(text_pieces(text)).then_hang()


def ask_tools(*calls: tuple[str, dict[str, Any]], text: str = "") -> Reply:
    """A reply with tool calls, in fragments as OpenAI sends them."""
    pieces = list(text_pieces(text)) if text else []
    for index, (name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": ""}
        head = {"index": index, "id": f"call_{index}_{abs(hash(json.dumps(arguments))) % 10**8}", "type": "function"}
        pieces.append(event({"tool_calls": [head | {"function": function}]}))
        raw = json.dumps(arguments)
        for at in range(0, len(raw), 16):
            part = {"index": index, "function": {"arguments": raw[at : at + 16]}}
            pieces.append(event({"tool_calls": [part]}))
    return Reply((*pieces, *finished("tool_calls")))


def shell(command: str, **more: Any) -> Reply:
    """A reply that asks for one shell command."""
    return ask_tools(("run_shell_command", {"command": command} | more))


def silent() -> Reply:
    """A server that accepts the request and never answers."""
    return Reply(hang="before_headers")


def silent_stream() -> Reply:
    """Headers, then nothing."""
    return Reply(hang="after_headers")


def refuse(status: int, message: str, **more: Any) -> Reply:
    """An error as OpenAI-compatible servers send it."""
    body = {"error": {"message": message, "type": "invalid_request_error"} | more}
    return Reply((json.dumps(body).encode(),), status=status, content_type="application/json")


def page(html: str = "<!DOCTYPE html><html><body>Please log in</body></html>") -> Reply:
    """A web page where an API should be."""
    return Reply((html.encode(),), content_type="text/html; charset=utf-8")


def stream_file(path: Path) -> Reply:
    """The events of a file, one a line, each sent as line and empty line."""
    lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
    return Reply(tuple(line + b"\n\n" for line in lines))


@dataclass
class Exchange:
    """One request and what became of it."""

    number: int
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    complaints: list[str]
    over: threading.Event = field(default_factory=threading.Event)
    gone: bool = False
    """The client left before the answer was complete."""
    sent: int = 0
    """Pieces of the answer that went out."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def last_user(self) -> str:
        """Text of the last user message."""
        return next(str(m["content"]) for m in reversed(self.messages) if m["role"] == "user")

    @property
    def tool_texts(self) -> list[str]:
        """Every tool result of the request, in order."""
        return [str(m["content"]) for m in self.messages if m["role"] == "tool"]

    def wait_over(self) -> Exchange:
        """Until the answer was sent or the client left."""
        assert self.over.wait(PATIENCE), f"request {self.number} is still open"
        return self


class ModelServer:
    """Context manager: `with ModelServer(say("hi")) as server`."""

    def __init__(self, *script: Reply, reasoning_required: bool = False) -> None:
        self.exchanges: list[Exchange] = []
        self.complaints: list[str] = []
        self.script: deque[Reply] = deque(script)
        self.reasoning_required = reasoning_required
        """Refuse assistant messages with calls but without reasoning_content, as DeepSeek does."""
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="model server", daemon=True)
        self._ready = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    @property
    def base(self) -> str:
        """What goes into `api_base`."""
        return f"http://127.0.0.1:{self.port}/v1"

    def play(self, *replies: Reply) -> None:
        """Add replies to the script."""
        self.script.extend(replies)

    def wait(self, number: int) -> Exchange:
        """The `number`-th request, counted from 1."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: len(self.exchanges) >= number, PATIENCE)
        assert arrived, f"only {len(self.exchanges)} of {number} requests came"
        return self.exchanges[number - 1]

    def check(self, exchange: Exchange) -> list[str]:
        """What is wrong with a request."""
        rules: Callable[[Any], list[str]] = deepseek_complaints if self.reasoning_required else openai_complaints
        return rules(exchange.body) + twice_in_a_row(exchange.messages)

    def refusal(self, exchange: Exchange) -> Reply:
        """The answer to a bad request."""
        return refuse(400, "; ".join(exchange.complaints))

    def answer(self, exchange: Exchange) -> Reply:
        """The answer to a good request when the script is over."""
        return say(f"OK-TURN-{exchange.number}")

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._client, "127.0.0.1", 0, limit=1 << 26))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").split("\r\n")
            path = head[0].split(" ")[1]
            headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in head[1:])}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            exchange, reply = self._take(path, headers, body)
            await self._answer(exchange, reply, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except asyncio.CancelledError:
            pass
        finally:
            writer.close()

    def _take(self, path: str, headers: dict[str, str], raw: bytes) -> tuple[Exchange, Reply]:
        body: dict[str, Any] = json.loads(raw) if raw else {"messages": []}
        number = len(self.exchanges) + 1
        exchange = Exchange(number, path, headers, body, [])
        exchange.complaints += self.check(exchange)
        if exchange.complaints:
            self.complaints += [f"request {number}: {complaint}" for complaint in exchange.complaints]
            reply = self.refusal(exchange)
        elif self.script:
            reply = self.script.popleft()
        else:
            reply = self.answer(exchange)
        with self._changed:
            self.exchanges.append(exchange)
            self._changed.notify_all()
        return exchange, reply

    async def _answer(
        self, exchange: Exchange, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        left = asyncio.ensure_future(reader.read(1))
        try:
            if reply.hang == "before_headers":
                await left
                raise ConnectionResetError
            head = f"HTTP/1.1 {reply.status} X\r\ncontent-type: {reply.content_type}\r\nconnection: close\r\n\r\n"
            writer.write(head.encode())
            for place, piece in enumerate(reply.pieces):
                if reply.gate is not None and place == reply.gate_at:
                    await self._loop.run_in_executor(None, reply.gate.wait, LONGEST_SILENCE)
                writer.write(piece)
                await writer.drain()
                exchange.sent += 1
                if reply.gap:
                    await asyncio.wait([left], timeout=reply.gap)
                if left.done():
                    raise ConnectionResetError
            if reply.hang:
                await left
                raise ConnectionResetError
            if reply.ending == "reset":
                sock: socket.socket = writer.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                writer.transport.abort()
        except ConnectionError:
            exchange.gone = True
            raise
        finally:
            left.cancel()
            exchange.over.set()


def twice_in_a_row(messages: Iterable[dict[str, Any]]) -> list[str]:
    """Strict chat templates refuse two user messages in a row."""
    roles = [message["role"] for message in messages]
    return [
        f"[{place}] two user messages in a row"
        for place in range(1, len(roles))
        if roles[place] == roles[place - 1] == "user"
    ]
