"""A server that prints what is no message: little of it is kept, and it is read slowly."""

from __future__ import annotations

import asyncio
import os
import random
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reactagent_tui.core.mcp.stderr import StderrPipe
from reactagent_tui.core.mcp.stdio import StdioPipe
from tests.unit.mcp.kit import PATIENCE

PING = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}'
LONG = b"x" * 100_000


class Held:
    """A child whose output was held back so often."""

    times = 0

    def pause(self, seconds: float) -> None:
        self.times += 1


def pipe_of(noted: list[bytes]) -> tuple[StdioPipe, Held]:
    pipe, held = StdioPipe(noted.append, b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n'), Held()
    pipe.child = cast("Any", held)
    return pipe, held


async def ids(pipe: StdioPipe) -> list[int]:
    pipe.end()
    return [message.message.id async for message in pipe.messages()]


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from([PING % 7, b"hello", b"", b"{broken", LONG, b"  " + PING % 8, b"[1, 2]"]), max_size=8),
    st.integers(0, 2**32),
)
def test_messages_come_through_whatever_is_between(lines: list[bytes], seed: int) -> None:
    async def work() -> list[int]:
        pipe, _ = pipe_of([])
        data = b"".join(line + b"\n" for line in lines)
        cuts = sorted(random.Random(seed).choices(range(len(data) + 1), k=5))
        for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            pipe.feed(data[begin:end])
        return await ids(pipe)

    assert asyncio.run(work()) == [8 if b"8" in line else 7 for line in lines if b"ping" in line]


@pytest.mark.asyncio
async def test_a_flood_is_held_back_and_hardly_kept() -> None:
    noted: list[bytes] = []
    pipe, held = pipe_of(noted)
    for number in range(2_000):
        pipe.feed(b"nothing to read here\n" * 3_000 if number % 2 else LONG)
    assert held.times == 2_000
    assert sum(map(len, noted)) < 400_000
    assert b"not kept" in noted[-1]
    assert not pipe.awake.is_set()
    pipe.feed(b"\n" + PING % 1 + b"\n")
    assert pipe.awake.is_set()
    assert await ids(pipe) == [1]


@pytest.mark.asyncio
async def test_more_messages_than_are_taken_are_held_back() -> None:
    pipe, held = pipe_of([])
    for number in range(3_000):
        pipe.feed(PING % number + b"\n")
    assert held.times > 0
    assert await ids(pipe) == list(range(3_000))


@pytest.mark.asyncio
async def test_what_comes_back_is_no_sign_of_life() -> None:
    pipe, _ = pipe_of([])
    pipe.feed(pipe.greeting)
    assert pipe.awake.is_set()
    assert pipe.echoes


@pytest.mark.asyncio
async def test_stderr_is_read_to_its_end() -> None:
    read = bytearray()
    errors = StderrPipe(read.extend)
    writer = os.dup(errors.writer)
    errors.begin()
    written = await asyncio.to_thread(_write, writer, b"warning\n" * 150_000)
    async with asyncio.timeout(PATIENCE):
        while len(read) < written:
            await asyncio.sleep(0.001)
    os.write(writer, b"last words")
    errors.close()
    errors.close()
    os.close(writer)
    assert bytes(read) == b"warning\n" * 150_000 + b"last words"


def _write(fd: int, data: bytes) -> int:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]
    return len(data)
