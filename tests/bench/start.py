"""Start-up of the real program in a pseudo-terminal: exec, first frame, first typed key on the screen.

`python tests/bench/start.py [runs]`: the key is typed at once, so it also shows that type-ahead is kept. Then keys go
on at 20 a second while the agent is imported behind the screen. Target: the key stands after 0.33 s (median), and no
later key waits longer than 60 ms. Each run has its own HOME; the first one is not counted.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.fakes.terminal import Terminal, reactagent  # noqa: E402

RUNS = 11
KEYS = "abcdefghijklmnopqrstuvwxyz"
GAP = 0.05


class Measured(NamedTuple):
    """Seconds since exec, and of each later key from press to screen."""

    first_frame: float
    live: float
    keys: list[float]


def type_keys(terminal: Terminal) -> list[float]:
    """Type `KEYS` behind a `q` that stands in the prompt, one each `GAP`; seconds until each is on the screen."""
    begin = time.monotonic()
    keys: list[float] = []
    for count in range(1, len(KEYS) + 1):
        time.sleep(max(0.0, begin + count * GAP - time.monotonic()))
        pressed = time.monotonic()
        terminal.send(KEYS[count - 1])
        terminal.wait(f"> q{KEYS[:count]}")
        keys.append(time.monotonic() - pressed)
    return keys


def start_once(home: Path) -> Measured:
    """Start in the demo, type, leave."""
    begin = time.monotonic()
    with Terminal(reactagent("--demo"), cwd=home, env={"HOME": str(home)}) as terminal:
        terminal.send("q")
        terminal.wait_output(b"\x1b[1;1H")
        first_frame = time.monotonic() - begin
        terminal.wait("> q")
        live = time.monotonic() - begin
        keys = type_keys(terminal)
        terminal.send("\x03\x03\x03")
        terminal.wait_exit()
    return Measured(first_frame, live, keys)


def main() -> None:
    """Print medians and the slowest of everything, in milliseconds."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    measured: list[Measured] = []
    for _ in range(runs + 1):
        with tempfile.TemporaryDirectory() as folder:
            measured.append(start_once(Path(folder)))
    found = measured[1:]
    rows = {
        "exec to first frame": [one.first_frame for one in found],
        "exec to first key shown": [one.live for one in found],
        "later key to screen": [key for one in found for key in one.keys],
        "slowest key of a run": [max(one.keys) for one in found],
    }
    for name, seconds in rows.items():
        median, worst = statistics.median(seconds) * 1000, max(seconds) * 1000
        sys.stdout.write(f"{name:26} median {median:6.0f} ms   worst {worst:6.0f} ms\n")


if __name__ == "__main__":
    main()
