"""Which facts answer a question: by meaning where there are vectors, by words always, both fused into one score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reactagent_tui.core.memory.embed import unit
from reactagent_tui.core.memory.words import wanted

if TYPE_CHECKING:
    from reactagent_tui.core.memory.embed import Encoder
    from reactagent_tui.core.memory.facts import Fact
    from reactagent_tui.core.memory.store import FactStore

CANDIDATES = 40
"""Facts each ranking brings to the fusion."""
WORDS, PARTS = 0.4, 0.2
"""What a fact gains over its cosine when it holds all words of the question, and all parts of them."""
_SETTLED = 100
"""Facts from which the mean of all vectors says something; fewer take less of it off."""
_TINY = 1e-9
CLOSE = 0.3
"""Cosine from which a fact has to do with a question."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A fact that was found."""

    fact: Fact
    score: float
    cosine: float | None = None
    """None: without vectors, or not among the closest."""
    share: float = 0.0
    """How much of the question's words it holds, 0 to 1."""

    @property
    def relevant(self) -> bool:
        """Near enough in meaning, or with enough of the words, to be told without being asked for."""
        return (self.cosine is not None and self.cosine >= CLOSE) or self.share >= 0.5


class VectorIndex:
    """All vectors of one model in memory; read again when another process wrote some."""

    def __init__(self, store: FactStore, model: str) -> None:
        self._store = store
        self._model = model
        self._read: tuple[int, int] | None = None
        """Revision of the table and length of the vectors that were read."""
        self._ids: list[int] = []
        self._projects: Any = None
        self._matrix: Any = None
        self._mean: Any = None

    def closest(self, query: Any, project: str | None, limit: int) -> list[tuple[int, float]]:
        """(fact, cosine), the closest first. Raises StorageError.

        What all facts have in common is taken off first: without it texts of one language lie close to each other
        whatever they say.
        """
        import numpy as np

        self._refresh(query.nbytes)
        if not self._ids:
            return []
        scores = self._matrix @ unit((query - self._mean)[None, :])[0]
        if project is not None:
            scores = np.where((self._projects == "") | (self._projects == project), scores, -2.0)
        count = min(limit, len(self._ids))
        best = np.argpartition(-scores, count - 1)[:count]
        best = best[np.argsort(-scores[best], kind="stable")]
        return [(self._ids[n], float(scores[n])) for n in best if scores[n] > -2.0]

    def _refresh(self, length: int) -> None:
        """Read what is new. Vectors of another length than `length` bytes say nothing about one of this length."""
        import numpy as np

        revision = self._store.revision()
        if (revision, length) == self._read:
            return
        ids, projects, blobs = self._store.vectors(self._model)
        if any(len(blob) != length for blob in blobs):
            self._store.drop_vectors(self._model, length)  # they are made anew with the next facts
            revision = self._store.revision()
        sound = [n for n, blob in enumerate(blobs) if len(blob) == length]
        self._ids = [ids[n] for n in sound]
        self._projects = np.array([projects[n] for n in sound], dtype=object)
        if sound:
            joined = b"".join(blobs[n] for n in sound)
            matrix = np.frombuffer(joined, dtype=np.float32).reshape(len(sound), -1)
            self._mean = matrix.mean(axis=0) * (len(sound) / (len(sound) + _SETTLED))
            self._matrix = unit(matrix - self._mean)
        self._read = (revision, length)


def search(
    store: FactStore,
    query: str,
    *,
    project: str | None = None,
    limit: int = 5,
    encoder: Encoder | None = None,
    index: VectorIndex | None = None,
) -> list[Hit]:
    """The best facts for a question, those that hold in `project` (None: all). Raises StorageError."""
    scores: dict[int, float] = {}
    if encoder is not None and index is not None and query.strip():
        vectors = encoder.encode([query])
        if vectors is not None:
            scores = dict(index.closest(vectors[0], project, CANDIDATES))
    cosines = dict(scores)
    gains: dict[int, list[float]] = {}
    for weight, ranking in (
        (WORDS, store.by_words(query, project, CANDIDATES)),
        (PARTS, store.by_parts(query, project, CANDIDATES)),
    ):
        for fact_id, score in ranking:
            gains.setdefault(fact_id, []).append(weight * score / max(ranking[0][1], _TINY))
    facts, terms = store.some([*{**scores, **gains}]), wanted(query)
    shares = {fact_id: _share(terms, fact.text) for fact_id, fact in facts.items()}
    for fact_id, parts in gains.items():
        # how much of the question it is counts with vectors; without them the ranks of the words decide
        covered = shares.get(fact_id, 0.0) if cosines else 1.0
        scores[fact_id] = scores.get(fact_id, 0.0) + sum(parts) * covered
    best = sorted(facts, key=lambda fact_id: (-scores[fact_id], -fact_id))[:limit]
    return [Hit(facts[fact_id], scores[fact_id], cosines.get(fact_id), shares[fact_id]) for fact_id in best]


def _share(terms: list[str], text: str) -> float:
    folded = text.casefold()
    return sum(term in folded for term in terms) / len(terms) if terms else 0.0
