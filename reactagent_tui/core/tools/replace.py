"""The four-level replacement behind `edit_file`: pure, on text; encodings and files are not its business.

L1 exact, L2 line endings aside, L3 outer blanks aside, L4 line by line with indentation aside. Each level wants
exactly one place (or `replace_all`). The replacement is literal; line ends and indentation follow the file.
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from reactagent_tui.core.errors import ReactAgentError
from reactagent_tui.core.tools.lines import BLANK, Line, split_lines, with_newlines
from reactagent_tui.core.tools.reindent import reindented
from reactagent_tui.core.tools.replace_hints import why_no_match

_OUTER = " \t\n"
_LISTED = 20
_OVERLAP_WORK = 1_000_000
"""Characters compared for overlapping matches, before only separate ones are counted."""


class ReplaceError(ReactAgentError):
    """Nothing was replaced; the text tells the model why. `kind`: blank_old, no_change, no_match, many_matches."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


@dataclass(frozen=True, slots=True)
class Replaced:
    """The new text, the level that matched, and the first line of each replaced place (from 1, in the old text)."""

    text: str
    level: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    new: str


class _View:
    """A text, its lines, and the same text with plain newlines; positions translate back."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = split_lines(text)
        self.plain = with_newlines(text)
        self._starts = [line.start for line in self.lines]
        if len(self.plain) == len(text):
            self._plain_starts = self._starts
        else:
            self._plain_starts: list[int] = []
            at = 0
            for line in self.lines:
                self._plain_starts.append(at)
                at += len(line.body) + bool(line.ending)

    def original(self, plain: int) -> int:
        """The position in the text of a position in `plain`."""
        index = bisect_right(self._plain_starts, plain) - 1
        if index < 0:
            return 0
        offset = plain - self._plain_starts[index]
        line = self.lines[index]
        return line.start + offset if offset <= len(line.body) else line.end

    def index_at(self, position: int) -> int:
        """The line (from 0) that holds a position of the text."""
        return max(0, bisect_right(self._starts, position) - 1)

    def endings_of(self, start: int, end: int) -> list[str]:
        """Endings of the lines touched between two positions, with one from nearby where a line has none."""
        if not self.lines:
            return ["\n"]
        first, last = self.index_at(start), self.index_at(max(start, end - 1))
        endings = [line.ending for line in self.lines[first : last + 1] if line.ending]
        if endings:
            return endings
        return [self.lines[first - 1].ending if first else "\n"]


def replace(text: str, old: str, new: str, *, replace_all: bool = False) -> Replaced:
    """Replace `old` by `new` in `text`. Raises ReplaceError."""
    if not old.strip():
        raise ReplaceError("blank_old", "old_text is blank: give the text to replace, with enough lines to be unique.")
    if old == new:
        raise ReplaceError("no_change", "old_text and new_text are the same: nothing to change.")
    view = _View(text)
    plain_old = with_newlines(old)
    for find in (_exact, _newlines_aside, _outer_blanks_aside, _line_by_line):
        level, edits, hits = find(view, old, plain_old, new)
        if not hits:
            continue
        if level == 1 and replace_all and "\r" in text:
            level, edits, hits = _newlines_aside(view, old, plain_old, new)
            level = 1 if all(text[edit.start : edit.end] == old for edit in edits) else 2
        if len(hits) > 1 and not replace_all:
            raise ReplaceError("many_matches", _many(level, hits))
        return _applied(view, level, edits, hits)
    raise ReplaceError("no_match", why_no_match(view.lines, plain_old))


_Found = tuple[int, list[_Edit], list[int]]
"""Level, edits that do not overlap, and the line (from 1) of every hit, overlapping ones too."""


def _applied(view: _View, level: int, edits: Sequence[_Edit], hits: Sequence[int]) -> Replaced:
    pieces: list[str] = []
    at = 0
    for edit in edits:
        pieces += (view.text[at : edit.start], edit.new)
        at = edit.end
    pieces.append(view.text[at:])
    result = "".join(pieces)
    if result == view.text:
        raise ReplaceError(
            "no_change",
            "The edit would leave the file as it is (line endings and indentation always follow the file).",
        )
    places = tuple(view.index_at(edit.start) + 1 for edit in edits)
    return Replaced(result, level, places if len(edits) > 1 else tuple(hits[:1]))


def _many(level: int, hits: Sequence[int]) -> str:
    numbers = ", ".join(str(number) for number in hits[:_LISTED]) + (", …" if len(hits) > _LISTED else "")
    how = {1: "", 2: " (line endings aside)", 3: " (outer blanks aside)", 4: " (indentation aside)"}[level]
    return (
        f"old_text matches {len(hits)} places{how}: lines {numbers}. "
        "Add surrounding lines so that it matches one place, or set replace_all to true."
    )


def _positions(text: str, part: str) -> list[int]:
    """Every position of `part`, overlapping ones included (up to a number that keeps `aaaa…` in `aaaa…` cheap)."""
    overlaps = max(20, min(10_000, _OVERLAP_WORK // len(part)))
    found: list[int] = []
    at = text.find(part)
    while at >= 0:
        found.append(at)
        at = text.find(part, at + (1 if len(found) < overlaps else len(part)))
    return found


def _exact(view: _View, old: str, plain_old: str, new: str) -> _Found:
    text = view.text
    spans = [(at, at + len(old)) for at in _positions(text, old)]
    if "\r" in text:
        spans = [span for span in spans if not (_splits_ending(text, span[0]) or _splits_ending(text, span[1]))]
    return _literal(view, 1, spans, new)


def _splits_ending(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1] == "\r" and text[at] == "\n"


def _newlines_aside(view: _View, old: str, plain_old: str, new: str) -> _Found:
    if view.plain is view.text and plain_old == old:
        return 2, [], []
    found = _positions(view.plain, plain_old)
    return _literal(view, 2, [(view.original(at), view.original(at + len(plain_old))) for at in found], new)


def _literal(view: _View, level: int, spans: Sequence[tuple[int, int]], new: str) -> _Found:
    hits = [view.index_at(start) + 1 for start, _ in spans]
    edits: list[_Edit] = []
    for start, end in spans:
        if not edits or start >= edits[-1].end:
            edits.append(_Edit(start, end, _fit_endings(view, start, end, new)))
    return level, edits, hits


def _fit_endings(view: _View, start: int, end: int, new: str) -> str:
    """The new text with the line endings of the place it goes to; a line that stays keeps its own ending."""
    new = new.replace("\r\n", "\n")
    if "\n" not in new or ("\r" not in view.text):
        return new
    endings = view.endings_of(start, end)
    bodies = new.split("\n")
    if len(set(endings)) == 1:
        return endings[0].join(bodies)
    old_bodies = [line.body for line in split_lines(view.text[start:end])]
    own: dict[int, str] = {}
    for match in difflib.SequenceMatcher(None, old_bodies, bodies, autojunk=False).get_matching_blocks():
        for offset in range(match.size):
            if match.a + offset < len(endings):
                own[match.b + offset] = endings[match.a + offset]
    pieces: list[str] = []
    for index, body in enumerate(bodies[:-1]):
        pieces += (body, own.get(index, endings[min(index, len(endings) - 1)]))
    return "".join([*pieces, bodies[-1]])


def _outer_blanks_aside(view: _View, old: str, plain_old: str, new: str) -> _Found:
    core = plain_old.strip(_OUTER)
    if core == plain_old:
        return 3, [], []
    lead = plain_old[: len(plain_old) - len(plain_old.lstrip(_OUTER))]
    trail = plain_old[len(plain_old.rstrip(_OUTER)) :]
    ends_line = "\n" in trail
    spans: list[tuple[int, int]] = []
    for at in _positions(view.plain, core):
        stop = at + len(core)
        if _border_fits(view.plain, at, stop, lead, trail):
            spans.append((at, stop))
    edits: list[_Edit] = []
    for at, stop in spans:
        start, end = view.original(at), view.original(stop)
        if not edits or start >= edits[-1].end:
            edits.append(_fitted_core(view, start, end, _Outer(lead, trail, ends_line), with_newlines(new)))
    return 3, edits, [view.index_at(view.original(at)) + 1 for at, _ in spans]


@dataclass(frozen=True, slots=True)
class _Outer:
    """The blanks that were trimmed off old_text."""

    lead: str
    trail: str
    ends_line: bool


def _border_fits(text: str, at: int, stop: int, lead: str, trail: str) -> bool:
    """Where old_text had a line end or a blank, the file must have a line border or a blank too."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    line_end = text.find("\n", stop)
    after = text[stop : line_end if line_end >= 0 else len(text)]
    starts_line, ends_line = not before.strip(BLANK), not after.strip(BLANK)
    if "\n" in trail:
        return starts_line and ends_line
    if trail and not ends_line and after[0] not in BLANK:
        return False
    return starts_line or not lead or ("\n" not in lead and before[-1] in BLANK)


def _fitted_core(view: _View, start: int, end: int, outer: _Outer, new: str) -> _Edit:
    """The edit that puts `new` at a trimmed match: trimmed as old_text was, on the file's own indentation."""
    line = view.lines[view.index_at(start)]
    last = view.lines[view.index_at(max(start, end - 1))]
    starts_line = not view.text[line.start : start].strip(BLANK)
    ends_line = outer.ends_line and not view.text[end : last.start + len(last.body)].strip(BLANK)
    if starts_line and ends_line and "\n" not in new and not new.strip(BLANK):
        return _Edit(line.start, last.end, "")
    core = new.strip(_OUTER)
    lead = new[: len(new) - len(new.lstrip(_OUTER))]
    trail = new[len(new.rstrip(_OUTER)) :]
    if starts_line:
        head = "\n" * max(0, lead.count("\n") - outer.lead.count("\n"))
        head += _shifted(line.indent, outer.lead.rsplit("\n", 1)[-1], lead.rsplit("\n", 1)[-1])
        start = line.start
    else:
        head = lead.removesuffix(outer.lead) if lead.endswith(outer.lead) else ""
    if ends_line:
        tail = "\n" * max(0, trail.count("\n") - outer.trail.count("\n"))
        end = last.start + len(last.body)
    else:
        tail = trail.removeprefix(outer.trail) if trail.startswith(outer.trail) else ""
    return _Edit(start, end, _fit_endings(view, start, end, head + core + tail))


def _shifted(indent: str, old: str, new: str) -> str:
    """The file's indentation, deeper by what new_text is deeper than old_text; a shallower one was just left out."""
    return indent + new[len(old) :] if new.startswith(old) else indent


def _line_by_line(view: _View, old: str, plain_old: str, new: str) -> _Found:
    lead_lines = plain_old[: len(plain_old) - len(plain_old.lstrip(_OUTER))].count("\n")
    wanted = split_lines(plain_old)[lead_lines:]
    while wanted and not wanted[-1].body.strip(BLANK):
        wanted.pop()
    stripped = [line.body.strip(BLANK) for line in wanted]
    bodies = [line.body.strip(BLANK) for line in view.lines]
    starts = [
        at
        for at in range(len(bodies) - len(stripped) + 1)
        if bodies[at] == stripped[0] and bodies[at : at + len(stripped)] == stripped
    ]
    edits: list[_Edit] = []
    for at in starts:
        matched = view.lines[at : at + len(wanted)]
        if not edits or matched[0].start >= edits[-1].end:
            edits.append(_whole_lines(view, matched, wanted, plain_old, with_newlines(new)))
    return 4, edits, [at + 1 for at in starts]


def _whole_lines(view: _View, matched: Sequence[Line], wanted: Sequence[Line], old: str, new: str) -> _Edit:
    """The edit that puts `new`, re-indented, where whole lines matched."""
    start, last = matched[0].start, matched[-1]
    new = _without_outer(new, old)
    if not new:
        return _Edit(start, last.end, "")
    shifted = "\n".join(reindented([line.body for line in wanted], [line.body for line in matched], new.split("\n")))
    end = last.start + len(last.body)
    return _Edit(start, end, _fit_endings(view, start, end, shifted))


def _without_outer(new: str, old: str) -> str:
    """`new` without the blank lines that `old` has around it too (they were not matched)."""
    lead = old[: len(old) - len(old.lstrip(_OUTER))].count("\n")
    trail = old[len(old.rstrip(_OUTER)) :].count("\n")
    for _ in range(lead):
        first, found, rest = new.partition("\n")
        if not found or first.strip(BLANK):
            break
        new = rest
    for _ in range(trail):
        rest, found, tail = new.rpartition("\n")
        if not found or tail.strip(BLANK):
            break
        new = rest
    return new if new.strip(_OUTER) or "\n" in new else ""
