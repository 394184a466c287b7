"""ESC while an MCP tool runs, in the real program: `python -m tests.bench.mcp_esc [rounds]`.

Milliseconds from the key until the screen shows that the run was stopped, until a key typed then is in the prompt, and
until the server has noted the cancellation. Target: the prompt is live within 100.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.fakes.mcp_place import McpPlace, fake
from tests.fakes.model_server import ModelServer, ask_tools
from tests.fakes.program import Place
from tests.fakes.terminal import PATIENCE, Terminal

ROUNDS = 50
STOPPED = b"enter send"
KEY = "§"


def main(rounds: int) -> None:
    """Prints median, 95th percentile and worst."""
    with tempfile.TemporaryDirectory() as folder, ModelServer() as server:
        place = Place(Path(folder), server)
        place.work.mkdir(parents=True)
        os.environ["HOME"] = str(place.home)
        servers = McpPlace(place, {"good": fake()})
        server.play(*[ask_tools(("mcp__good__slow", {}))] * (rounds + 1))
        with place.screen("--mode", "auto") as terminal:
            _until(servers.journal.exists, "the server has started", terminal)
            terminal.send("/mcp\r")
            terminal.wait("15 tools")
            terminal.press_until_gone("\x1b", "15 tools")
            found = [_round(terminal, servers, number) for number in range(1, rounds + 2)][1:]
    for name, times in zip(("stopped", "prompt live", "cancelled"), zip(*found, strict=True), strict=True):
        spent = [seconds * 1000 for seconds in times]
        late = statistics.quantiles(spent, n=20)[-1]
        print(
            f"{name:12} median {statistics.median(spent):6.1f}   p95 {late:6.1f}   worst of {rounds} {max(spent):6.1f}"
        )


def _round(terminal: Terminal, servers: McpPlace, number: int) -> tuple[float, float, float]:
    """(stopped, prompt live, cancelled) in seconds from ESC."""
    terminal.send(f"go {number}\r")
    _until(lambda: _noted(servers, "call slow") == number, f"call {number} at the server", terminal)
    terminal.wait("good·slow", "· esc stop ·")
    # what the terminal gets is looked at, not a picture of it: to draw one takes the emulator 20 ms a frame
    start, pressed = len(terminal.output), time.monotonic()
    terminal.send("\x1b")
    terminal.wait_output(STOPPED, start)
    stopped = time.monotonic() - pressed
    terminal.send(KEY)
    terminal.wait_output(KEY.encode(), start)
    live = time.monotonic() - pressed
    _until(lambda: _noted(servers, "cancelled slow") == number, f"cancellation {number} at the server", terminal)
    cancelled = time.monotonic() - pressed
    terminal.wait(f"> {KEY}", gone="· esc stop ·")
    terminal.send("\x7f")
    terminal.wait_until(lambda: f"> {KEY}" not in terminal.text(), "an empty prompt")
    return stopped, live, cancelled


def _noted(servers: McpPlace, line: str) -> int:
    return servers.journal.read_text("utf-8").splitlines().count(line)


def _until(true: Callable[[], bool], what: str, terminal: Terminal) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"not within {PATIENCE:g} s: {what}\n{terminal.text()}")
        time.sleep(0.001)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
