"""Processes end when they are told to: every shape of tree, every way of asking, and nothing leaks."""

# ruff: noqa: ASYNC240 - the files of a test are small and nobody waits
from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reactagent_tui.core.tools import process
from reactagent_tui.core.tools.process import ChildProcess, running_children, shielded, spawn, sweep_all, sweep_now
from reactagent_tui.core.tools.process_table import TAG, find_tagged, is_same_process, parse_ps

TREES = {
    "plain": "sleep 999 & (sleep 999; :) ; :",
    "trap": "(trap '' TERM; sleep 999; sleep 999) & trap '' TERM; sleep 999; sleep 999",
    "setsid": "setsid sleep 999 & sleep 999",
    "daemon": "(setsid sh -c 'sleep 999 & sleep 999' >/dev/null 2>&1 &) ; sleep 999",
    "nohup": "nohup sleep 999 >/dev/null 2>&1 & disown; sleep 999",
    "no environment": "env -i /bin/sh -c 'sleep 999' & env -i setsid sleep 999 & sleep 999",
}


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    sweep_now()
    assert running_children() == ()


def start(command: str, sink: list[bytes] | None = None, **extra: str) -> ChildProcess:
    heard = [] if sink is None else sink
    env = dict(os.environ) | extra
    return spawn(["bash", "-c", command], cwd=Path.cwd(), env=env, on_output=heard.append)


async def ready(command: str) -> ChildProcess:
    """The child, once its whole tree is up."""
    seen = asyncio.Event()
    child = start(command + "\n")
    child.on_output = lambda data: seen.set() if b"up" in data else None
    await asyncio.wait_for(seen.wait(), 60)
    return child


def alive(child: ChildProcess) -> list[int]:
    return [entry.pid for entry in find_tagged({child.tag}, set())]


@pytest.mark.parametrize("shape", TREES)
async def test_a_stop_leaves_nothing_alive(shape: str) -> None:
    child = await ready(f"(sleep 0.05; echo up) & {TREES[shape]}")
    tree = find_tagged({child.tag}, {child.pid})
    assert len(tree) >= 2
    await child.stop()
    assert [entry for entry in tree if is_same_process(entry)] == []
    assert alive(child) == []
    assert child.returncode in (-signal.SIGTERM, -signal.SIGKILL)


async def test_a_program_that_obeys_is_not_killed_and_not_waited_for() -> None:
    child = await ready("trap 'echo bye > bye; exit 3' TERM; echo up; while :; do sleep 0.01; done")
    began = asyncio.get_running_loop().time()
    await child.stop(grace=30)
    assert Path("bye").read_text() == "bye\n"
    assert child.returncode == 3
    assert asyncio.get_running_loop().time() - began < 15


async def test_exit_is_seen_while_a_grandchild_holds_the_pipe() -> None:
    heard: list[bytes] = []
    child = start("sleep 999 & echo now", heard)
    assert await child.wait(60)
    assert not await child.drain(0.05)
    assert b"".join(heard) == b"now\n"
    left = await child.survivors()
    assert [entry.name for entry in left] == ["sleep"]
    assert child in running_children()
    assert await sweep_all() == 1
    assert not any(is_same_process(entry) for entry in left)


async def test_output_after_the_end_goes_where_it_is_sent() -> None:
    first: list[bytes] = []
    later: list[bytes] = []
    child = start("(while [ ! -e go ]; do sleep 0.01; done; echo late) & echo early", first)
    await child.wait(60)
    await child.drain(0.02)
    child.on_output = later.append
    Path("go").touch()
    assert await child.drain(5)
    assert (b"".join(first), b"".join(later)) == (b"early\n", b"late\n")


async def test_a_second_cancel_does_not_interrupt_the_cleanup() -> None:
    child = await ready("trap '' TERM; echo up; sleep 999; sleep 999")

    async def run() -> None:
        try:
            await child.wait()
        except asyncio.CancelledError:
            await shielded(child.stop(0.05))
            raise

    task = asyncio.ensure_future(run())
    for _ in range(4):
        await asyncio.sleep(0.01)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive(child) == []
    assert child.returncode == -signal.SIGKILL


async def test_shielded_raises_what_the_work_raised() -> None:
    async def broken() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await shielded(broken())


async def test_input_is_given_whole_and_is_empty_without() -> None:
    heard: list[bytes] = []
    given = b"x" * 300_000
    child = spawn(["wc", "-c"], cwd=Path.cwd(), env=dict(os.environ), on_output=heard.append, stdin=given)
    assert await child.drain(5)
    assert b"".join(heard).split() == [b"300000"]
    child = start("read line; echo $?:$line", heard)
    assert await child.drain(5)
    assert heard[-1] == b"1:\n"


async def test_there_is_no_terminal() -> None:
    heard: list[bytes] = []
    child = start("echo x > /dev/tty", heard)
    assert await child.wait(60)
    await child.drain()
    assert b"No such device" in b"".join(heard)


async def test_the_tag_of_an_outer_program_is_kept() -> None:
    heard: list[bytes] = []
    child = start(f"echo ${TAG}", heard, **{TAG: "outer"})
    await child.drain(5)
    assert heard == [f"outer:{child.tag}\n".encode()]


async def test_a_program_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        spawn(["no-such-program"], cwd=Path.cwd(), env={}, on_output=lambda data: None)
    assert running_children() == ()


async def test_twenty_calls_leak_nothing() -> None:
    async def one() -> None:
        child = start("echo x; true")
        await child.wait(60)
        await child.drain()
        assert await child.survivors() == ()
        assert child.returncode == 0

    await one()
    before = (len(os.listdir("/proc/self/fd")), threading.active_count(), len(asyncio.all_tasks()))
    for _ in range(20):
        await one()
    assert (len(os.listdir("/proc/self/fd")), threading.active_count(), len(asyncio.all_tasks())) == before


async def test_left_behind_processes_that_ended_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_MANY", 1)
    child = start("(while [ ! -e go ]; do sleep 0.01; done) & :")
    await child.wait(60)
    assert len(await child.survivors()) >= 1
    Path("go").touch()
    assert await child.drain(5)
    while find_tagged({child.tag}, set()):
        await asyncio.sleep(0.005)
    other = start("true")
    await asyncio.sleep(0)
    assert child not in running_children()
    await other.wait(60)
    await other.survivors()


async def test_without_pidfd_a_thread_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    child = start("exit 7")
    assert await child.wait(60)
    assert child.returncode == 7
    child.close()
    child = await ready("trap '' TERM; echo up; sleep 999")
    await child.stop(0.02)
    assert alive(child) == []


def test_it_works_in_the_loop_of_another_thread() -> None:
    codes: list[int | None] = []

    async def run() -> None:
        child = start("exit 4")
        await child.wait(60)
        codes.append(child.returncode)
        child.close()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    thread.join(10)
    assert codes == [4]


def test_a_sweep_after_the_loop_has_ended() -> None:
    async def run() -> ChildProcess:
        child = await ready("echo up; sleep 999")
        return child

    child = asyncio.run(run())
    assert sweep_now() >= 1
    assert alive(child) == []


def test_ps_listing_of_macos() -> None:
    listing = (
        "  101     1 S    /bin/sleep 999 PATH=/bin REACTAGENT_TOOL_ID=aaa HOME=/Users/x\n"
        "  102   101 S+   /usr/bin/python3 -c x REACTAGENT_TOOL_ID=outer:bbb\n"
        "  103     1 Z    (sleep) REACTAGENT_TOOL_ID=aaa\n"
        "  104     1 S    vim\n"
        "broken line\n"
    )
    entries, tagged = parse_ps(listing, {"aaa", "bbb"})
    assert [(entry.pid, entry.parent, entry.name) for entry in entries] == [
        (101, 1, "sleep"),
        (102, 101, "python3"),
        (104, 1, "vim"),
    ]
    assert tagged == {101, 102}
