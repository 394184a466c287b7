"""What a long session costs: opening one of 10,000 messages in the real program, memory, search over a hundred such.

    python tests/bench/session_size_cost.py [--messages N] [--sessions N] [--runs N]

Opening is measured in a pseudo-terminal, from exec until the end of the session stands on the screen and a key typed
then is shown, and on until a prompt sent at once has begun its turn; an empty start until the same is taken off.
Seconds of CPU tell more than those of the clock while others work on the machine. Targets: at most 0.6 s more, 250 MB,
and 200 ms for a search (--sessions 100; the default is smaller, for building the index of a hundred takes minutes).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from reactagent_tui.core.sessions.index import SessionIndex  # noqa: E402
from reactagent_tui.core.sessions.listing import list_sessions  # noqa: E402
from tests.fakes.long_session import write_session  # noqa: E402
from tests.fakes.terminal import Terminal, reactagent  # noqa: E402

LAST = "the very last words"
_LAST_LINE = (
    '{"v":1,"seq":1,"ts":"","type":"message","message":{"role":"assistant","parts":'
    f'[{{"type":"text","text":"{LAST}"}}],"stop_reason":"stop"}}}}\n'
)
QUERIES = ("needle007xyz", "clock", "会话", "zq", "testing cart", "not in any of them")


class Opened(NamedTuple):
    """What one start cost."""

    live: float
    """Seconds until the end of the session and a typed key are shown."""
    taken: float
    """Seconds until a prompt has begun its turn: the agent has the history."""
    cpu: float
    """Seconds of CPU until then."""
    memory: float
    """MB at most, a while later."""


def open_once(home: Path, *, resume: bool) -> Opened:
    """Start it, type a key as soon as it is worth while, send it."""
    begin = time.monotonic()
    arguments = ("--demo", "-c") if resume else ("--demo",)
    with Terminal(reactagent(*arguments), cwd=home, env={"HOME": str(home)}) as terminal:
        process = Path(f"/proc/{terminal.process.pid}")
        if resume:
            terminal.wait(LAST)
        terminal.send("q")
        terminal.wait("> q")
        live = time.monotonic() - begin
        terminal.send("\r")
        terminal.wait("▌ q")
        taken = time.monotonic() - begin
        fields = (process / "stat").read_text().rpartition(")")[2].split()
        cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        time.sleep(2.0)  # what goes on behind the screen counts as well
        lines = (process / "status").read_text().splitlines()
        memory = next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)
    return Opened(live, taken, cpu, memory)


def measure_opening(folder: Path, messages: int, runs: int) -> None:
    """Print what the long session adds."""
    home = folder / "home"
    empty = folder / "empty"
    found: dict[bool, list[Opened]] = {True: [], False: []}
    size = 0.0
    for run in range(runs + 1):
        for resume in (False, True):
            place = home if resume else empty
            if place.exists():
                shutil.rmtree(place)  # the turn of the run before would be the end of the session
            place.mkdir()
            if resume:
                path = write_session(place / ".local/state/reactagent/sessions", place, messages, title="long")
                with path.open("a") as stream:
                    stream.write(_LAST_LINE)
                size = path.stat().st_size / 1e6
            measured = open_once(place, resume=resume)
            if run:
                found[resume].append(measured)
    short, long = (
        Opened(*(statistics.median(values) for values in zip(*found[key], strict=True))) for key in (False, True)
    )
    print(f"{messages} messages ({size:.1f} MB), against an empty start:")
    for name in ("live", "taken", "cpu"):
        one, other = getattr(long, name) * 1e3, getattr(short, name) * 1e3
        print(f"  {name:6} {one:6.0f} ms  {other:6.0f} ms  more: {one - other:5.0f} ms")
    print(f"  memory at most {long.memory:.0f} MB, {short.memory:.0f} MB")


def measure_search(folder: Path, messages: int, sessions: int) -> None:
    """Print what the index costs and what it gives."""
    root = folder / "many"
    for number in range(sessions):
        write_session(root / "sessions", Path("/w"), messages, number=number, needle=f"needle{number:03d}xyz")
    index = SessionIndex(root / "sessions", root / "sessions.db")
    began = time.perf_counter()
    cold = len(list_sessions(index))
    listed = time.perf_counter() - began
    began = time.perf_counter()
    index.update()
    built = time.perf_counter() - began
    megabytes = index.path.stat().st_size / 1e6
    print(f"{cold} sessions listed without an index in {listed * 1e3:.0f} ms; index {built:.1f} s, {megabytes:.0f} MB")
    for query in QUERIES:
        found, times = index.search(query), list[float]()
        for _ in range(5):
            began = time.perf_counter()
            found = index.search(query)
            times.append(time.perf_counter() - began)
        whole = "" if found.whole else " (stopped)"
        print(f"  {query:20} {len(found.hits):4} sessions  {statistics.median(times) * 1e3:6.1f} ms{whole}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    args, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name:
        measure_opening(Path(name), args.messages, args.runs)
        measure_search(Path(name), args.messages, args.sessions)


if __name__ == "__main__":
    main()
