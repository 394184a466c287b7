"""What a call costs: the user's own prices first, then the bundled price data, never a guess.

A quote is taken when a call starts and is never changed afterwards; changing the model or the price list does not
re-price the past.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.llm.catalog import facts_of, preset_named
from reactagent_tui.core.money import Money
from reactagent_tui.core.usage import Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice

    from reactagent_tui.core.config.schema import Config, PriceEntry, Rates

_MILLION = Decimal(1_000_000)
FREE = Money(Decimal(0), "free")
UNKNOWN = Money(None, "unknown")


@dataclass(frozen=True, slots=True)
class Price:
    """Prices per million tokens as they were when a call started."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    cache_write_1h: Decimal
    reasoning: Decimal
    currency: str = "USD"
    source: str = ""
    """`genai-prices`, `genai-prices, fetched 2026-09-20`, or the glob of the user's own price."""
    date: str = ""
    """Day (UTC) for which it was looked up."""
    tier: int = 0
    """Prompt tokens above which these prices hold; 0: the base price."""
    window: str = ""
    """Part of the day (UTC) in which they hold: `01:00-04:00`; "": all day."""

    def cost(self, usage: Usage) -> Decimal:
        """What these tokens cost, in `currency`."""
        answer = usage.output - usage.reasoning
        sums = (
            usage.input * self.input
            + usage.cache_read * self.cache_read
            + usage.cache_write * self.cache_write
            + usage.cache_write_1h * self.cache_write_1h
            + answer * self.output
            + usage.reasoning * self.reasoning
        )
        return sums / _MILLION

    def to_record(self) -> dict[str, Any]:
        """A JSON-ready dict; amounts as text, so that nothing is rounded."""
        record = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: str(value) if isinstance(value, Decimal) else value for name, value in record.items()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Price:
        """The price that `to_record` wrote; unknown keys are ignored."""
        amounts = {name: Decimal(record[name]) for name in _AMOUNTS}
        rest = {name: record[name] for name in ("currency", "source", "date", "tier", "window") if name in record}
        return cls(**amounts, **rest)


_AMOUNTS = ("input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning")


@dataclass(frozen=True, slots=True)
class Quote:
    """The frozen price of one call: a base price, and higher tiers for long prompts. Empty when nobody knows."""

    prices: tuple[Price, ...] = ()
    """By rising tier; the first has tier 0."""
    free: bool = False
    notional: bool = False
    """A plan covers the call: the price says what it would have cost."""

    def price(self, usage: Usage) -> Price | None:
        """The prices that hold for a prompt of this size; a tier holds for the whole prompt, not for what is above."""
        fitting = [price for price in self.prices if price.tier == 0 or usage.prompt > price.tier]
        return fitting[-1] if fitting else None

    def money(self, usage: Usage, *, reported: bool) -> Money:
        """What the tokens cost. What the provider itself says wins; unknown stays unknown, never zero."""
        state = "notional" if self.notional else "reported" if reported else "estimated"
        if usage.cost_usd is not None:
            return Money(usage.cost_usd, state)
        if self.free:
            return FREE
        price = self.price(usage)
        if price is None:
            return Money(None, "notional") if self.notional else UNKNOWN
        return Money(price.cost(usage), state, price.currency)


class PriceBook:
    """Every price this program can look up. Loads the price list at the first question; never fetches."""

    def __init__(
        self, overrides: Mapping[str, PriceEntry] | None = None, exact: Mapping[str, PriceEntry] | None = None
    ) -> None:
        """`overrides`: glob over `model` or `provider/model` to price; `exact`: `provider/model` to price."""
        self._globs = sorted((overrides or {}).items(), key=lambda item: len(item[0]), reverse=True)
        self._exact = {name.lower(): entry for name, entry in (exact or {}).items()}

    @classmethod
    def from_config(cls, config: Config) -> PriceBook:
        """Prices of `pricing:` (with pricing.json) and of the entries in `models:`."""
        exact: dict[str, PriceEntry] = {}
        for name, entry in config.models.items():
            if entry.price is None:
                continue
            provider = entry.provider or config.provider or ""
            preset = None if provider in config.providers else preset_named(provider)
            exact[f"{preset.name if preset else provider}/{entry.id or name}"] = entry.price
        return cls(config.pricing, exact)

    @staticmethod
    def warm() -> str:
        """Read the price list now (0.2 s), before the first call; says why a fetched one is not used, or ""."""
        from reactagent_tui.core.llm.price_data import price_data

        return price_data().problem

    def quote(self, info: ModelInfo, at: datetime) -> Quote:
        """The price of a call that starts at `at`."""
        quote = self._quote(info, at)
        return replace(quote, notional=True) if info.notional and not quote.free else quote

    def _quote(self, info: ModelInfo, at: datetime) -> Quote:
        if info.api == "demo":
            return Quote(free=True)
        found = self._own(info)
        if found is not None:
            return Quote((_from_entry(*found, at),))
        if info.local:
            return Quote(free=True)
        return _bundled(info, at)

    def price(
        self, info: ModelInfo, usage: Usage, at: datetime, *, reported: bool = True
    ) -> tuple[Money, Price | None]:
        """What these tokens cost at this time, and the price it was computed with (None: unknown, free or told)."""
        quote = self.quote(info, at)
        price = None if usage.cost_usd is not None else quote.price(usage)
        return quote.money(usage, reported=reported), price

    def _own(self, info: ModelInfo) -> tuple[str, PriceEntry] | None:
        full, name = f"{info.provider}/{info.name}".lower(), info.name.lower()
        exact = self._exact.get(full) or self._exact.get(f"/{name}")
        if exact is not None:
            return full, exact
        for glob, entry in self._globs:
            if any(fnmatch.fnmatchcase(text, glob.lower()) for text in (full, name)):
                return glob, entry
        return None


def _from_entry(source: str, entry: PriceEntry, at: datetime) -> Price:
    rates: Rates = entry
    window = ""
    clock = at.astimezone(UTC).time()
    for part in entry.windows:
        if _within(clock, time.fromisoformat(part.start), time.fromisoformat(part.end)):
            rates, window = part, f"{part.start}-{part.end}"
    scale = _MILLION / entry.per
    write = rates.input if rates.cache_write is None else rates.cache_write
    price = Price(
        input=rates.input,
        output=rates.output,
        cache_read=rates.input if rates.cache_read is None else rates.cache_read,
        cache_write=write,
        cache_write_1h=write if rates.cache_write_1h is None else rates.cache_write_1h,
        reasoning=rates.output if rates.reasoning is None else rates.reasoning,
        currency=entry.currency,
        source=source,
        date=_day(at),
        window=window,
    )
    return price if scale == 1 else replace(price, **{name: getattr(price, name) * scale for name in _AMOUNTS})


def _within(clock: time, start: time, end: time) -> bool:
    return start <= clock < end if start <= end else clock >= start or clock < end


def _day(at: datetime) -> str:
    day: date = at.astimezone(UTC).date()
    return day.isoformat()


def _bundled(info: ModelInfo, at: datetime) -> Quote:
    """From genai-prices: dated prices, parts of the day and tiers are resolved for this very call."""
    if info.price_provider is None:
        return Quote()
    from reactagent_tui.core.llm.model_data import find_model

    model = find_model(info.price_provider, facts_of(info.name).price_as or info.name)
    if model is None:
        return Quote()
    if not model.prices:
        return Quote(free=info.name.endswith(":free"))
    listed = model.get_prices(at)
    starts = {0} | {tier.start for name in _LISTED for tier in getattr(getattr(listed, name), "tiers", ())}
    source = _source_name()
    prices = [_from_listed(listed, start, _day(at), source) for start in sorted(starts)]
    if prices[0] is None:
        return Quote(free=info.name.endswith(":free"))
    return Quote(tuple(price for price in prices if price is not None))


def _source_name() -> str:
    """`genai-prices`, with its day when it was fetched."""
    from reactagent_tui.core.llm.price_data import PACKAGE, price_data

    data = price_data()
    return data.source if data.date else PACKAGE


_LISTED = (
    "input_mtok",
    "output_mtok",
    "cache_read_mtok",
    "cache_write_mtok",
    "cache_write_1h_mtok",
    "output_reasoning_mtok",
)


def _from_listed(listed: ModelPrice, tier: int, day: str, source: str) -> Price | None:
    given, made, read, write, write_1h, reasoning = (_amount(getattr(listed, name), tier) for name in _LISTED)
    if given is None or made is None:
        return None
    write = given if write is None else write
    return Price(
        input=given,
        output=made,
        cache_read=given if read is None else read,
        cache_write=write,
        cache_write_1h=write if write_1h is None else write_1h,
        reasoning=made if reasoning is None else reasoning,
        source=source,
        date=day,
        tier=tier,
    )


def _amount(listed: Any, tier: int) -> Decimal | None:
    """The price in one tier; `listed` is None, an amount, or an amount with tiers."""
    if listed is None or isinstance(listed, Decimal):
        return listed
    fitting = [step.price for step in listed.tiers if step.start <= tier]
    return fitting[-1] if fitting else listed.base
