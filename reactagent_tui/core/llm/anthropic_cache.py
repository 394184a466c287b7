"""Where an Anthropic request asks the provider to remember what it has read. Pure.

A mark says "cache up to here"; reading looks back 20 blocks from each mark, four marks are allowed. They stand on the
last tool, on the system prompt, on the last message, and, when a turn added much, on the end of the request before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

CacheTtl = Literal["5m", "1h"]
_MANY = 18
"""Blocks added since the last request from which on the look-back of the last mark may miss what was cached."""
_UNMARKED = ("thinking", "redacted_thinking")

Wire = dict[str, Any]
CACHE_KEY = "cache"


def cache_ttl(settings: Mapping[str, Any]) -> CacheTtl | None:
    """How long the provider shall keep what it has read; None: no marks."""
    match settings.get(CACHE_KEY, "5m"):
        case "1h":
            return "1h"
        case False | None | "off":
            return None
        case _:
            return "5m"


def mark_breakpoints(body: Wire, ttl: CacheTtl) -> None:
    """Put the marks into a finished body. Its blocks must belong to it alone."""
    for blocks in (body.get("tools"), body.get("system")):
        if isinstance(blocks, list) and blocks:
            _mark(cast("list[Wire]", blocks), ttl)
    messages = cast("list[Wire]", body["messages"])
    if not messages:
        return
    _mark(messages[-1]["content"], ttl)
    before = _end_of_last_request(messages)
    if before is not None and sum(len(message["content"]) for message in messages[before + 1 :]) > _MANY:
        _mark(messages[before]["content"], ttl)


def _end_of_last_request(messages: list[Wire]) -> int | None:
    """The user message that the newest assistant message answered: the last mark stood there."""
    for place in range(len(messages) - 1, 0, -1):
        if messages[place]["role"] == "assistant":
            return place - 1
    return None


def _mark(blocks: list[Wire], ttl: CacheTtl) -> None:
    """Mark the last block that can carry a mark."""
    for block in reversed(blocks):
        if block.get("type") not in _UNMARKED:
            block["cache_control"] = control(ttl)
            return


def control(ttl: CacheTtl) -> Mapping[str, str]:
    """The mark itself."""
    return {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
