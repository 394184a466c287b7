"""The next call of a session, before it is made: the request it would send, and what that would cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from reactagent_tui.core.cost.cache_tag import CacheWatch
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.price_tag import CachedPart, PriceTag, cached_part, price_tag, usual_output
from reactagent_tui.core.cost.pricing import Quote
from reactagent_tui.core.llm.base import ChatProvider, ModelInfo, ModelRequest
from reactagent_tui.core.llm.cache_habits import cache_habit
from reactagent_tui.core.llm.calibration import Calibration
from reactagent_tui.core.llm.tokens import Weight, weigh_message
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.react.counting import MarkedHistory, WindowCounter, request_window
from reactagent_tui.core.react.protocols import Dialect, Protocols
from reactagent_tui.core.sessions.resume_size import resume_size
from reactagent_tui.core.tools.toolkit import Toolkit


class Conversation(Protocol):
    """The session, as far as its next call depends on it."""

    @property
    def file(self) -> MarkedHistory: ...
    @property
    def provider(self) -> ChatProvider: ...
    @property
    def offered(self) -> Toolkit: ...
    @property
    def system(self) -> Callable[[Any], str]: ...
    @property
    def protocols(self) -> Protocols: ...
    @property
    def counter(self) -> WindowCounter: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def cache(self) -> CacheWatch: ...
    @property
    def calibration(self) -> Calibration: ...
    @property
    def mode(self) -> str: ...
    def price_tag(self, draft: str = "") -> PriceTag: ...


@dataclass(frozen=True, slots=True)
class _Standing:
    """The part of the next call that the draft does not change."""

    tokens: int
    output: int
    cached: CachedPart
    quote: Quote


class NextCall:
    """Tells the price of the next call. What does not depend on the draft is worked out once per change."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key: tuple[object, ...] = ()
        self._standing: _Standing | None = None
        self._good_until = 0.0

    def tag(self, session: Conversation, draft: str) -> PriceTag:
        """The price of sending `draft` now ("": the history as it is)."""
        standing = self._standing
        key = _state_of(session)
        if standing is None or key != self._key or self._clock() >= self._good_until:
            standing = self._standing = _stand(session)
            self._key = key
            self._good_until = self._clock() + (60.0 if standing.cached.expires is None else standing.cached.expires)
        added = session.counter.estimator.scale(weigh_message(UserMessage(draft))) if draft.strip() else 0
        tag = price_tag(standing.quote, standing.tokens + added, standing.output, standing.cached)
        if tag.expires is None:
            return tag
        return PriceTag(tag.tokens, tag.cached, tag.output, tag.cost, max(self._good_until - self._clock(), 0.0))


def _state_of(session: Conversation) -> tuple[object, ...]:
    messages = session.file.messages
    info = session.provider.info
    last = id(messages[-1]) if messages else 0
    marks = session.file.marks.stack
    return (
        len(marks),
        id(marks[-1]) if marks else 0,
        len(messages),
        last,
        info.provider,
        info.name,
        session.mode,
        session.cache.last(info),
    )


def _stand(session: Conversation) -> _Standing:
    info, counter, watch = session.provider.info, session.counter, session.cache
    request = next_request(session)
    raw, last = counter.raw(request), watch.last(info)
    tokens = counter.estimator.scale(raw)
    cached = CachedPart()
    if watch.caches(info) or last is not None:
        now = watch.fingerprint(request)

        def weigh(messages: int) -> int:
            return _beginning(counter, request, messages)

        if last is not None and last.prefix is not None and last.weight is not None and not last.prefix.differs(now):
            added = raw - last.weight  # only what is new needs an estimate: the rest was counted by the provider
            tokens = last.usage.prompt + counter.estimator.scale(Weight(max(added.plain, 0), max(added.wide, 0)))
        idle = 0.0 if last is None else watch.idle(last)
        cached = cached_part(last, now, idle, cache_habit(info), caches=watch.caches(info), weigh=weigh)
    output = usual_output(session.ledger.newest(), info.provider, info.name)
    return _Standing(tokens, output, cached, session.ledger.quote(info))


async def tags_elsewhere(session: Conversation, models: Sequence[ModelInfo]) -> list[PriceTag]:
    """What the next call would cost at other models: their caches are cold, the whole prompt is new to them."""
    request = next_request(session)
    raw = session.counter.raw(request)
    now, present = session.provider.info, session.price_tag()
    output = present.output

    def tag(info: ModelInfo) -> PriceTag:
        if (info.provider, info.name) == (now.provider, now.name):
            return present
        tokens = session.calibration.estimator(info).scale(raw)
        return price_tag(session.ledger.quote(info), tokens, output)

    return await asyncio.to_thread(lambda: [tag(info) for info in models])


async def tags_to_resume(session: Conversation, files: Sequence[Path]) -> list[PriceTag | None]:
    """What going on with each of these sessions would send first, with the present model; None: not known."""
    quote, output = session.ledger.quote(session.provider.info), session.price_tag().output

    def tag(file: Path) -> PriceTag | None:
        size = resume_size(file)
        return None if size is None else price_tag(quote, size, output)

    return await asyncio.to_thread(lambda: [tag(file) for file in files])


def next_request(session: Conversation) -> ModelRequest:
    """What the next call would send if nothing were added."""
    info = session.provider.info
    system, tools = session.system(session), tuple(session.offered.specs())
    window = request_window(session.counter, info, system, tools, session.file)
    return Dialect(session.protocols).request(info, system, window.chosen.messages, tools)


def _beginning(counter: WindowCounter, request: ModelRequest, messages: int) -> int:
    first = sum(counter.message(message) for message in request.messages[:messages])
    return counter.fixed(request.system, request.tools) + first
