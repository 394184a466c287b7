"""Amounts that say how sure they are, and the sums the panel shows. Light: the first frame needs it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from reactagent_tui.core.usage import Usage

CostState = Literal["reported", "estimated", "unknown", "free", "notional"]
"""reported and estimated speak of the token counts; unknown: no price is known; free: demo or local; notional: what it
would have cost, but a plan covers it: such an amount is never part of a sum of money spent."""


@dataclass(frozen=True, slots=True)
class Money:
    """An amount that says how sure it is. `amount` is None when no price is known."""

    amount: Decimal | None
    state: CostState
    currency: str = "USD"


NOTHING_SPENT = Money(Decimal(0), "free")
NOTHING_USED = Usage()


@dataclass(frozen=True, slots=True)
class CostTotals:
    """Sums for the panel. Tokens and money of the running turn and of the whole session."""

    turn_usage: Usage = NOTHING_USED
    turn_cost: Money = NOTHING_SPENT
    session_usage: Usage = NOTHING_USED
    session_cost: Money = NOTHING_SPENT
    calls: int = 0
    turn_other: tuple[Money, ...] = ()
    """Amounts in further currencies; they cannot be added up."""
    session_other: tuple[Money, ...] = ()
    turn_notional: tuple[Money, ...] = ()
    """What calls covered by a plan would have cost, by currency; nothing of it was spent."""
    session_notional: tuple[Money, ...] = ()
    tokens_estimated: bool = False
    """Some of the session's tokens are our own count: a call that runs, or one that was never reported."""
