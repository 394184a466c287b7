"""SKILL.md variants from the field: read, or refused with a line and a reason; nothing vanishes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.skills.frontmatter import MAX_BYTES, Unreadable, decode, is_small_tree, parse
from reactagent_tui.core.skills.models import REASONS


def read(data: bytes) -> dict[str, object]:
    return dict(parse(decode(data)).values)


@pytest.mark.parametrize(
    ("data", "description"),
    [
        (
            b"---\nname: a\ndescription: Use for marketing work: writing copy\n---\nbody",
            "Use for marketing work: writing copy",
        ),
        (b"---\nname: b\ndescription: Triggers on: '/x', '/y'\n---\n", "Triggers on: '/x', '/y'"),
        (b"\xef\xbb\xbf---\nname: c\ndescription: ok\n---\n", "ok"),
        (b"---\r\nname: d\r\ndescription: ok\r\n---\r\nbody", "ok"),
        (b"---\nname: e\ndescription: |\n  two\n  lines\n---\n", "two\nlines\n"),
        (b"---\nname: e\ndescription: >-\n  two\n  lines\n---\n", "two lines"),
        (b'---\nname: f\ndescription: "ok" # c\nallowed-tools: Read, Bash(git:*)\n---\n', "ok"),
        (b'---\nname: g\ndescription: "Foo" does: bar\n---\n', '"Foo" does: bar'),
        (b"---\nname: h\ndescription: it's: a trap\n---\n", "it's: a trap"),
        (b"---\nname: i\ndescription: first: line\n  goes on\n---\n", "first: line goes on"),
        (b"---\nname: j\ndescription:\tok\n---\n", "ok"),
        (b"---\nname: k\ndescription: @home and `code`\n---\n", "@home and `code`"),
        (b"---\nname: l\ndescription: [WIP] draft\n---\n", "[WIP] draft"),
        (b"\n\n---\nname: m\ndescription: ok\n---\n", "ok"),
        ("---\nname: n\ndescription: 触发词: 你好\n---\n".encode(), "触发词: 你好"),
    ],
)
def test_descriptions_that_must_be_read(data: bytes, description: str) -> None:
    assert read(data)["description"] == description


def test_a_recovered_colon_keeps_the_other_keys_and_names_itself() -> None:
    text = "---\nname: a\ndescription: one: two\nallowed-tools: Read, Bash(git:*)\nmetadata:\n  k: v\n---\nbody\n"
    document = parse(text)
    assert document.values["allowed-tools"] == "Read, Bash(git:*)"
    assert document.values["metadata"] == {"k": "v"}
    assert document.recovered == ("description",)
    assert document.lines["metadata"] == 5


def test_strict_yaml_wins_where_it_works() -> None:
    document = parse("---\nname: a\ndescription: 'one: two'\n---\n")
    assert document.values["description"] == "one: two"
    assert document.recovered == ()


def test_tabs_as_indentation_are_read_and_reported() -> None:
    document = parse("---\nname: a\ndescription: ok\nmetadata:\n\tauthor: x\n---\n")
    assert document.values["metadata"] == {"author": "x"}
    assert document.recovered == ("",)


def test_a_rule_in_the_body_is_body() -> None:
    document = parse("---\nname: a\ndescription: ok\n---\none\n\n---\n\ntwo\n")
    assert document.body == "one\n\n---\n\ntwo"
    assert document.body_line == 5


@pytest.mark.parametrize(
    ("data", "key", "line"),
    [
        (b"", "empty", None),
        (b" \n\n", "empty", None),
        (b"# just markdown\n", "no_front_matter", 1),
        (b"\n# just markdown\n", "no_front_matter", 2),
        (b"---", "unclosed", 1),
        (b"---\nname: a\n", "unclosed", 1),
        (b"---\n- a\n- b\n---\n", "not_mapping", 2),
        (b"---\n---\n", "not_mapping", 2),
        (b"---\nname: a\nparameters: {a: [}\n---\n", "bad_yaml", 3),
        (b"---\nname: a\ndescription: \xa9\n---\n", "not_utf8", 3),
        (b"\xff\xfe-\x00-\x00", "not_utf8", 1),
        (b"x" * (MAX_BYTES + 1), "too_large", None),
        (b"---\nx: " + b"[" * 5_000 + b"\n---\n", "bad_yaml", 2),
    ],
)
def test_what_cannot_be_read_says_why_and_where(data: bytes, key: str, line: int | None) -> None:
    with pytest.raises(Unreadable) as caught:
        parse(decode(data))
    assert (caught.value.key, caught.value.line) == (key, line)


def test_aliases_that_never_end_are_recognised() -> None:
    document = parse("---\na: &a [*a]\n---\n")
    assert not is_small_tree(document.values["a"])
    assert is_small_tree({"type": "object", "properties": {"x": {"enum": [1, 2]}}})


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_a_known_reason(text: str) -> None:
    reason = None
    try:
        parse(f"---\n{text}\n---\nbody")
    except Unreadable as error:
        reason = error.key
    assert reason is None or reason in REASONS


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp")), min_size=1, max_size=80))
def test_any_prose_behind_a_letter_survives(prose: str) -> None:
    """Whatever stands on one line is either the YAML value or the text itself; never nothing."""
    value = read(f"---\nname: a\ndescription: x: {prose}\n---\n".encode())["description"]
    assert isinstance(value, str)
    assert value.startswith("x:")
