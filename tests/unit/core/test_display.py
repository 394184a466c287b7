"""Display blocks and the sanitiser: what is dropped, what stays, and which colours survive."""

from __future__ import annotations

import pytest

from reactagent_tui.core.display import (
    PLAIN,
    Cleaner,
    CodeBlock,
    CommandBlock,
    DiffBlock,
    DisplayBlock,
    MarkdownBlock,
    OutputBlock,
    Run,
    SgrStyle,
    TableBlock,
    TextBlock,
    block_from_record,
    block_to_record,
    block_to_text,
    clean,
    clean_line,
    sgr_runs,
)

BLOCKS: list[tuple[DisplayBlock, str]] = [
    (TextBlock("a", "warn"), "a"),
    (MarkdownBlock("*a*"), "*a*"),
    (CodeBlock("x", "py", 3), "x"),
    (OutputBlock("\x1b[1mx"), "\x1b[1mx"),
    (DiffBlock("p", ("+a", "-b"), 1, 1), "p\n+a\n-b"),
    (CommandBlock("ls", "/x"), "$ ls"),
    (TableBlock(("a", "b"), (("1", "2"),), "lr"), "a\tb\n1\t2"),
]


@pytest.mark.parametrize(("block", "text"), BLOCKS)
def test_blocks_survive_a_file_and_have_a_text(block: DisplayBlock, text: str) -> None:
    assert block_from_record(block_to_record(block)) == block
    assert block_to_text(block) == text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain\ntext", "plain\ntext"),
        ("a\tb", "a    b"),
        ("a\r\nb\rc", "a\nbc"),
        ("\x1b[31mred\x1b[0m \x1b[2J\x1b[1;1Hx", "red x"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b]52;c;aGk=\x07", "ab"),
        ("\x1bPq#0;2\x1b\\a\x1b_apc\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d", "abcd"),
        ("\x9b31ma\x9d0;t\x9cb\x90q\x9cc\x85d", "abcd"),
        ("\x1b(Ba\x1bMb\x1b7c\x1b=d", "abcd"),
        ("\x1b]never ended\nnext", "]never ended\nnext"),
        ("\x1b", ""),
        ("a\x00\x08\x7fb\x0b\x0c", "ab"),
        ("rm \u202exyz\u2066 \u200bx\u2060\ufeff\u00ad\u061c", "rm xyz x"),
        ("👩\u200d💻 ❤\ufe0f 1\ufe0f⃣", "👩\u200d💻 ❤\ufe0f 1\ufe0f⃣"),
        ("a\u200db \ufe0fx क\u200dष", "ab x कष"),
        ("x\u2028y", "x\ny"),
        ("x\ud800y", "x\ufffdy"),
        ("flag \U000e0067\U000e0062", "flag "),
    ],
)
def test_clean_leaves_what_can_be_seen(raw: str, shown: str) -> None:
    assert clean(raw) == shown


def test_a_line_has_no_line_ends() -> None:
    assert clean_line("a\n\nb\u2028c\r\nd") == "a b c d"


def test_a_sequence_may_be_cut_anywhere() -> None:
    raw = "a\x1b[38;5;12mb\x1b]0;t\x1b\\c👩\u200d💻"
    for cut in range(len(raw)):
        cleaner = Cleaner()
        assert cleaner.feed(raw[:cut]) + cleaner.feed(raw[cut:]) + cleaner.close() == clean(raw)


def test_a_sequence_that_never_ends_does_not_swallow_the_rest() -> None:
    cleaner = Cleaner()
    shown = cleaner.feed("\x1b]0;" + "x" * 5000) + cleaner.close()
    assert shown == "]0;" + "x" * 5000


@pytest.mark.parametrize(
    ("codes", "style"),
    [
        ("1;31", SgrStyle(foreground=1, bold=True)),
        ("91", SgrStyle(foreground=9)),
        ("44", SgrStyle(background=4)),
        ("103", SgrStyle(background=11)),
        ("38;5;200", SgrStyle(foreground=200)),
        ("48;2;1;2;3", SgrStyle(background=(1, 2, 3))),
        ("38:2:9:8:7", SgrStyle(foreground=(9, 8, 7))),
        ("2;3;4;7;9", SgrStyle(dim=True, italic=True, underline=True, reverse=True, strike=True)),
        ("1;2;22", PLAIN),
        ("31;39;41;49", PLAIN),
        ("38;5", PLAIN),
        ("38;5;999", PLAIN),
        ("999", PLAIN),
        ("1;0", PLAIN),
        ("", PLAIN),
    ],
)
def test_colours_of_commands(codes: str, style: SgrStyle) -> None:
    assert sgr_runs(f"\x1b[{codes}mx") == [Run("x", style)]


def test_runs_are_joined_and_reset() -> None:
    red = SgrStyle(foreground=1)
    assert sgr_runs("a\x1b[31mb\x1b[31mc\x1b[md\x1b[2J") == [Run("a", PLAIN), Run("bc", red), Run("d", PLAIN)]
    assert sgr_runs("") == []


def test_a_progress_bar_leaves_its_last_state() -> None:
    assert sgr_runs("10%\r50%\r99%\ndone\r\nnext\r") == [Run("99%\ndone\nnext", PLAIN)]
