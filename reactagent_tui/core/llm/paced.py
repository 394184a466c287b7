"""A provider that keeps to a rate limit: it waits for its turn, says so about once a second, then streams."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

from reactagent_tui.core.llm.base import (
    ChatProvider,
    ModelInfo,
    ModelRequest,
    StreamDelta,
    StreamProgress,
    StreamUsage,
    WireRecord,
)
from reactagent_tui.core.llm.pacing import Pacer
from reactagent_tui.core.llm.tokens import estimate_request

TICK = 1.0
"""Seconds between two signs of waiting."""
_SHORTEST = 0.02
"""Seconds: a wait that is over while those before it have not gone out yet."""


class PacedProvider:
    """Another provider behind a pacer. While it waits nothing has been sent."""

    def __init__(self, provider: ChatProvider, pacer: Pacer) -> None:
        self.paced = provider
        self._pacer = pacer

    @property
    def info(self) -> ModelInfo:
        return self.paced.info

    @property
    def last_exchange(self) -> WireRecord | None:
        """The newest exchange, for the debug views."""
        return self.paced.last_exchange

    async def aclose(self) -> None:
        """Release connections."""
        await self.paced.aclose()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamDelta, None]:
        """The reply, after signs of waiting when it has to wait. Raises what the provider raises.

        Closing or cancelling it gives the place or the slot back at once.
        """
        tokens = 0
        if self._pacer.limit.tokens_per_minute is not None:  # a long history takes a while to weigh
            tokens = await asyncio.to_thread(estimate_request, request)
        ticket = self._pacer.join(tokens)
        try:
            if not ticket.start():
                began = time.monotonic()
                while not ticket.start():
                    left = ticket.left
                    yield StreamProgress("paced", time.monotonic() - began, left=left)
                    await ticket.changed(TICK if left is None else min(max(left, _SHORTEST), TICK))
                yield StreamProgress("connecting")  # from here on it counts as sent
            stream = self.paced.stream(request)
            try:
                async for delta in stream:
                    if isinstance(delta, StreamUsage):
                        ticket.correct(delta.usage.total)
                    yield delta
            finally:
                if isinstance(stream, AsyncGenerator):
                    await stream.aclose()
        finally:
            ticket.close()
