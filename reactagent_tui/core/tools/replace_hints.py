"""Why `old_text` was not found: the nearest lines of the file and what differs. Only said, never applied."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

from reactagent_tui.core.tools.lines import Line

_SEARCHED = 20_000
"""Lines looked at."""
_SHOWN_LINES = 12
_SHOWN_WIDTH = 160
_CANDIDATES = 20
_NEAR = 0.5
_NUMBERED = re.compile(r"^\s*\d+(?:\t|\s*[|│→:] ?)")

_SPACES = dict.fromkeys([0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
_QUOTES = {ord(c): "'" for c in "‘’‚‛′`´"} | {ord(c): '"' for c in "“”„‟″«»「」『』"}
_DASHES = {ord(c): "-" for c in "‐‑‒–—―−﹘﹣－"}
_INVISIBLE = dict.fromkeys([0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, *range(0xFE00, 0xFE10)], None)
_INVALID = dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd")

_FOLDS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("a no-break or other special space", lambda text: text.translate(_SPACES)),
    ("the style of quotes", lambda text: text.translate(_QUOTES)),
    ("the kind of dash", lambda text: text.translate(_DASHES)),
    ("invisible characters", lambda text: text.translate(_INVISIBLE)),
    ("bytes that are no valid text", lambda text: text.translate(_INVALID)),
    ("Unicode composition (NFC or NFD)", lambda text: unicodedata.normalize("NFC", text)),
    ("full-width characters", lambda text: _half_width(text)),
    ("upper and lower case", str.casefold),
    ("blanks inside the line", lambda text: re.sub(r"[ \t]+", "", text)),
    (
        "backslash escapes",
        lambda text: text.replace("\\n", "").replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\"),
    ),
)


def _half_width(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", c) if unicodedata.east_asian_width(c) == "F" else c for c in text)


def why_no_match(lines: Sequence[Line], old: str) -> str:
    """The complaint for the model: what differs where, or the nearest lines."""
    head = "old_text was not found in the file."
    bodies = [line.body for line in lines[:_SEARCHED]]
    wanted = _solid(old.split("\n"))
    if not bodies:
        return f"{head} The file is empty."
    numbered = [_NUMBERED.sub("", line, count=1) for line in wanted]
    if all(_NUMBERED.match(line) for line in wanted) and _window_with(bodies, numbered, str.strip) is not None:
        return f"{head} It seems to carry the line numbers that read_file shows: leave them out."
    return f"{head} {_look_alike(bodies, wanted) or _nearest(bodies, wanted)}"


def _solid(lines: Sequence[str]) -> list[str]:
    """The lines without blank ones around them, stripped."""
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return [line.strip() for line in lines[start:end]]


def _fold_all(text: str, *, without: str = "") -> str:
    for name, fold in _FOLDS:
        if name != without:
            text = fold(text)
    return text


def _window_with(bodies: Sequence[str], wanted: Sequence[str], fold: Callable[[str], str]) -> int | None:
    """The first line (from 0) from which the file equals `wanted` after folding; one line may be a part of a line."""
    folded = [fold(line).strip() for line in wanted]
    if not folded or not folded[0]:
        return None
    first = folded[0]
    for at in range(len(bodies) - len(folded) + 1):
        body = fold(bodies[at]).strip()
        if len(folded) == 1:
            if first in body:
                return at
        elif body.endswith(first) and _rest_fits(bodies, folded, at, fold):
            return at
    return None


def _rest_fits(bodies: Sequence[str], folded: Sequence[str], at: int, fold: Callable[[str], str]) -> bool:
    inner = all(fold(bodies[at + index]).strip() == folded[index] for index in range(1, len(folded) - 1))
    return inner and fold(bodies[at + len(folded) - 1]).strip().startswith(folded[-1])


def _look_alike(bodies: Sequence[str], wanted: Sequence[str]) -> str | None:
    at = _window_with(bodies, wanted, _fold_all)
    if at is None:
        return None
    kinds = _needed_folds(bodies[at : at + len(wanted)], wanted)
    place = f"line {at + 1} differs" if len(wanted) == 1 else f"lines {at + 1}-{at + len(wanted)} differ"
    text = f"But {place} only by {' and '.join(kinds)}."
    different = _first_difference(bodies[at : at + len(wanted)], wanted)
    if different is not None:
        line, theirs, ours = different
        text += f" In line {at + line + 1} the file has {_named(theirs)} where old_text has {_named(ours)}."
    return f"{text} The file has:\n{_numbered(bodies, at, len(wanted))}"


def _needed_folds(there: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The smallest set of differences that explains why the lines are not equal."""
    needed = [name for name, _ in _FOLDS]

    def equal(names: Sequence[str]) -> bool:
        def fold(text: str) -> str:
            for name, one in _FOLDS:
                text = one(text) if name in names else text
            return text

        return _window_with(there, wanted, fold) is not None

    for name in [name for name, _ in reversed(_FOLDS)]:
        fewer = [other for other in needed if other != name]
        if equal(fewer):
            needed = fewer
    return needed or ["blanks around the lines"]


def _first_difference(there: Sequence[str], wanted: Sequence[str]) -> tuple[int, str, str] | None:
    """Line (from 0), the file's piece and old_text's piece of the first difference."""
    for index, (theirs, ours) in enumerate(zip(there, wanted, strict=True)):
        if ours in theirs:
            continue
        matcher = difflib.SequenceMatcher(None, theirs.strip(), ours, autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            edge = (a == 0 or b == len(theirs.strip())) and tag == "delete"
            if tag != "equal" and not edge:
                return index, theirs.strip()[a:b][:3], ours[c:d][:3]
    return None


def _named(piece: str) -> str:
    if not piece:
        return "nothing"
    if all("\udc80" <= c <= "\udcff" for c in piece):
        return " ".join(f"the byte 0x{ord(c) - 0xDC00:02X}" for c in piece)
    return " ".join(f"U+{ord(c):04X}" for c in piece) + (f" ({piece})" if piece.isprintable() and piece.strip() else "")


def _nearest(bodies: Sequence[str], wanted: Sequence[str]) -> str:
    """The most similar place, line by line."""
    anchor = max(range(len(wanted)), key=lambda index: len(wanted[index]))
    best = _most_similar(bodies, wanted[anchor])
    if best is None:
        return "No line of it resembles the file: read the file again."
    start = max(0, min(best - anchor, len(bodies) - 1))
    count = min(len(wanted), len(bodies) - start)
    different = [start + i + 1 for i in range(count) if bodies[start + i].strip() != wanted[i]]
    shown = ", ".join(str(number) for number in different[:_SHOWN_LINES])
    where = f"line {shown} differs" if len(different) == 1 else f"lines {shown} differ"
    if not different:
        where = "they end before old_text does"
    return f"Nearest lines ({where}):\n{_numbered(bodies, start, count)}"


def _most_similar(bodies: Sequence[str], wanted: str) -> int | None:
    """The line (from 0) that resembles `wanted` most: by shared words first, then by characters."""
    words = Counter(re.findall(r"\w+|[^\w\s]", wanted))
    scores: list[tuple[float, int]] = []
    for index, body in enumerate(bodies):
        found = Counter(re.findall(r"\w+|[^\w\s]", body[:400]))
        common = sum((words & found).values())
        if common:
            scores.append((2 * common / (words.total() + found.total()), index))
    scores.sort(key=lambda score: (-score[0], score[1]))
    best, best_ratio = None, _NEAR
    for _, index in scores[:_CANDIDATES]:
        ratio = difflib.SequenceMatcher(None, bodies[index].strip()[:400], wanted[:400], autojunk=False).ratio()
        if ratio > best_ratio:
            best, best_ratio = index, ratio
    return best


def _numbered(bodies: Sequence[str], start: int, count: int) -> str:
    rows = [f"{start + i + 1:>5}\t{_short(bodies[start + i])}" for i in range(min(count, _SHOWN_LINES))]
    if count > _SHOWN_LINES:
        rows.append(f"      … {count - _SHOWN_LINES} more lines")
    return "\n".join(rows)


def _short(body: str) -> str:
    return body.translate(_INVALID) if len(body) <= _SHOWN_WIDTH else body[:_SHOWN_WIDTH].translate(_INVALID) + "…"
