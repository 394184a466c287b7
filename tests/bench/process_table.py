"""The process table after every way to end every shape of command: `python -m tests.bench.process_table [WAY …]`.

A cell holds how many processes were left (of how many at the height) and the seconds until none was.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.fakes.aftermath import SHAPES, WAYS, Aftermath, measure
from tests.fakes.model_server import ModelServer
from tests.fakes.program import Place


def main(ways: list[str]) -> int:
    """Prints the table; returns 1 when anything was left that should not be."""
    ways = ways or list(WAYS)
    print("| " + " | ".join(["shape", *ways]) + " |")
    print("|" + "---|" * (len(ways) + 1))
    bad = 0
    for shape in SHAPES:
        cells: list[str] = []
        for way in ways:
            found = _one(shape, way)
            bad += bool(found.left) != (way == "job kept")
            cells.append(f"{len(found.left)} of {found.started}" + ("" if found.left else f", {found.seconds:.1f} s"))
        print("| " + " | ".join([shape, *cells]) + " |", flush=True)
    return 1 if bad else 0


def _one(shape: str, way: str) -> Aftermath:
    with tempfile.TemporaryDirectory() as folder, ModelServer() as server:
        place = Place(Path(folder), server)
        place.work.mkdir(parents=True)
        os.environ["HOME"] = str(place.home)
        return measure(place, server, shape, way)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
