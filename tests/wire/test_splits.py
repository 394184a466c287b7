"""Every recorded answer of every format gives the same outcome however the network cuts it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from tests.wire.replaying import FORMATS, LARGE, bytes_of, format_of, is_document, recorded
from tests.wire.splitting import assert_the_same_in_every_way, in_two

OWN_LINE_ENDS = {"chat/crlf_bom", "chat/lone_cr", "anthropic/emoji_crlf_bom", "gemini/crlf_bom"}
STREAMS = [fixture for fixture in recorded() if not is_document(bytes_of(fixture))]
DOCUMENTS = [fixture for fixture in recorded() if is_document(bytes_of(fixture))]


@pytest.mark.parametrize("fixture", STREAMS)
def test_a_stream(fixture: str, record_property: Callable[[str, object], None]) -> None:
    play = format_of(fixture).replay
    ways = assert_the_same_in_every_way(bytes_of(fixture), lambda pieces: play(pieces).key)
    record_property("splits", ways)


@pytest.mark.parametrize("fixture", DOCUMENTS)
def test_a_document(fixture: str, record_property: Callable[[str, object], None]) -> None:
    play = format_of(fixture).replay_body
    ways = assert_the_same_in_every_way(bytes_of(fixture), lambda pieces: play(pieces).key)
    record_property("splits", ways)


@pytest.mark.parametrize("fixture", LARGE)
def test_a_large_line(fixture: str, record_property: Callable[[str, object], None]) -> None:
    play = format_of(fixture).replay
    ways = assert_the_same_in_every_way(bytes_of(fixture), lambda pieces: play(pieces).key, sampled=True)
    record_property("splits", ways)


@pytest.mark.parametrize("eol", [b"\r\n", b"\r"], ids=["crlf", "cr"])
@pytest.mark.parametrize("fixture", [each for each in STREAMS if each not in OWN_LINE_ENDS])
def test_other_line_ends(fixture: str, eol: bytes) -> None:
    data, replay = bytes_of(fixture), format_of(fixture).replay
    assert replay([data.replace(b"\n", eol)]).key == replay([data]).key


def test_through_the_exchange_it_is_the_same() -> None:
    """The exchange finds out what a body is by its first visible byte: one stream of each format, at every byte."""
    for fixture in ("chat/parallel_by_index", "anthropic/no_argument_call", "gemini/call_signed", "responses/refusal"):
        data, kind = bytes_of(fixture), format_of(fixture)
        whole = kind.replay([data]).key
        assert all(kind.replay_body(pieces).key == whole for _, pieces in in_two(data))


def test_the_kit_notices_a_parser_that_depends_on_the_pieces() -> None:
    def careless(pieces: Iterable[bytes]) -> object:
        return [piece.decode("utf-8", "replace") for piece in pieces if piece.strip()]

    with pytest.raises(AssertionError, match="cut at 1"):
        assert_the_same_in_every_way("修".encode(), careless)


def test_every_format_has_streams_and_documents() -> None:
    for name in FORMATS:
        assert [fixture for fixture in STREAMS if fixture.startswith(f"{name}/")]
        assert [fixture for fixture in DOCUMENTS if fixture.startswith(f"{name}/")]
