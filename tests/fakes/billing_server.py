"""A model server on loopback that keeps its own bill: what it received, what it really sent, what it told of it.

It lives in the test's own event loop. Each request takes the next `Plan`; its prompt is counted with the cl100k
vocabulary times the model's own factor, as a stand-in for the model's tokenizer. What is written to the socket is
billed, also when the client leaves; nothing is billed after that, and nothing for a refusal.
"""

from __future__ import annotations

import asyncio
import json
import math
import socket
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal, Protocol

from reactagent_tui.core.llm.tokens import count_exact

PATIENCE = 60.0


@lru_cache(maxsize=50_000)
def tokens_of(text: str) -> int:
    """Tokens by the cl100k vocabulary."""
    return count_exact(text) if text else 0


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """How a model counts: a factor on cl100k, and what its chat template puts around messages, tools and calls."""

    factor: float = 1.0
    message: int = 4
    tool: int = 8
    call: int = 6
    reply: int = 2

    def scaled(self, raw: float) -> int:
        return math.ceil(raw * self.factor)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a reply: `kind` thinking, text, or call (then `name` opens one, `text` is a fragment of arguments)."""

    kind: Literal["thinking", "text", "call"]
    text: str
    index: int = 0
    name: str = ""


Told = Literal["end", "each", "start", "never", "zeros", "twice"]
"""When usage is reported: at the end, cumulative in every chunk, only at the start, never, as zeros, or two times."""
Moment = Literal["received", "headers", "piece", "finish", "usage"]


@dataclass
class Plan:
    """One answer."""

    pieces: tuple[Piece, ...] = ()
    finish: str = "stop"
    told: Told = "end"
    cached: float = 0.0
    """Share of the prompt that the server says came from its cache."""
    cost: bool = False
    """The server says what the call cost."""
    document: bool = False
    """The reply comes as one JSON document."""
    status: int = 200
    error: str = ""
    """With status 200: an error object after the pieces."""
    headers: tuple[tuple[str, str], ...] = ()
    cut_at: int | None = None
    """Bytes of the body after which the connection is dropped."""
    reset: bool = False
    pause: tuple[Moment, int] | None = None
    """Where it waits until the client leaves or `go` is set: after the n-th piece, before the headers, …"""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Bill:
    """What the server has of one request."""

    number: int
    model: str
    prompt: int
    cached: int
    refused: bool = False
    """Answered with an error and nothing else: not billed."""
    raw_output: float = 0.0
    output: int = 0
    reasoning: int = 0
    whole: bool = False
    """Every piece was sent."""
    told: dict[str, Any] | None = None
    """The last usage that was written to the socket."""
    told_whole: bool = False
    """That report was the final one."""
    cost: Decimal | None = None
    complaints: list[str] = field(default_factory=list[str])

    @property
    def total(self) -> int:
        return 0 if self.refused else self.prompt + self.output


class Wire(Protocol):
    """An API's form of requests and replies."""

    def handles(self, path: str) -> bool: ...
    def model(self, path: str, body: dict[str, Any]) -> str: ...
    def prompt(self, body: dict[str, Any], tokenizer: Tokenizer) -> float:
        """Raw tokens of a request, template included."""
        ...

    def wants_usage(self, body: dict[str, Any]) -> bool: ...
    def piece(self, piece: Piece, usage: dict[str, Any] | None) -> bytes: ...
    def opening(self, usage: dict[str, Any] | None) -> bytes: ...
    def finish(self, reason: str, usage: dict[str, Any] | None) -> bytes: ...
    def usage(self, usage: dict[str, Any]) -> bytes: ...
    def done(self) -> bytes: ...
    def failure(self, message: str) -> bytes: ...
    def document(self, pieces: Iterable[Piece], reason: str, usage: dict[str, Any] | None) -> bytes: ...
    def figures(self, bill: Bill) -> dict[str, Any]:
        """The usage object of the bill as it stands."""
        ...


class ChatWire:
    """OpenAI chat completions."""

    def handles(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def model(self, path: str, body: dict[str, Any]) -> str:
        return body["model"]

    def prompt(self, body: dict[str, Any], tokenizer: Tokenizer) -> float:
        total = 0.0
        for message in body["messages"]:
            total += tokenizer.message + tokens_of(str(message.get("content") or ""))
            total += tokens_of(str(message.get("reasoning_content") or ""))
            for call in message.get("tool_calls", ()):
                total += tokenizer.call
                total += tokens_of(call["function"]["name"]) + tokens_of(call["function"]["arguments"])
        for tool in body.get("tools", ()):
            total += tokenizer.tool + tokens_of(json.dumps(tool["function"], ensure_ascii=False))
        return total

    def wants_usage(self, body: dict[str, Any]) -> bool:
        return bool((body.get("stream_options") or {}).get("include_usage"))

    def opening(self, usage: dict[str, Any] | None) -> bytes:
        return self._chunk([{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}], usage)

    def piece(self, piece: Piece, usage: dict[str, Any] | None) -> bytes:
        match piece.kind:
            case "thinking":
                delta: dict[str, Any] = {"reasoning_content": piece.text}
            case "text":
                delta = {"content": piece.text}
            case "call":
                call: dict[str, Any] = {"index": piece.index, "function": {"arguments": piece.text}}
                if piece.name:
                    call |= {"id": f"call_{piece.index}", "type": "function"}
                    call["function"]["name"] = piece.name
                delta = {"tool_calls": [call]}
        return self._chunk([{"index": 0, "delta": delta, "finish_reason": None}], usage)

    def finish(self, reason: str, usage: dict[str, Any] | None) -> bytes:
        return self._chunk([{"index": 0, "delta": {}, "finish_reason": reason}], usage)

    def usage(self, usage: dict[str, Any]) -> bytes:
        return self._chunk([], usage)

    def done(self) -> bytes:
        return b"data: [DONE]\n\n"

    def failure(self, message: str) -> bytes:
        return b"data: " + json.dumps({"error": {"message": message, "type": "server_error"}}).encode() + b"\n\n"

    def document(self, pieces: Iterable[Piece], reason: str, usage: dict[str, Any] | None) -> bytes:
        message: dict[str, Any] = {"role": "assistant", "content": ""}
        calls: dict[int, dict[str, Any]] = {}
        for piece in pieces:
            match piece.kind:
                case "thinking":
                    message["reasoning_content"] = message.get("reasoning_content", "") + piece.text
                case "text":
                    message["content"] += piece.text
                case "call":
                    call = calls.setdefault(
                        piece.index,
                        {"id": f"call_{piece.index}", "type": "function", "function": {"name": "", "arguments": ""}},
                    )
                    call["function"]["name"] += piece.name
                    call["function"]["arguments"] += piece.text
        if calls:
            message["tool_calls"] = list(calls.values())
        body: dict[str, Any] = {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}
        return json.dumps(body | ({} if usage is None else {"usage": usage})).encode()

    def figures(self, bill: Bill) -> dict[str, Any]:
        usage: dict[str, Any] = {
            "prompt_tokens": bill.prompt,
            "completion_tokens": bill.output,
            "total_tokens": bill.prompt + bill.output,
            "prompt_tokens_details": {"cached_tokens": bill.cached},
            "completion_tokens_details": {"reasoning_tokens": bill.reasoning},
        }
        return usage if bill.cost is None else usage | {"cost": float(bill.cost)}

    @staticmethod
    def _chunk(choices: list[dict[str, Any]], usage: dict[str, Any] | None) -> bytes:
        data: dict[str, Any] = {"id": "c", "object": "chat.completion.chunk", "choices": choices}
        if usage is not None:
            data["usage"] = usage
        return b"data: " + json.dumps(data).encode() + b"\n\n"


@dataclass
class _Sender:
    """Writes the body of one answer and knows what of it is on its way; raises ConnectionError when it may not."""

    writer: asyncio.StreamWriter
    left: asyncio.Future[bytes]
    limit: int | None
    sent: int = 0

    async def write(self, data: bytes) -> None:
        if self.left.done():
            raise ConnectionResetError
        part = data if self.limit is None else data[: max(self.limit - self.sent, 0)]
        self.writer.write(part)
        self.sent += len(part)
        await self.writer.drain()
        if len(part) < len(data):
            raise ConnectionAbortedError
        await asyncio.sleep(0)


class BillingServer:
    """`async with BillingServer({"model": Tokenizer()}) as server`; `server.play(plan)`, then see `server.bills`."""

    def __init__(self, models: dict[str, Tokenizer], wires: tuple[Wire, ...] = (ChatWire(),)) -> None:
        self.models = models
        self.wires = wires
        self.bills: list[Bill] = []
        self.plans: deque[Plan] = deque()
        self.otherwise: Callable[[], Plan] = lambda: Plan((Piece("text", "Done."),))
        self.price_of: Callable[[Bill], Decimal] = lambda bill: Decimal(bill.total) / 1_000_000
        self.port = 0
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()
        self._busy: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> BillingServer:
        self._server = await asyncio.start_server(self._client, "127.0.0.1", 0, limit=1 << 24)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._clients):
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def play(self, *plans: Plan) -> None:
        self.plans.extend(plans)

    async def quiet(self) -> None:
        """Until every answer is over; a connection without a request does not count."""
        if self._busy:
            await asyncio.wait(tuple(self._busy), timeout=PATIENCE)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").split("\r\n")
            path = head[0].split(" ")[1].split("?")[0]
            names = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in head[1:])}
            raw = await reader.readexactly(int(names.get("content-length", "0")))
            self._busy.add(task)
            await self._serve(path, json.loads(raw), reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # it left before its request was complete: nothing was received
        except asyncio.CancelledError:
            pass
        finally:
            writer.close()
            self._clients.discard(task)
            self._busy.discard(task)

    async def _serve(
        self, path: str, body: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        wire = next((wire for wire in self.wires if wire.handles(path)), None)
        if wire is None:
            writer.write(b"HTTP/1.1 404 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            return
        plan = self.plans.popleft() if self.plans else self.otherwise()
        name = wire.model(path, body)
        tokenizer = self.models[name]
        prompt = tokenizer.scaled(wire.prompt(body, tokenizer))
        bill = Bill(len(self.bills) + 1, name, prompt, int(prompt * plan.cached), plan.status != 200)
        self.bills.append(bill)
        left = asyncio.ensure_future(reader.read(1))
        sender = _Sender(writer, left, plan.cut_at)
        try:
            await _Answer(self, wire, tokenizer, plan, bill, sender).send(wire.wants_usage(body))
        except ConnectionAbortedError:
            if plan.reset:
                raw_socket: socket.socket = writer.get_extra_info("socket")
                raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                writer.transport.abort()
        finally:
            left.cancel()
            plan.over.set()


@dataclass
class _Answer:
    """One answer on its way out."""

    server: BillingServer
    wire: Wire
    tokenizer: Tokenizer
    plan: Plan
    bill: Bill
    sender: _Sender

    async def send(self, asked_for_usage: bool) -> None:
        plan, bill = self.plan, self.bill
        await self._pause("received")
        if plan.status != 200:
            await self._refuse()
            return
        kind = "application/json" if plan.document else "text/event-stream"
        self.sender.writer.write(f"HTTP/1.1 200 X\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n".encode())
        await self._pause("headers")
        tells = asked_for_usage and plan.told != "never"
        if plan.document:
            for piece in plan.pieces:
                self._count(piece)
            self._finish()
            usage = self._figures() if tells else None
            await self.sender.write(self.wire.document(plan.pieces, plan.finish, usage))
            self._told(usage, whole=True)
            return
        await self._tell(self.wire.opening, tells and plan.told in ("start", "each"))
        for number, piece in enumerate(plan.pieces, 1):
            self._count(piece)
            usage = self._figures() if tells and plan.told == "each" else None
            await self.sender.write(self.wire.piece(piece, usage))
            self._told(usage)
            await self._pause("piece", number)
        if plan.error:
            if not plan.pieces:
                bill.refused = True
            await self.sender.write(self.wire.failure(plan.error))
            return
        self._finish()
        early = self._figures() if tells and plan.told in ("each", "twice") else None
        await self.sender.write(self.wire.finish(plan.finish, early))
        self._told(early, whole=True)
        await self._pause("finish")
        if tells and plan.told in ("end", "twice", "zeros"):
            usage = self._figures()
            await self.sender.write(self.wire.usage(usage))
            self._told(usage, whole=True)
        await self._pause("usage")
        await self.sender.write(self.wire.done())

    def _count(self, piece: Piece) -> None:
        """What goes out now is on the bill, whether or not it arrives."""
        bill, tokenizer = self.bill, self.tokenizer
        raw = tokens_of(piece.text) + ((tokens_of(piece.name) + tokenizer.call) if piece.name else 0)
        bill.raw_output += raw
        bill.output = tokenizer.scaled(bill.raw_output)
        if piece.kind == "thinking":
            bill.reasoning = bill.output

    def _finish(self) -> None:
        self.bill.raw_output += self.tokenizer.reply
        self.bill.output = self.tokenizer.scaled(self.bill.raw_output)
        self.bill.whole = True
        if self.plan.cost:
            self.bill.cost = self.server.price_of(self.bill)

    def _figures(self) -> dict[str, Any]:
        if self.plan.told == "zeros":
            return {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        return self.wire.figures(self.bill)

    def _told(self, usage: dict[str, Any] | None, *, whole: bool = False) -> None:
        if usage is not None and self.plan.told != "zeros":
            self.bill.told = usage
            self.bill.told_whole = whole

    async def _tell(self, make: Callable[[dict[str, Any] | None], bytes], told: bool) -> None:
        usage = self._figures() if told else None
        await self.sender.write(make(usage))
        self._told(usage)

    async def _refuse(self) -> None:
        body = json.dumps({"error": {"message": self.plan.error or "no", "type": "error"}}).encode()
        lines = [f"HTTP/1.1 {self.plan.status} X", "content-type: application/json", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in self.plan.headers]
        self.sender.writer.write("\r\n".join((*lines, "connection: close", "", "")).encode() + body)
        await self.sender.writer.drain()

    async def _pause(self, moment: Moment, number: int = 0) -> None:
        """Wait at the moment that the plan names; ConnectionError when the client left meanwhile."""
        plan = self.plan
        if plan.pause is None or plan.pause != (moment, number):
            return
        await self.sender.writer.drain()
        plan.reached.set()
        going = asyncio.ensure_future(plan.go.wait())
        try:
            await asyncio.wait({going, self.sender.left}, return_when=asyncio.FIRST_COMPLETED, timeout=PATIENCE)
        finally:
            going.cancel()
        if self.sender.left.done():
            raise ConnectionResetError
