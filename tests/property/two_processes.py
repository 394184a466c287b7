"""Two processes on one state folder and one work folder: nothing lost, no lock error, no edit over another's.

python -m tests.property.two_processes [--seconds 60]
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from reactagent_tui.core.cost.usage_db import UsageDb
from reactagent_tui.core.memory.store import FactStore
from reactagent_tui.core.messages import ToolResult
from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.sessions.index import SessionIndex
from reactagent_tui.core.sessions.store import SessionStore
from tests.fakes.shared_state import COUNTER, fact

NAMES = ("red", "blue")
ROOT = Path(__file__).resolve().parents[2]


def play(folder: Path, seconds: float) -> tuple[list[dict[str, Any]], list[str]]:
    """What each process did, and everything that was wrong."""
    work = folder / "work"
    work.mkdir(parents=True)
    (work / COUNTER).write_text("count 0\n")
    env = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    env |= {"HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.fakes.shared_state", str(folder)]
    processes = [
        subprocess.Popen([*command, name, str(seconds)], env=env, cwd=folder, stdout=subprocess.PIPE, text=True)
        for name in NAMES
    ]
    did: list[dict[str, Any]] = [json.loads(process.communicate(timeout=seconds + 120)[0]) for process in processes]
    problems = [f"{text!r} was said" for one in did for text in one["trouble"]]
    raised = sum(one["raised"] for one in did)
    if (count := (work / COUNTER).read_text()) != f"count {raised}\n":
        problems.append(f"{raised} edits were done, the file says {count!r}")
    paths = user_paths({"HOME": str(folder / "home")})
    calls = 0
    for one in did:
        file = SessionStore.at(paths).load(Path(one["path"]))
        calls += len({row["row"]["call_id"] for row in file.usage_rows})
        refused = [m.text for m in file.messages if isinstance(m, ToolResult) and m.is_error]
        if len(refused) != one["told_to_read"] or not all("Read it again" in text for text in refused):
            problems.append(f"refused edits say {refused[:3]}")
        if file.bad_lines or len(file.messages) != one["messages"]:
            problems.append(f"{len(file.messages)} of {one['messages']} messages, bad lines {file.bad_lines}")
    db = UsageDb.open(paths.usage_db)
    try:
        booked = sum(1 for _ in db.bookings())
    finally:
        db.close()
    if booked != calls:
        problems.append(f"{booked} of {calls} calls are in usage.db")
    store = FactStore.open(paths.memory_db)
    try:
        remembered = {known.text for known in store.facts()}
    finally:
        store.close()
    told = {fact(name, turn) for name, one in zip(NAMES, did, strict=True) for turn in range(1, one["turns"] + 1)}
    if told != remembered:
        problems.append(f"{len(told - remembered)} of {len(told)} facts are lost, {len(remembered - told)} are new")
    for path in (paths.memory_db, paths.usage_db, paths.state / "sessions.db"):
        with closing(sqlite3.connect(path)) as connection:
            if (found := connection.execute("PRAGMA integrity_check").fetchall()) != [("ok",)]:
                problems.append(f"{path.name}: {found[:3]}")
    index = SessionIndex.at(paths)
    index.update()
    for name in NAMES:
        if len(index.search(f'"{name} turn 1"', seconds=10).hits) != 1:
            problems.append(f"the index does not find {name}")
    return did, problems


def main() -> int:
    """Print what happened; 1 when anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        did, problems = play(Path(name), args.seconds)
    for one in did:
        print({key: one[key] for key in ("turns", "raised", "told_to_read", "messages")})
    for problem in problems[:20]:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
