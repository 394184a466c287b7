"""When a key answers: key storms through the opening, quiet time, double yes, lines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.reporter import Answer, ChoiceQuestion
from reactagent_tui.tui.widgets.approval_state import (
    CONFIRM_GAP,
    CONFIRM_SECONDS,
    QUIET_SECONDS,
    ApprovalState,
    Reaction,
)
from tests.fakes.panel_gallery import CHOICE, DANGEROUS, EDIT

NAMES = {" ": "space", "\r": "enter", "\t": "tab"}


def press(state: ApprovalState, character: str, now: float) -> Reaction:
    return state.offer(NAMES.get(character, character), character, now)


def type_text(state: ApprovalState, text: str, now: float) -> None:
    for character in text:
        assert press(state, character, now).taken


@given(st.lists(st.sampled_from("yes 12any\r\tp"), max_size=60), st.floats(0.0, QUIET_SECONDS - 0.001))
def test_keys_that_follow_each_other_quickly_never_answer(keys: list[str], gap: float) -> None:
    for question in (EDIT, DANGEROUS, CHOICE):
        state, now = ApprovalState(question, 0.0), 0.0
        for key in keys:
            now += gap
            assert press(state, key, now) == Reaction(False)


def test_typing_on_rearms_until_the_keyboard_rests() -> None:
    state = ApprovalState(EDIT, 0.0)
    assert not press(state, "y", 0.39).taken
    assert not press(state, "y", 0.78).taken
    assert press(state, "y", 1.19).answer == Answer("once")


@pytest.mark.parametrize("key", [" ", "\r"])
def test_space_and_enter_never_grant(key: str) -> None:
    for question in (EDIT, DANGEROUS, CHOICE):
        assert press(ApprovalState(question, 0.0), key, 5.0) == Reaction(False)


@pytest.mark.parametrize(
    ("key", "answer"), [("y", Answer("once")), ("Y", Answer("once")), ("s", Answer("session")), ("n", Answer("deny"))]
)
def test_letters_answer_after_the_quiet_time(key: str, answer: Answer) -> None:
    assert press(ApprovalState(EDIT, 0.0), key, QUIET_SECONDS) == Reaction(True, answer)


def test_keys_with_a_modifier_and_unknown_letters_are_the_drafts() -> None:
    for key, character in (("ctrl+y", "y"), ("alt+y", "y"), ("up", None), ("f1", None), ("x", "x"), ("escape", None)):
        assert ApprovalState(EDIT, 0.0).offer(key, character, 5.0) == Reaction(False)


def test_an_unknown_letter_rearms() -> None:
    state = ApprovalState(EDIT, 0.0)
    assert not press(state, "h", 5.0).taken
    assert not press(state, "y", 5.1).taken


def test_a_dangerous_call_needs_y_twice_with_a_rest_and_within_three_seconds() -> None:
    state = ApprovalState(DANGEROUS, 0.0)
    assert press(state, "y", 1.0) == Reaction(True)
    assert press(state, "y", 1.0 + CONFIRM_GAP) == Reaction(True, Answer("once"))
    state = ApprovalState(DANGEROUS, 0.0)
    press(state, "y", 1.0)
    late = 1.0 + CONFIRM_SECONDS + 0.01
    assert press(state, "y", late) == Reaction(True)
    assert state.is_confirming(late)


def test_a_held_y_never_confirms() -> None:
    state, now = ApprovalState(DANGEROUS, 0.0), 1.0
    press(state, "y", now)
    now += 0.66
    for _ in range(200):
        assert press(state, "y", now).answer is None
        now += 0.03


def test_another_key_takes_the_first_yes_back() -> None:
    state = ApprovalState(DANGEROUS, 0.0)
    press(state, "y", 1.0)
    assert not press(state, "x", 1.8).taken
    assert press(state, "y", 2.5).answer is None


def test_a_dangerous_call_offers_no_session_and_no_pattern() -> None:
    for key in "sp":
        assert press(ApprovalState(replace(DANGEROUS, pattern="run_shell_command(rm *)"), 0.0), key, 5.0) == Reaction(
            False
        )


def test_a_pattern_is_edited_and_enter_counts_only_after_a_rest() -> None:
    state = ApprovalState(EDIT, 0.0)
    assert press(state, "p", 1.0) == Reaction(True)
    assert press(state, "\r", 1.1) == Reaction(True)
    type_text(state, "!", 1.2)
    assert press(state, "\r", 1.5).answer == Answer("pattern", pattern="edit_file(src/**)!")


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
    assert press(state, "w", 1.0).taken
    assert state.risk_shown
    assert press(state, "w", 1.1).taken
    assert not state.risk_shown
    assert not press(ApprovalState(replace(EDIT, risk=()), 0.0), "w", 1.0).taken


def test_digits_choose_among_the_options() -> None:
    assert press(ApprovalState(CHOICE, 0.0), "2", 1.0).answer == Answer("choice", choice=1)
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


def test_a_paste_rearms_or_goes_into_the_open_line() -> None:
    state = ApprovalState(EDIT, 0.0)
    assert not state.paste("y", 1.0)
    assert not press(state, "y", 1.3).taken
    press(state, "\t", 2.0)
    assert state.paste("a\nb\x1b", 2.0)
    assert state.line is not None
    assert state.line.text == "a b"
