"""What a refusal for want of room says in figures: how large the window is, and how much was asked for. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from reactagent_tui.core.llm.base import ChatProvider, ModelInfo

_N = r"([\d][\d,_]*)"
_LIMITS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"maximum context length (?:is|of) {_N}",
        rf"context limit\D{{0,20}}\d+ \+ \d+ > {_N}",
        rf"prompt is too long\D{{0,20}}\d+ tokens > {_N}",
        rf"exceeds the maximum number of tokens allowed \(?{_N}",
        rf"range of input length should be \[\d+, *{_N}\]",
        rf"exceeds the available context size \(?{_N}",
        rf"context length of (?:only )?{_N}",
        rf"maximum prompt length is {_N}",
        rf"exceeded model token limit:? {_N}",
        rf"too large for model with {_N}",
        rf"context window of {_N}",
    )
)
_ASKED = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"\({_N} in the (?:messages|prompt)",
        rf"context limit\D{{0,20}}{_N} \+ \d+ >",
        rf"prompt is too long\D{{0,20}}{_N} tokens >",
        rf"input token count \(?{_N}",
        rf"request contains {_N} tokens",
        rf"requested:? {_N}",
        rf"resulted in {_N}",
        rf"prompt contains {_N}",
        rf"request \({_N} tokens\)",
        rf"first {_N} tokens",
    )
)
_SMALLEST, _LARGEST = 256, 20_000_000
"""Tokens; other figures are no windows."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """What the server told, in its own tokens; None: not told."""

    limit: int | None = None
    asked: int | None = None
    """Of the prompt alone where the server tells it apart from the answer."""


def overflow_in(said: str) -> Overflow:
    """The figures in the words of a ContextOverflowError."""
    return Overflow(_first(_LIMITS, said), _first(_ASKED, said))


def _first(patterns: tuple[re.Pattern[str], ...], said: str) -> int | None:
    for pattern in patterns:
        if (match := pattern.search(said)) is not None:
            number = int(re.sub(r"[,_]", "", match.group(1)))
            if _SMALLEST <= number <= _LARGEST:
                return number
    return None


def learn_window(provider: ChatProvider, size: int) -> bool:
    """The server named its window: it holds from now on where ours was assumed or larger. True: it is another one."""
    inner: Any = provider
    while (behind := getattr(inner, "paced", None)) is not None:  # what has a provider behind it only shows its info
        inner = behind
    info: ModelInfo = inner.info
    if size == info.context_size or (size > info.context_size and not info.context_assumed):
        return False
    inner.info = replace(info, context_size=size, context_assumed=False)
    return True
