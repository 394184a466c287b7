"""SIGKILL at random moments of a session, and what must be true afterwards.

    python -m tests.property.crash_fuzz --runs 200 [--seed N] [--jobs N]

After each kill: the session file can be read with at most its last line torn; everything shown a second or more before
the kill is in it; index and usage database are whole; written files hold an old or a new content; the session resumes,
and the request of its next turn is one that the strictest providers accept.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.messages import AssistantMessage, ToolResult, UserMessage
from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.runtime import Options, Runtime
from reactagent_tui.core.sessions.index import SessionIndex
from reactagent_tui.core.sessions.store import SessionFile, SessionStore
from tests.fakes.crash_child import BIG, INFO, Acks
from tests.fakes.scripted import ScriptedProvider, say
from tests.fakes.strict import complaints

ROOT = Path(__file__).resolve().parents[2]
LOST_AT_MOST = 1.0
SCRIPT_SECONDS = 3.0
PATIENCE = 60.0


@dataclass
class Figures:
    """What happened in all runs."""

    runs: int = 0
    moments: Counter[str] = field(default_factory=Counter[str])
    """What went on when the kill came."""
    failures: list[str] = field(default_factory=list[str])
    worst_loss: float = 0.0
    """Seconds of text that was shown and is not in the file, at most."""


def kill_one(folder: Path, after: float) -> list[dict[str, Any]]:
    """Play the script in a process, kill it `after` seconds from its start of work; what it had shown."""
    (folder / "work").mkdir(parents=True)
    env = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    env |= {"HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.fakes.crash_child", str(folder)]
    with subprocess.Popen(command, env=env, cwd=folder, start_new_session=True) as process:
        end = time.monotonic() + PATIENCE
        while not (folder / "acks").exists() or b'"ready"' not in (folder / "acks").read_bytes():
            assert process.poll() is None, "the child did not start"
            assert time.monotonic() < end, "the child hangs"
            time.sleep(0.005)
        time.sleep(after)
        killed = time.monotonic()
        process.send_signal(signal.SIGKILL)
    acks = [json.loads(line) for line in (folder / "acks").read_bytes().split(b"\n")[:-1]]
    return [*acks, {"at": killed, "kind": "killed", "text": ""}]


async def check(folder: Path, acks: list[dict[str, Any]], figures: Figures) -> None:
    """Everything that must be true. Problems go into the figures."""

    def fail(text: str) -> None:
        figures.failures.append(f"{folder.name}: {text}")

    paths = user_paths({"HOME": str(folder / "home")})
    path = Path(next(ack["text"] for ack in acks if ack["kind"] == "ready"))
    file = SessionStore.at(paths).load(path)
    lines = _lines(path)
    if any(bad.number < lines - 1 for bad in file.bad_lines):
        fail(f"bad lines inside: {file.bad_lines}")
    killed = acks[-1]["at"]
    figures.moments[acks[-2]["kind"]] += 1
    _check_loss(file, acks, killed, figures, fail)
    for name in ("sessions.db", "usage.db"):
        _check_database(paths.state / name, fail)
    _check_files(folder / "work", fail)
    await _resume(folder, path, fail)
    index = SessionIndex.at(paths)
    index.update()
    if len(index.search("prompt after", seconds=10).hits) != 1:
        fail("the index does not find what was said after the crash")


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") + 1


def _check_database(path: Path, fail: Any) -> None:
    if path.exists():
        with closing(sqlite3.connect(path)) as db:
            if (found := db.execute("PRAGMA integrity_check").fetchone()) != ("ok",):
                fail(f"{path.name}: {found}")


def _check_files(folder: Path, fail: Any) -> None:
    for written in folder.glob("file*.txt"):
        content = written.read_text()
        if content[1:] != f":{BIG}":
            fail(f"{written.name} is half written ({len(content)} characters)")


def _check_loss(file: SessionFile, acks: list[dict[str, Any]], killed: float, figures: Figures, fail: Any) -> None:
    said = "".join(message.text for message in file.messages if isinstance(message, AssistantMessage))
    results = {message.call_id for message in file.messages if isinstance(message, ToolResult)}
    prompts = {message.text for message in file.messages if isinstance(message, UserMessage)}
    for ack in acks:
        missing = (
            (ack["kind"] == "text" and ack["text"].strip() not in said)
            or (ack["kind"] == "tool" and ack["text"] not in results)
            or (ack["kind"] == "prompt" and ack["text"] not in prompts)
        )
        if missing:
            age = killed - ack["at"]
            figures.worst_loss = max(figures.worst_loss, age)
            if age > LOST_AT_MOST + 0.25:  # the writer's own second, and what a busy machine adds
                fail(f"lost {ack} of {age:.2f} s before the kill")


async def _resume(folder: Path, path: Path, fail: Any) -> None:
    """Go on with the session, in this process."""
    runtime = Runtime.load(
        Acks(folder / "acks2"), Options(overrides=Overrides(mode="auto"), demo=True), {"HOME": str(folder / "home")}
    )
    try:
        file = runtime.store.load(path)
        before = len(file.messages)
        session = runtime.open_session(folder / "work", resume=file)
        provider = ScriptedProvider([say("on again")], INFO)
        session.set_provider(provider)
        if session.is_running or provider.requests:
            fail("resuming started a run by itself")
        result = await session.run(UserMessage("prompt after the crash"))
        if result.reason != "ANSWER":
            fail(f"the next turn ended with {result.reason}: {result.error}")
        for request in provider.requests:
            if bad := complaints(request.messages):
                fail(f"the next request is refused: {bad}")
        if len(file.messages) < before + 2:
            fail("the history did not grow")
    finally:
        await runtime.close()
    again = SessionStore.at(user_paths({"HOME": str(folder / "home")})).load(path)
    if again.messages != file.messages:
        fail("the file says something else than the session did")


async def fuzz(seeds: range, root: Path, jobs: int = 1) -> Figures:
    """One kill for each seed."""
    figures = Figures()
    gate = asyncio.Semaphore(jobs)

    async def one(seed: int) -> None:
        async with gate:
            after = random.Random(seed).uniform(0, SCRIPT_SECONDS)
            folder = root / f"run{seed}"
            acks = await asyncio.to_thread(kill_one, folder, after)
            await check(folder, acks, figures)
            figures.runs += 1

    await asyncio.gather(*(one(seed) for seed in seeds))
    return figures


def main() -> int:
    """Print what happened; 1 when anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        figures = asyncio.run(fuzz(range(args.seed, args.seed + args.runs), Path(name), args.jobs))
    print(f"{figures.runs} kills, last seen: {dict(figures.moments)}, most that was lost: {figures.worst_loss:.2f} s")
    for failure in figures.failures:
        print(failure)
    return 1 if figures.failures else 0


if __name__ == "__main__":
    sys.exit(main())
