"""Calls that wait: held back by a rate limit, while a model loads, in a stalled stream; and prompts a server cut."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.config.schema import PriceEntry
from reactagent_tui.core.cost.ledger import Ledger, LedgerRow
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.errors import ContextOverflowError, ServerError
from reactagent_tui.core.events import Notice, RetryScheduled, UsageUpdated, WaitProgress
from reactagent_tui.core.llm.base import ChatProvider, ModelInfo, ModelRequest, StreamProgress, StreamText
from reactagent_tui.core.llm.paced import PacedProvider
from reactagent_tui.core.llm.pacing import Pacer, RateLimit, Ticket
from reactagent_tui.core.messages import AssistantMessage, UserMessage
from reactagent_tui.core.money import Money
from reactagent_tui.core.react import retries, stall
from reactagent_tui.core.usage import Usage
from tests.fakes.scripted import Beat, ScriptedProvider, forever, say
from tests.unit.react.kit import Bench, Run

PRICED = ModelInfo("house", "m", "scripted", 100_000)
PRICES = PriceBook({"m": PriceEntry(input=Decimal(10), output=Decimal(20))})
LONG = "word " * 20_000


def priced(run: Run, provider: ChatProvider) -> list[LedgerRow]:
    """Let the run call this provider for money; returns the rows as they are written."""
    rows: list[LedgerRow] = []
    run.controller.setup.provider = provider
    run.controller.setup.ledger = Ledger("s", PRICES, on_row=rows.append)
    run.controller.setup.ledger.begin_turn()
    return rows


def paced(run: Run, pacer: Pacer) -> list[LedgerRow]:
    run.provider.info = PRICED
    return priced(run, PacedProvider(run.provider, pacer))


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


def taken() -> tuple[Pacer, Ticket]:
    """A pacer with one slot, and who holds it."""
    pacer = Pacer(RateLimit(concurrent=1))
    holder = pacer.join(0)
    assert holder.start()
    return pacer, holder


async def test_stopped_while_the_rate_limit_holds_it_back_costs_nothing(tmp_path: Path) -> None:
    pacer, holder = taken()
    run = Bench(tmp_path).make([say("never")])
    rows = paced(run, pacer)
    task = asyncio.create_task(run.controller.run(UserMessage("go")))
    await until(lambda: run.events(WaitProgress))
    waiting = run.events(UsageUpdated)[-1]
    run.controller.interrupt()
    result = await task
    assert run.events(WaitProgress)[0].kind == "paced"
    assert run.provider.requests == []
    assert (waiting.totals.turn_usage.total, waiting.totals.turn_cost.amount) == (0, 0)
    assert waiting.context_used > 0
    assert result.reason == "INTERRUPTED"
    assert (result.usage, result.cost.amount) == (Usage(), 0)
    assert rows[-1].interrupted
    assert rows[-1].cost == Money(Decimal(0), "reported")
    assert [row.usage.total for row in rows[1:]] == [0, 0]  # what a crash would find on disk
    assert not [message for message in run.history.messages if isinstance(message, AssistantMessage)]
    holder.close()
    assert pacer.join(0).start()


async def test_stopped_after_it_had_its_turn_is_billed(tmp_path: Path) -> None:
    pacer, holder = taken()
    run = Bench(tmp_path).make([[forever]])
    rows = paced(run, pacer)
    task = asyncio.create_task(run.controller.run(UserMessage("go")))
    await until(lambda: run.events(WaitProgress))
    holder.close()
    await until(lambda: run.provider.requests)
    run.controller.interrupt()
    result = await task
    assert result.usage.input > 0
    assert result.cost.amount
    assert rows[-1].interrupted
    assert pacer.join(0).start()


async def test_a_call_that_waited_is_booked_when_it_goes(tmp_path: Path) -> None:
    pacer, holder = taken()
    run = Bench(tmp_path).make([say("ok", usage=Usage(input=100, output=10))])
    rows = paced(run, pacer)
    task = asyncio.create_task(run.controller.run(UserMessage("go")))
    await until(lambda: run.events(WaitProgress))
    holder.close()
    result = await task
    assert (result.reason, result.answer) == ("ANSWER", "ok")
    assert result.usage == Usage(input=100, output=10)
    assert rows[-1].cost == Money(Decimal("0.0012"), "reported")
    assert run.events(RetryScheduled) == []
    assert {row.call_id for row in rows} == {"m1"}


async def test_a_failure_after_waiting_is_tried_again_through_the_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries.random, "uniform", lambda _a, _b: 0.0)
    pacer, holder = taken()
    run = Bench(tmp_path).make([[ServerError("busy", retryable=True)], say("ok")])
    rows = paced(run, pacer)
    task = asyncio.create_task(run.controller.run(UserMessage("go")))
    await until(lambda: run.events(WaitProgress))
    holder.close()
    result = await task
    assert result.answer == "ok"
    assert len(run.events(RetryScheduled)) == 1
    assert [row.cause for row in rows if row.ended] == ["step", "retry"]
    assert pacer.join(0).start()


async def test_while_a_model_loads_it_is_told_once_and_nothing_is_booked(tmp_path: Path) -> None:
    gate = asyncio.Event()
    loads: list[Beat] = [StreamProgress("loading", 1.0), StreamProgress("loading", 2.0), gate.wait]
    run = Bench(tmp_path).make([[*loads, *say("ok")]])
    run.provider.info = PRICED
    priced(run, run.provider)
    task = asyncio.create_task(run.controller.run(UserMessage("go")))
    await until(lambda: len(run.events(WaitProgress)) == 2)
    assert run.events(UsageUpdated)[-1].totals.turn_cost.amount == 0
    gate.set()
    assert (await task).answer == "ok"
    assert run.notices == ["server.loading"]
    assert [event.kind for event in run.events(WaitProgress)] == ["loading", "loading"]


async def test_a_stream_that_stalls_is_told_and_stops_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stall, "STALL_AFTER", 0.05)
    monkeypatch.setattr(stall, "TICK", 0.01)
    run = Bench(tmp_path).make([[StreamText("half"), forever]])
    task = asyncio.create_task(run.controller.run(UserMessage("go")))
    await until(lambda: len(run.events(WaitProgress)) >= 2)
    run.controller.interrupt()
    result = await task
    told = [event.seconds for event in run.events(WaitProgress)]
    assert {event.kind for event in run.events(WaitProgress)} == {"stalled"}
    assert told == sorted(told)
    assert told[0] >= 0.049
    assert result.reason == "INTERRUPTED"
    assert run.replies[-1].text == "half"
    count = len(told)
    await asyncio.sleep(0.05)
    assert len(run.events(WaitProgress)) == count  # nothing goes on ticking


async def test_silence_before_the_first_word_is_no_stall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stall, "STALL_AFTER", 0.01)
    monkeypatch.setattr(stall, "TICK", 0.01)
    run = Bench(tmp_path).make([[lambda: asyncio.sleep(0.1), *say("ok")]])
    assert (await run.controller.run(UserMessage("go"))).answer == "ok"
    assert run.events(WaitProgress) == []


OLLAMA = {"provider": "ollama", "api": "openai-chat"}
CUT = Usage(input=4_000, output=96)


async def test_a_cut_prompt_is_told_once_and_teaches_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, model=OLLAMA)
    run = bench.make([say("ok", usage=CUT), say("ok", usage=CUT)])
    counter = run.controller.setup.counter
    await run.controller.run(UserMessage(LONG))
    [notice] = run.events(Notice)
    assert (notice.key, notice.level) == ("server.prompt_cut_at", "warn")
    assert notice.params["window"] == 4096
    assert notice.params["read"] == 4_000
    assert notice.params["sent"] > 15_000
    assert counter.estimator.factors.seen == 0
    again = bench.make([say("ok", usage=CUT)])
    again.controller.setup.counter = counter  # the next turn of the session
    await again.controller.run(UserMessage(LONG))
    assert again.notices == []


async def test_a_hosted_model_teaches_as_before(tmp_path: Path) -> None:
    run = Bench(tmp_path, model=OLLAMA | {"provider": "openai", "local": False}).make([say("ok", usage=CUT)])
    await run.controller.run(UserMessage(LONG))
    assert run.notices == []
    assert run.controller.setup.counter.estimator.factors.plain < 1


async def test_no_user_query_gets_the_same_hint(tmp_path: Path) -> None:
    error = ContextOverflowError("no user query found in messages (500 from http://h)", status=500)
    run = Bench(tmp_path).make([[error]])
    await run.controller.run(UserMessage("go"))
    assert run.notices.count("server.prompt_lost") == 1
    assert run.events(RetryScheduled) == []


async def test_another_model_of_the_session_is_warned_of_too(tmp_path: Path) -> None:
    bench = Bench(tmp_path, model=OLLAMA)
    run = bench.make([say("ok", usage=CUT)])
    await run.controller.run(UserMessage(LONG))
    other = bench.make([say("ok", usage=CUT)])
    other.provider.info = replace(other.provider.info, name="other")
    other.controller.setup.counter = run.controller.setup.counter
    await other.controller.run(UserMessage(LONG))
    assert other.notices == ["server.prompt_cut_at"]


async def test_two_runs_share_a_pacer(tmp_path: Path) -> None:
    """The main agent and a sub-agent, each with its own provider object: one call at a time."""
    pacer = Pacer(RateLimit(concurrent=1))
    gate = asyncio.Event()
    order: list[str] = []

    class Noted(ScriptedProvider):
        def __init__(self, name: str, *beats: Beat) -> None:
            super().__init__([[*beats, *say(name)]])
            self.name = name

        def stream(self, request: ModelRequest) -> Any:
            order.append(self.name)
            return super().stream(request)

    bench = Bench(tmp_path)
    first, second = bench.make([]), bench.make([])
    first.controller.setup.provider = PacedProvider(Noted("first", gate.wait), pacer)
    second.controller.setup.provider = PacedProvider(Noted("second"), pacer)
    one = asyncio.create_task(first.controller.run(UserMessage("a")))
    await until(lambda: order)
    two = asyncio.create_task(second.controller.run(UserMessage("b")))
    await until(lambda: second.events(WaitProgress))
    assert order == ["first"]
    gate.set()
    assert [(await one).answer, (await two).answer] == ["first", "second"]
    assert order == ["first", "second"]
