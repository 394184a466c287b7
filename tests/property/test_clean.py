"""Sanitising: in pieces as at once, idempotent, and nothing dangerous left."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.display import Cleaner, clean, clean_line, sgr_runs

PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *("\x1b", "[", "]", "31m", "\x1b[31m", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1bP", "\x1b\\"),
                *("\x9b", "\x9d", "\x9c", "\x07", "0;t", "(B", "\u202e", "\u2066", "\u200b", "\u200d", "\ufe0f", "👩"),
                *("💻", "❤", "1", "\r", "\n", "\t", "\r\n", "text", "[/bold]", "\ud800", "\U000e0041", "\u2028", ";"),
            ]
        ),
        st.text(max_size=5),
    ),
    max_size=12,
)
DANGEROUS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)


@given(pieces=PIECES)
def test_pieces_equal_the_whole(pieces: list[str]) -> None:
    cleaner = Cleaner()
    shown = "".join(cleaner.feed(piece) for piece in pieces) + cleaner.close()
    assert shown == clean("".join(pieces))


@given(pieces=PIECES)
def test_nothing_dangerous_is_left(pieces: list[str]) -> None:
    text = "".join(pieces)
    for shown in (clean(text), "".join(run.text for run in sgr_runs(text))):
        assert DANGEROUS.search(shown) is None
    assert "\n" not in clean_line(text)


@given(text=st.text(alphabet=st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_plain_text_is_untouched(text: str) -> None:
    assert clean(text) == text


@given(pieces=PIECES)
def test_colours_change_no_text(pieces: list[str]) -> None:
    text = "".join(pieces).replace("\r", "")
    assert "".join(run.text for run in sgr_runs(text)) == "".join(
        clean(part) for part in re.split(r"(?:\x1b\[|\x9b)[0-9;:]{0,256}m", text)
    )
