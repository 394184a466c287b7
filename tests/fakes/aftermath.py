"""What is left of a command after it was ended in some way, by the process table, with the real program around it."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.model_server import ModelServer, shell
from tests.fakes.program import Place
from tests.fakes.terminal import Terminal

SHAPES = {
    "plain": "sleep {0}",
    "trap '' TERM": "trap '' TERM INT HUP; sleep {0}; sleep {0}",
    "double fork": "(sh -c 'sleep {0} & sleep {0}' >/dev/null 2>&1 &); sleep {0}",
    "setsid": "setsid sleep {0} & sleep {0}",
    "setsid daemon": "(setsid sh -c 'trap \"\" TERM; sleep {0} & sleep {0}; sleep {0}' >/dev/null 2>&1 &); sleep {0}",
    "nohup": "nohup sleep {0} >/dev/null 2>&1 & disown; sleep {0}",
    "no environment": "env -i sleep {0} & env -i setsid sleep {0} & sleep {0}",
    "200 children": "for i in $(seq 200); do sleep {0} & done; wait",
}
"""Commands that run until they are ended; `{0}` is a number of seconds that only this command has."""

WAYS = ("time-out", "esc", "crash", "quit", "term", "job kill", "job crash", "job quit", "job kept")
PATIENCE = 5.0
_numbers = itertools.count(os.getpid() % 10_000 * 100 + 1_000_000)


@dataclass
class Aftermath:
    """What was seen."""

    shape: str
    way: str
    started: int
    """Processes of the command at its height."""
    left: list[str] = field(default_factory=list[str])
    """Command lines that still run when patience is over; with `job kept` those of the job."""
    seconds: float = 0.0
    """Until none was left."""


def processes(mark: str, number: int, *, but: set[int]) -> list[tuple[int, str]]:
    """Living processes that carry the mark in their environment or the number in their command line."""
    found: list[tuple[int, str]] = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in but | {os.getpid()}:
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                line = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
            with open(f"/proc/{name}/environ", "rb") as file:
                marked = f"AFTERMATH={mark}".encode() in file.read()
            with open(f"/proc/{name}/stat", "rb") as file:
                state = file.read().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        if (marked or str(number) in line) and state not in (b"Z", b"X") and "reactagent-tty-guard" not in line:
            found.append((int(name), line))
    return found


def measure(place: Place, server: ModelServer, shape: str, way: str) -> Aftermath:
    """Run one shape, end it in one way, and look."""
    number, mark = next(_numbers), os.urandom(8).hex()
    place.env["AFTERMATH"] = mark
    up = place.work / f"up{number}"
    command = f"(sleep 0.3; : > {up.name}) & {SHAPES[shape].format(number)}"
    is_job = way.startswith("job")
    more: dict[str, Any] = (
        {"run_in_background": True} if is_job else {"timeout_seconds": 2 if way == "time-out" else 60}
    )
    server.play(shell(command, **more))
    asked = len(server.exchanges)
    with place.screen("--mode", "auto") as terminal:
        own = {terminal.process.pid}

        def now() -> list[tuple[int, str]]:
            return processes(mark, number, but=own)

        with swept(now):
            terminal.send("run\r")
            assert _wait(up.exists, bool), f"{shape} did not start"
            height = _wait(lambda: len(now()), lambda count: count > 200 or not shape.startswith("200"))
            began = time.monotonic()
            if is_job:
                server.wait(asked + 2)
                terminal.wait(f"OK-TURN-{asked + 2}", "Jobs")
            _end(terminal, server, way, asked)
            began = max(began, time.monotonic() - 0.001)
            left = _wait(now, lambda found: not found, tell=way == "job kept")
            return Aftermath(shape, way, height, [line for _, line in left], time.monotonic() - began)


def _end(terminal: Terminal, server: ModelServer, way: str, asked: int) -> None:
    match way:
        case "time-out":
            server.wait(asked + 2)
        case "esc":
            terminal.send("\x1b")
            terminal.wait("stopped")
        case "crash" | "job crash":
            terminal.process.kill()
            terminal.wait_exit()
        case "quit":
            terminal.send("\x11")
            terminal.wait_exit()
        case "term":
            terminal.process.send_signal(signal.SIGTERM)
            terminal.wait_exit()
        case "job kill":
            terminal.send("/jobs kill all\r")
            terminal.wait("1 job ended")
        case "job quit" | "job kept":
            terminal.send("\x11")
            terminal.wait("1 job still runs. Leave?")
            terminal.send("k" if way == "job quit" else "l")
            terminal.wait_exit()
        case _:
            raise AssertionError(way)


def _wait(look: Callable[[], Any], enough: Callable[[Any], bool], *, tell: bool = False) -> Any:
    """Look until it is enough or patience is over (`tell`: look at the end of patience only)."""
    pause, deadline = threading.Event(), time.monotonic() + (1.0 if tell else PATIENCE)
    while True:
        found = look()
        if (not tell and enough(found)) or time.monotonic() > deadline:
            return found
        pause.wait(0.02)


@contextmanager
def swept(now: Callable[[], list[tuple[int, str]]]) -> Iterator[None]:
    """Whatever is measured, nothing is left of it."""
    try:
        yield
    finally:
        for pid, _ in now():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
