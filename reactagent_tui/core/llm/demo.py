"""The demo model: no network, no key, no cost. It streams like a real one, and the tools it calls really run.

What it says is decided by the table in demo_scenes; here is only the way it arrives.
"""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

from reactagent_tui.core.llm.base import (
    ModelInfo,
    ModelRequest,
    StreamDelta,
    StreamFinish,
    StreamText,
    StreamThinking,
    StreamToolCall,
    StreamUsage,
    WireRecord,
    WireRules,
)
from reactagent_tui.core.llm.demo_scenes import choose
from reactagent_tui.core.llm.demo_turn import Reply
from reactagent_tui.core.llm.tokens import estimate, estimate_request, weigh
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.usage import Usage

RATE = 80.0
"""Tokens a second."""
_PIECE = re.compile(r"\s*(?:[A-Za-z0-9_]{1,8}|[^\sA-Za-z0-9_])|\s+")
"""About one token: some letters or one sign, with the blanks before it."""
_BREATH = 64
"""Pieces between two chances for others to run when there is no rate."""
_KEPT = 20_000
"""Characters of a response kept for the debug views."""


def demo_info() -> ModelInfo:
    """The demo as a model."""
    return ModelInfo(
        provider="demo", name="demo", api="demo", context_size=128_000, local=True, rules=WireRules(merge_users=False)
    )


class DemoProvider:
    """A `ChatProvider` in-process, deterministic: equal requests get equal replies."""

    def __init__(self, info: ModelInfo | None = None, *, rate: float = RATE) -> None:
        """`rate`: tokens a second; 0: as fast as they are taken. The rules of the wire are always the demo's own."""
        own = demo_info()
        self.info = own if info is None else replace(info, rules=own.rules, context_assumed=False)
        self._rate = rate
        self._last: WireRecord | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamDelta]:
        """The reply, piece by piece; fails never."""
        reply = choose(request)
        self._last = _record(request, reply)
        prompt = estimate_request(request)
        yield StreamUsage(Usage(input=prompt))
        clock = _Clock(self._rate)
        room = float("inf") if request.max_output is None else float(request.max_output)
        used = thought = 0.0
        for delta, weight in _deltas(request, reply):
            if used + weight > room:
                yield _usage(prompt, used, thought)
                yield StreamFinish("length", "length")
                return
            await clock.wait(weight)
            used += weight
            if isinstance(delta, StreamThinking):
                thought += weight
            yield delta
        yield _usage(prompt, used, thought)
        yield StreamFinish(*(("tool_calls", "tool_calls") if reply.calls else ("stop", "stop")))

    async def aclose(self) -> None:
        """Nothing to release."""

    @property
    def last_exchange(self) -> WireRecord | None:
        return self._last


class _Clock:
    """Keeps a stream at its rate: each piece has its moment, and a late one does not hurry the next."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._time = asyncio.get_running_loop().time
        self._due = self._time()
        self._pieces = 0

    async def wait(self, tokens: float) -> None:
        if self._rate <= 0:
            self._pieces += 1
            if self._pieces % _BREATH == 0:
                await asyncio.sleep(0)
            return
        now = self._time()
        self._due = max(self._due, now - 0.1) + tokens / self._rate
        await asyncio.sleep(max(0.0, self._due - now))


def _usage(prompt: int, used: float, thought: float) -> StreamUsage:
    return StreamUsage(Usage(input=prompt, output=_whole(used), reasoning=_whole(thought)))


def _whole(weight: float) -> int:
    """A sum of weights as tokens, rounded up, forgiving the dust that adding leaves."""
    return int(-(-(weight - 1e-6) // 1)) if weight > 0 else 0


def _deltas(request: ModelRequest, reply: Reply) -> Iterator[tuple[StreamDelta, float]]:
    """Every delta of a reply with its weight in tokens."""
    for piece in _pieces(reply.thinking):
        yield StreamThinking(piece), weigh(piece)
    for piece in _pieces(reply.text):
        yield StreamText(piece), weigh(piece)
    for index, call in enumerate(reply.calls):
        yield StreamToolCall(index, _call_id(request, index), call.tool), weigh(call.tool)
        for piece in _pieces(json.dumps(call.arguments, ensure_ascii=False)):
            yield StreamToolCall(index, arguments=piece), weigh(piece)


def _pieces(text: str) -> Iterator[str]:
    return (found.group() for found in _PIECE.finditer(text))


def _call_id(request: ModelRequest, index: int) -> str:
    """The same for the same place in the same conversation, another one anywhere else."""
    prompts = "\n".join(message.text for message in request.messages if isinstance(message, UserMessage))
    return f"demo_{zlib.crc32(prompts.encode('utf-8', 'surrogatepass')):08x}_{len(request.messages)}_{index}"


def _record(request: ModelRequest, reply: Reply) -> WireRecord:
    """The exchange for the debug views, as small as it can be."""
    asked = {"model": request.model, "messages": len(request.messages), "tools": [tool.name for tool in request.tools]}
    said = {
        "thinking": reply.thinking,
        "text": reply.text,
        "calls": [{"name": call.tool, "arguments": dict(call.arguments)} for call in reply.calls],
    }
    response = json.dumps(said, ensure_ascii=False)[:_KEPT]
    return WireRecord("demo:", asked | {"tokens": estimate(request.system)}, {}, None, response)
