"""What of a streaming reply in the text protocol can be shown at once: thoughts and the answer, never a label. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from reactagent_tui.core.react.text_labels import first_inline_final, inline_final_tail
from reactagent_tui.core.react.text_scanner import Section


@dataclass(frozen=True, slots=True)
class ThoughtPiece:
    text: str


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    text: str


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A piece of a call that is being written; the first one of a call is its name."""

    index: int
    name: str = ""
    text: str = ""


LivePiece: TypeAlias = ThoughtPiece | AnswerPiece | CallPiece


class LiveView:
    """Turns pieces of sections into pieces to show. Blank edges of a section are held back."""

    def __init__(self, *, hold_answers_after_action: bool = False) -> None:
        self._out: list[LivePiece] = []
        self._section: Section | None = None
        self._blank = ""
        """White space that is shown only when more follows."""
        self._started = False
        self._inline = ""
        """Prose from a possible inline `Final Answer:` on; what it is shows at the end of the section."""
        self._is_inline = False
        self._thought_shown = False
        self._answered = False
        self._hold_answers = hold_answers_after_action
        self._call = -1
        self._name = ""

    def add(self, section: Section, text: str) -> None:
        """The next piece of a section."""
        if section is not self._section:
            self._leave()
            self._section = section
            self._enter(section)
        match section.kind:
            case "lead" | "thought":
                if not self._answered:
                    self._thought(text)
            case "final":
                if not (self._hold_answers and self._call >= 0):
                    self._show_answer(text)
            case "action":
                self._name += text
            case "input":
                if self._call >= 0:
                    self._out.append(CallPiece(self._call, text=text))
            case "observation" | "answer" | "question":
                pass

    def finish(self) -> None:
        """The reply is over. What was held as a possible answer is left to the decision."""
        if not self._is_inline:
            self._leave()

    def take(self) -> list[LivePiece]:
        """What can be shown since the last time."""
        out, self._out = self._out, []
        return out

    def _enter(self, section: Section) -> None:
        self._blank = ""
        self._started = False
        if section.kind == "action":
            self._call += 1
            self._name = ""
        if section.kind == "final":
            self._answered = True

    def _leave(self) -> None:
        held, self._inline, self._is_inline = self._inline, "", False
        if held:
            self._show_thought(held)
        if self._name.strip():
            self._out.append(CallPiece(self._call, name=self._name.strip().split("\n")[0].strip("*_`[]\"' ")))
            self._name = ""

    def _thought(self, text: str) -> None:
        text = self._inline + text
        self._inline = ""
        if self._is_inline:
            self._inline = text
            return
        found = first_inline_final(text)
        at = len(text) - inline_final_tail(text) if found is None else found
        self._is_inline = found is not None
        self._show_thought(text[:at])
        self._inline = text[at:]

    def _show_thought(self, text: str) -> None:
        shown = self._trimmed(text, gap="\n" if self._thought_shown else "")
        if shown:
            self._thought_shown = True
            self._out.append(ThoughtPiece(shown))

    def _show_answer(self, text: str) -> None:
        shown = self._trimmed(text, gap="")
        if shown:
            self._out.append(AnswerPiece(shown))

    def _trimmed(self, text: str, *, gap: str) -> str:
        """`text` without blanks at the section's edges, behind `gap` when it is the section's first."""
        text = self._blank + text
        self._blank = ""
        if not self._started:
            text = text.lstrip()
            if not text:
                return ""
            self._started = True
            text = gap + text
        body = text.rstrip()
        self._blank = text[len(body) :]
        return body
