"""File patterns (`*`, `?`, `[a-z]`, `{a,b}`, `**`) against paths, in time that no pattern can blow up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_MAX_BRACES = 64
_INNERMOST = re.compile(r"\{([^{}]*)\}")


class GlobMatcher:
    """A pattern ready to match. Without a slash it matches names at any depth, with one the path from the root."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        pattern = pattern.removeprefix("./").replace("\\", "/")
        self._ignore_case = ignore_case
        self._patterns = [self._segments(one) for one in expand_braces(pattern)]

    def _segments(self, pattern: str) -> list[str]:
        is_anywhere = "/" not in pattern
        segments = [part for part in self._folded(pattern).split("/") if part]
        if pattern.endswith("/"):
            segments.append("**")
        return ["**", *segments] if is_anywhere else segments

    def _folded(self, text: str) -> str:
        return text.casefold() if self._ignore_case else text

    def __call__(self, path: str) -> bool:
        """Does the pattern match this relative path with forward slashes?"""
        parts = self._folded(path).split("/")
        return any(_matches(segments, parts) for segments in self._patterns)


def expand_braces(pattern: str) -> list[str]:
    """`a.{b,c}` as `a.b` and `a.c`; more than 64 results are taken as they are."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop(0)
        match = _INNERMOST.search(one)
        if match is None or "," not in match[1] or len(done) + len(waiting) >= _MAX_BRACES:
            done.append(one)
            continue
        waiting += [one[: match.start()] + option + one[match.end() :] for option in match[1].split(",")]
    return done


def _matches(segments: Sequence[str], parts: Sequence[str]) -> bool:
    """Segments against path parts, one column of a table at a time."""
    reached = {0}
    reached |= _past_stars(segments, 0)
    for part in parts:
        following: set[int] = set()
        for at in reached:
            if at == len(segments):
                continue
            if segments[at] == "**":
                following.add(at)
            elif _fits(segments[at], part):
                following.add(at + 1)
                following |= _past_stars(segments, at + 1)
        reached = following | {after for at in following for after in _past_stars(segments, at)}
        if not reached:
            return False
    return len(segments) in reached


def _past_stars(segments: Sequence[str], at: int) -> set[int]:
    """Positions reachable from `at` by letting `**` stand for nothing."""
    reached: set[int] = set()
    while at < len(segments) and segments[at] == "**":
        at += 1
        reached.add(at)
    return reached


def _fits(pattern: str, name: str) -> bool:
    """One segment against one name: the classic two-pointer walk, linear in pattern times name."""
    tokens = _tokens(pattern)
    at, place, star, mark = 0, 0, -1, -1
    while place < len(name):
        if at < len(tokens) and tokens[at][0] == "*":
            star, mark = at, place
            at += 1
        elif at < len(tokens) and _one_fits(tokens[at], name[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            mark += 1
            at, place = star + 1, mark
        else:
            return False
    return all(token[0] == "*" for token in tokens[at:])


@lru_cache(maxsize=256)
def _tokens(pattern: str) -> tuple[str, ...]:
    """Characters, `*`, `?` and whole `[...]` sets."""
    return tuple(re.findall(r"\*+|\[!?\]?[^\]]*\]|.", pattern, re.DOTALL)) if pattern else ()


def _one_fits(token: str, char: str) -> bool:
    if token == "?":
        return True
    if len(token) > 2 and token[0] == "[":
        negated = token[1] in "!^"
        inside = token[2:-1] if negated else token[1:-1]
        return _in_set(inside, char) != negated
    return token == char


def _in_set(inside: str, char: str) -> bool:
    at = 0
    while at < len(inside):
        if at + 2 < len(inside) and inside[at + 1] == "-":
            if inside[at] <= char <= inside[at + 2]:
                return True
            at += 3
        else:
            if inside[at] == char:
                return True
            at += 1
    return False
