"""Asks before more is spent than was allowed: at the step boundary, never in the middle of a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any, Literal

from reactagent_tui.core.cost.budget import Budget, Standing
from reactagent_tui.core.events import AgentEvent, BudgetChanged, BudgetReached
from reactagent_tui.core.money import format_amount, format_money
from reactagent_tui.core.reporter import Answer, ChoiceQuestion, Question

RAISES = (Decimal(1), Decimal(5))
"""What one key adds, in the currency that is spent."""
SUMMARISE = (
    "The budget for this work is used up. Do not call any tool now. Say briefly what is done, what is not, and how to "
    "go on from here."
)
_OPTIONS = ("budget.add_less", "budget.add_more", "budget.finish", "budget.stop")

Way = Literal["go", "finish", "stop"]


class BudgetGate:
    """The budget check of one run."""

    def __init__(
        self,
        budget: Budget | None,
        ask: Callable[[Question], Awaitable[Answer]],
        emit: Callable[[type[AgentEvent], dict[str, Any]], None],
    ) -> None:
        self._budget = budget
        self._ask = ask
        self._emit = emit

    async def check(self) -> tuple[Way, str]:
        """May another step be made, and the budget that speaks against it. Waits for the user when none is left."""
        budget = self._budget
        if budget is None:
            return "go", ""
        for near in budget.near():
            self._tell(near)
        while (reached := budget.reached()) is not None:
            self._tell(reached)
            way = await self._decide(budget, reached)
            if way != "go":
                return way, _words(reached)
            self._changed(budget)
        return "go", ""

    async def _decide(self, budget: Budget, reached: Standing) -> Way:
        answer = await self._ask(
            ChoiceQuestion(
                "budget.question",
                _OPTIONS,
                params={
                    "scope": reached.scope,
                    "limit": format_amount(reached.limit, reached.spent.currency),
                    "spent": format_money(reached.spent),
                    "less": format_amount(RAISES[0], reached.spent.currency),
                    "more": format_amount(RAISES[1], reached.spent.currency),
                },
            )
        )
        match answer.choice if answer.verdict == "choice" else None:
            case 0 | 1 as which:
                budget.raise_by(reached.scope, RAISES[which])
                return "go"
            case 2:
                return "finish"
            case _:
                return "stop"

    def _tell(self, standing: Standing) -> None:
        self._emit(
            BudgetReached,
            {
                "scope": standing.scope,
                "limit": standing.limit,
                "spent": standing.spent,
                "share": float(standing.share),
            },
        )

    def _changed(self, budget: Budget) -> None:
        tightest = budget.tightest()
        if tightest is not None:
            self._emit(BudgetChanged, {"scope": tightest.scope, "limit": tightest.limit, "spent": tightest.spent})


def _words(standing: Standing) -> str:
    """`$0.05 per session`: for an end that has no locale of its own."""
    return f"{format_amount(standing.limit, standing.spent.currency)} per {standing.scope}"
