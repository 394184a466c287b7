"""What MCP servers cost that are ready: at rest, and while they print without end as somebody types.

`python -m tests.bench.mcp_quiet [seconds]`. At rest: CPU, and how often the program woke up by itself. Noise: each key
until it is on the screen, CPU of the program, its memory, and the size of the log.
"""

from __future__ import annotations

import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.mcp_start_overhead import cpu, ten
from tests.fakes.mcp_place import FAKE, McpPlace, fake
from tests.fakes.model_server import ModelServer
from tests.fakes.program import Place
from tests.fakes.terminal import Terminal

SECONDS = 10.0
KEYS = "abcdefghijklmnopqrstuvwxyz" * 3
GAP = 0.05
SERVE = f"exec {shlex.quote(sys.executable)} {shlex.quote(str(FAKE))} good"
NOISE: Mapping[str, str] = {
    "none": SERVE,
    "stderr": f"while :; do seq 1000 >&2; sleep 0.01; done & {SERVE}",
    "stderr without end": f"yes warning: something is wrong >&2 & {SERVE}",
    "stdout": f"while :; do seq 1000; sleep 0.01; done & {SERVE}",
    "stdout without end": f"yes something that is no message & {SERVE}",
    "stdout, no line ends, never ready": f"while :; do printf '%01000d' 0; done & {SERVE}",
    "stdout, never ready": "exec yes something that is no message",
}


def main(seconds: float) -> None:
    """Prints both tables."""
    for name, servers in {"none": {}, "ten ready": ten(fake())}.items():
        with _program(servers, 10 if servers else 0) as (terminal, _):
            time.sleep(3)  # what the start leaves to do
            pid = terminal.process.pid
            before, used = _switches(pid), cpu(pid)
            time.sleep(seconds)
            print(
                f"{name:34} {seconds:g} s at rest: {(cpu(pid) - used) * 1000:5.0f} ms of CPU, "
                f"woke up {_switches(pid) - before} times",
                flush=True,
            )
    for name, command in NOISE.items():
        entry = {"command": "bash", "args": ["-c", command]}
        with _program({"one": entry}, int("never" not in name)) as (terminal, place):
            used, keys = cpu(terminal.process.pid), _type(terminal)
            used = cpu(terminal.process.pid) - used
            sizes = [file.stat().st_size for file in place.home.rglob("logs/mcp/*/one.log")]
            print(
                f"{name:34} key median {statistics.median(keys) * 1000:5.0f} ms, worst {max(keys) * 1000:5.0f} ms; "
                f"{used:.2f} s of CPU, {_memory(terminal.process.pid)} MB, log {sum(sizes) / 1e6:.1f} MB",
                flush=True,
            )


@contextmanager
def _program(servers: Mapping[str, Mapping[str, Any]], ready: int) -> Iterator[tuple[Terminal, Place]]:
    with tempfile.TemporaryDirectory() as folder, ModelServer() as server:
        place = Place(Path(folder), server)
        place.work.mkdir(parents=True)
        place.env["HOME"] = str(place.home)
        McpPlace(place, {**servers, "dead": {"command": "/none"}})
        with place.screen() as terminal:
            terminal.wait(f"MCP {ready}/{len(servers) + 1}")
            yield terminal, place


def _type(terminal: Terminal) -> list[float]:
    found: list[float] = []
    for count in range(1, len(KEYS) + 1):
        pressed = time.monotonic()
        terminal.send(KEYS[count - 1])
        terminal.wait(KEYS[max(0, count - 20) : count])
        found.append(time.monotonic() - pressed)
        time.sleep(max(0.0, GAP - found[-1]))
    return found


def _switches(pid: int) -> int:
    total = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        for line in status.read_text("ascii", "replace").splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                total += int(line.split()[1])
    return total


def _memory(pid: int) -> int:
    """Megabytes."""
    return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * 4096 // 1_000_000


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)
