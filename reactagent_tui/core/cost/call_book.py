"""Where a run books its model calls: the session's ledger, or the page of a sub-agent in it."""

from __future__ import annotations

from typing import Protocol

from reactagent_tui.core.cost.cache_tag import CacheTag
from reactagent_tui.core.cost.ledger import CallFigures
from reactagent_tui.core.cost.ledger_row import Cause, LedgerRow
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.money import CostTotals
from reactagent_tui.core.usage import Usage


class CallBook(Protocol):
    """The part of `Ledger` that a run uses; what each does stands there."""

    def open_call(
        self, step: int, cause: Cause, info: ModelInfo, sent_estimate: int, agent: tuple[str, ...] = (), raw: int = 0
    ) -> str: ...
    def refused(self, call_id: str) -> LedgerRow: ...
    def hold(self, call_id: str) -> None: ...
    def release(self, call_id: str) -> None: ...
    def progress(self, call_id: str, output_estimate: int) -> None: ...
    def usage(self, call_id: str, usage: Usage) -> None: ...
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
    ) -> LedgerRow: ...
    def figures(self, call_id: str) -> CallFigures: ...
    def can_price(self, info: ModelInfo) -> bool: ...
    def totals(self) -> CostTotals:
        """Of the whole session."""
        ...

    def run_totals(self) -> CostTotals:
        """The same, with the turn's sums those of this run alone: for its limits and its end."""
        ...
