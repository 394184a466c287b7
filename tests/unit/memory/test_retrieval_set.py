"""The labelled sets are what the tests of recall say they are."""

from __future__ import annotations

import re

import pytest

from tests.unit.memory import heldout_set, retrieval_set
from tests.unit.memory.retrieval_set import Labelled, distractors

_STOP = frozenset(
    re.findall(
        r"\S+",
        "a an and are as at be before by can do does for from has have how i i'm in is it its last may me must my "
        "never no not of on or our over should so the them they this to too use user was we what when where which who "
        "why will with you your about all any only up what's",
    )
)


def _content(text: str) -> set[str]:
    """Words without the common ones, cut to five letters; for Chinese, pairs of characters."""
    words = {word[:5] for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _STOP and len(word) > 1}
    pairs = {run[i : i + 2] for run in re.findall("[\u4e00-\u9fff]+", text) for i in range(len(run) - 1)}
    return words | pairs


def _is_chinese(text: str) -> bool:
    return re.search("[\u4e00-\u9fff]", text) is not None


Kinds = tuple[tuple[Labelled, ...], tuple[Labelled, ...], tuple[Labelled, ...]]
OLD: Kinds = (retrieval_set.SHARED, retrieval_set.DISTINCT, retrieval_set.CROSSING)
HELD_OUT: Kinds = (heldout_set.SHARED, heldout_set.DISTINCT, heldout_set.CROSSING)
both = pytest.mark.parametrize("kinds", [OLD, HELD_OUT])


@both
def test_enough_queries_half_without_a_common_word_a_quarter_across_languages(kinds: Kinds) -> None:
    shared, distinct, crossing = kinds
    total = sum(map(len, kinds))
    assert total >= 60
    assert (len(distinct) + len(crossing)) * 2 >= total
    assert len(crossing) * 4 >= total
    everything = [*shared, *distinct, *crossing]
    assert len({item.fact for item in everything}) == len({item.query for item in everything}) == total


@both
def test_shared_shares_and_the_others_do_not(kinds: Kinds) -> None:
    shared, distinct, crossing = kinds
    assert [item for item in shared if not _content(item.fact) & _content(item.query)] == []
    common = {item.query: _content(item.fact) & _content(item.query) for item in (*distinct, *crossing)}
    assert {query: words for query, words in common.items() if words} == {}


@both
def test_crossing_crosses(kinds: Kinds) -> None:
    shared, distinct, crossing = kinds
    assert all(_is_chinese(item.fact) != _is_chinese(item.query) for item in crossing)
    assert all(_is_chinese(item.fact) == _is_chinese(item.query) for item in (*shared, *distinct))


def test_the_held_out_set_asks_nothing_twice() -> None:
    facts = [{item.fact for kind in kinds for item in kind} for kinds in (OLD, HELD_OUT)]
    assert not facts[0] & facts[1]
    made = heldout_set.near(1_000)
    assert len(set(made)) == 1_000
    assert made == heldout_set.near(1_000)
    assert not facts[1] & set(made)


def test_distractors_are_different_from_each_other_and_from_the_facts() -> None:
    made = distractors(2_000)
    assert len(set(made)) == 2_000
    assert made == distractors(2_000)
    assert sum(map(_is_chinese, made)) == 1_000
    assert not {item.fact for kind in OLD for item in kind} & set(made)
