"""What a pipeline will take and cost, told from its earlier runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.money import NOTHING_SPENT, Money
from reactagent_tui.core.pipeline.journal import RunRecord, StepRecord
from reactagent_tui.core.usage import Usage


@dataclass(frozen=True, slots=True)
class Estimate:
    """Middle values over `runs` earlier runs; nothing is known when that is 0."""

    runs: int
    steps: int = 0
    seconds: float = 0.0
    tokens: int = 0
    cost: Money = NOTHING_SPENT
    dearest: Money = NOTHING_SPENT
    """The most that one of them cost."""
    titles: tuple[str, ...] = ()
    """Steps of the newest of them."""


def estimate_run(runs: Sequence[RunRecord]) -> Estimate:
    """A whole run, from those that came to an end (newest first)."""
    ended = [run for run in runs if run.outcome not in ("", "interrupted", "failed", "stuck") and run.done]
    if not ended:
        return Estimate(0)
    tallies = [run.tally() for run in ended]
    return Estimate(
        len(ended),
        round(median(len(run.steps) for run in ended)),
        median(run.seconds for run in ended),
        round(median(tally.usage.total for tally in tallies)),
        _middle([tally.cost for tally in tallies]),
        max((tally.cost for tally in tallies), key=lambda money: money.amount or Decimal(0)),
        tuple(step.title for step in ended[0].steps),
    )


def estimate_rest(run: RunRecord, first: int) -> Estimate:
    """Step `first` and those behind it once more, from what they took in this run."""
    steps = [step for step in run.steps if step.index >= first]
    usage, cost = _sum(steps)
    titles = tuple(step.title for step in steps)
    seconds = sum(step.seconds for step in steps)
    return Estimate(1, len(steps), seconds, usage.total, cost, cost, titles) if steps else Estimate(0)


def _sum(steps: Sequence[StepRecord]) -> tuple[Usage, Money]:
    total = Tally()
    for step in steps:
        total.add(step.usage, step.cost)
    return total.usage, total.cost


def _middle(costs: Sequence[Money]) -> Money:
    """The middle amount, in the currency most of them have; unknown when no price was known."""
    known = [cost for cost in costs if cost.amount is not None]
    if not known:
        return Money(None, "unknown")
    currency = max((cost.currency for cost in known), key=lambda name: sum(cost.currency == name for cost in known))
    amount = median(cost.amount or Decimal(0) for cost in known if cost.currency == currency)
    free = all(cost.state == "free" for cost in known)
    return Money(Decimal(amount), "free" if free else "estimated", currency)
