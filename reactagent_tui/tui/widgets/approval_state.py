"""When a key answers a question and when it belongs to the draft. Pure: time comes in with each key.

A question opens while the user types. So keys go to the draft until the keyboard was quiet for a moment; then a
letter is held until it is sure that no word follows; Space and Enter never grant; a dangerous call needs its key twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from reactagent_tui.core.reporter import Answer, ApprovalQuestion, ChoiceQuestion, GrantScope, Question
from reactagent_tui.tui.widgets.line_edit import LineEdit

QUIET_SECONDS = 0.4
"""The keyboard must rest this long before a key can answer."""
HOLD_SECONDS = 0.3
"""A letter counts only if no other key follows within this time: with one that follows it was typing."""
LATE_SECONDS = 0.1
"""A held letter noticed later than this says that the screen was busy: keys may wait that it has not seen yet."""
GRACE_SECONDS = 0.05
"""How much longer a letter is held then, for those keys to arrive."""
CONFIRM_GAP = 0.7
"""A second `y` counts only after this rest: longer than a keyboard's delay before it repeats a held key."""
CONFIRM_SECONDS = 3.0
"""A second `y` counts only this long after the first."""
SCOPES: tuple[GrantScope, ...] = ("session", "project", "always")
"""In the order that Tab goes through them."""
_BEGINS_NUMBER = frozenset("0123456789-+.")

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
    """What a key did. Not `taken`: it goes to the draft, after `typed`."""

    taken: bool
    answer: Answer | None = None
    scroll: Scroll | None = None
    typed: str = ""
    """Letters held until now that turned out to be typing."""


@dataclass(frozen=True, slots=True)
class Held:
    """Letters of which it is not known yet whether they are an answer; times in seconds."""

    text: str
    pressed: float
    until: float
    counts: bool = True
    """False: a hasty second `y`. It is dropped if nothing follows."""
    waited: bool = False
    """It got its grace already."""


_ORDINARY = frozenset(("risk.runs", "risk.tool"))
"""Says no more than the question itself."""
_MILD = frozenset(("risk.writes", "risk.appends", "risk.background", "risk.env"))


def gravest(question: ApprovalQuestion) -> str | None:
    """The risk to show with the question: the first that is worse than a write, else the first worth telling."""
    known = _ORDINARY | {"risk.writes"} if question.reason == "asks.writes" else _ORDINARY
    worth = [risk for risk in question.risk if risk.partition("\t")[0] not in known]
    worse = (risk for risk in worth if risk.partition("\t")[0] not in _MILD)
    return next(worse, worth[0] if worth else None)


PASSED = Reaction(False)
TAKEN = Reaction(True)


class ApprovalState:
    """One open question: which keys count now, the line being edited, whether the risk is shown."""

    def __init__(self, question: Question, now: float, *, scrollable: bool = False) -> None:
        self.question = question
        self.scrollable = scrollable
        """The body is longer than its place: page keys scroll it (else they move the transcript)."""
        self.explainable = isinstance(question, ApprovalQuestion) and bool(question.risk)
        """There is more to say about the risk than the question shows: `w` does something."""
        self.risk_shown = False
        self.held: Held | None = None
        self.line: LineEdit | None = None
        self.line_kind: LineKind = "comment"
        self.scope: GrantScope = "session"
        """How long the pattern in the line would hold."""
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
        question = self.question
        return isinstance(question, ApprovalQuestion) or question.text is not None or question.commented

    def is_armed(self, now: float) -> bool:
        """Whether a letter would be taken now."""
        return now >= self._quiet_until

    def is_confirming(self, now: float) -> bool:
        """Whether the first `y` of a dangerous call was pressed and the second would still count."""
        return self._first_y is not None and now - self._first_y <= CONFIRM_SECONDS

    def rearm(self, now: float) -> str:
        """Typing, pasting or a terminal that just got the focus: the keyboard must rest again.

        Returns the letters that were held; they are the draft's.
        """
        self._quiet_until = max(self._quiet_until, now + QUIET_SECONDS)
        held, self.held = self.held, None
        if held is None:
            return ""
        self._first_y = None
        return held.text

    def offer(self, key: str, character: str | None, now: float) -> Reaction:
        """What this key does at this time (seconds on any steady clock)."""
        if self.held is not None:
            return self._after_held(self.held, key, character, now)
        if self.line is not None:
            return self._edit(self.line, key, character, now)
        if not self.is_armed(now):
            return self._while_unquiet(character, now)
        if (scroll := _SCROLLS.get(key)) is not None and self.scrollable:
            return Reaction(True, scroll=scroll)
        if key == "tab" and self.can_comment:
            return self._open("comment", "", now)
        modified = key.startswith(("ctrl+", "alt+", "super+", "meta+", "hyper+"))
        if character in _BEGINS_NUMBER and isinstance(self.question, ChoiceQuestion) and self.question.numeric:
            return self._open("comment", character, now)
        if character is not None and not modified and self.means_something(character):
            self.held = Held(character, now, now + HOLD_SECONDS)
            return TAKEN
        self.rearm(now)
        self._first_y = None
        return PASSED

    def settle(self, now: float) -> Reaction:
        """What the held letter does if it was held long enough; `taken` if it did something."""
        held = self.held
        if held is None or now < held.until:
            return PASSED
        if now - held.until > LATE_SECONDS and not held.waited:
            self.held = replace(held, until=now + GRACE_SECONDS, waited=True)
            return PASSED
        self.held = None
        return self.decide(held.text, held.pressed, now) if held.counts else TAKEN

    def means_something(self, letter: str) -> bool:
        """Whether the letter is one of the question's keys; a capital never is."""
        if isinstance(self.question, ChoiceQuestion):
            return letter in self.question.keys
        match letter:
            case "y" | "n":
                return True
            case "s":
                return not self.dangerous
            case "p":
                return self.pattern is not None
            case "w":
                return self.explainable or self.risk_shown
            case _:
                return False

    def decide(self, letter: str, pressed: float, now: float) -> Reaction:
        """What one of the question's keys does, without any doubt: held long enough, or a click."""
        if isinstance(self.question, ChoiceQuestion):
            return Reaction(True, Answer("choice", choice=self.question.keys.index(letter)))
        match letter:
            case "y":
                return self._yes(pressed)
            case "n":
                return Reaction(True, Answer("deny"))
            case "s":
                return Reaction(True, Answer("session"))
            case "p":
                return self._open("pattern", self.pattern or "", now)
            case _:
                self.risk_shown = not self.risk_shown
                return TAKEN

    def paste(self, text: str) -> bool:
        """Whether pasted text went into the open line; if not, it is the draft's and the keyboard must rest."""
        if self.line is None:
            return False
        self.line.insert(text)
        return True

    def close_line(self) -> None:
        """Back from a comment or pattern to the keys; nothing is decided."""
        self.line = None

    def _after_held(self, held: Held, key: str, character: str | None, now: float) -> Reaction:
        """A key behind a held letter: the two are typing, unless time enough lay between them."""
        if not held.counts and character == "y" and now < held.until:
            self._quiet_until = now + CONFIRM_GAP
            self.held = replace(held, text=held.text + "y", until=now + HOLD_SECONDS)
            return TAKEN
        if now < held.until or key == "escape":
            return Reaction(False, typed=self.rearm(now))
        self.held = None
        first = self.decide(held.text, held.pressed, now) if held.counts else TAKEN
        return Reaction(False, first.answer) if first.answer is not None else self.offer(key, character, now)

    def _while_unquiet(self, character: str | None, now: float) -> Reaction:
        if self.is_confirming(now) and character == "y":
            self._quiet_until = now + CONFIRM_GAP
            self.held = Held("y", now, now + HOLD_SECONDS, counts=False)
            return TAKEN
        self.rearm(now)
        self._first_y = None
        return PASSED

    def _yes(self, pressed: float) -> Reaction:
        if not self.dangerous or self.is_confirming(pressed):
            return Reaction(True, Answer("once"))
        self._first_y = pressed
        self._quiet_until = pressed + CONFIRM_GAP
        return TAKEN

    def _open(self, kind: LineKind, text: str, now: float) -> Reaction:
        self.line, self.line_kind, self._line_opened = LineEdit.holding(text), kind, now
        self.scope = "session"
        return TAKEN

    def _edit(self, line: LineEdit, key: str, character: str | None, now: float) -> Reaction:
        if key in ("tab", "shift+tab") and self.line_kind == "pattern":
            step = 1 if key == "tab" else -1
            self.scope = SCOPES[(SCOPES.index(self.scope) + step) % len(SCOPES)]
            self._line_opened = now  # Enter on the way may not have been meant for this scope
            return TAKEN
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
            return Reaction(True, Answer("pattern", pattern=text, scope=self.scope))
        verdict = "deny" if isinstance(self.question, ApprovalQuestion) else "choice"
        return Reaction(True, Answer(verdict, comment=text))
