"""Cuts a recorded answer in pieces, in every way, and counts the ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

Play = Callable[[Iterable[bytes]], object]
"""Plays pieces; equal outcomes are equal."""

SAMPLES = 24
"""Cuts of an answer that is too large to be cut at every byte."""


def in_two(data: bytes, places: Iterable[int] | None = None) -> Iterator[tuple[str, list[bytes]]]:
    """The answer in two pieces, cut at every byte (or at these places)."""
    for at in range(1, len(data)) if places is None else places:
        yield f"cut at {at}", [data[:at], data[at:]]


def in_chunks(data: bytes, size: int) -> tuple[str, list[bytes]]:
    """The answer in pieces of `size` bytes."""
    return f"{size} at a time", [data[at : at + size] for at in range(0, len(data), size)]


def every_way(data: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """In two at every byte, byte by byte, and a few bytes at a time."""
    yield from in_two(data)
    yield from (in_chunks(data, size) for size in (1, 2, 3, 7))


def sampled_ways(data: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Some of them, for a large answer: around its ends, in its middle, in a few sizes of pieces."""
    step = len(data) // (SAMPLES - 8)
    near_ends = (1, 2, 5, 6, len(data) - 2, len(data) - 1)
    yield from in_two(data, [*near_ends, *range(step, len(data) - 1, step)])
    yield from (in_chunks(data, size) for size in (997, 4096, 65_536))


def assert_the_same_in_every_way(data: bytes, play: Play, *, sampled: bool = False) -> int:
    """Plays the answer whole and in every way; returns how many ways those were."""
    whole, played = play([data]), 0
    for way, pieces in sampled_ways(data) if sampled else every_way(data):
        assert play(pieces) == whole, way
        played += 1
    return played
