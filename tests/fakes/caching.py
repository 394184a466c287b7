"""A provider that counts and caches like a real one: its own tokenizer, prompt prefixes, portions, a lifetime."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

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
from reactagent_tui.core.llm.tokens import weigh
from reactagent_tui.core.messages import AssistantMessage, Message, TextPart, ThinkingPart, ToolCall
from reactagent_tui.core.usage import Usage


@dataclass(frozen=True, slots=True)
class Answer:
    """What it says next: words, or a tool call."""

    words: int = 100
    call: tuple[str, str] | None = None


@dataclass
class CachingProvider:
    """`style`: reads only (as OpenAI bills), reads and writes (as Anthropic), or no cache at all."""

    info: ModelInfo
    answers: Sequence[Answer]
    style: Literal["reads", "writes", "none"] = "reads"
    factor: float = 1.0
    portion: int = 1
    life: float = 300.0
    clock: Callable[[], float] = lambda: 0.0
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])
    reports: list[Usage] = field(default_factory=list[Usage])
    last_exchange: WireRecord | None = None
    _kept: list[tuple[float, list[str]]] = field(default_factory=list[tuple[float, list[str]]])

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamDelta]:
        await asyncio.sleep(0)
        answer = self.answers[len(self.requests) % len(self.answers)]
        self.requests.append(request)
        text = "word " * answer.words
        yield StreamText(text)
        output = round(weigh(text) * self.factor) + 5
        if answer.call is not None:
            yield StreamToolCall(0, f"call_{len(self.requests)}", *answer.call)
            output += round(weigh(answer.call[1]) * self.factor)
        yield StreamFinish("stop" if answer.call is None else "tool_calls")
        usage = self._report(request, output)
        self.reports.append(usage)
        yield StreamUsage(usage)

    async def aclose(self) -> None:
        """Nothing to close."""

    def forget(self) -> None:
        """The cache is lost without a reason."""
        self._kept.clear()

    def _report(self, request: ModelRequest, output: int) -> Usage:
        pieces = [json.dumps([[t.name, t.description, t.parameters] for t in request.tools], default=str)]
        pieces += [request.system, *map(_wire, request.messages)]
        sizes = [weigh(piece) * self.factor for piece in pieces]
        prompt, now = round(sum(sizes)) + 7, self.clock()
        fresh = [kept for at, kept in self._kept if now - at <= self.life] if self.style != "none" else []
        shared = max((_common(pieces, kept) for kept in fresh), default=0)
        read = round(sum(sizes[:shared]))
        read -= read % self.portion
        self._kept.append((now, pieces))
        if self.style == "writes":
            return Usage(input=3, cache_read=read, cache_write=max(prompt - read - 3, 0), output=output)
        return Usage(input=prompt - read, cache_read=read, output=output)


def _wire(message: Message) -> str:
    if not isinstance(message, AssistantMessage):
        return message.text
    texts: list[str] = []
    for part in message.parts:
        match part:
            case TextPart():
                texts.append(part.text)
            case ThinkingPart():
                pass
            case ToolCall():
                texts.append(f"{part.name}{part.arguments_raw}")
    return "".join(texts)


def _common(one: list[str], other: list[str]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
