"""Why a call read less from the provider's cache than the one before it had put there.

The prefix of a request is compared with the last request to the same model: what changed first is the cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol

from reactagent_tui.core.cost.prefix import Fingerprints, Prefix
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest
from reactagent_tui.core.llm.cache_habits import CacheHabit, cache_habit
from reactagent_tui.core.llm.calibration import Calibration
from reactagent_tui.core.llm.tokens import Weight
from reactagent_tui.core.usage import Usage

CacheTag = Literal["", "cold", "expired", "model", "tools", "system", "history"]
"""cold: the first call; expired: idle for longer than the cache lives; model: another one was used before; tools,
system, history: that part of the request is another one now (edited, compacted, old turns left out)."""
CACHE_TAGS: tuple[CacheTag, ...] = ("", "cold", "expired", "model", "tools", "system", "history")
_ENOUGH = 0.75
"""Share of what could have come from the cache; below it something was lost."""
_WORTH_IT = 1024
"""Tokens; a smaller loss is not worth a word."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request on its way."""

    prefix: Prefix
    weight: Weight
    at: datetime


@dataclass(frozen=True, slots=True)
class Read:
    """The last request to a model that its provider has read and counted."""

    usage: Usage
    at: datetime
    prefix: Prefix | None = None
    """None: it was sent by an earlier process."""
    weight: Weight | None = None


class PastCall(Protocol):
    """A ledger row, as far as it tells of a cache."""

    @property
    def agent(self) -> tuple[str, ...]: ...
    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def usage(self) -> Usage: ...
    @property
    def ended(self) -> datetime | None: ...
    @property
    def estimated(self) -> bool: ...


def cache_tag(before: Read | None, now: Sent, usage: Usage, habit: CacheHabit, *, elsewhere: bool) -> CacheTag:
    """The cause for a call that read less than it could have; "" when it read enough, or nothing explains it.

    `before` is the last call to the same model; `elsewhere`: without one, other models were called before.
    """
    if before is None:
        return "model" if elsewhere else "cold"
    expected = min(before.usage.prompt, usage.prompt)
    lost = expected - usage.cache_read
    if lost < _WORTH_IT or usage.cache_read >= expected * _ENOUGH:
        return ""
    if now.at - before.at > timedelta(seconds=habit.life):
        return "expired"
    return "" if before.prefix is None else before.prefix.differs(now.prefix)


class CacheWatch:
    """Follows the requests of one conversation, model by model."""

    def __init__(
        self, calibration: Calibration | None = None, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._calibration = calibration or Calibration()
        self._now = now
        self._fingerprints = Fingerprints()
        self._read: dict[tuple[str, str], Read] = {}

    def restore(self, calls: Iterable[PastCall]) -> None:
        """The calls of an earlier process, oldest first: their prompts may still be in the cache."""
        for call in calls:
            if call.ended is not None and not call.estimated and not call.agent:
                self._read[call.provider, call.model] = Read(call.usage, call.ended)

    def sending(self, request: ModelRequest, weight: Weight) -> Sent:
        """A request goes out now."""
        return Sent(self._fingerprints.of(request), weight, self._now())

    def done(self, info: ModelInfo, sent: Sent, usage: Usage) -> CacheTag:
        """The provider reported what it read: remember it, and say why it was so little."""
        before = self._read.get((info.provider, info.name))
        tag = cache_tag(before, sent, usage, cache_habit(info), elsewhere=bool(self._read))
        self._note_habit(info, before, usage, tag)
        self._read[info.provider, info.name] = Read(usage, self._now(), sent.prefix, sent.weight)
        return tag if self.caches(info) or tag in ("cold", "model") else ""

    def last(self, info: ModelInfo) -> Read | None:
        """The last request to this model that was counted."""
        return self._read.get((info.provider, info.name))

    def caches(self, info: ModelInfo) -> bool:
        """Does this model read from a cache, by its reports or by what is known of its provider?"""
        seen = self._calibration.caches(info)
        return cache_habit(info).known if seen is None else seen

    def idle(self, read: Read) -> float:
        """Seconds since a request was read."""
        return (self._now() - read.at).total_seconds()

    def fingerprint(self, request: ModelRequest) -> Prefix:
        """The digests of a request that is not sent."""
        return self._fingerprints.of(request)

    def _note_habit(self, info: ModelInfo, before: Read | None, usage: Usage, tag: CacheTag) -> None:
        """Cached tokens prove a cache; none twice in a row, where nothing had changed, prove that there is none."""
        if usage.cache_read or usage.cache_write or usage.cache_write_1h:
            self._calibration.note_caches(info, True)
            return
        if before is None or tag or before.usage.cache_read:
            return
        if min(before.usage.prompt, usage.prompt) >= max(_WORTH_IT, 2 * cache_habit(info).least):
            self._calibration.note_caches(info, False)
