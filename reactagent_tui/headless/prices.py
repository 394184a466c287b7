"""`reactagent prices`: what a model costs and where that is from; `reactagent prices refresh` fetches a newer list."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from reactagent_tui.core.config.loader import LoadedConfig, Overrides, load_config
from reactagent_tui.core.cost.price_refresh import refresh_prices
from reactagent_tui.core.cost.pricing import Price, PriceBook
from reactagent_tui.core.errors import ConfigError, ReactAgentError
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.llm.catalog import preset_for_model, preset_named
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.price_data import price_data
from reactagent_tui.core.llm.registry import resolve_model
from reactagent_tui.core.paths import user_paths
from reactagent_tui.locales import Translator, detect_language

_RATES = ("input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning")
_SYMBOLS = {"USD": "$", "EUR": "€", "CNY": "¥", "GBP": "£"}


def main(argv: list[str]) -> int:
    """Exit code 0, 1 when the list cannot be fetched or no price is known, 2 for wrong usage."""
    parser = ArgumentParser(prog="reactagent prices", description="What models cost, and where that is from.")
    parser.add_argument("what", nargs="?", metavar="MODEL|refresh", help="a model, or refresh: fetch a newer list")
    parser.add_argument("--config", metavar="FILE", help="configuration file instead of the user's")
    parser.add_argument("--url", help="with refresh: fetch from here (default: genai-prices on GitHub)")
    args = parser.parse_args(argv)
    t = Translator(detect_language(os.environ))
    try:
        if args.what == "refresh":
            return _refresh(t, args.url)
        if args.what is None:
            _say(_source_lines(t))
            return 0
        return _show(t, args.what, Path(args.config) if args.config else None)
    except ReactAgentError as error:
        sys.stderr.write(f"reactagent: {error}\n")
        return 2 if isinstance(error, ConfigError) else 1
    except KeyboardInterrupt:
        return 130


def _refresh(t: Translator, address: str | None) -> int:
    async def fetch() -> int:
        http = HttpPool()
        try:
            done = await refresh_prices(user_paths().prices, http, address=address)
        finally:
            await http.aclose()
        _say([t("prices.refreshed", models=done.models, providers=done.providers, address=done.address)])
        return 0

    return asyncio.run(fetch())


def _show(t: Translator, name: str, config_file: Path | None) -> int:
    loaded = load_config(explicit=config_file, env=dict(os.environ), paths=user_paths(), flags=Overrides())
    info = _info(loaded, name)
    quote = PriceBook.from_config(loaded.config).quote(info, datetime.now(UTC))
    lines = [f"{info.provider}/{info.name}"]
    if quote.free:
        lines.append(f"  {t('prices.free')}")
    elif not quote.prices:
        lines.append(f"  {t('prices.unknown')}")
    for price in quote.prices:
        lines += _price_lines(t, price)
    if info.notional:
        lines.append(f"  {t('prices.plan')}")
    own = bool(quote.prices) and not quote.prices[0].source.startswith("genai-prices")
    _say([*lines, *([t("prices.own", source=quote.prices[0].source)] if own else _source_lines(t))])
    return 0 if quote.free or quote.prices else 1


def _info(loaded: LoadedConfig, name: str) -> ModelInfo:
    """The model as configured; one that cannot be called for want of a key is looked up by its maker."""
    try:
        return resolve_model(loaded, name).info
    except ConfigError:
        prefix, slash, rest = name.partition("/")
        preset = (preset_named(prefix) if slash else None) or preset_for_model(name)
        if preset is None:
            raise
        model = rest if slash and preset_named(prefix) is preset else name
        bare = ModelInfo(preset.name, model, preset.api, 0, local=preset.local)
        return replace(bare, price_provider=preset.price_provider)


def _price_lines(t: Translator, price: Price) -> Iterator[str]:
    symbol = _SYMBOLS.get(price.currency, f"{price.currency} ")
    if price.tier:
        yield f"  {t('prices.tier', tokens=f'{price.tier:,}')}"
    elif price.window:
        yield f"  {t('prices.window', window=price.window)}"
    else:
        yield f"  {t('prices.per_million')}"
    for rate in _RATES:
        yield f"    {rate:<15} {symbol}{getattr(price, rate).normalize():f}"


def _source_lines(t: Translator) -> list[str]:
    data = price_data()
    lines = [t("prices.source", source=data.source, address=data.address).rstrip(" ()")]
    if data.problem:
        sys.stderr.write(f"reactagent: {t('prices.broken', problem=data.problem)}\n")
    return lines


def _say(lines: list[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
