"""What a long session costs: opening one of 10,000 messages in the real program, memory, search over a hundred such.

    python tests/bench/session_size_cost.py [--messages N] [--sessions N] [--runs N]

Opening is measured in a pseudo-terminal, from exec until the end of the session stands on the screen and a key typed
then is shown; an empty start until its first key is shown is taken off. Targets: at most 1 s more, 250 MB, and 200 ms
for a search (--sessions 100; the default is smaller, for building the index of a hundred takes minutes).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from reactagent_tui.core.sessions.index import SessionIndex  # noqa: E402
from reactagent_tui.core.sessions.listing import list_sessions  # noqa: E402
from tests.fakes.long_session import write_session  # noqa: E402
from tests.fakes.terminal import Terminal, reactagent  # noqa: E402

LAST = "the very last words"
QUERIES = ("needle007xyz", "clock", "会话", "zq", "testing cart", "not in any of them")


def open_once(home: Path, *, resume: bool) -> tuple[float, float]:
    """Seconds from exec to a shown key (with `resume`: typed when the session's end is seen), and MB of memory."""
    begin = time.monotonic()
    arguments = ("--demo", "-c") if resume else ("--demo",)
    with Terminal(reactagent(*arguments), cwd=home, env={"HOME": str(home)}) as terminal:
        if resume:
            terminal.wait(LAST)
        terminal.send("q")
        terminal.wait("> q")
        seconds = time.monotonic() - begin
        time.sleep(2.0)  # what goes on behind the screen counts as well
        status = Path(f"/proc/{terminal.process.pid}/status")
        lines = status.read_text().splitlines() if status.exists() else []
        memory = next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)
        terminal.send("\x03\x03\x03")
        terminal.wait_exit()
    return seconds, memory


def measure_opening(folder: Path, messages: int, runs: int) -> None:
    """Print what the long session adds."""
    home = folder / "home"
    home.mkdir()
    root = home / ".local/state/reactagent/sessions"
    path = write_session(root, home, messages, title="long")
    with path.open("a") as stream:
        stream.write(
            '{"v":1,"seq":1,"ts":"","type":"message","message":{"role":"assistant","parts":'
            f'[{{"type":"text","text":"{LAST}"}}],"stop_reason":"stop"}}}}\n'
        )
    empty = folder / "empty"
    empty.mkdir()
    found: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for run in range(runs + 1):
        for resume in (False, True):
            measured = open_once(home if resume else empty, resume=resume)
            if run:
                found[resume].append(measured)
    short, long = (statistics.median(seconds for seconds, _ in found[key]) for key in (False, True))
    memory = {key: statistics.median(memory for _, memory in found[key]) for key in (False, True)}
    size = path.stat().st_size / 1e6
    print(f"{messages} messages ({size:.1f} MB): open {long * 1e3:.0f} ms, an empty start {short * 1e3:.0f} ms")
    print(f"more: {(long - short) * 1e3:.0f} ms   memory at most {memory[True]:.0f} MB (empty {memory[False]:.0f} MB)")


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
        times: list[float] = []
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
