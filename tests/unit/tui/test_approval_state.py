"""When a key answers: key storms through the opening, quiet time, double yes, lines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.reporter import Answer, ChoiceQuestion, Question
from reactagent_tui.tui.widgets.approval_state import (
    CONFIRM_GAP,
    CONFIRM_SECONDS,
    GRACE_SECONDS,
    HOLD_SECONDS,
    LATE_SECONDS,
    QUIET_SECONDS,
    ApprovalState,
    Reaction,
    gravest,
)
from tests.fakes.panel_gallery import CHOICE, DANGEROUS, EDIT

NAMES = {" ": "space", "\r": "enter", "\t": "tab"}


def press(state: ApprovalState, character: str, now: float) -> Reaction:
    return state.offer(NAMES.get(character, character), character, now)


def tap(state: ApprovalState, character: str, now: float) -> Reaction:
    """One key and then silence: what it did in the end."""
    reaction = press(state, character, now)
    return state.settle(now + HOLD_SECONDS) if state.held is not None else reaction


def type_text(state: ApprovalState, text: str, now: float) -> None:
    for character in text:
        assert press(state, character, now).taken


KEYS = st.sampled_from("yespnw 12any\rYS")
QUICK = st.floats(0.0, HOLD_SECONDS - 0.001)
ANY_GAP = st.one_of(QUICK, st.floats(HOLD_SECONDS, 4.0))


class Typist:
    """Types into a question and keeps what came of every key; the screen ticks whenever it likes."""

    def __init__(self, question: Question, now: float = 0.0) -> None:
        self.state, self.now = ApprovalState(question, 0.0), now
        self.typed = self.draft = ""
        self.held: list[int] = []
        self.used: list[int] = []
        self.answers: list[Answer] = []

    def key(self, character: str, gap: float, tick: float = 1.0) -> None:
        """A key `gap` seconds after the last one; the screen ticks at the share `tick` of the gap."""
        self.note(self.state.settle(self.now + gap * tick))
        self.now += gap
        reaction = press(self.state, character, self.now)
        self.note(reaction, new=reaction.taken)
        if reaction.taken:
            self.held.append(len(self.typed))
        else:
            self.draft += character
        self.typed += character

    def note(self, reaction: Reaction, new: bool = False) -> None:
        self.draft += reaction.typed
        if reaction.answer is not None:
            self.answers.append(reaction.answer)
        if reaction.typed:
            self.held.clear()
        elif self.state.held is None or (new and len(self.state.held.text) == 1):
            self.used += self.held
            self.held.clear()

    def stop(self) -> None:
        self.draft += self.state.rearm(self.now)


@given(st.lists(st.tuples(KEYS, QUICK, st.floats(0, 1)), max_size=60), st.floats(0.0, 3.0))
def test_keys_that_follow_each_other_quickly_never_answer_and_all_reach_the_draft(
    keys: list[tuple[str, float, float]], pause: float
) -> None:
    for question in (EDIT, DANGEROUS, CHOICE):
        typist = Typist(question, pause)
        for key, gap, tick in keys:
            typist.key(key, gap, tick)
        typist.stop()
        assert typist.answers == []
        assert typist.draft == typist.typed
        assert not typist.state.risk_shown
        assert typist.state.line is None


@given(st.lists(st.tuples(KEYS, ANY_GAP, st.floats(0, 1)), max_size=40))
def test_every_key_is_used_after_a_rest_or_in_the_draft_in_order(keys: list[tuple[str, float, float]]) -> None:
    for question in (replace(EDIT, pattern=None), DANGEROUS, CHOICE):
        typist = Typist(question)
        for key, gap, tick in keys:
            typist.key(key, gap, tick)
            if typist.answers:
                break
        typist.stop()
        assert typist.draft == "".join(key for at, key in enumerate(typist.typed) if at not in typist.used)
        for at in typist.used:
            hasty = question is DANGEROUS and typist.typed[at : at + 2] == "yy"
            assert keys[at + 1][1] >= HOLD_SECONDS - 1e-9 or hasty


@pytest.mark.parametrize("text", ["stop", "yes please", "so", "no, use b", "write it", "please", "1 2 3"])
@pytest.mark.parametrize("question", [EDIT, DANGEROUS, CHOICE], ids=["edit", "dangerous", "choice"])
def test_a_word_typed_after_a_rest_goes_whole_into_the_draft(text: str, question: Question) -> None:
    typist = Typist(question, 5.0)
    for character in text:
        typist.key(character, 0.15)
    assert typist.draft == text
    assert typist.answers == []
    assert typist.state.settle(99.0) == Reaction(False)


def test_a_letter_is_held_until_it_is_sure_that_nothing_follows() -> None:
    state = ApprovalState(EDIT, 0.0)
    assert press(state, "y", 1.0) == Reaction(True)
    assert state.held is not None
    assert state.settle(1.29) == Reaction(False)
    assert state.settle(1.31) == Reaction(True, Answer("once"))


def test_a_key_that_comes_late_finds_the_letter_decided() -> None:
    state = ApprovalState(EDIT, 0.0)
    press(state, "n", 1.0)
    assert press(state, "x", 1.4) == Reaction(False, Answer("deny"))
    state = ApprovalState(EDIT, 0.0)
    press(state, "p", 1.0)
    assert press(state, "!", 1.4) == Reaction(True)
    assert state.line is not None
    assert state.line.text == "edit_file(src/**)!"


def test_a_busy_screen_waits_for_keys_it_has_not_seen_yet() -> None:
    state = ApprovalState(EDIT, 0.0)
    press(state, "s", 1.0)
    late = 1.0 + HOLD_SECONDS + LATE_SECONDS + 0.5
    assert state.settle(late) == Reaction(False)
    assert press(state, "t", 1.1) == Reaction(False, typed="s")
    press(state, "s", 5.0)
    assert state.settle(9.0) == Reaction(False)
    assert state.settle(9.0 + GRACE_SECONDS) == Reaction(True, Answer("session"))


def test_escape_and_rearming_take_the_letter_back() -> None:
    state = ApprovalState(EDIT, 0.0)
    press(state, "y", 1.0)
    assert state.offer("escape", None, 1.4) == Reaction(False, typed="y")
    press(state, "y", 5.0)
    assert state.rearm(5.1) == "y"
    assert not press(state, "y", 5.4).taken
    assert state.settle(99.0) == Reaction(False)


def test_typing_on_rearms_until_the_keyboard_rests() -> None:
    state = ApprovalState(EDIT, 0.0)
    assert not press(state, "y", 0.39).taken
    assert not press(state, "y", 0.78).taken
    assert tap(state, "y", 1.19).answer == Answer("once")


@pytest.mark.parametrize("key", [" ", "\r"])
def test_space_and_enter_never_grant(key: str) -> None:
    for question in (EDIT, DANGEROUS, CHOICE):
        assert press(ApprovalState(question, 0.0), key, 5.0) == Reaction(False)


@pytest.mark.parametrize(("key", "answer"), [("y", Answer("once")), ("s", Answer("session")), ("n", Answer("deny"))])
def test_letters_answer_after_the_quiet_time(key: str, answer: Answer) -> None:
    assert tap(ApprovalState(EDIT, 0.0), key, QUIET_SECONDS) == Reaction(True, answer)


def test_keys_with_a_modifier_and_unknown_letters_are_the_drafts() -> None:
    for key, character in (
        ("ctrl+y", "y"),
        ("alt+y", "y"),
        ("up", None),
        ("f1", None),
        ("x", "x"),
        ("Y", "Y"),
        ("escape", None),
    ):
        assert ApprovalState(EDIT, 0.0).offer(key, character, 5.0) == Reaction(False)


def test_an_unknown_letter_rearms() -> None:
    state = ApprovalState(EDIT, 0.0)
    assert not press(state, "h", 5.0).taken
    assert not press(state, "y", 5.1).taken


def test_a_dangerous_call_needs_y_twice_with_a_rest_and_within_three_seconds() -> None:
    state = ApprovalState(DANGEROUS, 0.0)
    assert tap(state, "y", 1.0) == Reaction(True)
    assert state.is_confirming(1.3)
    assert tap(state, "y", 1.0 + CONFIRM_GAP) == Reaction(True, Answer("once"))
    state = ApprovalState(DANGEROUS, 0.0)
    tap(state, "y", 1.0)
    late = 1.0 + CONFIRM_SECONDS + 0.01
    assert tap(state, "y", late) == Reaction(True)
    assert state.is_confirming(late)


def test_a_hasty_second_y_is_no_answer_and_no_text_but_the_start_of_a_word_is() -> None:
    state = ApprovalState(DANGEROUS, 0.0)
    tap(state, "y", 1.0)
    assert tap(state, "y", 1.5) == Reaction(True)
    assert state.is_confirming(1.9)
    state = ApprovalState(DANGEROUS, 0.0)
    tap(state, "y", 1.0)
    assert press(state, "y", 1.5).taken
    assert press(state, "e", 1.6) == Reaction(False, typed="y")
    assert not state.is_confirming(1.6)


@pytest.mark.parametrize("delay", [0.2, 0.31, 0.5, 0.66])
def test_a_y_that_is_kept_down_never_confirms(delay: float) -> None:
    state, now = ApprovalState(DANGEROUS, 0.0), 1.0
    press(state, "y", now)
    now += delay
    for _ in range(200):
        assert state.settle(now).answer is None
        assert press(state, "y", now).answer is None
        now += 0.03
    assert state.settle(now + HOLD_SECONDS).answer is None


def test_another_key_takes_the_first_yes_back() -> None:
    state = ApprovalState(DANGEROUS, 0.0)
    tap(state, "y", 1.0)
    assert not press(state, "x", 1.8).taken
    assert tap(state, "y", 2.5).answer is None


def test_a_dangerous_call_offers_no_session_and_no_pattern() -> None:
    for key in "sp":
        assert press(ApprovalState(replace(DANGEROUS, pattern="run_shell_command(rm *)"), 0.0), key, 5.0) == Reaction(
            False
        )


def test_a_pattern_is_edited_and_enter_counts_only_after_a_rest() -> None:
    state = ApprovalState(EDIT, 0.0)
    assert tap(state, "p", 1.0) == Reaction(True)
    assert press(state, "\r", 1.4) == Reaction(True)
    type_text(state, "!", 1.5)
    assert press(state, "\r", 1.8).answer == Answer("pattern", pattern="edit_file(src/**)!")


def test_p_without_a_pattern_is_the_drafts() -> None:
    assert press(ApprovalState(replace(EDIT, pattern=None), 0.0), "p", 5.0) == Reaction(False)


def test_tab_opens_a_comment_and_enter_denies_with_it() -> None:
    state = ApprovalState(EDIT, 0.0)
    press(state, "\t", 1.0)
    type_text(state, "use yes 1 utc", 1.0)
    assert press(state, "\r", 2.0).answer == Answer("deny", comment="use yes 1 utc")


def test_an_empty_comment_and_escape_close_only_the_line() -> None:
    state = ApprovalState(EDIT, 0.0)
    for key in ("enter", "escape"):
        assert state.offer("tab", "\t", 5.0).taken
        assert state.line is not None
        assert state.offer(key, None, 6.0) == Reaction(True)
        assert state.line is None
        assert not press(state, "y", 6.1).taken
        state = ApprovalState(EDIT, 0.0)


def test_w_toggles_the_risk_only_when_there_is_one() -> None:
    state = ApprovalState(EDIT, 0.0)
    assert tap(state, "w", 1.0).taken
    assert state.risk_shown
    state.explainable = False
    assert tap(state, "w", 1.5).taken
    assert not state.risk_shown
    assert not press(state, "w", 2.5).taken
    assert not press(ApprovalState(replace(EDIT, risk=()), 0.0), "w", 1.0).taken


def test_digits_choose_among_the_options() -> None:
    assert tap(ApprovalState(CHOICE, 0.0), "2", 1.0).answer == Answer("choice", choice=1)
    for key in ("0", "5", "9", "y", "²"):
        assert press(ApprovalState(CHOICE, 0.0), key, 1.0) == Reaction(False)


def test_own_words_answer_a_question_of_the_model_but_not_one_of_ours() -> None:
    state = ApprovalState(CHOICE, 0.0)
    press(state, "\t", 1.0)
    type_text(state, "ask me later", 1.0)
    assert press(state, "\r", 2.0).answer == Answer("choice", comment="ask me later")
    ours = ChoiceQuestion("budget.reached", ("a", "b"))
    assert press(ApprovalState(ours, 0.0), "\t", 1.0) == Reaction(False)


def test_page_keys_scroll_only_a_long_body() -> None:
    state = ApprovalState(EDIT, 0.0)
    assert not state.offer("pagedown", None, 1.0).taken
    state = ApprovalState(EDIT, 0.0, scrollable=True)
    assert state.offer("pagedown", None, 1.0) == Reaction(True, scroll="page_down")


def test_a_paste_goes_into_the_open_line_only() -> None:
    state = ApprovalState(EDIT, 0.0)
    assert not state.paste("y")
    press(state, "\t", 2.0)
    assert state.paste("a\nb\x1b")
    assert state.line is not None
    assert state.line.text == "a b"


@pytest.mark.parametrize(
    ("reason", "risk", "worst"),
    [
        ("asks.command", ("risk.runs\tmake",), None),
        ("asks.command", ("risk.runs\tmake", "risk.deletes\tdocs"), "risk.deletes\tdocs"),
        ("asks.command", ("risk.writes\ta", "risk.deletes\tdocs"), "risk.deletes\tdocs"),
        ("asks.command", ("risk.writes\ta", "risk.appends\tb"), "risk.writes\ta"),
        ("asks.writes", ("risk.writes\ta",), None),
        ("asks.tool", ("risk.tool\tmcp",), None),
        ("asks.dangerous", (), None),
    ],
)
def test_the_gravest_risk_is_the_one_to_show(reason: str, risk: tuple[str, ...], worst: str | None) -> None:
    assert gravest(replace(EDIT, reason=reason, risk=risk)) == worst


def test_tab_in_the_pattern_line_goes_through_the_scopes() -> None:
    state = ApprovalState(EDIT, 0.0)
    tap(state, "p", 1.0)
    scopes = [state.scope]
    for moment in (2.0, 3.0, 4.0):
        press(state, "\t", moment)
        scopes.append(state.scope)
    assert scopes == ["session", "project", "always", "session"]
    assert state.offer("shift+tab", None, 5.0).taken
    assert press(state, "\r", 5.1) == Reaction(True)  # Enter right behind Tab does not count
    assert press(state, "\r", 6.0).answer == Answer("pattern", pattern="edit_file(src/**)", scope="always")


def test_a_scope_is_chosen_anew_for_every_line() -> None:
    state = ApprovalState(EDIT, 0.0)
    tap(state, "p", 1.0)
    press(state, "\t", 2.0)
    assert state.offer("escape", None, 3.0).taken
    tap(state, "p", 4.0)
    assert press(state, "\r", 5.0).answer == Answer("pattern", pattern="edit_file(src/**)", scope="session")
