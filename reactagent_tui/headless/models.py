"""`reactagent models`: what can be used now, with window, price and where the key comes from."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from reactagent_tui.core.config.loader import LoadedConfig, load_config
from reactagent_tui.core.cost.pricing import Price, PriceBook
from reactagent_tui.core.display import clean_line
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.llm.catalog import preset_named
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.local_models import discover
from reactagent_tui.core.llm.local_servers import LocalServer
from reactagent_tui.core.llm.offers import Offer, matching, offers
from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.usage import Usage
from reactagent_tui.headless.plain import NONE, Printer, table, tokens, translator

Translate = Callable[..., str]
_EXAMPLES = """\
examples:
  reactagent models                    all of them
  reactagent models flash              names with `flash` in them; globs work too: 'gpt-5*'
  reactagent models --provider ollama  those of one provider

prices are per million tokens; ● is what is used when nothing is named"""


def main(argv: list[str]) -> int:
    """Entry point of the sub-command. Exit 0: something is listed, 1: nothing fits, 2: configuration."""
    args = _parser().parse_args(argv)
    try:
        loaded = load_config(
            explicit=Path(args.config) if args.config else None, env=dict(os.environ), paths=user_paths()
        )
        servers = asyncio.run(_servers(loaded))
        preset = preset_named(args.provider or "")
        provider = preset.name if preset is not None else args.provider or ""
        found = matching(offers(loaded, servers), pattern=args.pattern or "", provider=provider)
    except ConfigError as error:
        sys.stderr.write(f"reactagent: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    out, t = Printer(), translator()
    prices = _prices(loaded, found)
    if args.json:
        documents = [_document(offer, price, free) for offer, (price, free) in zip(found, prices, strict=True)]
        out.line(json.dumps(documents, ensure_ascii=out.is_terminal))
    elif found:
        _print_table(found, prices, out, t)
    else:
        sys.stderr.write(t("models.none") + "\n")
    return 0 if found else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reactagent models",
        description="Every model that can be used now: configured ones, providers with a key, servers on this machine.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("pattern", nargs="?", help="part of a name, or a glob")
    parser.add_argument("--provider", help="only those of this provider")
    parser.add_argument("--config", metavar="FILE", help="configuration file instead of the user's")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return parser


async def _servers(loaded: LoadedConfig) -> tuple[LocalServer, ...]:
    http = HttpPool()
    try:
        return await discover(loaded, http, windows=True)
    finally:
        await http.aclose()


def _prices(loaded: LoadedConfig, found: Sequence[Offer]) -> list[tuple[Price | None, bool]]:
    """The price of each, and whether it is free."""
    book, now = PriceBook.from_config(loaded.config), datetime.now(UTC)
    result: list[tuple[Price | None, bool]] = []
    for offer in found:
        quote = None if offer.info is None else book.quote(offer.info, now)
        result.append((None, False) if quote is None else (quote.price(Usage()), quote.free))
    return result


def _print_table(
    found: Sequence[Offer], prices: Sequence[tuple[Price | None, bool]], out: Printer, t: Translate
) -> None:
    head = ("", *(t(f"models.{name}") for name in ("name", "window", "input", "output", "key")))
    rows: list[tuple[str, ...]] = [head]
    for offer, (price, free) in zip(found, prices, strict=True):
        mark = "●" if offer.is_default else " "
        window = NONE if offer.window is None else tokens(offer.window)
        if offer.problem:
            rows.append((mark, offer.name, NONE, NONE, NONE, offer.problem))
            continue
        free_word = t("models.local") if offer.info is not None and offer.info.api != "demo" else t("models.free")
        costs = (free_word, free_word) if free else (NONE, NONE) if price is None else _amounts(price)
        rows.append((mark, offer.name, window, *costs, _key(offer, t)))
    lines = table(rows, "llrrrl")
    out.line(out.paint(lines[0], "dim"))
    for line, offer in zip(lines[1:], found, strict=True):
        out.line(out.paint(line, "bold") if offer.is_default else out.paint(line, "red") if offer.problem else line)


def _amounts(price: Price) -> tuple[str, str]:
    def shown(amount: Decimal) -> str:
        digits = f"{amount.normalize():f}"
        whole, _, rest = digits.partition(".")
        text = f"{whole}.{rest.ljust(2, '0')}"
        return f"${text}" if price.currency == "USD" else f"{text} {price.currency}"

    return shown(price.input), shown(price.output)


def _key(offer: Offer, t: Translate) -> str:
    if offer.info is not None and offer.info.api == "demo":
        return t("models.no_key")
    return t("models.no_key") if offer.key_source == "none needed" else offer.key_source.removeprefix("env ")


def _document(offer: Offer, price: Price | None, free: bool) -> dict[str, Any]:
    local = offer.info is not None and offer.info.local
    return {
        "name": offer.name,
        "provider": offer.provider,
        "model": offer.model,
        "default": offer.is_default,
        "api": None if offer.info is None else offer.info.api,
        "local": local,
        "context_window": offer.window,
        "context_window_source": offer.window_source or None,
        "price": None if price is None else {"input": float(price.input), "output": float(price.output)},
        "currency": None if price is None else price.currency,
        "free": free,
        "key_source": offer.key_source or None,
        "problem": clean_line(offer.problem) or None,
    }
