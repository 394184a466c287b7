from __future__ import annotations

import pytest

from reactagent_tui.tui.ladder import CtrlC, Esc, Ladder, Situation


@pytest.mark.parametrize(
    ("found", "level"),
    [
        (Situation(popup=True, search=True, dock="open", running=True), Esc.CLOSE_POPUP),
        (Situation(dock="editing", running=True), Esc.CLOSE_LINE),
        (Situation(search=True, dock="open", running=True), Esc.CLOSE_SEARCH),
        (Situation(dock="open", running=True), Esc.DENY_AND_STOP),
        (Situation(call_focused=True, running=True, transcript_focused=True), Esc.STOP_CALL),
        (Situation(agent_focused=True, running=True, transcript_focused=True), Esc.STOP_AGENT),
        (Situation(agent_focused=True, transcript_focused=True), Esc.LEAVE_TRANSCRIPT),
        (Situation(running=True, has_text=True), Esc.STOP_RUN),
        (Situation(transcript_focused=True), Esc.LEAVE_TRANSCRIPT),
        (Situation(has_text=True), Esc.ARM_CLEAR),
        (Situation(), Esc.ARM_REWIND),
    ],
)
def test_one_press_one_level(found: Situation, level: Esc) -> None:
    assert Ladder().esc(found, 10.0) is level


def test_double_press_clears_the_draft_or_rewinds() -> None:
    ladder = Ladder()
    assert ladder.esc(Situation(has_text=True), 10.0) is Esc.ARM_CLEAR
    assert ladder.esc(Situation(has_text=True), 10.5) is Esc.CLEAR_DRAFT
    assert ladder.esc(Situation(), 11.0) is Esc.ARM_REWIND
    assert ladder.esc(Situation(), 11.5) is Esc.REWIND


def test_slow_presses_are_two_first_ones() -> None:
    ladder = Ladder()
    assert ladder.esc(Situation(), 10.0) is Esc.ARM_REWIND
    assert ladder.esc(Situation(), 13.0) is Esc.ARM_REWIND


def test_a_stop_is_never_the_first_press_of_a_double() -> None:
    ladder = Ladder()
    assert ladder.esc(Situation(running=True), 10.0) is Esc.STOP_RUN
    assert ladder.esc(Situation(has_text=True), 10.4) is Esc.NOTHING
    assert ladder.esc(Situation(has_text=True), 11.2) is Esc.ARM_CLEAR


def test_a_stop_by_the_input_thread_counts_as_well() -> None:
    ladder = Ladder()
    ladder.stopped(10.0)
    assert ladder.esc(Situation(), 10.9) is Esc.NOTHING


def test_closing_something_between_two_presses_breaks_the_double() -> None:
    ladder = Ladder()
    ladder.esc(Situation(has_text=True), 10.0)
    ladder.esc(Situation(popup=True, has_text=True), 10.2)
    assert ladder.esc(Situation(has_text=True), 10.4) is Esc.ARM_CLEAR


def test_esc_never_quits() -> None:
    ladder = Ladder()
    seen = {ladder.esc(Situation(), n / 10) for n in range(200)}
    assert seen <= {Esc.ARM_REWIND, Esc.REWIND, Esc.NOTHING}


def test_ctrl_c_ladder() -> None:
    ladder = Ladder()
    assert ladder.ctrl_c(Situation(has_selection=True, has_text=True, running=True), 1.0) is CtrlC.COPY
    assert ladder.ctrl_c(Situation(has_text=True, running=True), 1.1) is CtrlC.CLEAR_DRAFT
    assert ladder.ctrl_c(Situation(running=True), 1.2) is CtrlC.STOP_RUN
    assert ladder.ctrl_c(Situation(), 1.3) is CtrlC.ARM_QUIT
    assert ladder.ctrl_c(Situation(), 1.9) is CtrlC.QUIT


def test_ctrl_c_quits_only_on_a_quick_second_press() -> None:
    ladder = Ladder()
    assert ladder.ctrl_c(Situation(), 1.0) is CtrlC.ARM_QUIT
    assert ladder.ctrl_c(Situation(), 9.0) is CtrlC.ARM_QUIT
