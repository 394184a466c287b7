"""A sub-agent's page in the ledger of its caller: rows go to the caller, sums are the agent's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reactagent_tui.core.cost.budget import Budget, Standing
from reactagent_tui.core.cost.cache_tag import CacheTag
from reactagent_tui.core.cost.call_book import CallBook
from reactagent_tui.core.cost.ledger import CallFigures
from reactagent_tui.core.cost.ledger_row import Cause, LedgerRow
from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.money import CostTotals
from reactagent_tui.core.usage import Usage


class AgentPage:
    """A `CallBook`. The page of an agent's own sub-agents is a page of this one, so that they count for its cap."""

    def __init__(self, book: CallBook, cause: Cause = "sub_agent") -> None:
        """`cause` stands in rows that would say `sub_agent`."""
        self._book = book
        self._cause: Cause = cause
        self._calls: dict[str, None] = {}
        """In the order of opening."""

    def open_call(
        self, step: int, cause: Cause, info: ModelInfo, sent_estimate: int, agent: tuple[str, ...] = (), raw: int = 0
    ) -> str:
        said = self._cause if cause == "sub_agent" else cause
        call_id = self._book.open_call(step, said, info, sent_estimate, agent, raw)
        self._calls[call_id] = None
        return call_id

    def refused(self, call_id: str) -> LedgerRow:
        row = self._book.refused(call_id)
        self._calls[row.call_id] = None
        return row

    def hold(self, call_id: str) -> None:
        self._book.hold(call_id)

    def release(self, call_id: str) -> None:
        self._book.release(call_id)

    def progress(self, call_id: str, output_estimate: int) -> None:
        self._book.progress(call_id, output_estimate)

    def usage(self, call_id: str, usage: Usage) -> None:
        self._book.usage(call_id, usage)

    def close_call(
        self,
        call_id: str,
        *,
        interrupted: bool = False,
        failed: bool = False,
        cut: bool = False,
        sent: bool = True,
        finished: bool = False,
        cache_tag: CacheTag = "",
    ) -> LedgerRow:
        return self._book.close_call(
            call_id,
            interrupted=interrupted,
            failed=failed,
            cut=cut,
            sent=sent,
            finished=finished,
            cache_tag=cache_tag,
        )

    def figures(self, call_id: str) -> CallFigures:
        return self._book.figures(call_id)

    def can_price(self, info: ModelInfo) -> bool:
        return self._book.can_price(info)

    def totals(self) -> CostTotals:
        return self._book.totals()

    def run_totals(self) -> CostTotals:
        own = Tally()
        for call_id in self._calls:
            now = self._book.figures(call_id)
            own.add(now.usage, now.cost)
        return replace(
            self._book.totals(),
            turn_usage=own.usage,
            turn_cost=own.cost,
            turn_other=own.other_costs,
            turn_notional=own.notional,
        )


class SharedBudget(Budget):
    """The budget of the caller as a sub-agent sees it: the same limits, its own memory of what it was told."""

    def __init__(self, budget: Budget, totals: Callable[[], CostTotals]) -> None:
        super().__init__(totals)
        self._shared = budget

    def standings(self) -> list[Standing]:
        return self._shared.standings()
