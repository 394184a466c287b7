"""Rows: text in runs, wrapped by cells to padded strips that are painted as they are.

Every row is exactly as wide as the widget: gutter, text, padding, and one column for the scrollbar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from reactagent_tui.tui.transcript.styles import Palette

Translate = Callable[..., str]
Runs = Sequence[tuple[str, Style]]
"""One logical line: texts with their styles, no line ends inside."""

GUTTER = 3
_NARROW = 30
"""Below this width the margin left of the glyph goes."""
_NO_LINE_START = frozenset("，。、；：？！）」』》〉】〕”’…,.;:?!)]}%")
_SPACES = re.compile(r" +")
_SINGLE = re.compile("[ -~\xa0-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2500-\u25fc]*")
"""Text whose characters are one cell each, by far the most."""


class Row(Strip):
    """One painted line that knows how to be copied."""

    __slots__ = ("_on_thumb", "joint", "skip")

    def __init__(self, segments: list[Segment], width: int, skip: int, joint: str | None) -> None:
        super().__init__(segments, width)
        self.skip = skip
        """Characters of gutter at the start that are never copied."""
        self.joint = joint
        """What stood between the row above and this one when both are one line; None: a line of its own."""
        self._on_thumb: Strip | None = None

    def on_thumb(self, thumb: Segment) -> Strip:
        """The same row where the scrollbar's thumb is."""
        if self._on_thumb is None:
            self._on_thumb = Strip([*list(self)[:-1], thumb], self.cell_length)
        return self._on_thumb

    def copied(self, start: int = 0, end: int | None = None) -> str:
        """Text between two character positions of the row, without gutter, padding and scrollbar."""
        body = "".join(segment.text for segment in list(self)[:-1])
        return body[max(start, self.skip) : end].rstrip()


class Lead(NamedTuple):
    """What stands before the text of a row. `skip` characters of it are not copied; all are one cell wide."""

    segments: tuple[Segment, ...]
    cells: int
    skip: int

    def add(self, text: str, style: Style, *, copied: bool = False) -> Lead:
        """This lead and something more."""
        cells = self.cells + cell_len(text)
        return Lead((*self.segments, Segment(text, style)), cells, self.skip if copied else cells)


class Page:
    """What rows are made for: a width, a palette, a language, and how much to tell."""

    __slots__ = ("blank", "body", "gutter", "palette", "t", "text_style", "thumb", "track", "verbosity", "width")

    def __init__(self, width: int, palette: Palette, t: Translate, verbosity: str = "normal") -> None:
        self.width = max(width, 8)
        self.palette = palette
        self.t = t
        self.verbosity = verbosity
        self.text_style = palette["text"]
        self.track = Segment(" ", palette["text track"])
        self.thumb = Segment(" ", palette["text thumb"])
        margin = GUTTER if self.width >= _NARROW else GUTTER - 1
        self.gutter = Lead((Segment(" " * margin, self.text_style),), margin, margin)
        self.body = max(self.width - margin - 2, 4)
        """Cells for text: the width without gutter, right margin and scrollbar."""
        self.blank = self.row(Lead((), 0, 0), ())

    def glyph(self, glyph: str, names: str, on: str = "") -> Lead:
        """The gutter with a state glyph in it; `on` names the background right of the margin."""
        margin = self.gutter.cells
        style = self.palette[f"text {on} {names}"]
        segments = (Segment(f"{glyph} ", style),)
        if margin == GUTTER:
            segments = (Segment(" ", self.text_style), *segments)
        return Lead(segments, margin, margin)

    def row(self, lead: Lead, runs: Runs, *, fill: Style | None = None, joint: str | None = None) -> Row:
        """One row; text that is too wide is cut."""
        segments = [*lead.segments, *(Segment(text, style) for text, style in runs)]
        room = self.width - 1 - lead.cells - sum([cell_len(text) for text, _ in runs])
        if room > 0:
            segments.append(Segment(" " * room, fill or self.text_style))
        elif room < 0:
            segments = list(Strip(segments).crop(0, self.width - 1))
            short = self.width - 1 - sum(cell_len(segment.text) for segment in segments)
            if short > 0:
                segments = [*segments, Segment(" " * short, fill or self.text_style)]
        segments.append(self.track)
        return Row(_joined(segments), self.width, lead.skip, joint)

    def lines(
        self,
        runs: Runs,
        first: Lead,
        rest: Lead | None = None,
        *,
        fill: Style | None = None,
        joint: str | None = None,
        limit: int | None = None,
    ) -> list[Row]:
        """A logical line wrapped to rows, at most `limit` of them; `joint` is for the first."""
        rest = first if rest is None else rest
        room = max(self.width - 2 - max(first.cells, rest.cells), 4)
        text = "".join([text for text, _ in runs])
        cuts = wrap(text, room, limit)
        if len(cuts) == 1 and cuts[0][1] == len(text):
            return [self.row(first, runs, fill=fill, joint=joint)]
        rows: list[Row] = []
        for part, (_, _, between) in zip(_slices(runs, cuts), cuts, strict=True):
            lead = rest if rows else first
            rows.append(self.row(lead, part, fill=fill, joint=between if rows else joint))
        return rows

    def plain(
        self, text: str, style: Style, lead: Lead, *, rest: Lead | None = None, limit: int
    ) -> tuple[list[Row], int]:
        """Clean text, line by line, at most `limit` rows; also how many lines were left out."""
        rows: list[Row] = []
        at = 0
        while at <= len(text):
            if len(rows) >= limit:
                return rows, text.count("\n", at) + 1
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            line = text[at:end]
            first = lead if not rows or rest is None else rest
            rows += self.lines([(line, style)], first, rest, fill=style, limit=limit - len(rows))
            at = end + 1
        return rows, 0


def _slices(runs: Runs, cuts: Sequence[tuple[int, int, str]]) -> Iterable[list[tuple[str, Style]]]:
    """The runs between the cuts (start, end, joint), in order."""
    index = 0
    offset = 0
    for start, end, _ in cuts:
        part: list[tuple[str, Style]] = []
        while index < len(runs):
            text, style = runs[index]
            low = max(start - offset, 0)
            high = end - offset
            if low < high and low < len(text):
                part.append((text[low:high], style))
            if high < len(text):
                break
            offset += len(text)
            index += 1
        yield part


def wrap(text: str, width: int, limit: int | None = None) -> list[tuple[int, int, str]]:
    """Where a line is cut to fit `width` cells: (start, end, what stood before it in the line)."""
    if len(text) <= 2 * width and cell_len(text) <= width:
        return [(0, len(text), "")]
    if limit is not None and len(text) > limit * width:
        text = text[: limit * width]
    cuts = _wrap_single(text, width) if _SINGLE.fullmatch(text) else _wrap_wide(text, width)
    return cuts if limit is None else cuts[:limit]


def _wrap_single(text: str, width: int) -> list[tuple[int, int, str]]:
    cuts: list[tuple[int, int, str]] = []
    at = 0
    joint = ""
    size = len(text)
    while size - at > width:
        cut = text.rfind(" ", at, at + width + 1)
        if cut <= at or not text[at:cut].strip():
            cuts.append((at, at + width, joint))
            at, joint = at + width, ""
            continue
        spaces = _SPACES.match(text, cut)
        after = cut + 1 if spaces is None else spaces.end()
        end = len(text[at:cut].rstrip(" ")) + at
        cuts.append((at, end, joint))
        joint, at = text[end:after], after
    if at < size or not cuts:
        cuts.append((at, size, joint))
    return cuts


def _wrap_wide(text: str, width: int) -> list[tuple[int, int, str]]:
    """As `_wrap_single`, for text with wide characters: a line may also be cut between two of them."""
    spans, _ = split_graphemes(text)
    cuts: list[tuple[int, int, str]] = []
    start = used = 0
    joint = ""
    beside_wide = False
    chance: tuple[int, int, int] | None = None
    """Where the line can be cut: end of the row, start of the next, index of the next grapheme."""
    index = 0
    while index < len(spans):
        low, high, cells = spans[index]
        character = text[low:high]
        if character == " ":
            chance = (chance[0] if chance is not None and chance[1] == low else low, high, index + 1)
        elif (cells == 2 or beside_wide) and low > start and character not in _NO_LINE_START and used <= width:
            chance = (low, low, index) if chance is None or chance[1] != low else chance
        beside_wide = cells == 2
        if used + cells > width and low > start and character != " ":
            end, after, index = chance if chance is not None and chance[0] > start else (low, low, index)
            cuts.append((start, end, joint))
            joint, start, used, chance = text[end:after], after, 0, None
            continue
        used += cells
        index += 1
    if start < len(text) or not cuts:
        cuts.append((start, len(text), joint))
    return cuts


def shorten(text: str, width: int, *, keep_end: bool = False) -> str:
    """Text cut to `width` cells with `…` where something is missing."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    if keep_end:
        kept = ""
        for character in reversed(text[-width:]):
            if cell_len(character + kept) > width - 1:
                break
            kept = character + kept
        return f"…{kept}"
    kept = text[: width - 1]
    while kept and cell_len(kept) > width - 1:
        kept = kept[:-1]
    return f"{kept}…"


def _joined(segments: list[Segment]) -> list[Segment]:
    """Neighbours of one style as one segment: fewer escape sequences go to the terminal with every frame."""
    out: list[Segment] = []
    for segment in segments:
        if out and out[-1].style == segment.style:
            out[-1] = Segment(out[-1].text + segment.text, segment.style)
        else:
            out.append(segment)
    return out
