"""Steps of a plan, out of whatever a model or a user writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.plans.steps import LONGEST_STEP, edited_steps, numbered, plan_steps


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("I will:\n1. I will read it\n2. I will **fix** it\n\nShall I?", ("I will read it", "I will fix it")),
        ("I will: \n1) look\n2) write\n", ("look", "write")),
        ("我会：\n1、读取文件\n2．修改文件\n", ("读取文件", "修改文件")),
        ("1. one\n   goes on\n2. two\n   - a detail\n", ("one goes on", "two - a detail")),
        ("Found:\n1. a\n2. b\n\nThe plan:\n\n1. c\n\n2. d\n", ("c", "d")),
        ("```\n1. not\n2. this\n```\nNothing to do.", ()),
        ("version 1.2 is out. 3 files.", ()),
        ("", ()),
        ("3. I will begin late\n4. and go on", ("I will begin late", "and go on")),
    ],
)
def test_the_last_numbered_list_is_the_plan(text: str, steps: tuple[str, ...]) -> None:
    assert plan_steps(text) == steps


def test_an_edited_plan_may_be_plain_lines() -> None:
    assert edited_steps("read\n- write\n\n") == ("read", "write")
    assert edited_steps("1. read\n2. write") == ("read", "write")
    assert edited_steps("  \n") == ()


_words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"], exclude_characters="*`~"), min_size=1)


@given(st.lists(_words.map(lambda text: text[:LONGEST_STEP]), min_size=1, max_size=20))
def test_a_numbered_plan_reads_back_as_it_was(steps: list[str]) -> None:
    assert plan_steps(numbered(steps)) == tuple(steps)


@given(st.text())
def test_any_text_gives_short_single_lines(text: str) -> None:
    assert all(step and len(step) <= LONGEST_STEP and "\n" not in step for step in plan_steps(text))
