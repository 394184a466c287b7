"""A provider's prompt cache: what of a request was read before, told by whole pieces of its beginning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

_LOOK_BACK = 20
"""Pieces before a mark that are searched for something cached."""


def tokens_in(text: str) -> int:
    """A token for every four characters begun."""
    return (len(text) + 3) // 4


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a request in the order in which the model reads it. `marked`: the client wants it cached up to here."""

    text: str
    marked: bool = False

    @classmethod
    def of(cls, value: dict[str, Any]) -> Piece:
        """A JSON object, its mark taken off: marks move, and are not read."""
        return cls(json.dumps({k: v for k, v in value.items() if k != "cache_control"}), "cache_control" in value)


@dataclass(frozen=True, slots=True)
class Prompt:
    """Tokens of a request."""

    fresh: int
    read: int
    written: int


@dataclass(slots=True)
class PrefixCache:
    """`by_marks`: only what the client marks is kept (Anthropic); False: everything is, unasked."""

    by_marks: bool = False
    _known: set[str] = field(default_factory=set[str])

    def read(self, pieces: Sequence[Piece]) -> Prompt:
        """Read a request, and remember it."""
        prefixes = list(_prefixes(pieces))
        sizes = [tokens_in(piece.text) for piece in pieces]
        marks = [place for place, piece in enumerate(pieces) if piece.marked]
        ends = marks if self.by_marks else range(len(pieces))
        back = _LOOK_BACK if self.by_marks else 1
        near = {place for end in ends for place in range(max(0, end - back + 1), end + 1)}
        hit = max((place + 1 for place in near if prefixes[place] in self._known), default=0)
        last = max(ends, default=-1) + 1
        self._known.update(prefixes[place] for place in ends)
        read, total = sum(sizes[:hit]), sum(sizes)
        written = max(0, sum(sizes[:last]) - read) if self.by_marks else 0
        return Prompt(total - read - written, read, written)


def _prefixes(pieces: Iterable[Piece]) -> Iterable[str]:
    digest = hashlib.blake2b(digest_size=16)
    for piece in pieces:
        digest.update(piece.text.encode() + b"\0")
        yield digest.hexdigest()
