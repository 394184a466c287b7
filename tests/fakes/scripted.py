"""A provider that plays a script: each reply is a list of deltas, exceptions, or coroutines to wait on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from reactagent_tui.core.llm.base import (
    ModelInfo,
    ModelRequest,
    StreamDelta,
    StreamFinish,
    StreamText,
    StreamToolCall,
    StreamUsage,
    WireRecord,
)
from reactagent_tui.core.usage import Usage

Beat = StreamDelta | BaseException | Callable[[], Awaitable[Any]]


def say(text: str, *, usage: Usage | None = None) -> list[Beat]:
    """A reply that is an answer."""
    beats: list[Beat] = [StreamText(text), StreamFinish("stop")]
    return [*beats, StreamUsage(usage or Usage(input=100, output=10))]


def call(*calls: tuple[str, str], text: str = "", finish: Any = "tool_calls") -> list[Beat]:
    """A reply with tool calls: (name, arguments as JSON text)."""
    beats: list[Beat] = [StreamText(text)] if text else []
    for index, (name, arguments) in enumerate(calls):
        beats.append(StreamToolCall(index, f"call_{name}_{index}", name, arguments))
    return [*beats, StreamFinish(finish), StreamUsage(Usage(input=100, output=10))]


@dataclass
class ScriptedProvider:
    """Plays `replies` in order; the last one again and again when `repeat`."""

    replies: Sequence[Sequence[Beat]]
    info: ModelInfo = field(default_factory=lambda: ModelInfo("scripted", "script", "scripted", 100_000, local=True))
    repeat: bool = False
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])
    last_exchange: WireRecord | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamDelta]:
        self.requests.append(request)
        number = len(self.requests) - 1
        if number >= len(self.replies):
            assert self.repeat, f"the script has no reply number {number + 1}"
            number = len(self.replies) - 1
        for beat in self.replies[number]:
            if isinstance(beat, BaseException):
                raise beat
            if callable(beat):
                await beat()
            else:
                yield beat
                await asyncio.sleep(0)

    async def aclose(self) -> None:
        """Nothing to close."""


async def forever() -> None:
    """A beat that never ends."""
    await asyncio.Event().wait()
