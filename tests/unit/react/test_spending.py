"""A run whose budget is used up waits at the step boundary, and does what the user decides."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

import pytest

from reactagent_tui.core.config.schema import PriceEntry
from reactagent_tui.core.cost.budget import Budget, Scope
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.events import BudgetChanged, BudgetReached, RunEnded
from reactagent_tui.core.llm.base import StreamFinish, StreamText, StreamUsage
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.react.budget_gate import SUMMARISE
from reactagent_tui.core.reporter import Answer, ChoiceQuestion, Question
from reactagent_tui.core.usage import Usage
from tests.fakes.scripted import Beat, call
from tests.fakes.tools import echo
from tests.unit.react.kit import Bench, Run

CENT_A_TOKEN = PriceEntry(input=Decimal(0), output=Decimal(10_000))
"""Each generated token costs a cent."""


def costing(beats: list[Beat], cents: int) -> list[Beat]:
    """The same reply, with so many tokens reported."""
    return [replace(b, usage=Usage(input=100, output=cents)) if isinstance(b, StreamUsage) else b for b in beats]


def echoing(text: str, cents: int) -> list[Beat]:
    return costing(call(("echo", f'{{"text": "{text}"}}')), cents)


def saying(text: str, cents: int) -> list[Beat]:
    return [StreamText(text), StreamFinish("stop"), StreamUsage(Usage(input=100, output=cents))]


@dataclass
class Spender:
    """Plays runs with a budget; `answers` are taken in order."""

    place: Path
    asked: list[ChoiceQuestion] = field(default_factory=list[ChoiceQuestion])

    async def play(
        self, replies: list[list[Beat]], limits: dict[Scope, Decimal], *answers: Answer, earlier: int = 0
    ) -> Run:
        bench = Bench(self.place, model={"local": False, "provider": "p", "name": "m"})
        run = bench.make(replies, echo("echo"))
        given = iter(answers)

        def answer(question: Question) -> Answer:
            assert isinstance(question, ChoiceQuestion)
            self.asked.append(question)
            return next(given)

        run.reporter.answer = answer
        setup = run.controller.setup
        setup.ledger = Ledger("s", PriceBook({"p/m": CENT_A_TOKEN}))
        if earlier:
            setup.ledger.begin_turn()
            before = setup.ledger.open_call(1, "step", setup.provider.info, 100)
            setup.ledger.usage(before, Usage(input=100, output=earlier))
            setup.ledger.close_call(before)
        setup.ledger.begin_turn()
        setup.budget = Budget(setup.ledger.totals, limits)
        controller = type(run.controller)(setup)
        run.controller = controller
        run.result = await controller.run(UserMessage("go"))
        assert len(run.events(RunEnded)) == 1
        return run


@pytest.fixture
def spender(tmp_path: Path) -> Spender:
    return Spender(tmp_path)


def choice(number: int) -> Answer:
    return Answer("choice", choice=number)


async def test_within_the_budget_nothing_is_asked(spender: Spender) -> None:
    run = await spender.play([echoing("a", 3), saying("done", 1)], {"session": Decimal("0.05")})
    assert run.result is not None
    assert (run.result.reason, run.result.answer) == ("ANSWER", "done")
    assert spender.asked == []


async def test_a_reply_that_answers_is_given_even_when_it_costs_too_much(spender: Spender) -> None:
    run = await spender.play([saying("done", 50)], {"session": Decimal("0.05")})
    assert run.result is not None
    assert run.result.reason == "ANSWER"
    assert spender.asked == []


async def test_it_waits_at_the_step_boundary_and_goes_on_with_more(spender: Spender) -> None:
    run = await spender.play([echoing("a", 5), saying("done", 1)], {"session": Decimal("0.05")}, choice(0))
    assert run.result is not None
    assert (run.result.reason, run.result.answer) == ("ANSWER", "done")
    assert [result.text for result in run.results] == ["echo {'text': 'a'}"]  # the step that was under way was finished
    (question,) = spender.asked
    assert question.params["spent"] == "$0.050"
    assert question.params["limit"] == "$0.050"
    (changed,) = run.events(BudgetChanged)
    assert (changed.scope, changed.limit) == ("session", Decimal("1.05"))


async def test_it_is_near_before_it_is_reached(spender: Spender) -> None:
    run = await spender.play(
        [echoing("a", 4), echoing("b", 1), saying("done", 0)], {"session": Decimal("0.05")}, choice(1)
    )
    assert [round(event.share, 2) for event in run.events(BudgetReached)] == [0.8, 1.0]
    assert run.result is not None
    assert run.result.reason == "ANSWER"


@pytest.mark.parametrize("answer", [choice(3), Answer("deny"), Answer("stop")])
async def test_it_stops_when_the_user_or_nobody_says_so(spender: Spender, answer: Answer) -> None:
    run = await spender.play([echoing("a", 7)], {"turn": Decimal("0.05")}, answer)
    assert run.result is not None
    assert (run.result.reason, run.result.error) == ("BUDGET", "$0.050 per turn")
    assert len(run.provider.requests) == 1


async def test_the_last_step_may_summarise_without_tools(spender: Spender) -> None:
    run = await spender.play(
        [echoing("a", 7), saying("half of it is done", 1)], {"session": Decimal("0.05")}, choice(2)
    )
    assert run.result is not None
    assert (run.result.reason, run.result.answer) == ("BUDGET", "half of it is done")
    last = run.provider.requests[-1]
    assert last.tool_choice == "none"
    assert last.messages[-1] == UserMessage(SUMMARISE, origin="nudge")


async def test_a_call_in_the_summary_is_not_run(spender: Spender) -> None:
    run = await spender.play([echoing("a", 7), echoing("b", 1)], {"session": Decimal("0.05")}, choice(2))
    assert run.result is not None
    assert run.result.reason == "BUDGET"
    assert [result.status for result in run.results] == ["done", "not_run"]


async def test_a_session_that_is_over_its_budget_asks_before_it_spends(spender: Spender) -> None:
    run = await spender.play([], {"session": Decimal("0.05"), "turn": Decimal(1)}, choice(3), earlier=6)
    assert run.result is not None
    assert (run.result.reason, run.result.error) == ("BUDGET", "$0.050 per session")
    assert run.provider.requests == []


async def test_two_budgets_are_asked_about_one_after_the_other(spender: Spender) -> None:
    limits: dict[Scope, Decimal] = {"turn": Decimal("0.02"), "session": Decimal("0.05")}
    run = await spender.play([echoing("a", 6), saying("done", 1)], limits, choice(0), choice(0))
    assert [question.params["scope"] for question in spender.asked] == ["turn", "session"]
    assert run.result is not None
    assert run.result.reason == "ANSWER"
