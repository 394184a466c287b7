"""How providers keep the prompts they have read: for how long, in what portions, at what extra price. Data."""

from __future__ import annotations

from dataclasses import dataclass

from reactagent_tui.core.llm.base import ModelInfo

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class CacheHabit:
    """One provider's prompt cache."""

    life: float = 5 * MINUTE
    """Seconds without use after which a prompt counts as forgotten; the least that the provider promises."""
    least: int = 1024
    """Prompt tokens below which nothing is kept."""
    portion: int = 1
    """Tokens are kept in portions of so many."""
    known: bool = False
    """It caches by itself; False: only its reports can tell."""
    writes: bool = False
    """What is put into the cache is billed as such."""
    long: bool = False
    """Writes go to the 1-hour cache."""


_HABITS = {
    "openai": CacheHabit(5 * MINUTE, 1024, 128, known=True),
    "deepseek": CacheHabit(10 * MINUTE, 64, 64, known=True),
    "google": CacheHabit(5 * MINUTE, 2048),
    "moonshotai": CacheHabit(5 * MINUTE, 256),
    "x-ai": CacheHabit(5 * MINUTE, 64),
    "zai": CacheHabit(5 * MINUTE, 64),
    "groq": CacheHabit(5 * MINUTE, 128),
}
"""By provider of the price list."""


def cache_habit(info: ModelInfo) -> CacheHabit:
    """The habit of the provider that serves this model."""
    if info.api == "anthropic":
        from reactagent_tui.core.llm.anthropic_payload import cache_ttl

        match cache_ttl(info.extra):
            case None:
                return CacheHabit()
            case "1h":
                return CacheHabit(60 * MINUTE, 1024, known=True, writes=True, long=True)
            case "5m":
                return CacheHabit(5 * MINUTE, 1024, known=True, writes=True)
    return _HABITS.get(info.price_provider or "", CacheHabit())
