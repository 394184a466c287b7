"""How often the right fact is among the first five: both labelled sets, 2,000 other facts, with vectors and without.

    python tests/bench/memory_recall.py [--others 2000] [--json]

The constants of the ranking were chosen on `labelled`; `held_out` was written before it was first asked.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reactagent_tui.core.memory.embed import LocalEncoder
from reactagent_tui.core.memory.search import VectorIndex, search
from reactagent_tui.core.memory.store import FactStore

if TYPE_CHECKING:
    from tests.unit.memory.retrieval_set import Labelled

ROOT = Path(__file__).resolve().parents[2]
_BATCH = 128


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--others", type=int, default=2_000)
    parser.add_argument("--json", action="store_true")
    args, _ = parser.parse_known_args()
    sys.path.insert(0, str(ROOT))
    from tests.unit.memory import heldout_set, retrieval_set

    count: int = args.others
    mixed = [*retrieval_set.distractors(count - count // 2), *heldout_set.near(count // 2)]
    figures = {
        "labelled": measure(_kinds(retrieval_set), retrieval_set.distractors(count)),
        "held_out": measure(_kinds(heldout_set), mixed),
    }
    if args.json:
        print(json.dumps(figures))
        return
    for name, found in figures.items():
        for way, hits in found.items():
            total = sum(count for count, _ in hits.values()) / sum(count for _, count in hits.values())
            parts = ", ".join(f"{kind} {count}/{of}" for kind, (count, of) in hits.items())
            print(f"{name:<10} {way:<14} recall@5 {total:.3f}   {parts}")


def measure(kinds: Mapping[str, Sequence[Labelled]], others: Sequence[str]) -> dict[str, dict[str, tuple[int, int]]]:
    """Found and asked for each kind of query, by words alone and with vectors."""
    with tempfile.TemporaryDirectory() as folder:
        store = FactStore.open(Path(folder) / "memory.db")
        ids = fill(store, [item.fact for items in kinds.values() for item in items], others)
        shares = {"words alone": {kind: (found(store, ids, items), len(items)) for kind, items in kinds.items()}}
        encoder = LocalEncoder()
        if LocalEncoder.is_installed() and encoder.ready(120.0):
            embed(store, encoder)
            index = VectorIndex(store, encoder.name)
            shares["with vectors"] = {
                kind: (found(store, ids, items, encoder, index), len(items)) for kind, items in kinds.items()
            }
        store.close()
    return shares


def fill(store: FactStore, wanted: Sequence[str], others: Sequence[str]) -> dict[str, int]:
    """Save all, the wanted ones spread among the others; the numbers of those."""
    ids: dict[str, int] = {}
    every = max(len(others) // len(wanted), 1)
    for n, text in enumerate(others):
        store.save(text, "project")
        if n % every == 0 and n // every < len(wanted):
            fact = wanted[n // every]
            ids[fact] = store.save(fact, "project").fact.id
    assert len(ids) == len(set(ids.values())) == len(wanted)
    return ids


def embed(store: FactStore, encoder: LocalEncoder) -> None:
    """Give every fact its vector."""
    facts = store.facts()
    for start in range(0, len(facts), _BATCH):
        some = facts[start : start + _BATCH]
        vectors = encoder.encode([fact.text for fact in some])
        assert vectors is not None
        store.put_vectors(encoder.name, [(f.id, f.text, v.tobytes()) for f, v in zip(some, vectors, strict=True)])


def _kinds(module: object) -> dict[str, Sequence[Labelled]]:
    return {name.lower(): getattr(module, name) for name in ("SHARED", "DISTINCT", "CROSSING")}


def found(
    store: FactStore,
    ids: Mapping[str, int],
    asked: Sequence[Labelled],
    encoder: LocalEncoder | None = None,
    index: VectorIndex | None = None,
) -> int:
    """For how many the right fact is among the first five."""
    hits = [search(store, item.query, limit=5, encoder=encoder, index=index) for item in asked]
    return sum(ids[item.fact] in [hit.fact.id for hit in some] for item, some in zip(asked, hits, strict=True))


if __name__ == "__main__":
    main()
