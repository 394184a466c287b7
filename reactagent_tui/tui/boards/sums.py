"""Money of several calls as one amount. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from reactagent_tui.core.money import NOTHING_SPENT, CostState, Money

_LEAST_SURE: tuple[CostState, ...] = ("unknown", "estimated", "reported", "notional", "free")


def total(amounts: Iterable[Money]) -> Money:
    """The sum, as sure as the least sure of them. Amounts in another currency than the first make it unknown.

    What a plan covers counts only when nothing was paid.
    """
    found = [money for money in amounts if money.state != "free" or money.amount]
    found = [money for money in found if money.state != "notional"] or found
    if not found:
        return NOTHING_SPENT
    currency = found[0].currency
    known = [money.amount for money in found if money.amount is not None and money.currency == currency]
    states = {money.state for money in found}
    state: CostState = next(state for state in _LEAST_SURE if state in states)
    if any(money.currency != currency for money in found):
        state = "unknown"
    return Money(sum(known, Decimal(0)) if known else None, state, currency)
