"""What Claude models accept, by the version in their name: how they think, how much they write, what they refuse."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

ThinkingMode = Literal["none", "budget", "adaptive"]
"""No thinking, `enabled` with a number of tokens, or `adaptive` with an effort."""

_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")
_NEWEST: tuple[int, int] = (99, 0)
_ALWAYS_THINK = ("mythos", "fable")
_OTHERS = 16_384


@dataclass(frozen=True, slots=True)
class ClaudeTraits:
    """One model. A Claude without a known version counts as the newest; other makers' models as plain ones."""

    thinking: ThinkingMode
    output: int
    """Tokens that it may write in one reply."""
    sampling: bool = True
    """temperature, top_p and top_k are accepted."""
    interleaves_by_header: bool = False
    """Thinking between tool calls needs the beta header."""
    can_switch_off: bool = True
    """`thinking: {type: disabled}` is understood; False where leaving the key out is the only other state."""
    always_thinks: bool = False


def traits_of(model: str) -> ClaudeTraits:
    """The traits of a model, by its name with or without the prefix of a reseller."""
    name = model.lower()
    if "claude" not in name:
        return ClaudeTraits("budget", _OTHERS)
    match = _VERSION.search(name)
    version: tuple[int, int] = (int(match.group(1)), int(match.group(2) or 0)) if match else _NEWEST
    always = any(family in name for family in _ALWAYS_THINK)
    return ClaudeTraits(
        thinking=_thinking(version),
        output=_output(version, name),
        sampling=version < (4, 7),
        interleaves_by_header=(4, 0) <= version < (4, 6),
        can_switch_off=version > (4, 7) and not always,
        always_thinks=always,
    )


def _thinking(version: tuple[int, int]) -> ThinkingMode:
    if version < (3, 7):
        return "none"
    return "budget" if version < (4, 6) else "adaptive"


def _output(version: tuple[int, int], name: str) -> int:
    if version < (3, 5):
        return 4_096
    if version < (3, 7):
        return 8_192
    return 32_000 if "opus" in name and version < (4, 5) else 64_000
