"""Server-sent events: fed in pieces equals fed whole, and equals a plain reading of the rules."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.errors import StreamCutError
from reactagent_tui.core.llm import sse
from reactagent_tui.core.llm.sse import SseEvent, SseParser

LINES = st.one_of(
    st.sampled_from([b"", b"", b"data:", b"data: ", b"data", b":", b": ping", b"event: error", b"event:x", b"id: 7"]),
    st.sampled_from([b"retry: 3", b"error: {}", b"\xef\xbb\xbfdata: bom", b"data: \xe4\xbd\xa0", b"nonsense"]),
    st.text(st.characters(exclude_characters="\r\n"), max_size=12).map(
        lambda text: b"data: " + text.encode("utf-8", "replace")
    ),
)
STREAMS = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"])), max_size=14).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


def parse(pieces: list[bytes]) -> tuple[list[SseEvent], int]:
    parser = SseParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    return events + parser.close(), parser.comments


def by_the_book(data: bytes) -> list[SseEvent]:
    """The rules read slowly: line by line, nothing incremental."""
    text = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n") + b"\n\n"
    events: list[SseEvent] = []
    name, lines = "", list[bytes]()
    for line in text.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            said = b"\n".join(lines).decode("utf-8", "replace")
            if said.strip():
                events.append(SseEvent(name, said))
            name, lines = "", []
        elif field == b"data" and b":" in line:
            lines.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
        elif field == b"error":
            events.append(SseEvent("error", value.decode("utf-8", "replace")))
    return events


@given(STREAMS, st.lists(st.integers(0, 200), max_size=6))
def test_pieces_equal_whole(data: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:end] for start, end in pairwise(places)]
    assert parse(pieces) == parse([data])
    assert parse([data[at : at + 1] for at in range(len(data))]) == parse([data])


@given(STREAMS)
def test_equals_the_rules(data: bytes) -> None:
    assert parse([data])[0] == by_the_book(data)


@given(st.binary(max_size=200))
def test_any_bytes_are_survived(data: bytes) -> None:
    assert parse([data[at : at + 3] for at in range(0, len(data), 3)]) == parse([data])


def test_comments_are_counted() -> None:
    parser = SseParser()
    assert parser.feed(b": a\n\n:\n\n") == []
    assert parser.comments == 2


def test_an_event_is_out_as_soon_as_its_line_ends_in_cr() -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\r\r") == [SseEvent("", "a")]
    assert parser.feed(b"\ndata: b\n\n") == [SseEvent("", "b")]


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_LINE", 100)
    parser = SseParser()
    parser.feed(b"data: " + b"x" * 90)
    with pytest.raises(StreamCutError):
        parser.feed(b"x" * 10)


def test_the_limit_is_no_lower_than_ten_megabytes() -> None:
    assert sse.MAX_LINE >= 10_000_000
