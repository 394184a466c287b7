"""One-line layouts measured in terminal cells: cut, spread, drop what does not fit, bars and sparklines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from textual.content import Content

ELLIPSIS = "…"
_SPARKS = "▁▂▃▄▅▆▇█"


class Part(NamedTuple):
    """A piece of a line; the piece with the lowest `keep` goes first when the line is too narrow."""

    content: Content
    keep: int


def cut(text: str, width: int) -> str:
    """`text` in at most `width` cells, with an ellipsis where something is missing."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[: max(width, 0)]
    return set_cell_size(text, width - 1).rstrip() + ELLIPSIS


def cut_left(text: str, width: int) -> str:
    """Like `cut`, but keeps the end: for paths."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[: max(width, 0)]
    while text and cell_len(text) > width - 1:
        text = text[1:]
    return ELLIPSIS + text


def cut_content(content: Content, width: int) -> Content:
    """Styled text in at most `width` cells."""
    return content if content.cell_length <= width else content.truncate(max(width, 0), ellipsis=True)


def pad(text: str, width: int) -> str:
    """`text` in exactly `width` cells, left-aligned."""
    text = cut(text, width)
    return text + " " * (width - cell_len(text))


def pad_left(text: str, width: int) -> str:
    """`text` in exactly `width` cells, right-aligned: for numbers."""
    text = cut(text, width)
    return " " * (width - cell_len(text)) + text


def spread(left: Content, right: Content, width: int, gap: int = 1) -> Content:
    """`left` … `right` over exactly `width` cells; `left` is cut first, then `right` goes."""
    if width <= 0:
        return Content("")
    room = width - right.cell_length - gap
    if room < min(left.cell_length, 4):
        right, room = Content(""), width
    left = cut_content(left, room)
    return Content.assemble(left, " " * (width - left.cell_length - right.cell_length), right)


def join_parts(parts: Iterable[Part], width: int, separator: str = "  ", *, whole: bool = False) -> Content:
    """The parts that fit in `width` cells, in their order; those with the lowest `keep` are dropped first.

    The last one is cut when it is too wide, or dropped as well when only `whole` parts may show.
    """
    chosen = [part for part in parts if part.content.cell_length]
    gap = cell_len(separator)
    while len(chosen) > (0 if whole else 1) and _length(chosen, gap) > width:
        chosen.remove(min(reversed(chosen), key=lambda part: part.keep))
    between = Content.styled(separator, "$text-muted")
    line = between.join([part.content for part in chosen]) if chosen else Content("")
    return cut_content(line, width)


def flow(pieces: Sequence[Content], width: int, gap: int = 3) -> list[Content]:
    """Pieces over as many lines as they need; a piece is never broken, only cut when it is wider than a line."""
    lines: list[list[Content]] = []
    used = 0
    for piece in pieces:
        piece = cut_content(piece, width)
        if lines and used + gap + piece.cell_length <= width:
            lines[-1].append(piece)
            used += gap + piece.cell_length
        else:
            lines.append([piece])
            used = piece.cell_length
    return [Content(" " * gap).join(line) for line in lines]


def bar(share: float, width: int) -> tuple[str, str]:
    """The filled and the empty part of a bar of `width` cells; anything above nothing shows at least one cell."""
    share = min(max(share, 0.0), 1.0)
    filled = min(width, max(round(share * width), 1 if share > 0 else 0))
    return "▓" * filled, "░" * (width - filled)


def sparkline(values: Sequence[float], width: int) -> str:
    """The last `width` values as small columns, scaled to the largest of them."""
    shown = values[-width:] if width > 0 else ()
    top = max(shown, default=0.0)
    if top <= 0:
        return _SPARKS[0] * len(shown)
    return "".join(_SPARKS[min(int(value / top * len(_SPARKS)), len(_SPARKS) - 1)] for value in shown)


def _length(parts: Sequence[Part], gap: int) -> int:
    return sum(part.content.cell_length for part in parts) + gap * (len(parts) - 1)
