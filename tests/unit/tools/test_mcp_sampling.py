"""A server's wish for a reply: asked, run through the session's provider, booked under its own cause."""

from __future__ import annotations

import dataclasses

import pytest

from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.mcp.ports import SampleRequest
from reactagent_tui.core.reporter import Answer, Question
from reactagent_tui.core.tools.base import ToolContext
from reactagent_tui.core.tools.mcp_sampling import Sampling
from tests.fakes.scripted import ScriptedProvider, say

ASKED = SampleRequest("srv", "Be short.", (("user", "Say something."),), 50)


def answering(ctx: ToolContext, answer: Answer) -> ToolContext:
    async def ask(_question: Question) -> Answer:
        return answer

    return dataclasses.replace(ctx, ask=ask)


@pytest.mark.asyncio
async def test_accepted(file_ctx: ToolContext) -> None:
    provider, ledger = ScriptedProvider([say("well")]), Ledger("s", PriceBook())
    reply = await Sampling(lambda: provider, lambda: ledger)(ASKED, answering(file_ctx, Answer("choice", choice=0)))
    assert (reply.text, reply.refused) == ("well", "")
    (request,) = provider.requests
    assert (request.system, request.max_output, request.tools) == ("Be short.", 50, ())
    (row,) = ledger.rows
    assert (row.cause, row.usage.input, row.usage.output) == ("sampling", 100, 10)


@pytest.mark.asyncio
@pytest.mark.parametrize("answer", [Answer("deny"), Answer("choice", choice=1), Answer("stop")])
async def test_declined_costs_nothing(file_ctx: ToolContext, answer: Answer) -> None:
    provider, ledger = ScriptedProvider([]), Ledger("s", PriceBook())
    reply = await Sampling(lambda: provider, lambda: ledger)(ASKED, answering(file_ctx, answer))
    assert reply.refused
    assert provider.requests == []
    assert ledger.rows == ()
