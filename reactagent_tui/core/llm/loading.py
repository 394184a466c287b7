"""A server that answers 503 while it loads its model: known by its words, asked again gently until it is ready."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from reactagent_tui.core.errors import ProviderError, ServerError
from reactagent_tui.core.llm.base import StreamDelta, StreamProgress

_LOADING = re.compile(
    r"^loading (?:the )?model\b"  # llama.cpp
    r"|server (?:is )?loading (?:the )?model\b"  # Ollama, which says it with a 500
    r"|\b(?:model|server)\b.{0,120}\bis (?:(?:still |currently )?(?:loading|starting|warming up)|being loaded)\b"
    r"|\bstill (?:loading|starting up|warming up)\b",
    re.IGNORECASE | re.DOTALL,
)
_FAILED = re.compile(r"\b(?:fail|error|unable|cannot|could not|timed out)", re.IGNORECASE)
_FIRST, _LONGEST = 1.0, 5.0
"""Seconds between two tries: from the first, half as much more each time, to the longest."""
_MOST_ASKED = 30.0
"""Seconds that a server may ask us to wait between two tries."""
_TICK = 1.0
"""Seconds between two signs of waiting."""


async def until_loaded(
    once: Callable[[], AsyncGenerator[StreamDelta, None]], patience: float
) -> AsyncGenerator[StreamDelta, None]:
    """What `once` streams, called again while the server loads its model, for `patience` seconds at most."""
    clock = asyncio.get_running_loop().time
    began = clock()
    tries = 0
    begun = False
    while True:
        try:
            async with aclosing(once()) as deltas:
                async for delta in deltas:
                    begun = begun or not isinstance(delta, StreamProgress)
                    yield delta
                return
        except ServerError as error:
            if begun or not is_loading(error):
                raise
            waited = clock() - began
            if waited >= patience:
                error.message = f"{error.message}: the server has been loading for {waited:.0f} s"
                error.retryable = False
                raise
            again = min(clock() + poll_delay(tries, error.retry_after), began + patience)
        tries += 1
        while (left := again - clock()) > 0:
            yield StreamProgress("loading", clock() - began)
            await asyncio.sleep(min(left, _TICK))


def is_loading(error: ProviderError) -> bool:
    """The server is well, only not ready yet: waiting helps, and is no failed try."""
    if not isinstance(error, ServerError) or error.status not in (500, 503):
        return False
    said = error.message.partition(f" ({error.status} ")[0].strip()
    return _LOADING.search(said) is not None and _FAILED.search(said) is None


def poll_delay(tries: int, asked: float | None) -> float:
    """Seconds until the next try after so many; `asked`: what the server asked for."""
    usual = min(_FIRST * 1.5**tries, _LONGEST)
    return usual if asked is None else min(max(asked, _FIRST), _MOST_ASKED)
