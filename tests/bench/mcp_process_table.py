"""The process table after every way to end the program with MCP servers.

`python -m tests.bench.mcp_process_table [WAY …]`. A cell holds how many processes of the server were left (of how many
at the height), and the seconds until the program had ended and until none was left.
"""

from __future__ import annotations

import itertools
import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.fakes.aftermath import processes, swept
from tests.fakes.mcp_place import FAKE, McpPlace
from tests.fakes.model_server import ModelServer
from tests.fakes.program import PROMPT, Place
from tests.fakes.terminal import Terminal

SERVE = f"{shlex.quote(sys.executable)} {shlex.quote(str(FAKE))} good"
SHAPES = {
    "ready": "exec {1}",
    "ready, deaf": "trap '' TERM INT HUP; {1}; sleep {0}; sleep {0}",
    "ready, double fork": "(sh -c 'sleep {0} & sleep {0}' >/dev/null 2>&1 &); exec {1}",
    "ready, setsid": "setsid sleep {0} & exec {1}",
    "ready, setsid deaf": "(setsid sh -c 'trap \"\" TERM; sleep {0}; sleep {0}' >/dev/null 2>&1 &); exec {1}",
    "ready, no environment": "env -i sleep {0} & exec {1}",
    "ready, 50 children": "for i in $(seq 50); do sleep {0} & done; exec {1}",
    "silent": "exec sleep {0}",
    "silent, deaf": "trap '' TERM INT HUP; sleep {0}; sleep {0}",
    "silent, setsid deaf": "(setsid sh -c 'trap \"\" TERM; sleep {0}; sleep {0}' >/dev/null 2>&1 &); exec sleep {0}",
}
"""What a server's command does; `{0}` is a number of seconds that only it has, `{1}` a server that works."""
WAYS = ("quit", "term", "kill", "abort", "crash")
CRASHING = """
import sys
from reactagent_tui.tui.app import ReactAgentApp
def fail(self): raise RuntimeError("a fault of the screen")
ReactAgentApp.on_app_blur = fail
from reactagent_tui.cli import main
sys.exit(main(sys.argv[1:]))
"""
PATIENCE = 10.0
_numbers = itertools.count(os.getpid() % 10_000 * 100 + 2_000_000)


def main(ways: list[str]) -> int:
    """Prints the table; returns 1 when anything was left."""
    ways = ways or list(WAYS)
    print("| " + " | ".join(["server", *ways]) + " |")
    print("|" + "---|" * (len(ways) + 1))
    bad = 0
    for shape in SHAPES:
        cells: list[str] = []
        for way in ways:
            with tempfile.TemporaryDirectory() as folder, ModelServer() as server:
                place = Place(Path(folder), server)
                place.work.mkdir(parents=True)
                os.environ["HOME"] = str(place.home)
                cell, left = _one(place, shape, way)
            bad += left
            cells.append(cell)
        print("| " + " | ".join([shape, *cells]) + " |", flush=True)
    return 1 if bad else 0


def _one(place: Place, shape: str, way: str) -> tuple[str, int]:
    number = next(_numbers)
    command = SHAPES[shape].format(number, SERVE)
    servers = McpPlace(place, {"one": {"command": "bash", "args": ["-c", command]}, "dead": {"command": "/none"}})
    argv = [sys.executable, "-c", CRASHING, "--config", str(place.config)]
    with Terminal(argv, cwd=place.work, env=place.env) as terminal:
        terminal.wait(PROMPT)

        def now() -> list[tuple[int, str]]:
            return processes(servers.mark, number, but={terminal.process.pid})

        with swept(now):
            terminal.wait("MCP 1/2" if shape.startswith("ready") else "MCP 0/2")
            _until(lambda: len(now()) > len(SHAPES[shape].split("&")) - 1)
            height = len(now())
            began = time.monotonic()
            match way:
                case "quit":
                    terminal.send("\x11")
                case "crash":
                    terminal.send("\x1b[O")
                case _:
                    number_of = {"term": signal.SIGTERM, "kill": signal.SIGKILL, "abort": signal.SIGABRT}
                    terminal.process.send_signal(number_of[way])
            exited = terminal.wait_gone() - began
            _until(lambda: not now())
            gone = time.monotonic() - began
            left = now()
            return f"{len(left)} of {height}, exit {exited:.2f} s, none after {gone:.2f} s", len(left)


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
