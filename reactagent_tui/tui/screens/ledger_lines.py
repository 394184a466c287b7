"""Ledger rows as the ledger screen shows them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from reactagent_tui.tui.screens.ledger_table import LedgerLine


def ledger_line(row: Any, t: Callable[..., str]) -> LedgerLine:
    """One model call; times in the local zone."""
    usage = row.usage
    return LedgerLine(
        time=_clock(row.started),
        agent="/".join(row.agent) or t("ledger.main"),
        cause=t(f"cause.{row.cause}"),
        model=row.model,
        input=usage.prompt,
        cached=usage.cache_read,
        output=usage.output,
        cost=row.cost,
        state="running" if row.ended is None else "interrupted" if row.interrupted else row.cost.state,
        estimated=row.estimated,
        cache=cache_cell(row, t),
    )


def cache_cell(row: Any, t: Callable[..., str]) -> str:
    """`92 %` of the prompt came from the cache, or the cause when it is less than before; "" when not reported."""
    if row.cache_tag:
        return t(f"cache.{row.cache_tag}")
    return "" if not row.cache_share else f"{100 * row.cache_share:.0f} %"


def _clock(started: Any) -> str:
    return started.astimezone().strftime("%H:%M:%S") if isinstance(started, datetime) else str(started)
