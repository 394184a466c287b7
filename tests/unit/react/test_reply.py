"""One model call in the ledger: what was sent, what came, whatever ended it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reactagent_tui.core.cost.ledger import LedgerRow
from reactagent_tui.core.errors import ServerError, StreamCutError
from reactagent_tui.core.events import UsageUpdated
from reactagent_tui.core.llm.base import (
    ModelInfo,
    ModelRequest,
    StreamDelta,
    StreamFinish,
    StreamText,
    StreamThinking,
    StreamToolCall,
    StreamUsage,
    WireRules,
)
from reactagent_tui.core.llm.estimator import TokenEstimator
from reactagent_tui.core.llm.tokens import Weight, estimate
from reactagent_tui.core.messages import AssistantMessage, TextPart, ThinkingPart, UserMessage
from reactagent_tui.core.react.controller import ReActController
from reactagent_tui.core.react.counting import WindowCounter
from reactagent_tui.core.usage import Usage
from tests.fakes.scripted import Beat, ScriptedProvider, forever, say
from tests.unit.react.kit import Bench, Run

LONG = "the price of every call is written down, also of this one " * 8


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def row_of(run: Run) -> LedgerRow:
    (row,) = run.controller.setup.ledger.rows
    return row


class Network(ScriptedProvider):
    """Tells how far a request came, as providers over HTTP do; `connect` is the way there."""

    connect: Callable[[], Awaitable[None]] = staticmethod(forever)
    refusals: int = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamDelta]:
        assert request.watch is not None
        for _ in range(self.refusals + 1):
            request.watch.begins()
            await self.connect()
            request.watch.sent()
        async for delta in super().stream(request):
            yield delta


async def at_once() -> None:
    """Connected already."""


async def stopped(bench: Bench, provider: ScriptedProvider) -> LedgerRow:
    run = bench.make([])
    run.controller.setup.provider = provider
    task = asyncio.create_task(run.controller.run(UserMessage("go")))
    for _ in range(20):
        await asyncio.sleep(0)
    run.controller.interrupt()
    assert (await task).reason == "INTERRUPTED"
    final = [event for event in run.events(UsageUpdated) if event.final]
    assert [event.call_usage for event in final] == [row_of(run).usage]
    return row_of(run)


async def test_a_stop_before_anything_was_sent_costs_nothing(bench: Bench) -> None:
    row = await stopped(bench, Network([[forever]]))
    assert (row.sent, row.usage, row.estimated, row.interrupted) == (False, Usage(), False, True)


async def test_a_stop_after_the_request_went_out_books_what_was_sent(bench: Bench) -> None:
    provider = Network([[forever]])
    provider.connect = at_once
    row = await stopped(bench, provider)
    assert row.sent
    assert row.usage.prompt > 0
    assert row.estimated


async def test_a_provider_that_tells_nothing_counts_as_having_sent(bench: Bench) -> None:
    row = await stopped(bench, ScriptedProvider([[forever]]))
    assert (row.sent, row.estimated) == (True, True)
    assert row.usage.prompt > 0


async def test_a_stop_after_the_last_report_changes_nothing_about_it(bench: Bench) -> None:
    usage = Usage(input=500, output=12)
    row = await stopped(
        bench, ScriptedProvider([[StreamText("yes"), StreamFinish("stop"), StreamUsage(usage), forever]])
    )
    assert (row.interrupted, row.estimated, row.usage) == (True, False, usage)


async def test_each_form_of_a_request_has_a_row(bench: Bench) -> None:
    run = bench.make([])
    provider = Network([say("fine")])
    provider.connect = at_once
    provider.refusals = 2
    run.controller.setup.provider = provider
    await run.controller.run(UserMessage("go"))
    rows = run.controller.setup.ledger.rows
    assert [(row.failed, row.usage.prompt > 0) for row in rows] == [(False, True), (True, False), (True, False)]


@pytest.mark.parametrize(("error", "costs"), [(StreamCutError("gone"), True), (ServerError("no", status=500), False)])
async def test_a_cut_before_any_output_is_billed_and_a_refusal_is_not(
    bench: Bench, error: Exception, costs: bool
) -> None:
    row = row_of(await bench.play([[error]]))
    assert (row.failed, row.estimated, row.usage.prompt > 0) == (True, costs, costs)


async def test_thinking_and_calls_that_were_cut_are_counted(bench: Bench) -> None:
    beats: list[Beat] = [StreamThinking(LONG), StreamToolCall(0, "c", "write_note", '{"text": "' + LONG)]
    row = row_of(await bench.play([[*beats, StreamCutError("gone")]]))
    assert row.usage.output >= 2 * estimate(LONG)


async def test_what_the_model_invented_is_counted_although_nobody_sees_it(bench: Bench) -> None:
    bench.model = {"protocol": "text"}
    text = f"Thought: hm\nFinal Answer: yes\nObservation: {LONG}"
    run = await bench.play([[StreamText(text), StreamFinish("stop")]])
    assert "written down" not in run.shown_text
    assert row_of(run).usage.output == pytest.approx(estimate(text), abs=2)


async def test_the_output_is_estimated_with_what_earlier_replies_taught(bench: Bench) -> None:
    counter = WindowCounter()
    size = estimate(LONG)
    for beats in (
        [StreamText(LONG), StreamFinish("stop"), StreamUsage(Usage(input=500, output=2 * size))],
        [StreamText(LONG), StreamFinish("stop")],
    ):
        run = bench.make([beats])
        run.controller.setup.counter = counter
        await run.controller.run(UserMessage("go"))
    assert row_of(run).usage.output == pytest.approx(2 * size, abs=2)


async def test_hidden_thinking_teaches_nothing_about_text(bench: Bench) -> None:
    counter = WindowCounter()
    before = counter.output.factors
    counter.learn_output(Weight(100.0), 5_000)
    assert counter.output.factors == before


async def test_a_sub_agents_calls_say_so(bench: Bench) -> None:
    run = bench.make([say("done")])
    controller = ReActController(replace(run.controller.setup, agent=("child",)))
    await controller.run(UserMessage("go"))
    assert (row_of(run).cause, row_of(run).agent) == ("sub_agent", ("child",))


def test_thinking_that_the_wire_leaves_out_is_not_counted_as_sent() -> None:
    message = AssistantMessage((ThinkingPart(LONG), TextPart("yes")), "house", "m")
    request = ModelRequest("m", "", (UserMessage("go"), message))
    info = ModelInfo("house", "m", "openai-chat", 1000)
    whole, without = WindowCounter(), WindowCounter()
    whole.use(replace(info, rules=WireRules(reasoning_replay="always")), TokenEstimator())
    without.use(info, TokenEstimator())
    assert (whole.raw(request) - without.raw(request)).total == pytest.approx(estimate(LONG), abs=1)
