"""A provider behind a pacer: it waits before it sends, tells so, and gives its place back however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from reactagent_tui.core.errors import ServerError
from reactagent_tui.core.llm.base import ModelRequest, StreamDelta, StreamProgress, StreamText
from reactagent_tui.core.llm.paced import PacedProvider
from reactagent_tui.core.llm.pacing import Pacer, RateLimit
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.usage import Usage
from tests.fakes.scripted import Beat, ScriptedProvider, forever, say

ASK = ModelRequest("m", "Be brief.", (UserMessage("hi " * 500),))
ONE = RateLimit(concurrent=1)


def provider(pacer: Pacer, *replies: list[Beat]) -> tuple[PacedProvider, ScriptedProvider]:
    inner = ScriptedProvider(replies or [say("ok")], repeat=True)
    return PacedProvider(inner, pacer), inner


async def collect(paced: PacedProvider) -> list[StreamDelta]:
    return [delta async for delta in paced.stream(ASK)]


async def first(stream: AsyncGenerator[StreamDelta, None]) -> StreamDelta:
    return await anext(stream)


async def test_without_a_queue_nothing_is_added() -> None:
    paced, inner = provider(Pacer(RateLimit(requests_per_minute=10, tokens_per_minute=10_000, concurrent=2)))
    assert await collect(paced) == say("ok")
    assert paced.info is inner.info
    assert paced.last_exchange is inner.last_exchange


async def test_two_providers_share_one_slot() -> None:
    pacer = Pacer(ONE)
    running, second_inner = provider(pacer, [StreamText("a"), forever])
    waiting, inner = provider(pacer)
    async with asyncio.timeout(60), aclosing(running.stream(ASK)) as held, aclosing(waiting.stream(ASK)) as stream:
        assert await first(held) == StreamText("a")
        sign = await first(stream)
        assert isinstance(sign, StreamProgress)
        assert (sign.kind, sign.left) == ("paced", None)
        assert inner.requests == []  # nothing was sent
        assert len(second_inner.requests) == 1
        await held.aclose()
        rest = [delta async for delta in stream]
    assert rest == [StreamProgress("connecting"), *say("ok")]


async def test_the_rate_is_kept_over_two_providers() -> None:
    pacer = Pacer(RateLimit(requests_per_minute=1), span=0.05)
    one, other = provider(pacer)[0], provider(pacer)[0]
    async with asyncio.timeout(60):
        assert await collect(one) == say("ok")
        came = await collect(other)
    sign = came[0]
    assert isinstance(sign, StreamProgress)
    assert sign.kind == "paced"
    assert sign.left is not None
    assert 0 < sign.left <= 0.05
    assert [delta for delta in came if not isinstance(delta, StreamProgress)] == say("ok")


async def _run_out(stream: AsyncGenerator[StreamDelta, None]) -> None:
    async for _ in stream:
        pass


@pytest.mark.parametrize("running", [True, False], ids=["while-it-streams", "while-it-waits"])
async def test_cancelling_gives_the_place_back(running: bool) -> None:
    pacer = Pacer(ONE)
    holder, _ = provider(pacer, [StreamText("a"), forever])
    victim, inner = provider(pacer, [StreamText("b"), forever])
    last, _ = provider(pacer)
    async with asyncio.timeout(60), aclosing(holder.stream(ASK)) as held:
        await first(held)
        task = asyncio.create_task(_run_out(victim.stream(ASK)))
        await asyncio.sleep(0)
        if running:
            await held.aclose()
            while not inner.requests:
                await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await held.aclose()
        assert await collect(last) == say("ok")  # no slot was lost
    assert len(inner.requests) == running
    assert pacer.join(0).start()


async def test_a_failure_gives_the_slot_back() -> None:
    pacer = Pacer(ONE)
    failing, _ = provider(pacer, [ServerError("no", retryable=True)])
    for _ in range(3):
        with pytest.raises(ServerError):
            await collect(failing)
    assert await collect(provider(pacer)[0]) == say("ok")


async def test_cancelled_at_every_step() -> None:
    """Wherever it is cut off, one slot is there afterwards, and not two."""
    for steps in range(12):
        pacer = Pacer(ONE)
        holder, _ = provider(pacer, [StreamText("a"), forever])
        held: Any = holder.stream(ASK)
        await first(held)
        task = asyncio.create_task(collect(provider(pacer)[0]))
        for step in range(steps):
            if step == 3:
                await held.aclose()
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        await held.aclose()
        assert pacer.join(0).start()
        assert not pacer.join(0).start()


async def test_tokens_are_reserved_and_then_corrected() -> None:
    pacer = Pacer(RateLimit(tokens_per_minute=1_000))
    paced, _ = provider(pacer, [StreamText("a"), forever])
    async with asyncio.timeout(60), aclosing(paced.stream(ASK)) as stream:
        await first(stream)
        assert not _goes(pacer, 900)  # some 500 tokens are reserved
    whole, _ = provider(Pacer(RateLimit(tokens_per_minute=1_000)), say("ok", usage=Usage(input=30, output=20)))
    pacer = whole._pacer
    await collect(whole)
    assert not _goes(pacer, 951)
    assert _goes(pacer, 950)


def _goes(pacer: Pacer, tokens: int) -> bool:
    ticket = pacer.join(tokens)
    started = ticket.start()
    ticket.close()
    return started
