"""Amounts that say how sure they are, how they are written, and the sums the panel shows. The first frame needs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from reactagent_tui.core.usage import Usage

UNKNOWN = "—"
_SYMBOLS = {"USD": "$", "EUR": "€", "CNY": "¥", "GBP": "£", "JPY": "¥"}

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
    today_cost: Money | None = None
    """Since midnight, over all sessions and processes of the user; None: not known."""
    today_other: tuple[Money, ...] = ()
    turn_notional: tuple[Money, ...] = ()
    """What calls covered by a plan would have cost, by currency; nothing of it was spent."""
    session_notional: tuple[Money, ...] = ()
    tokens_estimated: bool = False
    """Some of the session's tokens are our own count: a call that runs, or one that was never reported."""


def format_tokens(count: int) -> str:
    """`214`, `27.1k`, `128k`, `1.05M`."""
    if count < 1000:
        return str(count)
    if count < 99_950:
        text = f"{count / 1000:.1f}"
        return f"{text.removesuffix('.0') if count >= 10_000 and count % 1000 == 0 else text}k"
    if count < 999_500:
        return f"{round(count / 1000)}k"
    return f"{count / 1_000_000:.2f}M"


def format_amount(amount: Decimal, currency: str = "USD") -> str:
    """Two decimals from 1, three below, four below a cent; `$0` for nothing."""
    symbol = _SYMBOLS.get(currency, f"{currency} ")
    size = abs(amount)
    if not size:
        return f"{symbol}0"
    sign = "-" if amount < 0 else ""
    places = 2 if size >= Decimal("0.9995") else 3 if size >= Decimal("0.00995") else 4
    if size < Decimal("0.00005"):
        return f"{sign}<{symbol}0.0001"
    return f"{sign}{symbol}{size:,.{places}f}"


def format_money(money: Money) -> str:
    """`$0.184`, `~$0.031` estimated, `—` without a price, `≥$0.12` when one of several has none, `≈$0.12` notional."""
    if money.amount is None or (money.state == "unknown" and not money.amount):
        return UNKNOWN
    text = format_amount(money.amount, money.currency)
    if money.state in ("unknown", "notional"):
        return f"{'≥' if money.state == 'unknown' else '≈'}{text}"
    return f"~{text}" if money.state == "estimated" and money.amount else text


def money_or_local(money: Money, t: Callable[..., str]) -> str:
    """`format_money`, but "local" where nothing is paid: a model of one's own has no price of $0."""
    return t("usage.local") if money.state == "free" else format_money(money)


def budget_line(t: Callable[..., str], event: Any) -> str:
    """What a BudgetReached says: nearly used up, or reached."""
    share = int(event.share * 100)
    return t(
        "budget.near" if share < 100 else "budget.reached",
        share=share,
        scope=t(f"budget.scope_{event.scope}"),
        spent=format_money(event.spent),
        limit=format_amount(event.limit, event.spent.currency),
    )
