"""Output fed in pieces equals output fed whole, and nothing but text and colours comes out."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reactagent_tui.core.tools import output_text
from reactagent_tui.core.tools.output_text import OutputDecoder, TerminalReducer, reduce_terminal_text, strip_sgr

ATOMS = [
    "a", "word", "宽", "\n", "\r", "\r\n", "\b", "\t", "\0", "\a", "\x1b", "\x1b[", "\x1b[31m", "\x1b[0m", "\x1b[K",
    "\x1b[38;5;9m", "\x1b[2K", "\x1b[1K", "\x1b[4D", "\x1b[3C", "\x1b[7G", "\x1b[2J", "\x1b[H", "\x1b]0;title\x07",
    "\x1b]8;;x", "\x1b\\", "\x9b1m", "\x9d", "\x1bP1;2q", "\x1b(B", "\x1b7", "10%", ";", "5", "m", "long" * 12,
]  # fmt: skip
terminal_text = st.lists(st.sampled_from(ATOMS), max_size=60).map("".join)


def pieces_of(text: str, cuts: list[int]) -> list[str]:
    places = sorted({cut % (len(text) + 1) for cut in cuts} | {0, len(text)})
    return [text[a:b] for a, b in pairwise(places)]


@pytest.fixture(autouse=True, scope="module")
def short_lines():
    """The limit of a held line is reached in these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output_text, "LINE_LIMIT", 64)
        yield


@given(terminal_text, st.lists(st.integers(0, 10_000), max_size=12))
@settings(max_examples=400, deadline=None)
def test_pieces_equal_whole(text: str, cuts: list[int]) -> None:
    reducer = TerminalReducer()
    fed = "".join(reducer.feed(piece) for piece in pieces_of(text, cuts)) + reducer.finish()
    assert fed == reduce_terminal_text(text, colors=True)


@given(terminal_text, st.lists(st.integers(0, 10_000), max_size=12))
@settings(max_examples=300, deadline=None)
def test_only_text_and_colours_come_out_and_peeking_changes_nothing(text: str, cuts: list[int]) -> None:
    reducer = TerminalReducer()
    out, seen = "", ""
    for piece in pieces_of(text, cuts):
        out += reducer.feed(piece)
        seen += reducer.peek()
    out += reducer.finish()
    assert out == reduce_terminal_text(text, colors=True)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", strip_sgr(out + seen))


@given(st.binary(max_size=200), st.lists(st.integers(0, 10_000), max_size=8), st.sampled_from(["utf-8", "gbk"]))
@settings(max_examples=300, deadline=None)
def test_decoding_in_pieces_equals_decoding_whole(data: bytes, cuts: list[int], encoding: str) -> None:
    decoder = OutputDecoder(encoding)
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    fed = "".join(decoder.feed(data[a:b]) for a, b in pairwise(places))
    assert fed + decoder.feed(b"", final=True) == data.decode(encoding, "replace")
