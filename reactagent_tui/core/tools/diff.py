"""The change of one file as a display block: bounded work for any size, exact counts."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reactagent_tui.core.display import DiffBlock, clean_line
from reactagent_tui.core.tools.lines import split_lines

CONTEXT = 3
MAX_LINES = 2000
"""Lines of a block; what is beyond is counted, not shown."""
_MAX_WIDTH = 1000
_MAX_PRODUCT = 200_000
"""Lines times lines up to which difflib may look for the smallest change."""


@dataclass(frozen=True, slots=True)
class _Change:
    """Lines `a..b` of the old text become lines `c..d` of the new one."""

    a: int
    b: int
    c: int
    d: int


@dataclass(frozen=True, slots=True)
class FileDiff:
    """Unified hunks with three lines of context, characters as they are, and exact counts."""

    rows: tuple[str, ...]
    added: int
    removed: int

    def block(self, path: str, *, created: bool = False) -> DiffBlock:
        """The diff safe to show, under the path as a user would write it."""
        rows = tuple(row[0] + clean_line(row[1:]) for row in self.rows)
        return DiffBlock(clean_line(path), rows, self.added, self.removed, created)


def diff_block(path: str, old: str, new: str, *, created: bool = False) -> DiffBlock:
    """The change from `old` to `new`, to show."""
    return file_diff(old, new).block(path, created=created)


def file_diff(old: str, new: str) -> FileDiff:
    """The change from `old` to `new`."""
    before = [line.body + line.ending for line in split_lines(old)]
    after = [line.body + line.ending for line in split_lines(new)]
    changes = list(_changes(before, after))
    rows: list[str] = []
    for group in _grouped(changes):
        rows += _hunk(before, after, group)
        if len(rows) > MAX_LINES:
            hidden = len(rows) - MAX_LINES
            rows = [*rows[:MAX_LINES], f"@@ {hidden} or more lines are not shown @@"]
            break
    added, removed = sum(change.d - change.c for change in changes), sum(change.b - change.a for change in changes)
    return FileDiff(tuple(rows), added, removed)


def change_summary(block: DiffBlock) -> str:
    """`+3 −1` for the row."""
    return f"+{block.added} −{block.removed}"


def _changes(before: Sequence[str], after: Sequence[str]) -> Iterator[_Change]:
    """Where the two differ, in order; common head and tail are never compared twice."""
    start, end_a, end_b = 0, len(before), len(after)
    while start < min(end_a, end_b) and before[start] == after[start]:
        start += 1
    while end_a > start and end_b > start and before[end_a - 1] == after[end_b - 1]:
        end_a, end_b = end_a - 1, end_b - 1
    at_a, at_b = start, start
    for a, b in [*_anchors(before, after, start, end_a, end_b), (end_a, end_b)]:
        yield from _between(before, after, _Change(at_a, a, at_b, b))
        at_a, at_b = a, b


def _anchors(before: Sequence[str], after: Sequence[str], start: int, end_a: int, end_b: int) -> list[tuple[int, int]]:
    """Lines that occur once on each side, in an order they share; only for ranges too large for difflib."""
    if (end_a - start) * (end_b - start) <= _MAX_PRODUCT:
        return []
    count_a, count_b = Counter(before[start:end_a]), Counter(after[start:end_b])
    place_b = {line: at for at, line in enumerate(after[start:end_b], start) if count_b[line] == 1}
    pairs = [
        (at, place_b[line])
        for at, line in enumerate(before[start:end_a], start)
        if count_a[line] == 1 and line in place_b
    ]
    return _longest_rising(pairs)


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs whose second numbers rise (patience sorting)."""
    tops: list[int] = []
    top_index: list[int] = []
    previous: list[int | None] = []
    for index, (_, value) in enumerate(pairs):
        pile = bisect_left(tops, value)
        previous.append(top_index[pile - 1] if pile else None)
        if pile == len(tops):
            tops.append(value)
            top_index.append(index)
        else:
            tops[pile], top_index[pile] = value, index
    chain: list[tuple[int, int]] = []
    at = top_index[-1] if top_index else None
    while at is not None:
        chain.append(pairs[at])
        at = previous[at]
    return chain[::-1]


def _between(before: Sequence[str], after: Sequence[str], gap: _Change) -> Iterator[_Change]:
    """Changes inside a gap: the smallest when that is cheap, else the whole gap."""
    a, b, c, d = gap.a, gap.b, gap.c, gap.d
    while a < b and c < d and before[a] == after[c]:
        a, c = a + 1, c + 1
    if a == b and c == d:
        return
    if (b - a) * (d - c) > _MAX_PRODUCT or a == b or c == d:
        yield _Change(a, b, c, d)
        return
    matcher = difflib.SequenceMatcher(None, before[a:b], after[c:d], autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag != "equal":
            yield _Change(a + i, a + j, c + k, c + m)


def _grouped(changes: Sequence[_Change]) -> Iterator[list[_Change]]:
    """Changes that share a hunk because their context would touch."""
    group: list[_Change] = []
    for change in changes:
        if group and change.a - group[-1].b > 2 * CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(before: Sequence[str], after: Sequence[str], group: Sequence[_Change]) -> Iterator[str]:
    first, last = group[0], group[-1]
    a, b = max(0, first.a - CONTEXT), min(len(before), last.b + CONTEXT)
    c, d = max(0, first.c - CONTEXT), min(len(after), last.d + CONTEXT)
    yield f"@@ -{_range(a, b)} +{_range(c, d)} @@"
    at = a
    for change in group:
        yield from (_row(" ", line) for line in before[at : change.a])
        yield from (_row("-", line) for line in before[change.a : change.b])
        yield from (_row("+", line) for line in after[change.c : change.d])
        at = change.b
    yield from (_row(" ", line) for line in before[at:b])


def _range(start: int, end: int) -> str:
    return f"{start + 1 if end > start else start},{end - start}"


def _row(sign: str, line: str) -> str:
    body = line.rstrip("\r\n")
    if len(body) > _MAX_WIDTH:
        body = body[:_MAX_WIDTH] + "…"
    return sign + body
