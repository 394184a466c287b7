"""edit_file from bytes to bytes: whatever the encoding and the line ends, only the matched piece changes."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reactagent_tui.core.tools.replace import replace
from reactagent_tui.core.tools.textfile import BinaryFileError, decode

ENDS = st.sampled_from(["\n", "\r\n", "\r"])
LATIN = "".join(map(chr, range(0xA0, 0x100)))


def lines_of(alphabet: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Some lines, each with an end of its own kind."""
    bodies = st.text(alphabet, max_size=12).map(lambda body: body.replace("\n", "").replace("\r", ""))
    return st.lists(st.tuples(bodies, ENDS), max_size=6).map(lambda found: "".join(body + end for body, end in found))


ANY = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
HAN = st.sampled_from("的一是不了人我在有他这为之大来以个中上们 abcXYZ0123,.;()=\t")
FORMS: dict[str, tuple[bytes, str, st.SearchStrategy[str]]] = {
    "UTF-8": (b"", "utf-8", lines_of(ANY)),
    "UTF-8 with BOM": (codecs.BOM_UTF8, "utf-8", lines_of(ANY)),
    "UTF-16 LE": (codecs.BOM_UTF16_LE, "utf-16-le", lines_of(ANY)),
    "UTF-16 BE": (codecs.BOM_UTF16_BE, "utf-16-be", lines_of(ANY)),
    "GBK": (b"", "gbk", lines_of(HAN)),
    "Latin-1": (b"", "latin-1", lines_of(st.sampled_from(LATIN + " abcXYZ019()=\t"))),
}


def edited(data: bytes, old: str, new: str) -> bytes:
    """The bytes that edit_file writes."""
    decoded = decode(data)
    return decoded.form.encode(replace(decoded.text, old, new).text)


@pytest.mark.parametrize("form", FORMS)
@settings(deadline=None)
@given(data=st.data())
def test_text_in_its_encoding_survives(form: str, data: st.DataObject) -> None:
    mark, encoding, texts = FORMS[form]
    raw = mark + data.draw(texts).encode(encoding)
    try:
        decoded = decode(raw)
    except BinaryFileError:
        return
    assert decoded.form.encode(decoded.text) == raw


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_survive(raw: bytes) -> None:
    try:
        decoded = decode(raw)
    except BinaryFileError:
        return
    assert decoded.form.encode(decoded.text) == raw


@pytest.mark.parametrize("form", FORMS)
@settings(deadline=None)
@given(data=st.data())
def test_an_edit_changes_no_byte_outside_the_match(form: str, data: st.DataObject) -> None:
    mark, encoding, texts = FORMS[form]
    before, after = data.draw(texts), data.draw(texts)
    end = data.draw(ENDS)
    assume("MARK" not in before + after and not (end == "\r" and after.startswith("\n")))
    head, tail = mark + before.encode(encoding), after.encode(encoding)
    match, new = (f"MARK one{end}MARK two".encode(encoding), f"NEW 1{end}NEW 2{end}NEW 3".encode(encoding))
    try:
        result = edited(head + match + end.encode(encoding) + tail, "MARK one\nMARK two", "NEW 1\nNEW 2\nNEW 3")
    except BinaryFileError:
        return
    assert result == head + new + end.encode(encoding) + tail


@settings(deadline=None)
@given(st.binary(max_size=60), st.binary(max_size=60), st.sampled_from([b"\n", b"\r\n"]))
def test_an_edit_among_random_bytes(head: bytes, tail: bytes, end: bytes) -> None:
    """Whatever the bytes are taken for: those around the match come back as they were."""
    data = head + b"\nMARK here" + end + tail
    wanted = head + b"\nNEW here" + end + tail

    assume(data.count(b"MARK") == 1)
    try:
        found = "MARK" in decode(data).text
    except BinaryFileError:
        return
    # where a mark in front made it UTF-16, or a lead byte took a letter, the word is not there
    assert not found or edited(data, "MARK", "NEW") == wanted
