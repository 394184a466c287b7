"""Bytes to text: encodings, binary, and what a terminal would show in the end."""

from __future__ import annotations

import random

import pytest

from reactagent_tui.core.tools.output_text import (
    LINE_LIMIT,
    OutputDecoder,
    TerminalReducer,
    looks_binary,
    reduce_terminal_text,
    strip_sgr,
)


def test_gbk_bytes_that_are_valid_utf8_are_read_as_the_console_says() -> None:
    data = "陆".encode("gbk")
    assert data.decode("utf-8") == "½"  # valid, and wrong
    assert OutputDecoder("gbk").feed(data, final=True) == "陆"


def test_a_character_is_never_split() -> None:
    decoder = OutputDecoder()
    assert [decoder.feed(bytes([byte])) for byte in "€".encode()] == ["", "", "€"]
    assert decoder.feed(b"\xe2\x82", final=True) == "\ufffd"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("10%\r50%\r100%\n", "100%\n"),
        ("line\r\nnext\r\n", "line\nnext\n"),
        ("abcdef\rxy\n", "xycdef\n"),
        ("downloading 10%\r\x1b[Kdone\n", "done\n"),
        ("abc\x08\x08X\n", "aXc\n"),
        ("spin |\b/\b-\n", "spin -\n"),
        ("\x1b[31mred\x1b[0m plain\n", "red plain\n"),
        ("\x1b]0;title\x07text\n", "text\n"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
        ("\x9b31mred\x9b0m\n", "red\n"),
        ("\x1b(B\x1b7x\x1b8\n", "x\n"),
        ("\x1b[2J\x1b[Htop\n", "top\n"),
        ("cut \x1b[3", "cut "),
        ("title \x1b]0;never ends\nnext\n", "title \nnext\n"),
        ("a\0b\n", "a␀b\n"),
        ("a\0\0\0b\n", "a␀×3b\n"),
        ("bell\a\n", "bell\n"),
        ("no newline", "no newline"),
        ("\x1b[5Gx\n", "    x\n"),
        ("tab\tstays\u2028 and separators\n", "tab\tstays\u2028 and separators\n"),
    ],
)
def test_reduced_for_the_model(raw: str, shown: str) -> None:
    assert reduce_terminal_text(raw) == shown


def test_the_screen_keeps_colours_and_nothing_else() -> None:
    assert reduce_terminal_text("\x1b[1;31mx\x1b[0m\x1b[2J\n", colors=True) == "\x1b[0;1;31mx\x1b[0m\n"
    assert reduce_terminal_text("\x1b[32mok\x1b[0m\n", colors=True) == "\x1b[32mok\x1b[0m\n"
    overwritten = reduce_terminal_text("\x1b[31mold\x1b[0m\rnew\n", colors=True)
    assert strip_sgr(overwritten) == "new\n"
    assert "\x1b[0;31m" not in overwritten


def test_a_style_that_goes_on_over_lines_is_kept_by_a_line_that_was_rewritten() -> None:
    assert reduce_terminal_text("\x1b[31mred\nab\rxy\nrest\n", colors=True) == "\x1b[31mred\nxy\nrest\n"
    assert reduce_terminal_text("\x1b[31mab\rxy\nplain?\n", colors=True) == "\x1b[0;31mxy\nplain?\n"


def test_a_long_progress_line_becomes_its_last_state() -> None:
    raw = "".join(f"\r{n / 1000:6.1%} of the download" for n in range(20_000)) + "\n"
    assert len(raw) > 10 * LINE_LIMIT
    assert reduce_terminal_text(raw) == "1999.9% of the download\n"


def test_a_line_without_end_is_passed_on_in_bounded_pieces() -> None:
    reducer = TerminalReducer()
    out = [reducer.feed("x" * 10_000) for _ in range(40)]
    assert sum(map(len, out)) > 400_000 - LINE_LIMIT - 10_000
    assert "".join(out) + reducer.finish() == "x" * 400_000


def test_peek_shows_the_unfinished_line_and_consumes_nothing() -> None:
    reducer = TerminalReducer()
    assert reducer.feed("10%\r20%\r\x1b[3") == ""
    assert reducer.peek() == "20%"
    assert reducer.feed("1m30%\n") == "\x1b[0;31m30%\n"
    assert reducer.peek() == ""


@pytest.mark.parametrize(
    ("data", "binary"),
    [
        (b"", False),
        (b"plain\n", False),
        (b"\0\0\0", True),
        (random.Random(1).randbytes(300), True),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\0>\0\x01\0\0\0" * 20, True),
        ("测试\n".encode("gbk"), False),
        (b"head\xff\xfetail\n", False),
        (b"\x1b[31mred\x1b[0m\r10%\r20%\n", False),
        (b"./a/long/file/name.py\0./another/file.py\0", False),
    ],
)
def test_binary(data: bytes, binary: bool) -> None:
    assert looks_binary(data) is binary
