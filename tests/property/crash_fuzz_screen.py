"""SIGKILL at 200 moments of a whole session on the screen, and what must be true afterwards.

    python -m tests.property.crash_fuzz_screen [--runs 200] [--seed N] [--jobs 2] [--aim NAME]

The real program plays a story in a pseudo-terminal: thinking, text, a command, files that are written, a summary of a
full window, facts that are remembered, a sub-agent, a queued message, a draft, the index of sessions. Each run aims at
one kind of moment; the program is stopped first, so that what the kill hit is known, and then killed. It is started
again with `-c`, on the screen and headless in turn, every tenth time after a second kill while it starts. Linux.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from reactagent_tui.core.errors import ReactAgentError
from tests.fakes.frozen import adopt_orphans, wait_childless
from tests.fakes.killed_screen import AIMS, Scene, play_and_kill
from tests.fakes.program import Place
from tests.fakes.story_server import StoryServer
from tests.property.screen_crash_checks import (
    Problems,
    after_the_kill,
    all_is_sound,
    every_call_is_booked,
    go_on,
    kill_while_resuming,
    nothing_is_lost,
)

ROUND = (
    *(
        "start",
        "thinking",
        "text",
        "shell",
        "long command",
        "summary",
        "summary",
        "recorded",
        "arguments",
        "write",
        "half",
        "half",
    ),
    *("memory", "memory", "usage", "usage", "agent", "index", "index in a turn", "queue", "draft", "any", "end"),
)
"""One after the other: each kind of moment is met often enough in 200 runs."""
EACH = 25
"""Runs after which it is told how far it is."""


@dataclass(frozen=True)
class Run:
    """One kill."""

    seed: int
    aim: str
    hits: tuple[str, ...]
    wrong: tuple[str, ...]
    seconds: float


@dataclass
class Figures:
    """What happened in all runs."""

    runs: list[Run] = field(default_factory=list[Run])

    @property
    def moments(self) -> Counter[str]:
        return Counter(hit for run in self.runs for hit in run.hits)

    @property
    def failures(self) -> list[str]:
        return [
            f"seed {run.seed} ({run.aim}; {', '.join(run.hits)}): {text}" for run in self.runs for text in run.wrong
        ]

    def add(self, run: Run, root: Path, *, keep: bool) -> None:
        """One more; its folder goes unless something was wrong with it and it shall stay."""
        self.runs.append(run)
        if run.wrong:
            print(*(f"seed {run.seed} ({run.aim}; {run.hits}): {text}" for text in run.wrong), sep="\n", flush=True)
        if len(self.runs) % EACH == 0:
            print(f"{len(self.runs)} kills: {dict(self.moments.most_common())}", flush=True)
        if not (keep and run.wrong):
            shutil.rmtree(root / f"run{run.seed}", ignore_errors=True)


def kill_one(seed: int, root: Path, aim: str = "") -> Run:
    """Play, kill, look, go on, look again. What is wrong stands in the result."""
    began = time.monotonic()
    aim = aim or ROUND[seed % len(ROUND)]
    dice = random.Random(seed)
    wrong = Problems()
    hits: tuple[str, ...] = ()
    with StoryServer(seed, long_command=aim == "long command") as server:
        scene = Scene(Place(root / f"run{seed}", server), server, dice, AIMS[aim].look)
        try:
            scene.prepare()
            with scene.terminal() as terminal:
                killed = play_and_kill(scene, terminal, AIMS[aim])
                hits = tuple(killed.hits)
                after_the_kill(scene, killed, wrong)
            if seed % 10 == 9:
                kill_while_resuming(scene, dice.uniform(0.1, 2.0), wrong)
            on_screen = seed % 2 == 0
            request = go_on(scene, killed, wrong, screen=on_screen)
            nothing_is_lost(scene, killed, request, wrong, draft_was_seen=on_screen)
            every_call_is_booked(scene, killed, wrong)
            all_is_sound(scene, wrong)
        except (AssertionError, ReactAgentError, OSError, ValueError, sqlite3.Error, subprocess.SubprocessError):
            wrong.append(traceback.format_exc()[-1500:])
        finally:
            scene.close()
            wait_childless(0)
    return Run(seed, aim, hits, tuple(wrong), time.monotonic() - began)


def fuzz(
    seeds: range, root: Path, jobs: int = 2, aim: str = "", *, keep: bool = False, minutes: float = 60.0
) -> Figures:
    """One kill for each seed, in order."""
    figures = Figures()
    end = time.monotonic() + minutes * 60
    left = iter(seeds)
    with ProcessPoolExecutor(jobs, get_context("spawn"), adopt_orphans) as pool:
        going = {pool.submit(kill_one, seed, root, aim) for seed in islice(left, jobs)}
        while going:
            done, going = wait(going, return_when=FIRST_COMPLETED)
            for one in done:
                figures.add(one.result(), root, keep=keep)
            if time.monotonic() < end:
                going |= {pool.submit(kill_one, seed, root, aim) for seed in islice(left, len(done))}
    return figures


def main() -> int:
    """Print what happened; 1 when anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--aim", default="", choices=["", *AIMS])
    parser.add_argument("--minutes", type=float, default=60.0, help="no run begins after these")
    parser.add_argument("--keep", action="store_true", help="leave the folders of runs that failed")
    args = parser.parse_args()
    began = time.monotonic()
    root = Path(tempfile.mkdtemp(prefix="crash"))
    figures = fuzz(
        range(args.seed, args.seed + args.runs), root, args.jobs, args.aim, keep=args.keep, minutes=args.minutes
    )
    for name, count in figures.moments.most_common():
        print(f"{count:5} {name}")
    bad = sum(bool(run.wrong) for run in figures.runs)
    print(f"{len(figures.runs)} kills, {bad} with something wrong, {time.monotonic() - began:.0f} s")
    if args.keep and bad:
        print(root)
    else:
        shutil.rmtree(root)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
