"""B50 B51: a hundred megabytes of any output cost next to no memory, and the model hears what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer, ask_tools, shell
from tests.fakes.program import Place

pytestmark = [pytest.mark.e2e, pytest.mark.external]
SIZE = 100_000_000
MOST_GROWTH = 50_000
"""Kilobytes."""

OUTPUTS = {
    "lines": (f"yes 'a line of some text and a number' | head -c {SIZE}", "lines left out here"),
    "one line": (f"head -c {SIZE} /dev/zero | tr '\\0' a", "left out"),
    "binary": (f"head -c {SIZE} /dev/urandom", f"[binary output, {SIZE:,} bytes"),
    "carriage returns": (f"yes $'50%\\r' | tr -d '\\n' | head -c {SIZE}", "50%"),
}


@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize("place_of_run", ["foreground", "job"])
def test_a_hundred_megabytes(place: Place, server: ModelServer, kind: str, place_of_run: str) -> None:
    command, told = OUTPUTS[kind]
    is_job = place_of_run == "job"
    server.play(shell("seq 20000"))
    with place.screen("--mode", "auto") as terminal:
        terminal.send("warm up\r")
        terminal.wait("OK-TURN-2")
        status = Path(f"/proc/{terminal.process.pid}/status")
        Path(f"/proc/{terminal.process.pid}/clear_refs").write_text("5")  # forget the peak so far
        before = kilobytes(status, "VmRSS")
        if is_job:
            server.play(
                shell(command, run_in_background=True),
                ask_tools(("job_output", {"job_id": "j1", "wait_seconds": 300, "from_line": 1})),
            )
        else:
            server.play(shell(command, timeout_seconds=300))
        terminal.send("go\r")
        last = server.wait(5 if is_job else 4)
        growth = kilobytes(status, "VmHWM") - before
        terminal.send("typing still works")
        terminal.wait("> typing still works")
    started, text = last.tool_texts[-2:]
    if is_job and "[exit code 0]" in started:
        text = started  # it ended before it could become a job
    assert told in text or (is_job and "only the beginning and the end" in text), text[:300]
    assert len(text.encode()) < 9_000
    assert "\0" not in text
    assert growth < MOST_GROWTH, f"{growth} kB"


def kilobytes(status: Path, name: str) -> int:
    """A figure of `/proc/PID/status`."""
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(f"{name}:"))
