"""The requests of a check-up: tiny, through the product's own providers, each booked in a ledger."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.errors import ConnectError, ProviderError, StreamCutError
from reactagent_tui.core.llm.accumulator import Accumulator
from reactagent_tui.core.llm.base import (
    ChatProvider,
    ModelRequest,
    StreamFinish,
    StreamText,
    StreamThinking,
    StreamToolCall,
    StreamUsage,
    ToolSpec,
)
from reactagent_tui.core.llm.tokens import estimate, estimate_request
from reactagent_tui.core.messages import AssistantMessage, Attachment, UserMessage

SYSTEM = "This is a connection test. Follow the instruction exactly and add nothing."
SECONDS = 180.0
"""For one request; a local server may have to load the model first."""
SMALL, LARGER = 256, 1024
"""Tokens of output: thinking models need room before they say or call anything."""
CLOCK = ToolSpec(
    "city_time",
    "Current local time in one city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Name of the city"}},
        "required": ["city"],
    },
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one request."""

    message: AssistantMessage
    failure: ProviderError | None = None
    pieces: int = 0
    """Deltas with text, thinking or calls."""
    usage_told: bool = False
    thinking_seen: bool = False
    finished: bool = False
    raw: str = ""
    """How the answer began on the wire."""
    url: str = ""

    @property
    def is_stream(self) -> bool:
        """Server-sent events, not one JSON document."""
        return not self.raw.lstrip("\ufeff \r\n\t").startswith(("{", "["))


def say_ok(model: str) -> ModelRequest:
    """The least a model can do."""
    return ModelRequest(model, SYSTEM, (UserMessage("Say: OK"),), max_output=SMALL)


def call_twice(model: str) -> ModelRequest:
    """Two independent calls, to be made at once."""
    text = "Call city_time for Oslo and city_time for Lima, both calls in this one reply. Do not answer in words."
    return ModelRequest(model, SYSTEM, (UserMessage(text),), tools=(CLOCK,), max_output=LARGER)


def name_colour(model: str, image: Path) -> ModelRequest:
    """A question that only the picture answers."""
    text = "What colour is this picture? Answer with one English word."
    message = UserMessage(text, attachments=(Attachment(str(image), "image/png"),))
    return ModelRequest(model, SYSTEM, (message,), max_output=SMALL)


async def ask(provider: ChatProvider, request: ModelRequest, ledger: Ledger, seconds: float = SECONDS) -> Reply:
    """Send it and read the whole reply. A failure is part of what comes back."""
    call = ledger.open_call(len(ledger.rows) + 1, "step", provider.info, estimate_request(request))
    seen = Accumulator()
    failure: ProviderError | None = None
    pieces, output, usage_told, thinking_seen, finished = 0, 0, False, False, False
    stream = provider.stream(request)
    try:
        async with asyncio.timeout(seconds):
            async for delta in stream:
                seen.add(delta)
                match delta:
                    case StreamText(text=text) | StreamToolCall(arguments=text):
                        pieces += 1
                        output += estimate(text)
                        ledger.progress(call, output)
                    case StreamThinking(text=text):
                        pieces += 1
                        output += estimate(text)
                        thinking_seen = True
                        ledger.progress(call, output)
                    case StreamUsage(usage=usage):
                        usage_told = True
                        ledger.usage(call, usage)
                    case StreamFinish():
                        finished = True
                    case _:
                        pass
    except ProviderError as error:
        failure = error
    except TimeoutError:
        failure = StreamCutError(f"no whole reply within {seconds:g} s")
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
    ledger.close_call(call, failed=failure is not None, sent=not isinstance(failure, ConnectError))
    exchange = provider.last_exchange
    info = provider.info
    return Reply(
        seen.message(info.provider, info.name),
        failure,
        pieces,
        usage_told,
        thinking_seen,
        finished,
        "" if exchange is None else exchange.response[:200],
        "" if exchange is None else exchange.url,
    )


def red_picture(side: int = 64) -> bytes:
    """A PNG that is red all over; small servers refuse pictures of a few pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\xe0\x10\x10" * side) * side
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
