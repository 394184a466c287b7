"""What ten dead or hanging MCP servers cost: start to live input, keys while they start, CPU, and the exit.

`python tests/bench/mcp_start_overhead.py [runs] [kind …]`: runs without servers and with each kind take turns, each in
its own HOME; the first round is not counted. All should be equal. `ready` is ten servers that work (their own start
takes CPU from the program on a small machine: there the figure to look at is the CPU of the program itself).
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.start import type_keys  # noqa: E402
from tests.fakes.mcp_place import DEAD, fake  # noqa: E402
from tests.fakes.terminal import Terminal, reactagent  # noqa: E402

RUNS = 7
Servers = Mapping[str, Mapping[str, Any]]


class Measured(NamedTuple):
    """Seconds: exec to the first key shown, the slowest and the middle of the later keys, CPU until then, leaving."""

    live: float
    slowest: float
    middle: float
    cpu: float
    exit: float


def ten(entry: Mapping[str, Any]) -> Servers:
    return {f"server{number}": entry for number in range(10)}


def kinds(port: int) -> dict[str, Servers]:
    """Ten servers of each kind."""
    return {
        "none": {},
        "mixed": DEAD,
        "hanging": ten({"command": "sleep", "args": ["600"]}),
        "exiting": ten({"command": "sh", "args": ["-c", "echo no licence >&2; exit 3"]}),
        "absent": ten({"command": "/no/such"}),
        "http": ten({"url": f"http://127.0.0.1:{port}/mcp"}),
        "ready": ten(fake()),
    }


def measure(home: Path, servers: Servers) -> Measured:
    """Start in the demo, type, leave."""
    if servers:
        folder = home / ".config" / "reactagent"
        folder.mkdir(parents=True)
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
    begin = time.monotonic()
    with Terminal(reactagent("--demo"), cwd=home, env={"HOME": str(home)}) as terminal:
        terminal.send("q")
        terminal.wait("> q")
        live = time.monotonic() - begin
        keys = type_keys(terminal)
        used = cpu(terminal.process.pid)
        leaving = time.monotonic()
        terminal.send("\x11")
        return Measured(live, max(keys), statistics.median(keys), used, terminal.wait_gone() - leaving)


def cpu(pid: int) -> float:
    """Seconds of CPU that this process used by itself, all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(arguments: list[str]) -> None:
    """Print medians, and the ratio to those without servers."""
    runs = int(arguments[0]) if arguments else RUNS
    with closing(socket.create_server(("127.0.0.1", 0), backlog=100)) as deaf:
        every = kinds(deaf.getsockname()[1])
        chosen = ["none", *(arguments[1:] or [kind for kind in every if kind not in ("none", "ready")])]
        found: dict[str, list[Measured]] = {kind: [] for kind in chosen}
        for _ in range(runs + 1):
            for kind in chosen:
                with tempfile.TemporaryDirectory() as folder:
                    found[kind].append(measure(Path(folder), every[kind]))
    sys.stdout.write(f"{'ms (ratio)':10}" + "".join(f"{kind:>16}" for kind in chosen) + "\n")
    for field in Measured._fields:
        middle = {kind: statistics.median(getattr(one, field) for one in found[kind][1:]) * 1000 for kind in chosen}
        cells = "".join(f"{middle[kind]:8.0f} ({middle[kind] / middle['none']:5.2f})" for kind in chosen)
        sys.stdout.write(f"{field:10}{cells}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
