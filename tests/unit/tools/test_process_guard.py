"""The guard: a program that is killed leaves nothing behind, one that ends in order has nothing left to guard."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reactagent_tui.core.tools.process_guard import ProcessGuard
from reactagent_tui.core.tools.process_table import ProcessEntry, end_found, entry_of, find_tagged, is_same_process
from tests.unit.tools.test_process import TREES

PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from reactagent_tui.core.tools import process

async def main():
    up = asyncio.Event()
    child = process.spawn(["bash", "-c", sys.argv[1]], cwd=Path.cwd(), env=dict(os.environ),
                          on_output=lambda data: up.set() if b"up" in data else None)
    await asyncio.wait_for(up.wait(), 20)
    if sys.argv[2] == "left":
        await child.wait()
        await child.survivors()
        assert child.returncode == 0
    print(child.tag, child.pid, process._guard.pid, *(entry.pid for entry in child.left), flush=True)
    sys.stdin.read(1)
    if sys.argv[2] == "forget":
        child.close()

asyncio.run(main())
"""


class Crashing:
    """A program with one child, ready to be killed."""

    def __init__(self, command: str, way: str = "") -> None:
        argv = [sys.executable, "-c", PROGRAM, f"(sleep 0.05; echo up) & {command}", way]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.tag, *pids = self.process.stdout.readline().decode().split()
        self.leader, self.guard, *left = map(int, pids)
        self.left = [entry for pid in left if (entry := entry_of(pid)) is not None]

    def tree(self) -> tuple[ProcessEntry, ...]:
        return find_tagged({self.tag}, {self.leader})

    def wait_guard(self) -> None:
        """Until the guard has done its work."""
        try:
            handle = os.pidfd_open(self.guard)
        except ProcessLookupError:
            return
        try:
            assert select.select([handle], [], [], 20)[0]
        finally:
            os.close(handle)


@pytest.fixture
def crashing() -> Iterator[list[Crashing]]:
    started: list[Crashing] = []
    yield started
    for one in started:
        one.process.kill()
        one.process.wait()
        end_found(lambda one=one: find_tagged({one.tag}, set()), 0)


@pytest.mark.parametrize("shape", TREES)
def test_a_killed_program_leaves_nothing(shape: str, crashing: list[Crashing]) -> None:
    program = Crashing(TREES[shape])
    crashing.append(program)
    tree = program.tree()
    assert len(tree) >= 2
    program.process.kill()
    program.wait_guard()
    assert not any(map(is_same_process, tree))


def test_what_an_ended_command_left_is_known(crashing: list[Crashing]) -> None:
    """Without the mark in its environment, and its leader gone."""
    program = Crashing("env -i sleep 999 & sleep 0.3", "left")
    crashing.append(program)
    assert [entry.name for entry in program.left] == ["sleep"]
    program.process.kill()
    program.wait_guard()
    assert not any(map(is_same_process, program.left))


def test_what_was_let_go_is_spared(crashing: list[Crashing]) -> None:
    program = Crashing("sleep 999", "forget")
    crashing.append(program)
    assert program.process.stdin is not None
    program.process.stdin.close()
    program.process.wait(60)
    program.wait_guard()
    assert "sleep" in [entry.name for entry in find_tagged({program.tag}, set())]


def test_a_guard_that_was_killed_is_replaced() -> None:
    guard = ProcessGuard()
    guard.watch("a")
    first = guard.pid
    assert first is not None
    os.kill(first, 9)
    handle = os.pidfd_open(first)
    select.select([handle], [], [], 20)
    os.close(handle)
    guard.lead("a", os.getpid())
    guard.watch("b", ())
    assert guard.pid not in (None, first)
    guard.forget("b")


def test_the_guard_holds_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "sk-x")
    guard = ProcessGuard()
    guard.watch("a")
    assert b"sk-x" not in Path(f"/proc/{guard.pid}/environ").read_bytes()
    guard.forget("a")
