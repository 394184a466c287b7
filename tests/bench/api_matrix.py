"""Prints a table: one task over four APIs and three protocols, run by the real program against scripted servers.

    python -m tests.bench.api_matrix

The task is two file reads in one step, a writing command, and an answer with all figures. A row shows steps, requests,
tokens (fresh, read from the cache, written to it, generated), the program's cost beside the server's own bill, what the
strict server complained about, and whether answer and file are right. The exit code is 1 when a row is not.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.fakes.api_matrix import MatrixRun, run_task
from tests.fakes.api_servers.houses import APIS, PROTOCOLS, price_of

HEAD = (
    *("API", "protocol", "steps", "requests", "fresh", "cached", "written", "output"),
    *("cost $", "billed $", "complaints", "result"),
)


def row(run: MatrixRun) -> tuple[str, ...]:
    """A line of the table."""
    usage, billed = run.server.billed, price_of(run.server.billed)
    told = run.result
    written = run.place.work / "total.txt"
    right = told["result"].endswith("total: 42") and written.exists() and written.read_text() == "42\n"
    figures = (told["num_turns"], len(run.server.requests), usage.input, usage.cache_read, usage.cache_write)
    cost = told["total_cost_usd"] or 0.0
    return (
        *(run.api, run.protocol, *map(str, figures), str(usage.output), f"{cost:.6f}", f"{billed:.6f}"),
        *(str(len(run.server.complaints)), "right" if right and abs(cost - float(billed)) < 1e-12 else "WRONG"),
    )


def main() -> int:
    """Run them all."""
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for api in APIS:
            for protocol in PROTOCOLS:
                rows.append(row(run_task(Path(folder) / f"{api}-{protocol}", api, protocol)))
    widths = [max(len(line[column]) for line in (HEAD, *rows)) for column in range(len(HEAD))]
    for line in (HEAD, *rows):
        names = (text.ljust(width) for text, width in zip(line[:2], widths[:2], strict=True))
        figures = (text.rjust(width) for text, width in zip(line[2:], widths[2:], strict=True))
        print("  ".join((*names, *figures)))
    return int(any(line[-1] == "WRONG" for line in rows))


if __name__ == "__main__":
    sys.exit(main())
