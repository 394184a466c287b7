"""What ten dead or hanging MCP servers cost: start to live input, keys while they start, and the exit.

`python tests/bench/mcp_start_overhead.py [runs]`: runs without and with servers take turns, each in its own HOME; the
first pair is not counted. Both should be equal.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.fakes.mcp_place import DEAD  # noqa: E402
from tests.fakes.terminal import Terminal, reactagent  # noqa: E402

RUNS = 7
KEYS = "abcdefghijklmnopqrstuvwxyz"
GAP = 0.05


class Measured(NamedTuple):
    """Seconds: exec to the first key shown, the slowest later key, leaving."""

    live: float
    key: float
    exit: float


def measure(home: Path, servers: bool) -> Measured:
    """Start in the demo, type, leave."""
    if servers:
        folder = home / ".config" / "reactagent"
        folder.mkdir(parents=True)
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": DEAD}), "utf-8")
    begin = time.monotonic()
    with Terminal(reactagent("--demo"), cwd=home, env={"HOME": str(home)}) as terminal:
        terminal.send("q")
        terminal.wait("> q")
        live = time.monotonic() - begin
        slowest = 0.0
        for count in range(1, len(KEYS) + 1):
            time.sleep(max(0.0, begin + live + count * GAP - time.monotonic()))
            pressed = time.monotonic()
            terminal.send(KEYS[count - 1])
            terminal.wait(f"> q{KEYS[:count]}")
            slowest = max(slowest, time.monotonic() - pressed)
        leaving = time.monotonic()
        terminal.send("\x11")
        terminal.wait_exit()
        return Measured(live, slowest, time.monotonic() - leaving)


def main() -> None:
    """Print medians and ratios."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    found: dict[bool, list[Measured]] = {False: [], True: []}
    for _ in range(runs + 1):
        for servers in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                found[servers].append(measure(Path(folder), servers))
    for field in Measured._fields:
        without, with_ten = (
            statistics.median(getattr(one, field) for one in found[servers][1:]) * 1000 for servers in (False, True)
        )
        ratio = with_ten / without
        sys.stdout.write(f"{field:5} without {without:6.0f} ms   with ten {with_ten:6.0f} ms   ratio {ratio:.2f}\n")


if __name__ == "__main__":
    main()
