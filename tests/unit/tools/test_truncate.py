"""Truncation: borders, totals, sizes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.tools.truncate import byte_size, cut_to_bytes, line_count, truncate


def test_short_text_stays() -> None:
    cut = truncate("a\nb\n")
    assert (cut.text, cut.was_cut, cut.total_bytes, cut.total_lines) == ("a\nb\n", False, 4, 2)


def test_head_and_tail_with_totals_and_path() -> None:
    text = "".join(f"line {n}\n" for n in range(10_000))
    cut = truncate(text, full_path="/logs/full.txt")
    assert cut.was_cut
    assert cut.text.startswith("line 0\nline 1\n")
    assert cut.text.endswith("line 9998\nline 9999\n")
    assert "10,000 lines" in cut.text
    assert f"{len(text):,} bytes" in cut.text
    assert "/logs/full.txt" in cut.text
    shown = [line for line in cut.text.split("\n") if line.startswith("line ")]
    assert f"[… {10_000 - len(shown):,} lines" in cut.text
    assert 7000 < len(cut.text.encode()) <= 8000


def test_one_endless_line_keeps_both_ends() -> None:
    cut = truncate("<" + "a" * 3_000_000 + ">")
    assert cut.text.startswith("<aaa")
    assert "a>" in cut.text
    assert "characters of this line left out" in cut.text
    assert len(cut.text) < 8000


def test_line_count_limit() -> None:
    cut = truncate("x\n" * 3000, max_bytes=100_000, max_lines=100)
    assert cut.text.count("x\n") == 100
    assert "2,900 lines" in cut.text


@pytest.mark.parametrize("limit", [4, 5])
def test_characters_are_never_split(limit: int) -> None:
    text = "é你b"
    assert cut_to_bytes(text, limit) == {4: "é", 5: "é你"}[limit]
    assert cut_to_bytes(text, limit, keep_end=True) == {4: "你b", 5: "你b"}[limit]


@given(st.text(alphabet="aé你😀\n\r", max_size=3000), st.integers(400, 2000), st.integers(2, 40))
def test_the_limits_hold(text: str, max_bytes: int, max_lines: int) -> None:
    cut = truncate(text, max_bytes=max_bytes, max_lines=max_lines, max_line=200)
    assert cut.total_bytes == len(text.encode())
    assert cut.total_lines == line_count(text)
    assert byte_size(cut.text) <= max_bytes
    assert line_count(cut.text) <= max_lines + 2
    if not cut.was_cut:
        assert cut.text == text
