"""Folded pastes: when, how they look, and that they move, go and unfold as one."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from reactagent_tui.tui.folds import fold, should_fold, spans
from tests.fakes.prompt_harness import paste, press, prompt_app, rows, t, the

LINES = "line\n" * 1204


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("short", False),
        ("a\n" * 10, False),
        ("a\n" * 11, True),
        ("x" * 2048, False),
        ("x" * 2049, True),
        ("red \x1b[31m", True),
        ("\x9d0;title\x07", True),
        ("bidi \u202e", True),
        ("tab\tand 你好 👩‍💻", False),
    ],
)
def test_when_a_paste_is_folded(text: str, folded: bool) -> None:
    assert should_fold(text) is folded


def test_labels_are_unique_per_text() -> None:
    pastes: dict[str, str] = {}
    first, second = fold("a\n" * 20, pastes, t), fold("b\n" * 20, pastes, t)
    assert (first, second) == ("[pasted 20 lines]", "[pasted 20 lines #2]")
    assert fold("a\n" * 20, pastes, t) == first
    assert fold("x" * 3000, pastes, t) == "[pasted 3,000 characters]"
    assert [(s.start, s.end) for s in spans(f"{first} {first}", pastes)] == [(0, 17), (18, 35)]


async def folded(pilot: Pilot[None]) -> None:
    await press(pilot, "a")
    await paste(pilot, LINES)
    await press(pilot, "z")


async def test_a_long_paste_is_shown_as_a_label_and_sent_whole() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        await folded(pilot)
        assert prompt.text == "a[pasted 1,204 lines]z"
        assert any("> a[pasted 1,204 lines]z" in row for row in rows(pilot))
        await press(pilot, "enter")
        assert app.sent() == [f"a{LINES}z"]
        await press(pilot, "up")
        assert prompt.draft.text == f"a{LINES}z"


async def test_the_cursor_and_deletion_treat_a_label_as_one() -> None:
    async with prompt_app() as pilot:
        _, prompt = the(pilot)
        await folded(pilot)
        await press(pilot, "left", "left")
        assert prompt.cursor_location == (0, 1)
        await press(pilot, "right")
        assert prompt.cursor_location == (0, 21)
        await press(pilot, "backspace")
        assert prompt.text == "az"
        await press(pilot, "ctrl+underscore")
        assert prompt.draft.text == f"a{LINES}z"
        prompt.move_cursor((0, 1))
        await press(pilot, "delete")
        assert prompt.text == "az"


async def test_deleting_a_word_or_line_never_leaves_half_a_label() -> None:
    async with prompt_app() as pilot:
        _, prompt = the(pilot)
        await folded(pilot)
        await press(pilot, "left", "ctrl+w")
        assert prompt.text == "az"
        await press(pilot, "ctrl+y")
        assert prompt.draft.text == f"a{LINES}z"


async def test_no_cursor_inside_a_label() -> None:
    async with prompt_app() as pilot:
        _, prompt = the(pilot)
        await folded(pilot)
        prompt.move_cursor((0, 4))
        assert prompt.cursor_location == (0, 1)
        prompt.move_cursor((0, 18))
        assert prompt.cursor_location == (0, 21)


async def test_unfolding_by_key_and_by_click() -> None:
    async with prompt_app() as pilot:
        _, prompt = the(pilot)
        await paste(pilot, "b\n" * 12)
        await press(pilot, "alt+e")
        assert prompt.text == "b\n" * 12
        prompt.restore("")
        await paste(pilot, "c\x1b[31m\n" * 12)
        await pilot.click(prompt, offset=(8, 1))
        await pilot.pause()
        assert prompt.text.replace("�", "").count("c") == 12
        assert "\x1b" not in prompt.text


async def test_a_paste_too_long_to_edit_stays_folded() -> None:
    async with prompt_app() as pilot:
        _, prompt = the(pilot)
        await paste(pilot, "x" * 100_001)
        await press(pilot, "alt+e")
        assert prompt.text == "[pasted 100,001 characters]"


async def test_a_paste_over_the_limit_is_refused_and_said() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        await paste(pilot, "x" * (10 * 1024 * 1024 + 1))
        assert prompt.text == ""
        assert [n.message for n in app._notifications] == [t("prompt.paste_too_big", size="10", limit=10)]


async def test_control_characters_of_a_recalled_text_never_reach_the_screen() -> None:
    async with prompt_app() as pilot:
        _, prompt = the(pilot)
        prompt.load_text("x\x1b]0;title\x07\x9b31m\u202ey")
        await pilot.pause()
        screen = "".join(rows(pilot))
        assert not set(screen) & {"\x1b", "\x07", "\x9b", "\u202e"}
        assert "x␛]0;title␇" in screen


async def test_colours_of_commands_files_and_code() -> None:
    async with prompt_app() as pilot:
        _, prompt = the(pilot)
        await press(pilot, *"/help ")
        prompt.insert_text("see @a.py\n```\ncode @b\n```\nafter")
        styled = [[str(span.style) for span in prompt.get_line(row).spans] for row in range(5)]
        assert len(styled[0]) == 2
        assert len(styled[2]) == 1
        assert prompt.get_line(2).spans[0].end == len("code @b")
        assert styled[4] == []
