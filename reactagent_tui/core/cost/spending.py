"""Calls grouped by what they have in common, with reported and estimated money apart. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeVar

from reactagent_tui.core.cost.ledger import LedgerRow
from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.money import Money, format_money
from reactagent_tui.core.usage import Usage

Trait = Literal["model", "agent", "cause"]
TRAITS: tuple[Trait, ...] = ("model", "agent", "cause")
T = TypeVar("T")


@dataclass(slots=True)
class Spending:
    """What some calls cost together."""

    name: str
    total: Tally = field(default_factory=Tally)
    reported: Tally = field(default_factory=Tally)
    estimated: Tally = field(default_factory=Tally)
    """Calls with a price whose tokens are our own count."""
    unpriced: int = 0
    """Calls whose price nobody knows."""

    def add(self, usage: Usage, cost: Money, *, estimated: bool) -> None:
        """Count one call in."""
        self.total.add(usage, cost, estimated=estimated)
        match cost.state:
            case "reported":
                self.reported.add(usage, cost)
            case "estimated":
                self.estimated.add(usage, cost, estimated=True)
            case "unknown":
                self.unpriced += 1
            case "free" | "notional":
                pass

    @property
    def weight(self) -> tuple[Decimal, int]:
        """For sorting and bars: money in the currency of the sum, then tokens."""
        return self.total.cost.amount or Decimal(0), self.total.usage.total

    @property
    def cached_share(self) -> float:
        """Which part of the prompt tokens came from a cache, 0 to 1."""
        usage = self.total.usage
        return usage.cache_read / usage.prompt if usage.prompt else 0.0

    @property
    def estimated_share(self) -> float:
        """Which part of the money is an estimate, 0 to 1; of the calls where nothing was spent."""
        total, estimated = self.total.cost, self.estimated.cost
        if not total.amount:
            return self.total.estimated / self.total.calls if self.total.calls else 0.0
        same = estimated.amount if estimated.currency == total.currency else None
        return float((same or Decimal(0)) / total.amount)


def grouped(
    items: Iterable[T],
    name: Callable[[T], str],
    facts: Callable[[T], tuple[Usage, Money, bool]],
    *,
    split: bool = False,
) -> list[Spending]:
    """One Spending per name (with `split` also per currency, unpriced calls apart), in the order of their first item.

    `facts`: tokens, money, and whether the tokens are our own count.
    """
    groups: dict[tuple[str, str | None], Spending] = {}
    for item in items:
        key = name(item)
        usage, cost, estimated = facts(item)
        currency = None if not split or cost.amount is None else cost.currency
        groups.setdefault((key, currency), Spending(key)).add(usage, cost, estimated=estimated)
    return list(groups.values())


def row_facts(row: LedgerRow) -> tuple[Usage, Money, bool]:
    return row.usage, row.cost, row.estimated


def by_trait(rows: Iterable[LedgerRow], trait: Trait) -> list[Spending]:
    """A session's calls by model, agent path ("" is the main agent) or cause, dearest first."""
    names: dict[Trait, Callable[[LedgerRow], str]] = {
        "model": lambda row: f"{row.provider}/{row.model}",
        "agent": lambda row: "/".join(row.agent),
        "cause": lambda row: row.cause,
    }
    return dearest_first(grouped(rows, names[trait], row_facts))


def dearest_first(groups: Iterable[Spending]) -> list[Spending]:
    return sorted(groups, key=lambda group: group.weight, reverse=True)


def sum_text(tally: Tally) -> str:
    """The money of a sum in every currency: `~$0.184 + ¥3.20`; `—` without a price, `≈$2.00` for what a plan covers."""
    spent = (tally.cost, *tally.other_costs)
    if tally.notional and tally.cost.state == "free":
        spent = ()
    return " + ".join(format_money(money) for money in (*spent, *tally.notional))
