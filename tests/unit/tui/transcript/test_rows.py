"""Wrapping by cells: nothing lost, nothing too wide, wide characters and emoji included."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from reactagent_tui.tui.transcript.rows import shorten, wrap

TEXTS = st.text(alphabet="ab cdé —你好，。！ｱ👩‍💻❤️🇩🇪()x" + " ", max_size=80)


@given(text=TEXTS, width=st.integers(4, 30))
def test_wrapping_loses_nothing_and_fits(text: str, width: int) -> None:
    cuts = wrap(text, width)
    again = "".join(joint + text[start:end] for start, end, joint in cuts)
    assert again == text or again == text.rstrip(" ") or text.startswith(again)
    assert again.replace(" ", "") == text.replace(" ", "")
    for start, end, _ in cuts:
        assert cell_len(text[start:end].rstrip(" ")) <= width


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("hello world foo bar", 8, ["hello", "world", "foo bar"]),
        ("你好，世界。这是一个测试", 7, ["你好，", "世界。", "这是一", "个测试"]),
        ("文字混合english words", 9, ["文字混合", "english", "words"]),
        ("x" * 9, 4, ["xxxx", "xxxx", "x"]),
        ("  indented code here", 10, ["  indented", "code here"]),
        ("", 5, [""]),
    ],
)
def test_lines_break_where_a_reader_expects(text: str, width: int, lines: list[str]) -> None:
    assert [text[start:end] for start, end, _ in wrap(text, width)] == lines


def test_a_huge_line_is_wrapped_only_as_far_as_it_is_shown() -> None:
    assert len(wrap("word " * 2_000_000, 20, 10)) == 10


@given(text=TEXTS, width=st.integers(0, 20), keep_end=st.booleans())
def test_shortened_text_fits(text: str, width: int, keep_end: bool) -> None:
    assert cell_len(shorten(text, width, keep_end=keep_end)) <= width
