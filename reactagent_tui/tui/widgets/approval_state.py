"""When a key answers a question and when it belongs to the draft. Pure: time comes in with each key.

A question opens while the user types. So keys go to the draft until the keyboard was quiet for a moment,
Space and Enter never grant, and a dangerous call needs its key twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reactagent_tui.core.reporter import Answer, ApprovalQuestion, ChoiceQuestion, Question
from reactagent_tui.tui.widgets.line_edit import LineEdit

QUIET_SECONDS = 0.4
"""The keyboard must rest this long before a key can answer."""
CONFIRM_GAP = 0.7
"""A second `y` counts only after this rest: longer than a keyboard's delay before it repeats a held key."""
CONFIRM_SECONDS = 3.0
"""A second `y` counts only this long after the first."""
MAX_CHOICES = 9

Scroll = Literal["up", "down", "page_up", "page_down"]
_SCROLLS: dict[str, Scroll] = {
    "ctrl+up": "up",
    "ctrl+down": "down",
    "pageup": "page_up",
    "pagedown": "page_down",
}
LineKind = Literal["comment", "pattern"]


@dataclass(frozen=True, slots=True)
class Reaction:
    """What a key did. Not `taken`: it goes to the draft."""

    taken: bool
    answer: Answer | None = None
    scroll: Scroll | None = None


PASSED = Reaction(False)
TAKEN = Reaction(True)


class ApprovalState:
    """One open question: which keys count now, the line being edited, whether the risk is shown."""

    def __init__(self, question: Question, now: float, *, scrollable: bool = False) -> None:
        self.question = question
        self.scrollable = scrollable
        """The body is longer than its place: page keys scroll it (else they move the transcript)."""
        self.risk_shown = False
        self.line: LineEdit | None = None
        self.line_kind: LineKind = "comment"
        self._quiet_until = now + QUIET_SECONDS
        self._first_y: float | None = None
        self._line_opened = now

    @property
    def dangerous(self) -> bool:
        return isinstance(self.question, ApprovalQuestion) and self.question.dangerous

    @property
    def pattern(self) -> str | None:
        """The rule that `p` offers, if any."""
        question = self.question
        return question.pattern if isinstance(question, ApprovalQuestion) and not question.dangerous else None

    @property
    def can_comment(self) -> bool:
        """Whether Tab opens a line: to the model for an approval, own words for a question the model asked."""
        return isinstance(self.question, ApprovalQuestion) or self.question.text is not None

    def is_armed(self, now: float) -> bool:
        """Whether a letter would be taken now."""
        return now >= self._quiet_until

    def is_confirming(self, now: float) -> bool:
        """Whether the first `y` of a dangerous call was pressed and the second would still count."""
        return self._first_y is not None and now - self._first_y <= CONFIRM_SECONDS

    def rearm(self, now: float) -> None:
        """Typing, pasting or a terminal that just got the focus: the keyboard must rest again."""
        self._quiet_until = max(self._quiet_until, now + QUIET_SECONDS)

    def offer(self, key: str, character: str | None, now: float) -> Reaction:
        """What this key does at this time (seconds on any steady clock)."""
        if self.line is not None:
            return self._edit(self.line, key, character, now)
        if not self.is_armed(now):
            return self._while_unquiet(key, now)
        if (scroll := _SCROLLS.get(key)) is not None and self.scrollable:
            return Reaction(True, scroll=scroll)
        modified = key.startswith(("ctrl+", "alt+", "super+", "meta+", "hyper+"))
        letter = "" if modified or character is None else character.lower()
        reaction = PASSED if key in ("space", "enter") else self._answer(key, letter, now)
        if not reaction.taken:
            self.rearm(now)
            self._first_y = None
        return reaction

    def paste(self, text: str, now: float) -> bool:
        """Whether pasted text went into the open line; if not, it is the draft's."""
        if self.line is None:
            self.rearm(now)
            return False
        self.line.insert(text)
        return True

    def close_line(self) -> None:
        """Back from a comment or pattern to the keys; nothing is decided."""
        self.line = None

    def _while_unquiet(self, key: str, now: float) -> Reaction:
        confirming = self.is_confirming(now) and key == "y"
        self._quiet_until = now + (CONFIRM_GAP if confirming else QUIET_SECONDS)
        if confirming:
            return TAKEN  # a held or hasty second y is neither an answer nor text
        self._first_y = None
        return PASSED

    def _answer(self, key: str, letter: str, now: float) -> Reaction:
        if key == "tab" and self.can_comment:
            return self._open("comment", "", now)
        if isinstance(self.question, ChoiceQuestion):
            return _choose(self.question, letter)
        match letter:
            case "y":
                return self._yes(now)
            case "n":
                return Reaction(True, Answer("deny"))
            case "s" if not self.dangerous:
                return Reaction(True, Answer("session"))
            case "p" if self.pattern is not None:
                return self._open("pattern", self.pattern, now)
            case "w" if self.question.risk:
                self.risk_shown = not self.risk_shown
                return TAKEN
            case _:
                return PASSED

    def _yes(self, now: float) -> Reaction:
        if not self.dangerous or self.is_confirming(now):
            return Reaction(True, Answer("once"))
        self._first_y = now
        self._quiet_until = now + CONFIRM_GAP
        return TAKEN

    def _open(self, kind: LineKind, text: str, now: float) -> Reaction:
        self.line, self.line_kind, self._line_opened = LineEdit.holding(text), kind, now
        return TAKEN

    def _edit(self, line: LineEdit, key: str, character: str | None, now: float) -> Reaction:
        if key in ("escape", "tab"):
            self.line = None
            self._quiet_until = now + QUIET_SECONDS
            return TAKEN
        if key == "enter":
            return self._finish_line(line.text.strip(), now)
        if (scroll := _SCROLLS.get(key)) is not None and self.scrollable:
            return Reaction(True, scroll=scroll)
        return TAKEN if line.press(key, character) else PASSED

    def _finish_line(self, text: str, now: float) -> Reaction:
        if now - self._line_opened < QUIET_SECONDS:
            return TAKEN
        if not text:
            self.line = None
            self._quiet_until = now + QUIET_SECONDS
            return TAKEN
        if self.line_kind == "pattern":
            return Reaction(True, Answer("pattern", pattern=text))
        verdict = "deny" if isinstance(self.question, ApprovalQuestion) else "choice"
        return Reaction(True, Answer(verdict, comment=text))


def _choose(question: ChoiceQuestion, digit: str) -> Reaction:
    if digit in set("123456789") and int(digit) <= len(question.options):
        return Reaction(True, Answer("choice", choice=int(digit) - 1))
    return PASSED
