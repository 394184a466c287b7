"""Inline thinking: fed in pieces equals fed whole; nothing is lost; the cases seen in the field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.llm.think_filter import ThinkFilter

TAGS = ["<think>", "</think>", "<thinking>", "</thinking>", "<Thought>", "</THOUGHT>", "<thi", "nk>", "ing>"]
MARKS = ["<", "</", ">", "`", "``", "```", "~~~", "```py\n", "\n```\n", "\n", "\n\n", "\r\n", " "]
SCRAPS = st.sampled_from([*TAGS, *MARKS, "a", "b c", "你", "<b>"])
TEXTS = st.lists(SCRAPS, max_size=16).map("".join)


def split(pieces: list[str]) -> tuple[str, str]:
    """Text and thinking at the end."""
    think = ThinkFilter()
    text, thinking = "", ""
    for part in [*(part for piece in pieces for part in think.feed(piece)), *think.flush()]:
        match part:
            case ("text", more):
                text += more
            case ("thinking", more):
                thinking += more
            case _:
                text, thinking = "", thinking + text
    return text, thinking


def in_steps(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@given(TEXTS, st.integers(1, 5))
def test_pieces_equal_whole(text: str, size: int) -> None:
    assert split(in_steps(text, size)) == split([text])


@given(TEXTS, st.data())
def test_any_two_pieces_equal_whole(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    assert split([text[:at], text[at:]]) == split([text])


@given(st.text(st.characters(exclude_characters="<"), max_size=60), st.integers(1, 7))
def test_text_without_tags_passes_untouched_and_undelayed(text: str, size: int) -> None:
    think = ThinkFilter()
    for piece in in_steps(text, size):
        assert think.feed(piece) == [("text", piece)]
    assert think.flush() == []


@given(TEXTS)
def test_nothing_but_tags_and_newlines_is_lost(text: str) -> None:
    def letters(text: str) -> list[str]:
        return sorted(character for character in text if character in "abc你~`")

    kept = "".join(split([text]))
    assert letters(kept) == letters(text)


CASES = [
    ("Hello <think>plan</think>world", "Hello world", "plan"),
    ("plan without opener</think>answer", "answer", "plan without opener"),
    ("<think>never closed", "", "never closed"),
    ("<think>a<think>b</think>c</think>d", "d", "a<think>bc"),
    ("<think>\n<think>\nplan</think>answer", "answer", "\n<think>\nplan"),
    ("<thinking>x</thinking>y", "y", "x"),
    ("<thought>x</thought>y", "y", "x"),
    ("<think></think>\n\nHi", "Hi", ""),
    ("<THINK>x</THINK>y", "y", "x"),
    ("<think>x</think><think>y</think>z", "z", "xy"),
    ("<think>only</think>", "", "only"),
    ("<think>a</think>b</think>c", "b</think>c", "a"),
    ("a</think>b</think>c", "b</think>c", "a"),
    ("</think>answer", "answer", ""),
    ("if a < b and x<things", "if a < b and x<things", ""),
    ("<thinner>x", "<thinner>x", ""),
    ("tail <thinkin", "tail <thinkin", ""),
    ("use `<think>` and ``</think>``", "use `<think>` and ``</think>``", ""),
    ("```html\n<think>\n</think>\n```\n<think>q</think>ok", "```html\n<think>\n</think>\n```\nok", "q"),
    ("~~~\n</think>\n~~~\nx", "~~~\n</think>\n~~~\nx", ""),
    ("```x``` <think>y</think>z", "```x``` z", "y"),
    ("a stray ` here\n<think>y</think>z", "a stray ` here\nz", "y"),
    ("<think>a ` b</think>c", "c", "a ` b"),
]


@pytest.mark.parametrize(("whole", "text", "thinking"), CASES)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_cases(whole: str, text: str, thinking: str, size: int) -> None:
    assert split(in_steps(whole, size)) == (text, thinking)


def test_only_what_may_become_a_tag_is_held_back() -> None:
    think = ThinkFilter()
    assert think.feed("a <thin") == [("text", "a ")]
    assert think.feed("g") == [("text", "<thing")]
    assert think.feed(" < ") == [("text", " < ")]
    assert think.feed("x</thinking") == [("text", "x")]
    assert think.flush() == [("text", "</thinking")]


def test_an_orphan_closer_reclassifies_what_was_shown() -> None:
    think = ThinkFilter()
    assert think.feed("plan") == [("text", "plan")]
    assert think.feed("</think>\nanswer") == [("reclassify", ""), ("text", "answer")]
