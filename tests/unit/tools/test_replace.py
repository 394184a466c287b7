"""The vectors of the edit tool, what models really send, and the hints when nothing matches."""

from __future__ import annotations

import pytest

from reactagent_tui.core.tools.replace import ReplaceError, replace

EDITS = {
    "01 exact line": ("a\nb\nc\n", "b", "X", 1, "a\nX\nc\n"),
    "03 CRLF kept": ("a\r\nb\r\nc\r\n", "a\nb", "Q", 2, "Q\r\nc\r\n"),
    "03b CRLF kept, several lines": ("a\r\nb\r\nc\r\n", "a\nb", "A\nB\nB2", 2, "A\r\nB\r\nB2\r\nc\r\n"),
    "03c one CRLF line becomes two": ("a\r\nb\r\nc\r\n", "b", "x\ny", 1, "a\r\nx\r\ny\r\nc\r\n"),
    "04 outer blanks, same indentation": (
        "def f():\n    return 1\n",
        "\n    return 1  \n",
        "    return 2",
        3,
        "def f():\n    return 2\n",
    ),
    "05 trailing blank of a whole line": ("k: v \n", "k: v\n", "k: w\n", 3, "k: w\n"),
    "06 flat old text": (
        "def f():\n    if a:\n        go()\n",
        "if a:\ngo()",
        "if b:\n    go()",
        4,
        "def f():\n    if b:\n        go()\n",
    ),
    "07 tabs in the file, spaces in old": (
        "\tif a {\n\t\tgo()\n\t}\n",
        "    if a {\n        go()\n    }",
        "if b {\n\tgo()\n}",
        4,
        "\tif b {\n\t\tgo()\n\t}\n",
    ),
    "07b tabs in the file, spaces in both": (
        "\tif a:\n\t\tb()\n",
        "    if a:\n        b()",
        "    if x:\n        c()\n        if y:\n            d()",
        4,
        "\tif x:\n\t\tc()\n\t\tif y:\n\t\t\td()\n",
    ),
    "15 no final newline stays so": ("a\nb", "b", "c", 1, "a\nc"),
    "15b no final newline, by lines": ("a\n  b\n  c", "b\nc", "d\ne", 4, "a\n  d\n  e"),
    "16 mixed endings, only the replaced lines": ("a\r\nb\nc\r\nd\n", "b\nc", "B\nC", 1, "a\r\nB\nC\r\nd\n"),
    "16b a line that stays keeps its ending": ("a\nb\r\nc\n", "a\nb\nc\n", "new\na\nb\nc\n", 2, "new\na\nb\r\nc\n"),
    "classic Mac": ("a\rb\rc\r", "a\nb", "x\ny", 2, "x\ry\rc\r"),
    "literal replacement": ("price = x\n", "x", r"\1 $& \g<0>", 1, "price = \\1 $& \\g<0>\n"),
    "six ASCII characters": ("re.sub(r'\\u00A0', ' ')\n", "r'\\u00A0'", "r'\\s'", 1, "re.sub(r'\\s', ' ')\n"),
    "exact beats the look-alike": ('g = "hi"\ng = “hi”\n', 'g = "hi"', "g = 1", 1, "g = 1\ng = “hi”\n"),
    "U+2028 is no line end": ("a\u2028b\u0085c\n", "b\u0085c", "d", 1, "a\u2028d\n"),
    "whole file": ("a\nb\n", "a\nb\n", "c\n", 1, "c\n"),
    "trailing blanks on an inner line": ("x = 1   \ny = 2\n", "x = 1\ny = 2", "x = 3\ny = 4", 4, "x = 3\ny = 4\n"),
    "empty new text deletes whole lines": ("a\n    b\n    c\nd\n", "b \nc", "", 4, "a\nd\n"),
    "first line unindented by the model": (
        "class A:\n    def f(self):\n        pass\n",
        "      def f(self):\n        pass\n",
        "      def g(self):\n        return 1\n",
        3,
        "class A:\n    def g(self):\n        return 1\n",
    ),
    "deeper by two": ("a:\n    b: 1\nc\n", "  b: 1 \n", "    b: 2 \n", 3, "a:\n      b: 2\nc\n"),
    "a blank line asked for": ("a\nb \nc\n", "b\n", "b\n\n", 3, "a\nb\n\nc\n"),
    "blank lines inside become empty": ("  a\n\n  b\n", "a\n\nb", "c\n  \nd", 4, "  c\n\n  d\n"),
    "never inside a word": ("max = 1\nx \n", "\nx\n", "y\n", 3, "max = 1\ny\n"),
}

ERRORS = {
    "02 two places": ("x=1\nx=1\n", "x=1", "x=2", "many_matches", ["2 places", "lines 1, 2"]),
    "08 empty": ("abc", "", "Z", "blank_old", ["blank"]),
    "09 overlapping": ("aaa", "aa", "b", "many_matches", ["2 places"]),
    "10 two places by lines": ("  x\n  y\n\n  x\n  y\n", "x\ny", "z", "many_matches", ["lines 1, 4"]),
    "11 longer than the file": ("one\ntwo\n", "one\ntwo\nthree\nfour", "x", "no_match", ["not found"]),
    "12 blank old": ("a\n\nb\n", " \n ", "x", "blank_old", ["blank"]),
    "13 nothing to change": ("a\n", "a", "a", "no_change", ["the same"]),
    "13b only line endings": ("a\r\nb\r\n", "a\nb", "a\r\nb", "no_change", ["as it is"]),
    "17 NBSP": ("x\nlist in\u00a0current\n", "list in current", "y", "no_match", ["line 2", "no-break", "U+00A0"]),
    "17 quotes": ("say “hi”\n", 'say "hi"', "y", "no_match", ["line 1", "quotes", "U+201C"]),
    "17 dash": ("a – b\n", "a - b", "y", "no_match", ["line 1", "dash"]),
    "17 full width": ("print（“你好”）\n", 'print("你好")', "y", "no_match", ["full-width", "quotes"]),
    "17 NFD": ("cafe\u0301\n", "café", "y", "no_match", ["NFC"]),
    "case": ("Return Value\n", "return value", "y", "no_match", ["upper and lower case"]),
    "zero width": ("a\u200bb = 1\n", "ab = 1", "y", "no_match", ["invisible"]),
    "line numbers copied": ("def f():\n    pass\n", "    1\tdef f():\n    2\t    pass", "y",
                            "no_match", ["line numbers"]),
    "nearest": ("import os\ndef total(items):\n    return sum(items)\n", "def total(item):\n    return sum(items)", "y",
                "no_match", ["line 2 differs", "def total(items):"]),
    "nothing like it": ("a\nb\n", "completely different text", "y", "no_match", ["No line"]),
    "many": (")\n" * 50, ")", "]", "many_matches", ["50 places", "…"]),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_edit(name: str) -> None:
    text, old, new, level, wanted = EDITS[name]
    replaced = replace(text, old, new)
    assert (replaced.text, replaced.level) == (wanted, level)


@pytest.mark.parametrize("name", ERRORS)
def test_error(name: str) -> None:
    text, old, new, kind, parts = ERRORS[name]
    with pytest.raises(ReplaceError) as caught:
        replace(text, old, new)
    assert caught.value.kind == kind
    for part in parts:
        assert part in caught.value.text


@pytest.mark.parametrize(
    ("text", "old", "new", "wanted", "lines"),
    [
        ("x=1\nx=1\n", "x=1", "x=2", "x=2\nx=2\n", (1, 2)),
        ("aaaa", "aa", "b", "bb", (1, 1)),
        ("a\nb\r\na\r\nb\n", "a\nb", "c", "c\r\nc\n", (1, 3)),
        ("  x\n  y\n\n\tx\n\ty\n", "x\ny", "z", "  z\n\n\tz\n", (1, 4)),
    ],
)
def test_replace_all(text: str, old: str, new: str, wanted: str, lines: tuple[int, ...]) -> None:
    replaced = replace(text, old, new, replace_all=True)
    assert replaced.text == wanted
    assert replaced.lines == lines


def test_an_edit_may_follow_an_edit() -> None:
    first = replace("a\n", "a", "b\nc").text
    assert replace(first, "c", "d").text == "b\nd\n"


def test_a_periodic_text_does_not_explode() -> None:
    with pytest.raises(ReplaceError) as caught:
        replace("a" * 60_000, "a" * 30_000, "b")
    assert caught.value.kind == "many_matches"
