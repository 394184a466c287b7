"""What the next call would cost, before it is made. Pure.

Prompt tokens are counted by the caller; how many of them come from the cache follows from the last request to the
same model; the answer is assumed to be as long as the last ones were.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from reactagent_tui.core.cost.cache_tag import Read
from reactagent_tui.core.cost.ledger import LedgerRow
from reactagent_tui.core.cost.prefix import Prefix
from reactagent_tui.core.cost.pricing import Quote
from reactagent_tui.core.llm.cache_habits import CacheHabit
from reactagent_tui.core.money import Money
from reactagent_tui.core.usage import Usage

USUAL_OUTPUT = 300
"""Tokens of an answer, before there was one."""
_STEPS = 9
"""Steps that the usual length of an answer is taken from."""


@dataclass(frozen=True, slots=True)
class PriceTag:
    """What a call would send, take and cost."""

    tokens: int
    """Of the prompt, the cached ones included."""
    cached: int
    output: int
    """Expected, not known."""
    cost: Money
    """Estimated, notional, unknown (no amount: never a zero) or free."""
    expires: float | None = None
    """Seconds until the cached tokens are forgotten; None: there are none."""


@dataclass(frozen=True, slots=True)
class CachedPart:
    """What of a prompt the provider still has."""

    tokens: int = 0
    expires: float | None = None
    writes: float = 0.0
    """Share of the rest that is billed as a write to the 5-minute cache."""
    writes_1h: float = 0.0


def cached_part(
    last: Read | None, now: Prefix, idle: float, habit: CacheHabit, *, caches: bool, weigh: Callable[[int], int]
) -> CachedPart:
    """The tokens that will be read from the cache, and how the rest is billed.

    `idle`: seconds since `last`; `weigh` counts tools, system prompt and the first n messages of the new request.
    """
    if not caches:
        return CachedPart()
    writes, writes_1h = _write_shares(last, habit)
    nothing = CachedPart(0, None, writes, writes_1h)
    if last is None or idle > habit.life:
        return nothing
    tokens = last.usage.prompt
    if last.prefix is not None:
        match last.prefix.differs(now):
            case "tools" | "system":
                return nothing
            case "history":
                tokens = min(weigh(last.prefix.shared(now)), tokens)
            case "":
                pass
    tokens -= tokens % habit.portion
    return CachedPart(tokens, habit.life - idle, writes, writes_1h) if tokens >= habit.least else nothing


def _write_shares(last: Read | None, habit: CacheHabit) -> tuple[float, float]:
    """How much of what is not cached is written to the cache: as in the last call, else by the provider's habit."""
    if last is None:
        return (0.0, 1.0) if habit.long else (1.0 if habit.writes else 0.0, 0.0)
    usage = last.usage
    fresh = usage.input + usage.cache_write + usage.cache_write_1h
    return (usage.cache_write / fresh, usage.cache_write_1h / fresh) if fresh else (0.0, 0.0)


def price_tag(quote: Quote, tokens: int, output: int, cached: CachedPart | None = None) -> PriceTag:
    """The tag of a call with so many prompt tokens; without `cached` all of them are new to the provider."""
    part = cached or CachedPart()
    read = min(part.tokens, tokens)
    fresh = tokens - read
    write, write_1h = round(fresh * part.writes), round(fresh * part.writes_1h)
    usage = Usage(
        input=max(fresh - write - write_1h, 0),
        cache_read=read,
        cache_write=write,
        cache_write_1h=write_1h,
        output=output,
    )
    return PriceTag(tokens, read, output, quote.money(usage, reported=False), part.expires if read else None)


def usual_output(rows: Iterable[LedgerRow], provider: str, model: str) -> int:
    """Tokens of an answer: the median of the last steps, of this model where it has any."""
    steps: list[LedgerRow] = []
    own: Sequence[LedgerRow] = ()
    for row in rows:
        if row.cause not in ("step", "retry") or row.agent or row.ended is None or row.failed or row.interrupted:
            continue
        steps.append(row)
        own = [step for step in steps if (step.provider, step.model) == (provider, model)]
        if len(own) >= _STEPS or len(steps) >= 5 * _STEPS:
            break
    found = [row.usage.output for row in (own or steps)[:_STEPS]]
    return round(statistics.median(found)) if found else USUAL_OUTPUT
