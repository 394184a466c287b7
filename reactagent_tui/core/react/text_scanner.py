"""Cuts a reply of the text protocol into labelled sections while it streams. Pure: characters in, sections out.

Fed in pieces it finds the same sections as fed whole. Labels count at the start of a line only, never inside a code
fence nor inside a JSON value that is still open. Behind an action, an `Observation:` is the model's invention:
everything from there on is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from reactagent_tui.core.react.text_input import Balance
from reactagent_tui.core.react.text_labels import Label, LabelMatch, match_label, may_become_label

SectionKind = Label | Literal["lead"]

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})(.*)")
_HEAD = 400
"""Characters of a line that decide what it is."""


@dataclass(slots=True)
class Section:
    """A label and what stands behind it."""

    kind: SectionKind
    bare: bool = True
    pieces: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        """The value without blank lines around it."""
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0].strip() if self.pieces else ""


class Scanner:
    """The sections of one reply. `on_text` gets every new piece of a section the moment it is certain."""

    def __init__(
        self,
        is_tool: Callable[[str], bool],
        on_text: Callable[[Section, str], None] | None = None,
        *,
        guard_input: bool = True,
    ) -> None:
        """`is_tool` says whether an `Action:` line inside an answer names a tool, or is prose.

        `guard_input` False: labels count inside an action's input whatever is open there.
        """
        self.sections: list[Section] = [Section("lead")]
        self.is_over = False
        """What comes now is invented: the stream may be cancelled."""
        self._is_tool = is_tool
        self._on_text = on_text
        self._guard_input = guard_input
        self._seen: set[SectionKind] = set()
        self._held = ""
        """The beginning of a line that may still become a label, or a lone CR."""
        self._at_line_start = True
        self._head = ""
        """The current line so far, without its label."""
        self._fence = ""
        self._json: Balance | None = None
        self._cut = False
        """An invented observation began; over as soon as anything stands in it."""

    @property
    def input_is_open(self) -> bool:
        """The reply ended inside a JSON value or a fence of an action's input."""
        return self._json is not None or (bool(self._fence) and self.sections[-1].kind == "input")

    def feed(self, text: str) -> None:
        """The next piece of the reply."""
        text = self._held + text
        self._held = ""
        if text.endswith("\r"):
            text, tail = text[:-1], "\r"
        else:
            tail = ""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        at = 0
        while at < len(text) and not self.is_over:
            if self._at_line_start and self._labels_count():
                end = text.find("\n", at)
                line = text[at:] if end < 0 else text[at:end]
                taken = self._begin_line(line, complete=end >= 0)
                if taken is None:
                    self._held = line + tail
                    return
                at += taken
            at = self._pass_line(text, at)
        self._held = tail

    def finish(self) -> None:
        """The stream is over: what was held back is decided."""
        held, self._held = self._held.rstrip("\r"), ""
        if held and not self.is_over:
            taken = self._begin_line(held, complete=True) if self._at_line_start and self._labels_count() else 0
            self._add(held[taken or 0 :])
        self._end_line()

    def _labels_count(self) -> bool:
        return not self._fence and self._json is None

    def _begin_line(self, line: str, *, complete: bool) -> int | None:
        """How much of a new line its label takes; None while that is not certain."""
        found = match_label(line, complete=complete)
        if found is None:
            if not complete and may_become_label(line):
                return None
            self._at_line_start = False
            return 0
        honoured = self._honours(found, line, complete=complete)
        if honoured is None:
            return None
        self._at_line_start = False
        if not honoured:
            return 0
        self._open(found)
        return found.end

    def _honours(self, found: LabelMatch, line: str, *, complete: bool) -> bool | None:
        """Does this label count here? Inside an answer prose looks like labels now and then."""
        if "final" not in self._seen:
            return not self._cut
        if self._cut:
            return False
        current = self.sections[-1]
        if current.kind == "final":
            if found.label in ("answer", "input") or found.bare != current.bare:
                return False
            if found.label == "action":
                value = line[found.end :]
                return self._is_tool(value[:_HEAD]) if complete or len(value) >= _HEAD else None
        return True

    def _open(self, found: LabelMatch) -> None:
        if found.label in ("observation", "question") and self._seen & {"action", "final"}:
            self._cut = True
        self._seen.add(found.label)
        self._head = ""
        self._json = None
        if not self._cut:
            self.sections.append(Section(found.label, found.bare))

    def _pass_line(self, text: str, at: int) -> int:
        """Take the rest of the current line; returns where the next one begins."""
        end = text.find("\n", at)
        if end < 0:
            self._add(text[at:])
            return len(text)
        self._add(text[at : end + 1])
        self._end_line()
        return end + 1

    def _add(self, piece: str) -> None:
        if not piece:
            return
        self._at_line_start = False
        if self._cut:
            self.is_over = self.is_over or bool(piece.strip())
            return
        if len(self._head) < _HEAD:
            self._head += piece[:_HEAD]
        section = self.sections[-1]
        if section.kind == "input" and self._guard_input and not self._fence:
            self._follow_json(section, piece)
        section.pieces.append(piece)
        if self._on_text is not None:
            self._on_text(section, piece)

    def _follow_json(self, section: Section, piece: str) -> None:
        if self._json is None:
            if any(earlier.strip() for earlier in section.pieces) or not piece.lstrip().startswith(("{", "[")):
                return
            self._json = Balance()
        if self._json.feed(piece) is not None:
            self._json = None

    def _end_line(self) -> None:
        self._at_line_start = True
        head, self._head = self._head.rstrip("\n"), ""
        if self._json is not None or (self.sections[-1].kind == "input" and not self._guard_input):
            return
        found = _FENCE.match(head)
        if found is None:
            return
        marks, rest = found[1], found[2]
        if not self._fence:
            if not (marks[0] == "`" and "`" in rest):
                self._fence = marks
        elif marks[0] == self._fence[0] and len(marks) >= len(self._fence) and not rest.strip():
            self._fence = ""
