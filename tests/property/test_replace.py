"""Replacement: what is not replaced is not touched, whatever the line endings."""

from __future__ import annotations

import difflib

from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.tools.lines import split_lines
from reactagent_tui.core.tools.replace import Replaced, ReplaceError, replace

ALPHABET = st.text(alphabet="ab \t\n\r\u2028é（", max_size=40)


def outcome(text: str, old: str, new: str) -> Replaced | ReplaceError:
    try:
        return replace(text, old, new)
    except ReplaceError as error:
        return error


@given(ALPHABET, ALPHABET.filter(str.strip), ALPHABET)
def test_any_input_gives_a_result_or_a_complaint(text: str, old: str, new: str) -> None:
    result = outcome(text, old, new)
    if isinstance(result, ReplaceError):
        assert result.kind in {"no_match", "many_matches", "no_change"}
        assert result.text
    else:
        assert result.text != text
        assert result.level in {1, 2, 3, 4}
        assert len(result.lines) == 1


@given(
    st.lists(st.tuples(st.text("abc xyz\u2028", max_size=6), st.sampled_from(["\n", "\r\n", "\r"])), max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.lists(st.tuples(st.text("abc xyz\u0085", max_size=6), st.sampled_from(["\n", "\r\n", "\r"])), max_size=8),
)
def test_lines_around_the_place_keep_every_character(
    before: list[tuple[str, str]], ending: str, after: list[tuple[str, str]]
) -> None:
    head = "".join(body + end for body, end in before)
    tail = "".join(body + end for body, end in after)
    text = f"{head}MARK one{ending}MARK two{ending}{tail}"
    replaced = replace(text, "MARK one\nMARK two\n", "NEW 1\nNEW 2\nNEW 3\n")
    assert replaced.text == f"{head}NEW 1{ending}NEW 2{ending}NEW 3{ending}{tail}"


@given(st.text(alphabet="a\n\r\u2028\u0085\x0b\x0c\x1c", max_size=60))
def test_lines_join_to_the_text(text: str) -> None:
    lines = split_lines(text)
    assert "".join(line.body + line.ending for line in lines) == text
    assert [line.start for line in lines[1:]] == [line.end for line in lines[:-1]]
    assert not any("\n" in line.body or "\r" in line.body for line in lines)


@given(st.text(alphabet="ab\n ", min_size=1, max_size=30), st.data())
def test_a_unique_piece_is_replaced_exactly(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    old = text[start:end]
    if not old.strip() or sum(text.startswith(old, at) for at in range(len(text))) != 1:
        return
    assert replace(text, old, "<\\1>").text == text[:start] + "<\\1>" + text[end:]


@given(st.text(alphabet="ab \n", max_size=30))
def test_an_indented_copy_is_found_by_lines(block: str) -> None:
    lines = [line.strip() for line in block.split("\n") if line.strip()]
    if not lines:
        return
    file = "first\n" + "".join(f"    {line}\n" for line in lines) + "last\n"
    new = "\n".join(f"{line}!" for line in lines)
    result = outcome(file, "\n".join(f"\t{line}" for line in lines), new)
    if isinstance(result, ReplaceError):
        assert result.kind == "many_matches"
        return
    changed = [line for line in difflib.ndiff(file.split("\n"), result.text.split("\n")) if line.startswith("+ ")]
    assert all(line.startswith("+     ") for line in changed)
