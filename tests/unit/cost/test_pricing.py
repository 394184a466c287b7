from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest

from reactagent_tui.core.config.schema import Config, PriceEntry
from reactagent_tui.core.cost.pricing import FREE, UNKNOWN, Price, PriceBook
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.money import Money
from reactagent_tui.core.usage import Usage

NIGHT = datetime(2026, 9, 20, 20, 0, tzinfo=UTC)
PEAK = datetime(2026, 9, 21, 2, 0, tzinfo=UTC)


def model(name: str, provider: str = "openai", price_provider: str | None = None, **more: object) -> ModelInfo:
    info = ModelInfo(provider, name, "openai-chat", 128_000, price_provider=price_provider or provider)
    return replace(info, **more)  # type: ignore[arg-type]


def test_cached_tokens_are_billed_once_and_at_their_own_price() -> None:
    usage = Usage(input=200, cache_read=800, output=50, reasoning=40)
    money, price = PriceBook().price(model("gpt-4o"), usage, NIGHT)
    assert money == Money(Decimal("0.002"), "reported")  # 200 x 2.50 + 800 x 1.25 + 50 x 10, per million
    assert price is not None
    assert (price.input, price.cache_read, price.output) == (Decimal("2.5"), Decimal("1.25"), Decimal(10))
    assert (price.source, price.date, price.currency) == ("genai-prices", "2026-09-20", "USD")


def test_cache_writes_have_two_prices() -> None:
    usage = Usage(cache_write=1_000_000, cache_write_1h=1_000_000)
    price = PriceBook().quote(model("claude-opus-4-5", "anthropic"), NIGHT).prices[0]
    assert price.cost(usage) == Decimal("6.25") + Decimal(10)


def test_a_long_prompt_pays_the_higher_tier_for_all_of_it() -> None:
    quote = PriceBook().quote(model("claude-sonnet-4-5", "anthropic"), NIGHT)
    short, long = Usage(input=200_000), Usage(input=200_001)
    assert quote.money(short, reported=True).amount == Decimal("0.6")
    assert quote.money(long, reported=True).amount == Decimal("6") * 200_001 / 1_000_000
    tier = quote.price(long)
    assert tier is not None
    assert tier.tier == 200_000


def test_parts_of_the_day_decide_at_the_start_of_the_call() -> None:
    book, flash = PriceBook(), model("deepseek-v4-pro", "deepseek")
    night, peak = book.quote(flash, NIGHT).prices[0], book.quote(flash, PEAK).prices[0]
    assert (night.input, peak.input) == (Decimal("0.66"), Decimal("1.32"))
    east = PEAK.astimezone(timezone(timedelta(hours=8)))
    assert book.quote(flash, east).prices[0].input == peak.input


def test_old_names_are_billed_as_what_they_are_now() -> None:
    book = PriceBook()
    old = book.quote(model("deepseek-chat", "deepseek"), NIGHT)
    assert old == book.quote(model("deepseek-v4-flash", "deepseek"), NIGHT)


@pytest.mark.parametrize(
    "info",
    [
        model("no-such-model-9"),
        model("gpt-4o", "custom", "nobody"),
        replace(model("gpt-4o"), price_provider=None),
        model("text-embedding-3-small"),
    ],
)
def test_unknown_is_never_zero(info: ModelInfo) -> None:
    money, price = PriceBook().price(info, Usage(input=10, output=10), NIGHT)
    assert (money, price) == (UNKNOWN, None)
    assert money.amount is None


def test_local_and_demo_are_free_and_free_models_too() -> None:
    usage = Usage(input=10, output=10)
    book = PriceBook()
    assert book.price(model("x", local=True), usage, NIGHT) == (FREE, None)
    assert book.price(ModelInfo("demo", "demo", "demo", 1), usage, NIGHT) == (FREE, None)
    assert book.price(model("allenai/molmo-7b-d:free", "openrouter"), usage, NIGHT) == (FREE, None)


def test_what_the_provider_says_wins() -> None:
    usage = Usage(input=10, output=10, cost_usd=Decimal("0.5"))
    for info in (model("gpt-4o"), model("no-such-model-9"), model("x", local=True)):
        money, price = PriceBook({"*": PriceEntry(input=Decimal(1), output=Decimal(1))}).price(info, usage, NIGHT)
        assert money == Money(Decimal("0.5"), "reported")
        assert price is None


def test_own_prices_win_and_the_longest_match_wins() -> None:
    def entry(amount: int) -> PriceEntry:
        return PriceEntry(input=Decimal(amount), output=Decimal(amount))

    book = PriceBook({"*": entry(1), "gpt-*": entry(2), "openai/gpt-4*": entry(3), "gpt-4o": entry(4)})
    usage = Usage(input=1_000_000)
    amounts = [book.price(model(name), usage, NIGHT)[0].amount for name in ("zzz", "gpt-5", "GPT-4.1", "gpt-4o")]
    assert amounts == [1, 2, 3, 3]  # `openai/gpt-4*` is longer than `gpt-4o`
    assert book.quote(model("gpt-5"), NIGHT).prices[0].source == "gpt-*"
    exact = PriceBook({"openai/gpt-4o*": entry(5)}, {"openai/gpt-4o": entry(6)})
    assert exact.price(model("gpt-4o"), usage, NIGHT)[0].amount == 6
    assert PriceBook({"x": entry(7)}).price(model("x", local=True), usage, NIGHT)[0].amount == 7


def test_what_an_own_price_leaves_out_follows() -> None:
    entry = PriceEntry(input=Decimal(4), output=Decimal(8), cache_write=Decimal(5), currency="CNY")
    price = PriceBook({"*": entry}).quote(model("x"), NIGHT).prices[0]
    assert (price.cache_read, price.cache_write_1h, price.reasoning) == (4, 5, 8)
    assert PriceBook({"*": entry}).price(model("x"), Usage(input=1_000_000), NIGHT)[0] == Money(
        Decimal(4), "reported", "CNY"
    )


def test_own_windows_and_units() -> None:
    entry = PriceEntry.model_validate(
        {
            "input": 0.001,
            "output": 0.002,
            "per": 1000,
            "windows": [{"start": "22:00", "end": "02:30", "input": "0.0005", "output": "0.001"}],
        }
    )
    book = PriceBook({"*": entry})
    day, night = book.quote(model("x"), NIGHT).prices[0], book.quote(model("x"), PEAK).prices[0]
    assert (day.input, day.window) == (Decimal(1), "")
    assert (night.input, night.output, night.window) == (Decimal("0.5"), Decimal(1), "22:00-02:30")
    edge = book.quote(model("x"), datetime(2026, 9, 21, 2, 30, tzinfo=UTC)).prices[0]
    assert edge.window == ""


def test_prices_of_model_entries_belong_to_their_provider() -> None:
    config = Config.model_validate(
        {
            "provider": "kimi",
            "models": {
                "a": {"id": "kimi-x", "price": {"input": 1, "output": 1}},
                "b": {"provider": "work", "price": {"input": 2, "output": 2}},
            },
            "providers": {"work": {"api_base": "http://h"}},
        }
    )
    book = PriceBook.from_config(config)
    assert book.quote(model("kimi-x", "moonshot", "moonshotai"), NIGHT).prices[0].input == 1
    assert book.quote(model("b", "work"), NIGHT).prices[0].input == 2
    assert book.quote(model("b", "other"), NIGHT).prices == ()


def test_a_price_survives_its_record() -> None:
    price = PriceBook().quote(model("claude-sonnet-4-5", "anthropic"), NIGHT).prices[-1]
    assert Price.from_record(price.to_record() | {"later": 1}) == price


def test_price_data_is_loaded_only_when_asked_and_nothing_is_fetched() -> None:
    code = (
        "import sys, socket, threading\n"
        "import reactagent_tui.core.cost.ledger, reactagent_tui.core.cost.pricing as pricing\n"
        "print([m for m in ('genai_prices', 'pydantic', 'yaml', 'httpx') if m in sys.modules])\n"
        "tried = []\n"
        "sys.addaudithook(lambda event, args: tried.append(event) if event.startswith('socket.') else None)\n"
        "from datetime import UTC, datetime\n"
        "from reactagent_tui.core.llm.base import ModelInfo\n"
        "info = ModelInfo('openai', 'gpt-4o', 'openai-chat', 1, price_provider='openai')\n"
        "quote = pricing.PriceBook().quote(info, datetime.now(UTC))\n"
        "print(bool(quote.prices), tried, threading.active_count())\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "True [] 1"]


def test_a_plan_is_priced_but_marked_and_the_price_may_be_unknown() -> None:
    book = PriceBook({"house/*": PriceEntry(input=Decimal(10), output=Decimal(20))})
    plan = replace(ModelInfo("house", "m", "openai-chat", 1000), notional=True)
    usage = Usage(input=1_000_000, output=1_000_000)
    now = datetime(2026, 9, 20, tzinfo=UTC)
    for reported in (True, False):
        assert book.quote(plan, now).money(usage, reported=reported) == Money(Decimal(30), "notional")
    assert book.quote(plan, now).money(replace(usage, cost_usd=Decimal(5)), reported=True).state == "notional"
    elsewhere = replace(plan, provider="elsewhere")
    assert book.quote(elsewhere, now).money(usage, reported=True) == Money(None, "notional")
    assert book.quote(replace(elsewhere, local=True), now).money(usage, reported=True).state == "free"
