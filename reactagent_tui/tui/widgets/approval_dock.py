"""The question above the prompt. It never takes the focus: the screen offers each key here before the draft gets it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import cast

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.timer import Timer

from reactagent_tui.core.display import DiffBlock, clean_line
from reactagent_tui.core.reporter import Answer, ApprovalQuestion, ChoiceQuestion, Question
from reactagent_tui.locales import Translate
from reactagent_tui.tui.presenter import verb
from reactagent_tui.tui.widgets.approval_state import (
    HOLD_SECONDS,
    ApprovalState,
    Reaction,
    gravest,
)
from reactagent_tui.tui.widgets.block_lines import block_lines, fold, revealed, risk_lines
from reactagent_tui.tui.widgets.line_edit import LineEdit
from reactagent_tui.tui.widgets.line_layout import ELLIPSIS, cut, cut_content, flow, spread
from reactagent_tui.tui.widgets.painted import Painted

MOST_BODY_LINES = 12
_GUTTER = "   "
_OTHER_ROWS = 7
"""Rows of the screen that stay for header, a bit of chat, prompt and status."""
ROOMY = 24
"""From this many rows on there is air above the keys."""
_CLICK_KEY = "dock_key"
_MIN_WAIT = 0.01


class ApprovalDock(Painted):
    """Shows one question at a time; others wait behind it. Hidden while there is none."""

    class Answered(Message):
        """The user decided."""

        def __init__(self, question_id: str, answer: Answer) -> None:
            super().__init__()
            self.question_id = question_id
            self.answer = answer

    class LineToggled(Message):
        """A comment or pattern line was opened or closed: while open, ESC belongs to it."""

        def __init__(self, editing: bool) -> None:
            super().__init__()
            self.editing = editing

    def __init__(self, t: Translate, *, clock: Callable[[], float] = time.monotonic, id: str | None = None) -> None:
        super().__init__(id=id)
        self._t = t
        self._clock = clock
        self._now = clock()
        self._waiting: list[tuple[str, Question]] = []
        self._state: ApprovalState | None = None
        self._body: list[Content] = []
        self._news: list[Content] = []
        """Which parts of the command are new; laid out with the body."""
        self._body_width = 0
        self._top = 0
        self._room = 1
        self._hold: Timer | None = None
        self.give_back: Callable[[str], object] = lambda _letters: None
        """Puts letters into the draft that were held as a possible answer and turned out to be typing."""
        self.display = False

    # Verbs of the screen

    def open(self, question_id: str, question: Question) -> None:
        """Asks; behind the question that is open already, if any."""
        self._waiting.append((question_id, question))
        if len(self._waiting) == 1:
            self._show_first()
        else:
            self._fit()

    def close(self, question_id: str | None = None) -> None:
        """Takes a question away without an answer (None: all of them)."""
        first = self.question_id
        self._waiting = [] if question_id is None else [item for item in self._waiting if item[0] != question_id]
        if first is not None and first != self.question_id:
            self._show_first()
        elif self.is_open:
            self._fit()

    @property
    def is_open(self) -> bool:
        return bool(self._waiting)

    @property
    def question_id(self) -> str | None:
        """The question that is shown."""
        return self._waiting[0][0] if self._waiting else None

    @property
    def is_editing(self) -> bool:
        """A comment or pattern line is open: printable keys, paste and ESC are its."""
        return self._state is not None and self._state.line is not None

    def offer_key(self, key: str, character: str | None, now: float) -> bool:
        """Whether the dock used the key, read at `now`; if not, it is the draft's (ESC without a line: the screen's).

        Letters that were held before it may be given back to the draft first.
        """
        if self._state is None:
            return False
        state, was_editing = self._state, self.is_editing
        reaction = state.offer(key, character, now)
        self._react(reaction, was_editing, now)
        if state is self._state and state.held is not None:
            self._settle_in(HOLD_SECONDS)
        return reaction.taken

    def offer_paste(self, text: str, now: float) -> bool:
        """Whether pasted text went into an open line; if not, it is the draft's."""
        if self._state is None:
            return False
        if self._state.paste(text):
            self.repaint()
            return True
        self.rearm(now)
        return False

    def rearm(self, now: float) -> None:
        """The user was doing something else just now: keys go to the draft until the keyboard rests."""
        if self._state is not None:
            self._return(self._state.rearm(now))
            self._show_time(now)

    def tick(self, now: float) -> None:
        """Shows whether the keys count by now; a letter that was held long enough does."""
        if self._state is None:
            return
        was_editing = self.is_editing
        reaction = self._state.settle(now)
        if reaction.taken:
            self._react(reaction, was_editing, now)
        else:
            self._show_time(now)

    # Showing

    def paint(self, width: int, height: int) -> Sequence[Content]:
        return self._all_lines(width) if self._state is not None else ()

    def on_mount(self) -> None:
        self.watch(self.app, "app_focus", lambda: self.rearm(self._clock()), init=False)

    def on_resize(self) -> None:
        self._fit()

    def on_click(self, event: events.Click) -> None:
        key = event.style.meta.get(_CLICK_KEY)
        now = self._clock()
        if self._state is None or not isinstance(key, str):
            return
        event.stop()
        if not self.is_editing and (self._state.held is not None or not self._state.is_armed(now)):
            self.rearm(now)
        elif key == "escape" and not self.is_editing:
            self._finish(Answer("stop"))
        elif len(key) == 1 and not self.is_editing:
            self._react(self._state.decide(key, now, now), False, now)
        else:
            self.offer_key(key, None, now)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll_body(3)
        event.stop()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll_body(-3)
        event.stop()

    def _show_first(self) -> None:
        if self._state is not None:
            self._return(self._state.rearm(self._now))
        self._state = ApprovalState(self._waiting[0][1], self._clock()) if self._waiting else None
        self._now = self._clock()
        self._body_width = self._top = 0
        self.set_class(self._state is not None and self._state.dangerous, "-dangerous")
        self.display = self._state is not None
        self._fit()

    def _react(self, reaction: Reaction, was_editing: bool, now: float) -> None:
        self._now = now
        self._return(reaction.typed)
        if reaction.answer is not None:
            self._finish(reaction.answer)
        elif reaction.scroll is not None:
            page = max(self._room - 1, 1)
            self._scroll_body({"up": -1, "down": 1, "page_up": -page, "page_down": page}[reaction.scroll])
        elif reaction.taken:
            self._fit()
        else:
            self.repaint()
        if was_editing != self.is_editing:
            self.post_message(self.LineToggled(self.is_editing))

    def _return(self, letters: str) -> None:
        if letters:
            self.give_back(letters)

    def _show_time(self, now: float) -> None:
        self._now = now
        self.repaint()

    def _settle_in(self, seconds: float) -> None:
        """A beat of the screen may be slow or absent, so a held letter brings its own timer."""
        if self._hold is not None:
            self._hold.stop()
        self._hold = self.set_timer(seconds, self._settle)

    def _settle(self) -> None:
        now = self._clock()
        self.tick(now)
        if self._state is not None and self._state.held is not None:
            self._settle_in(max(self._state.held.until - now, _MIN_WAIT))

    def _finish(self, answer: Answer) -> None:
        question_id = self._waiting.pop(0)[0]
        self._show_first()
        self.post_message(self.Answered(question_id, answer))

    def _scroll_body(self, lines: int) -> None:
        self._top = min(max(self._top + lines, 0), max(len(self._body) - self._room, 0))
        self.repaint()

    def _fit(self) -> None:
        """As many rows as the question needs, within what the screen can give."""
        if self._state is None or not self.is_attached:
            return
        width = self.size.width or self.app.size.width
        lines = len(self._all_lines(width))
        if self.styles.height is None or self.styles.height.value != lines:
            self.styles.height = lines
        self.repaint()

    def _all_lines(self, width: int) -> list[Content]:
        state, question = self._state, self._waiting[0][1]
        if state is None:
            return []
        inner = max(width - len(_GUTTER) - 1, 1)
        if self._body_width != inner:
            self._body_width, self._body = inner, _body_lines(question, inner, self._t)
            self._news = _new_lines(question, inner, self._t)
        risk = self._news + self._risk(state, question, inner)
        keys = [Content("")] if self.app.size.height >= ROOMY else []
        keys += self._line_or_keys(state, inner)
        foot = self._place(state, risk, len(keys), inner) + keys
        lines = [self._head(question, inner), *self._body[self._top : self._top + self._room]]
        if state.scrollable:
            last = min(self._top + self._room, len(self._body))
            position = self._t("dock.lines", first=self._top + 1, last=last, total=len(self._body))
            lines.append(Content.styled(cut(position, inner), "$text-muted"))
        lines += foot
        first = Content.assemble(" ", ("○", "$error" if state.dangerous else "$warning"), " ", lines[0])
        return [first, *(Content.assemble(_GUTTER, line) for line in lines[1:])]

    def _place(self, state: ApprovalState, risk: list[Content], keys: int, width: int) -> list[Content]:
        """How many lines of the body show, and from where; returns the lines of the risk that have room beside it."""
        screen = self.app.size.height
        most = len(self._body) if isinstance(state.question, ChoiceQuestion) else max(MOST_BODY_LINES, screen // 3)
        free = screen - _OTHER_ROWS - 1 - keys
        risk = _at_most(risk, max(free - min(len(self._body), most), 1 if free > 2 else 0), width)
        free -= len(risk)
        state.scrollable = len(self._body) > max(min(most, free), 1)
        self._room = max(min(most, free - state.scrollable), 1)
        self._top = min(self._top, max(len(self._body) - self._room, 0))
        return risk

    def _risk(self, state: ApprovalState, question: Question, width: int) -> list[Content]:
        """What the call would do: its gravest part in one line, everything after `w`."""
        if not isinstance(question, ApprovalQuestion):
            return []
        grave = gravest(question)
        others = [risk for risk in question.risk if risk != grave]
        shown = [] if grave is None else risk_lines(grave, width, self._t)
        state.explainable = bool(others) or len(shown) > 1
        if state.risk_shown:
            return shown + [line for risk in others for line in risk_lines(risk, width, self._t)]
        return [cut_content(Content.assemble(shown[0], ELLIPSIS if len(shown) > 1 else ""), width)] if shown else []

    def _head(self, question: Question, width: int) -> Content:
        behind = f"  +{len(self._waiting) - 1}" if len(self._waiting) > 1 else ""
        if isinstance(question, ChoiceQuestion):
            title = self._t(question.title or ("dock.question" if question.text is not None else "dock.decide"))
            return spread(Content.styled(title, "bold"), Content.styled(behind, "$text-muted"), width)
        asks = self._t("dock.asks", reason=self._t(question.reason))
        if question.agent:
            asks = f"{clean_line(question.agent)} {asks}"
        diff = next((block for block in question.blocks if isinstance(block, DiffBlock)), None)
        pieces: list[Content | str | tuple[str, str]] = [(verb(question.tool), "bold"), "  "]
        counts: list[tuple[str, str]] = []
        if diff is not None:
            counts = [("  ", ""), (f"+{diff.added}", "$success"), (" ", ""), (f"−{diff.removed}", "$error")]
        right = Content.assemble((asks, "$error" if question.dangerous else "$text-muted"), (behind, "$text-muted"))
        tail = sum(len(text) for text, _ in counts)
        subject_room = max(width - right.cell_length - len(verb(question.tool)) - tail - 4, 8)
        subject = cut_content(revealed(question.subject.partition("\n")[0]), subject_room)
        return spread(Content.assemble(*pieces, subject, *counts), right, width, gap=2)

    def _line_or_keys(self, state: ApprovalState, width: int) -> list[Content]:
        if state.line is not None:
            is_pattern = state.line_kind == "pattern"
            own = "dock.line_own" if isinstance(state.question, ChoiceQuestion) else "dock.line_comment"
            label = self._t(f"dock.scope_{state.scope}" if is_pattern else own)
            hints = [self._key_hint("enter", "dock.key_allow" if is_pattern else "dock.key_send", True)]
            hints += [self._key_hint("tab", "dock.key_scope", True)] if is_pattern else []
            hints.append(self._key_hint("escape", "dock.key_back", True))
            return [_edit_line(label, state.line, width), *flow(hints, width)]
        armed = state.is_armed(self._now) or state.is_confirming(self._now)
        hints = self._hints(state, armed)
        lines = flow(hints, width)
        rows_left = max(self.app.size.height - 6, 1)
        if len(lines) > rows_left:
            lines = flow([hints[0], self._key_hint("n", "dock.key_no", armed)], width)[:rows_left]
        if state.is_confirming(self._now):
            lines.insert(0, Content.styled(cut(self._t("dock.confirm"), width), "bold $error"))
        return lines

    def _hints(self, state: ApprovalState, armed: bool) -> list[Content]:
        question = state.question
        stop = self._key_hint("escape", "dock.key_stop", True)
        if isinstance(question, ChoiceQuestion):
            span = question.keys if len(question.keys) < 2 else f"{question.keys[0]}-{question.keys[-1]}"
            name = span if state.held is None else state.held.text
            choose = Content.assemble((name, self._key_style(name, armed)), " ", self._t("dock.key_choose"))
            comment = [self._key_hint("tab", "dock.key_own_words", armed)] if state.can_comment else []
            return [*([choose] if question.options else ()), *comment, stop]
        hints = [self._key_hint("y", "dock.key_twice" if state.dangerous else "dock.key_once", armed)]
        if not state.dangerous:
            hints.append(self._key_hint("s", "dock.key_session", armed))
        if state.pattern is not None:
            rule = cut(clean_line(state.pattern), 40)
            hints.append(self._key_hint("p", "dock.key_pattern", armed, pattern=rule))
        hints += [self._key_hint("n", "dock.key_no", armed), self._key_hint("tab", "dock.key_comment", armed)]
        if state.explainable or state.risk_shown:
            hints.append(self._key_hint("w", "dock.key_hide" if state.risk_shown else "dock.key_why", armed))
        return [*hints, stop]

    def _key_hint(self, key: str, text: str, armed: bool, **params: str) -> Content:
        name = {"escape": "esc"}.get(key, key)
        hint = Content.assemble((name, self._key_style(key, armed)), (f" {self._t(text, **params)}", "$text-muted"))
        return hint.stylize(Style.from_meta({_CLICK_KEY: key}))

    def _key_style(self, key: str, armed: bool) -> str:
        """A key that counts stands out; the held one is filled, as if pressed."""
        held = None if self._state is None else self._state.held
        if held is not None and held.counts and held.text == key:
            return "bold reverse $primary"
        return "bold $primary" if armed else "$text-muted"


def _body_lines(question: Question, width: int, t: Translate) -> list[Content]:
    if isinstance(question, ApprovalQuestion):
        return block_lines(question.blocks, width)
    own = question.text is not None
    params = {
        name: ", ".join(map(t, cast("tuple[str, ...]", value))) if isinstance(value, tuple) else value
        for name, value in question.params.items()
    }
    text = question.text if question.text is not None else t(question.key, **params)
    lines = [piece for line in text.split("\n") for piece in Content(clean_line(line)).wrap(width)]
    for number, (key, option) in enumerate(zip(question.keys, question.options, strict=False)):
        words = option if own or number < question.literal else t(option, **params)
        label = Content.assemble((key, "bold $primary"), "  ", clean_line(words))
        lines += fold(label.stylize(Style.from_meta({_CLICK_KEY: key})), width)
    return lines


def _new_lines(question: Question, width: int, t: Translate) -> list[Content]:
    """The parts that nothing allows yet, in one line, when others of the command are allowed."""
    if not isinstance(question, ApprovalQuestion) or not question.new:
        return []
    parts = "  ".join(clean_line(part) for part in question.new)
    return [cut_content(Content.assemble((t("dock.new"), "$text-muted"), "  ", (parts, "bold")), width)]


def _at_most(lines: list[Content], rows: int, width: int) -> list[Content]:
    """The first lines; the last one says how many are missing."""
    missing = len(lines) - rows
    if missing <= 0 or rows <= 0:
        return lines[: max(rows, 0)]
    return [*lines[: rows - 1], spread(lines[rows - 1], Content.styled(f"+{missing}", "$text-muted"), width)]


def _edit_line(label: str, line: LineEdit, width: int) -> Content:
    """`label text▏` with the caret's cell reversed; of a long text the part around the caret shows."""
    room = max(width - cell_len(label) - 3, 4)
    before = clean_line(line.text[: line.caret])
    while cell_len(before) > room:
        before = before[1:]
    at = clean_line(line.text[line.caret : line.caret + 1]) or " "
    edited = Content.assemble(before, (at, "reverse"), clean_line(line.text[line.caret + 1 :]))
    return cut_content(Content.assemble((label, "bold"), "  ", edited), width)
