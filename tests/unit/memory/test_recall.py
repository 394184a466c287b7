"""Recall over the labelled set among 2,000 distractors; measured with vectors and by words alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from reactagent_tui.core.memory.embed import LocalEncoder
from reactagent_tui.core.memory.search import VectorIndex, search
from reactagent_tui.core.memory.store import FactStore
from tests.unit.memory.retrieval_set import CROSSING, DISTINCT, SHARED, Labelled, distractors

ALL = (*SHARED, *DISTINCT, *CROSSING)
SPREAD = 2_000 // len(ALL)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FactStore, dict[str, int]]]:
    store = FactStore.open(tmp_path_factory.mktemp("memory") / "memory.db")
    ids: dict[str, int] = {}
    for n, text in enumerate(distractors(2_000)):
        assert not store.save(text, "project").merged, text
        if n % SPREAD == 0 and n // SPREAD < len(ALL):
            fact = ALL[n // SPREAD].fact
            ids[fact] = store.save(fact, "project").fact.id
    assert (store.count(), len(ids)) == (2_000 + len(ALL), len(ALL))
    yield store, ids
    store.close()


def recall(
    store: FactStore, ids: dict[str, int], asked: Sequence[Labelled], encoder: LocalEncoder | None = None
) -> float:
    """Share of the queries whose fact is among the first five."""
    index = None if encoder is None else VectorIndex(store, encoder.name)
    found = 0
    for item in asked:
        hits = search(store, item.query, limit=5, encoder=encoder, index=index)
        found += ids[item.fact] in [hit.fact.id for hit in hits]
    return found / len(asked)


def test_words_alone_find_what_shares_words(filled: tuple[FactStore, dict[str, int]]) -> None:
    store, ids = filled
    assert recall(store, ids, SHARED) >= 0.95
    assert recall(store, ids, ALL) >= 0.5


def test_with_vectors_the_meaning_counts(filled: tuple[FactStore, dict[str, int]]) -> None:
    if not LocalEncoder.is_installed():
        pytest.skip("needs the extra `memory`")
    store, ids = filled
    encoder = LocalEncoder()
    assert encoder.ready(60.0)
    facts = store.facts()
    for start in range(0, len(facts), 128):
        some = facts[start : start + 128]
        vectors = encoder.encode([fact.text for fact in some])
        assert vectors is not None
        store.put_vectors(encoder.name, [(f.id, f.text, v.tobytes()) for f, v in zip(some, vectors, strict=True)])
    assert store.without_vector(encoder.name, 1) == []
    assert recall(store, ids, ALL, encoder) >= 0.85
    assert recall(store, ids, CROSSING, encoder) >= 0.85
