"""Encodings: bytes to text and back is the identity, and an edit leaves all other bytes alone."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.tools.textfile import BinaryFileError, UnencodableError, decode

CHINESE = "// 这是一个中文注释，用来测试编码\nint main(){return 0;}\n"


@given(st.binary(max_size=300))
def test_any_bytes_survive(data: bytes) -> None:
    try:
        decoded = decode(data)
    except BinaryFileError:
        return
    assert decoded.form.encode(decoded.text) == data


@given(
    st.sampled_from([b"", codecs.BOM_UTF8]),
    st.binary(max_size=80).map(lambda data: data.replace(b"\0", b"")),
    st.binary(max_size=80).map(lambda data: data.replace(b"\0", b"")),
)
def test_an_edit_leaves_the_other_bytes(mark: bytes, head: bytes, tail: bytes) -> None:
    data = mark + head + b"\nreturn 0\n" + tail
    try:
        decoded = decode(data)
    except BinaryFileError:
        return
    if decoded.text.count("\nreturn 0\n") != 1:
        return
    edited = decoded.form.encode(decoded.text.replace("\nreturn 0\n", "\nreturn 1\n"))
    assert edited == mark + head + b"\nreturn 1\n" + tail


@given(st.text(max_size=60), st.sampled_from(["utf-16-le", "utf-16-be", "utf-8"]))
def test_marked_text_survives(text: str, encoding: str) -> None:
    mark = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE, "utf-8": codecs.BOM_UTF8}[encoding]
    text = text.replace("\0", "")
    data = mark + text.encode(encoding)
    try:
        decoded = decode(data)
    except BinaryFileError:
        assert text == "" or not data.startswith(mark)
        return
    assert decoded.form.encode(decoded.text) == data
    assert decoded.text == text
    assert decoded.form.mark == mark


@pytest.mark.parametrize(
    ("data", "encoding", "shown"),
    [
        (b"plain\n", "utf-8", "plain"),
        ("naïve ✓\n".encode(), "utf-8", "✓"),
        (b"\xef\xbb\xbfusing X;\r\n", "utf-8", "using X;"),
        (b"// Copyright \xa9 X\r\nint main(){return 0;}\r\n", "cp1252", "©"),
        (CHINESE.encode("gb18030"), "gb18030", "中文注释"),
        ("测试\n".encode("gbk"), "gb18030", "测试"),
        ("これは日本語のテストです。\nint x;\n".encode("cp932"), "cp932", "日本語"),
        ("Привет, как дела? Это тест.\n".encode("cp1251"), "cp1251", "Привет"),
        ("größe = 1 # Länge über\n".encode("latin-1"), "cp1252", "größe"),
        (CHINESE.encode() + b"\xff\n", "utf-8", "中文注释"),
        (codecs.BOM_UTF16_LE + "hello\r\n".encode("utf-16-le"), "utf-16-le", "hello"),
    ],
)
def test_encodings(data: bytes, encoding: str, shown: str) -> None:
    decoded = decode(data)
    assert decoded.form.encoding == encoding
    assert shown in decoded.text
    assert "\ufeff" not in decoded.text
    assert decoded.form.encode(decoded.text) == data


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "PNG image"),
        (b"\x7fELF\x02\x01\x01\x00", "ELF program"),
        (b"\x00\x00\x00", "binary data"),
        (b"PK\x03\x04\x14\x00", "ZIP archive"),
    ],
)
def test_binary_is_named(data: bytes, kind: str) -> None:
    with pytest.raises(BinaryFileError, match=kind):
        decode(data)


def test_a_character_the_encoding_lacks_is_named() -> None:
    form = decode(b"caf\xe9\n").form
    with pytest.raises(UnencodableError, match=r"U\+2713.*CP1252"):
        form.encode("caf\xe9 \u2713\n")
