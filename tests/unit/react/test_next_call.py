"""The price tag against what the provider reports afterwards: real sessions, a provider that caches."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.cost.cache_tag import CacheWatch
from reactagent_tui.core.cost.price_tag import USUAL_OUTPUT, PriceTag
from reactagent_tui.core.events import AgentEvent
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.money import Money
from reactagent_tui.core.react.next_call import NextCall
from reactagent_tui.core.reporter import Answer as UserAnswer
from reactagent_tui.core.reporter import Question
from reactagent_tui.core.runtime import Options, Runtime
from tests.fakes.caching import Answer, CachingProvider

CONFIG = """
pricing:
  "sim/*": {input: 3, output: 15, cache_read: 0.3, cache_write: 3.75}
"""
INFO = ModelInfo("sim", "model", "openai-chat", 200_000)
AS_OPENAI = replace(INFO, price_provider="openai")
AS_ANTHROPIC = replace(INFO, api="anthropic")
READ = ("read_file", '{"path": "notes.txt"}')
TURNS = (Answer(120), Answer(105, READ), Answer(130), Answer(110), Answer(105, READ), Answer(115), Answer(125))
DRAFT = "Please look at the notes again and tell me what has changed since yesterday, point by point. " * 20


class Silent:
    def emit(self, event: AgentEvent) -> None:
        """Nobody listens."""

    async def ask(self, question: Question) -> UserAnswer:
        return UserAnswer("once")


@dataclass
class Clock:
    seconds: float = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime(2026, 9, 20, 12, 0, tzinfo=UTC) + timedelta(seconds=self.seconds)


def written_config() -> Path:
    """A configuration with prices, and a file to read."""
    config = Path("config.yaml")
    config.write_text(CONFIG)
    Path("notes.txt").write_text("a line of the notes with several words\n" * 120)
    return config


@asynccontextmanager
async def session_with(provider: CachingProvider, clock: Clock | None = None) -> AsyncIterator[LiveSession]:
    """A session in the working directory that talks to this provider."""
    config = written_config()
    clock = clock or Clock()
    runtime = Runtime.load(Silent(), Options(config_file=config, overrides=Overrides(mode="auto"), demo=True))
    try:
        session = runtime.open_session(Path.cwd())
        session.cache = CacheWatch(runtime.calibration, now=clock.now)
        session._next_call = NextCall(clock.monotonic)
        provider.clock = clock.monotonic
        session.set_provider(provider)
        yield session
    finally:
        await runtime.close()


def amount(tag: PriceTag) -> Decimal:
    assert tag.cost.amount is not None
    return tag.cost.amount


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.6])
@pytest.mark.parametrize(
    ("info", "style", "portion", "learning"),
    [
        (AS_OPENAI, "reads", 128, 1),
        (AS_ANTHROPIC, "writes", 1, 1),
        (INFO, "reads", 64, 2),  # nothing is known of this provider: its first hit is a surprise
        (INFO, "none", 1, 1),
    ],
    ids=["openai", "anthropic", "unknown", "uncached"],
)
async def test_the_tag_is_within_fifteen_percent_of_the_reported_cost(
    info: ModelInfo, style: str, portion: int, learning: int, factor: float
) -> None:
    provider = CachingProvider(info, TURNS, style, factor, portion)  # type: ignore[arg-type]
    compared = 0
    async with session_with(provider) as session:
        for turn in range(9):
            draft = f"{turn} {DRAFT}"
            tag = session.price_tag(draft)
            first = len(session.ledger.rows)
            await session.run(UserMessage(draft))
            row = session.ledger.rows[first]
            assert row.cost.state == "reported"
            if turn >= learning:
                compared += 1
                assert tag.tokens == pytest.approx(row.usage.prompt, rel=0.10)
                assert tag.cached == pytest.approx(row.usage.cache_read, rel=0.10, abs=portion)
                assert float(amount(tag)) == pytest.approx(float(row.cost.amount or 0), rel=0.15)
    assert compared >= 7


async def test_before_the_first_call_system_prompt_tools_and_draft_are_told() -> None:
    async with session_with(CachingProvider(AS_OPENAI, TURNS)) as session:
        empty, draft = session.price_tag(), session.price_tag("What is here? " * 200)
        assert empty.tokens > 1000
        assert draft.tokens - empty.tokens == pytest.approx(700, rel=0.3)
        assert (empty.cached, empty.output, empty.cost.state) == (0, USUAL_OUTPUT, "estimated")
        assert amount(draft) > amount(empty)


async def test_the_cached_part_expires_and_the_price_goes_up() -> None:
    clock = Clock()
    provider = CachingProvider(AS_OPENAI, TURNS)
    async with session_with(provider, clock) as session:
        await session.run(UserMessage("hello"))
        clock.seconds = 100
        warm = session.price_tag()
        assert warm.cached > 1000
        assert warm.expires == pytest.approx(200)
        clock.seconds = 250
        assert session.price_tag().expires == pytest.approx(50)
        clock.seconds = 301
        cold = session.price_tag()
        assert (cold.cached, cold.expires) == (0, None)
        assert amount(cold) > amount(warm)
        await session.run(UserMessage("again"))
        assert [row.cache_tag for row in session.ledger.rows] == ["cold", "expired", ""]
        assert session.price_tag().cached > 1000


async def test_unknown_and_free_prices_are_never_zero_money() -> None:
    unknown = replace(INFO, provider="elsewhere")
    local = replace(INFO, provider="elsewhere", local=True)
    for info, cost in ((unknown, Money(None, "unknown")), (local, Money(Decimal(0), "free"))):
        async with session_with(CachingProvider(info, TURNS)) as session:
            assert session.price_tag("hello").cost == cost


async def test_another_model_is_cold_and_the_way_back_is_warm() -> None:
    first = CachingProvider(AS_OPENAI, TURNS)
    second = CachingProvider(replace(AS_OPENAI, name="other"), TURNS)
    async with session_with(first) as session:
        await session.run(UserMessage("hello"))
        session.set_provider(second)
        assert session.price_tag().cached == 0
        await session.run(UserMessage("and you?"))
        assert session.ledger.rows[0].cache_tag == "cold"
        assert session.ledger.rows[-1].model == "other"
        assert "model" in [row.cache_tag for row in session.ledger.rows if row.model == "other"]
        session.set_provider(first)
        assert session.price_tag().cached > 1000


async def test_what_was_learned_is_there_in_the_next_process() -> None:
    provider = CachingProvider(INFO, (Answer(100),), factor=1.6)
    async with session_with(provider) as session:
        for _ in range(3):
            await session.run(UserMessage(DRAFT))
    async with session_with(CachingProvider(INFO, TURNS, factor=1.6)) as session:
        assert session.counter.estimator.factors.plain == pytest.approx(1.6, rel=0.1)
        tag = session.price_tag(DRAFT)
        await session.run(UserMessage(DRAFT))
        assert tag.tokens == pytest.approx(session.ledger.rows[0].usage.prompt, rel=0.1)


async def test_a_long_history_is_hashed_once_and_a_draft_costs_nothing_of_it() -> None:
    provider = CachingProvider(AS_OPENAI, (Answer(20),))
    async with session_with(provider) as session:
        for turn in range(6):
            await session.run(UserMessage(f"question {turn}"))
        session.price_tag()
        hashed = session.cache._fingerprints.hashed
        for size in range(50):
            session.price_tag("draft " * size)
        assert session.cache._fingerprints.hashed == hashed
        await session.run(UserMessage("one more"))
        assert session.cache._fingerprints.hashed - hashed <= 4
