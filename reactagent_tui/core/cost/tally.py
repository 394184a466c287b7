"""Sums of tokens and money that stay honest: an unknown price, an estimate or a second currency never disappears."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from reactagent_tui.core.money import CostState, Money
from reactagent_tui.core.usage import Usage

_WORST_FIRST: tuple[CostState, ...] = ("unknown", "estimated", "reported")


@dataclass(slots=True)
class Tally:
    """A running sum."""

    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    estimated: int = 0
    """Calls whose tokens are our own count."""
    _amounts: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    _notional: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    """Amounts that a plan covers; apart, so that they are never taken for money spent."""
    _states: dict[CostState, int] = field(default_factory=dict[CostState, int])

    def add(self, usage: Usage, cost: Money, *, estimated: bool = False) -> None:
        """Count one call in."""
        self.usage = self.usage + usage
        self.estimated += estimated
        self._count(cost, 1)

    def take_out(self, usage: Usage, cost: Money, *, estimated: bool = False) -> None:
        """Undo an `add` with the same values."""
        self.usage = _minus(self.usage, usage)
        self.estimated -= estimated
        self._count(cost, -1)

    def include(self, other: Tally) -> None:
        """Count in everything another sum holds."""
        self.usage = self.usage + other.usage
        self.calls += other.calls
        self.estimated += other.estimated
        for state, calls in other._states.items():
            self._states[state] = self._states.get(state, 0) + calls
        for currency, amount in other._amounts.items():
            self._amounts[currency] = self._amounts.get(currency, Decimal(0)) + amount

    def copy(self) -> Tally:
        """An independent sum that starts from this one."""
        return Tally(
            self.usage, self.calls, self.estimated, dict(self._amounts), dict(self._notional), dict(self._states)
        )

    @property
    def cost(self) -> Money:
        """The sum in dollars when there are any, else in the currency that was used.

        State `unknown`: the price of some call is not known; the amount is then what the others cost, None when there
        are no others. One estimate makes the sum an estimate.
        """
        state = self._state()
        priced = self._states.get("reported", 0) + self._states.get("estimated", 0)
        if state == "unknown" and not priced:
            return Money(None, "unknown")
        currency = next(iter(self._currencies()), "USD")
        return Money(self._amounts.get(currency, Decimal(0)), state, currency)

    @property
    def other_costs(self) -> tuple[Money, ...]:
        """Sums in every further currency."""
        state = self._state()
        return tuple(Money(self._amounts[currency], state, currency) for currency in self._currencies()[1:])

    @property
    def notional(self) -> tuple[Money, ...]:
        """What the calls that a plan covers would have cost, by currency."""
        amounts = sorted(self._notional.items(), key=lambda item: (item[0] != "USD", item[0]))
        return tuple(Money(amount, "notional", currency) for currency, amount in amounts if amount)

    def _currencies(self) -> list[str]:
        """Those in which something was spent, dollars first, in an order that does not depend on the calls'."""
        spent = (currency for currency, amount in self._amounts.items() if amount)
        return sorted(spent, key=lambda currency: (currency != "USD", currency))

    def _state(self) -> CostState:
        for state in _WORST_FIRST:
            if self._states.get(state):
                return state
        return "free"

    def _count(self, cost: Money, by: int) -> None:
        self.calls += by
        self._states[cost.state] = self._states.get(cost.state, 0) + by
        if cost.amount is not None:
            sums = self._notional if cost.state == "notional" else self._amounts
            sums[cost.currency] = sums.get(cost.currency, Decimal(0)) + by * cost.amount


def _minus(total: Usage, part: Usage) -> Usage:
    cost = None if total.cost_usd is None else total.cost_usd - (part.cost_usd or 0)
    return Usage(
        total.input - part.input,
        total.cache_read - part.cache_read,
        total.cache_write - part.cache_write,
        total.cache_write_1h - part.cache_write_1h,
        total.output - part.output,
        total.reasoning - part.reasoning,
        cost,
    )
