"""Recall over the labelled set among 256 other facts; `tests/bench/memory_recall.py` takes 2,000 and the second set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reactagent_tui.core.memory.embed import LocalEncoder
from reactagent_tui.core.memory.search import VectorIndex
from reactagent_tui.core.memory.store import FactStore
from tests.bench.memory_recall import embed, fill, found
from tests.unit.memory.retrieval_set import CROSSING, DISTINCT, SHARED, distractors

ALL = (*SHARED, *DISTINCT, *CROSSING)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FactStore, dict[str, int]]]:
    store = FactStore.open(tmp_path_factory.mktemp("memory") / "memory.db")
    ids = fill(store, [item.fact for item in ALL], distractors(256))
    assert (store.count(), len(ids)) == (256 + len(ALL), len(ALL))
    yield store, ids
    store.close()


def test_words_alone_find_what_shares_words(filled: tuple[FactStore, dict[str, int]]) -> None:
    store, ids = filled
    assert found(store, ids, SHARED) / len(SHARED) >= 0.95
    assert found(store, ids, ALL) / len(ALL) >= 0.5


def test_with_vectors_the_meaning_counts(filled: tuple[FactStore, dict[str, int]]) -> None:
    if not LocalEncoder.is_installed():
        pytest.skip("needs the extra `memory`")
    store, ids = filled
    encoder = LocalEncoder()
    assert encoder.ready(60.0)
    embed(store, encoder)
    assert store.without_vector(encoder.name, 1) == []
    index = VectorIndex(store, encoder.name)
    assert found(store, ids, ALL, encoder, index) / len(ALL) >= 0.85
    assert found(store, ids, CROSSING, encoder, index) / len(CROSSING) >= 0.85
