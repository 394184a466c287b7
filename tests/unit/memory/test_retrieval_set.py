"""The labelled set is what the tests of recall say it is."""

from __future__ import annotations

import re

from tests.unit.memory.retrieval_set import CROSSING, DISTINCT, SHARED, distractors

_STOP = frozenset(
    re.findall(
        r"\S+",
        "a an and are as at be before by can do does for from has have how i i'm in is it last may me must my never no "
        "not of on or our over should so the them they this to too use user was we what when where which who why will "
        "with you your about all any only up what's",
    )
)


def _content(text: str) -> set[str]:
    """Words without the common ones, cut to five letters; for Chinese, pairs of characters."""
    words = {word[:5] for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _STOP and len(word) > 1}
    pairs = {run[i : i + 2] for run in re.findall("[\u4e00-\u9fff]+", text) for i in range(len(run) - 1)}
    return words | pairs


def _is_chinese(text: str) -> bool:
    return re.search("[\u4e00-\u9fff]", text) is not None


def test_enough_queries_half_without_a_common_word_a_quarter_across_languages() -> None:
    total = len(SHARED) + len(DISTINCT) + len(CROSSING)
    assert total >= 60
    assert (len(DISTINCT) + len(CROSSING)) * 2 >= total
    assert len(CROSSING) * 4 >= total
    everything = [*SHARED, *DISTINCT, *CROSSING]
    assert len({item.fact for item in everything}) == len({item.query for item in everything}) == total


def test_shared_shares_and_the_others_do_not() -> None:
    assert [item for item in SHARED if not _content(item.fact) & _content(item.query)] == []
    common = {item.query: _content(item.fact) & _content(item.query) for item in (*DISTINCT, *CROSSING)}
    assert {query: words for query, words in common.items() if words} == {}


def test_crossing_crosses() -> None:
    assert all(_is_chinese(item.fact) != _is_chinese(item.query) for item in CROSSING)
    assert all(_is_chinese(item.fact) == _is_chinese(item.query) for item in (*SHARED, *DISTINCT))


def test_distractors_are_different_from_each_other_and_from_the_facts() -> None:
    made = distractors(2_000)
    assert len(set(made)) == 2_000
    assert made == distractors(2_000)
    assert sum(map(_is_chinese, made)) == 1_000
    assert not {item.fact for item in (*SHARED, *DISTINCT, *CROSSING)} & set(made)
    assert len(set(distractors(50_000))) == 50_000
