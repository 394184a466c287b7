"""What may be spent in a turn, a session and a day. Looked at between steps: a budget never stops a call that runs.

Amounts have the currency that is spent in: nothing is converted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, get_args

from reactagent_tui.core.money import CostTotals, Money

Scope = Literal["turn", "session", "day"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
NEAR = Decimal("0.8")
"""The share from which a budget is worth a word."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One budget as it stands."""

    scope: Scope
    limit: Decimal
    spent: Money

    @property
    def share(self) -> Decimal:
        """What is used of it: 1 is all."""
        return (self.spent.amount or Decimal(0)) / self.limit

    @property
    def left(self) -> Decimal:
        """What may still be spent; never below zero."""
        return max(self.limit - (self.spent.amount or Decimal(0)), Decimal(0))


class Budget:
    """The budgets of one session. Only the user raises them."""

    def __init__(self, totals: Callable[[], CostTotals], limits: Mapping[Scope, Decimal] | None = None) -> None:
        """`totals` are the ledger's."""
        self._totals = totals
        self._limits: dict[Scope, Decimal] = dict(limits or {})
        self._told: set[Scope] = set()
        """Scopes of which it was said that they are nearly used up."""

    @property
    def limits(self) -> Mapping[Scope, Decimal]:
        """The limits that hold now."""
        return dict(self._limits)

    def set(self, scope: Scope, limit: Decimal | None) -> None:
        """A new limit; None or nothing above zero takes it away."""
        self._told.discard(scope)
        if limit is None or limit <= 0:
            self._limits.pop(scope, None)
        else:
            self._limits[scope] = limit

    def raise_by(self, scope: Scope, amount: Decimal) -> None:
        """So much more may be spent, counted from what is spent already."""
        spent = self._spent(scope).amount or Decimal(0)
        self.set(scope, max(self._limits.get(scope, Decimal(0)), spent) + amount)

    def standings(self) -> list[Standing]:
        """Every budget, the one that is used up most first."""
        found = [Standing(scope, limit, self._spent(scope)) for scope, limit in self._limits.items()]
        return sorted(found, key=lambda standing: standing.share, reverse=True)

    def tightest(self) -> Standing | None:
        """The budget that is used up most."""
        return next(iter(self.standings()), None)

    def reached(self) -> Standing | None:
        """A budget of which nothing is left."""
        tightest = self.tightest()
        return tightest if tightest is not None and tightest.share >= 1 else None

    def left(self) -> Decimal | None:
        """What the tightest budget leaves; None without any. A sub-agent's cap comes from it."""
        return min((standing.left for standing in self.standings()), default=None)

    def near(self) -> list[Standing]:
        """Budgets that are nearly used up since the last question."""
        found = [s for s in self.standings() if s.share >= NEAR and s.scope not in self._told]
        self._told.update(standing.scope for standing in found)
        return [standing for standing in found if standing.share < 1]

    def begin_turn(self) -> None:
        """A turn's budget starts again."""
        self._told.discard("turn")

    def _spent(self, scope: Scope) -> Money:
        match scope:
            case "turn":
                return self._totals().turn_cost
            case "session":
                return self._totals().session_cost
            case "day":
                totals = self._totals()
                today = totals.today_cost
                # a day that could not be read is at least this session
                return totals.session_cost if today is None or today.amount is None else today


def as_record(limits: Mapping[Scope, Decimal]) -> dict[str, str]:
    """Limits as a session file keeps them."""
    return {scope: str(limit) for scope, limit in limits.items()}


def from_record(record: Mapping[str, str]) -> dict[Scope, Decimal]:
    """The limits that `as_record` wrote; what cannot be read is left out."""
    found: dict[Scope, Decimal] = {}
    for scope in SCOPES:
        text = record.get(scope, "")
        if text and text.replace(".", "", 1).isdecimal():
            found[scope] = Decimal(text)
    return found
