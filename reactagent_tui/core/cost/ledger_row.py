"""A row of the ledger: one model call with its tokens, its frozen price and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, cast

from reactagent_tui.core.cost.cache_tag import CACHE_TAGS, CacheTag
from reactagent_tui.core.cost.pricing import Price
from reactagent_tui.core.money import Money
from reactagent_tui.core.usage import Usage

Cause = Literal["step", "retry", "compaction", "sub_agent", "pipeline", "title", "reflection", "memory", "sampling"]


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One model call."""

    call_id: str
    session_id: str
    turn: int
    step: int
    agent: tuple[str, ...]
    """Names from the main agent's child down to the caller; empty: the main agent."""
    cause: Cause
    provider: str
    model: str
    usage: Usage
    price: Price | None
    """None: unknown, free, or told by the provider."""
    cost: Money
    started: datetime
    sent_estimate: int = 0
    sent_raw: int = 0
    first_token: datetime | None = None
    ended: datetime | None = None
    interrupted: bool = False
    failed: bool = False
    estimated: bool = False
    """The tokens are our own count; the provider has not reported them, or not all."""
    sent: bool = True
    """False: the request never left this machine, so it cost nothing."""

    cache_tag: CacheTag = ""
    """Why less came from the cache than before."""

    @property
    def cache_share(self) -> float | None:
        """Part of the prompt that came from the cache, 0 to 1; None: the provider has not reported."""
        return None if self.estimated or not self.usage.prompt else self.usage.cache_read / self.usage.prompt

    def ended_anyhow(self) -> LedgerRow:
        """The row of a call that is over: one that never ended (a crash) stays booked as what it was opened with."""
        return self if self.ended is not None else replace(self, ended=self.started, interrupted=True)

    def to_record(self) -> dict[str, Any]:
        """A JSON-ready dict; money as text."""
        return {
            "call_id": self.call_id,
            "session_id": self.session_id,
            "turn": self.turn,
            "step": self.step,
            "agent": list(self.agent),
            "cause": self.cause,
            "provider": self.provider,
            "model": self.model,
            "usage": self.usage.to_record(),
            "price": None if self.price is None else self.price.to_record(),
            "cost": None if self.cost.amount is None else str(self.cost.amount),
            "currency": self.cost.currency,
            "state": self.cost.state,
            "started": self.started.isoformat(),
            "first_token": None if self.first_token is None else self.first_token.isoformat(),
            "ended": None if self.ended is None else self.ended.isoformat(),
            "sent_estimate": self.sent_estimate,
            "sent_raw": self.sent_raw,
            "interrupted": self.interrupted,
            "failed": self.failed,
            "estimated": self.estimated,
            "cache_tag": self.cache_tag,
            "sent": self.sent,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> LedgerRow:
        """The row that `to_record` wrote. Raises KeyError, TypeError or ValueError on foreign records."""
        amount = record["cost"]
        price = record.get("price")
        return cls(
            call_id=record["call_id"],
            session_id=record["session_id"],
            turn=record["turn"],
            step=record["step"],
            agent=tuple(record.get("agent", ())),
            cause=cast(Cause, record["cause"]),
            provider=record["provider"],
            model=record["model"],
            usage=Usage.from_record(record["usage"]),
            price=None if price is None else Price.from_record(price),
            cost=Money(None if amount is None else Decimal(amount), record["state"], record.get("currency", "USD")),
            started=datetime.fromisoformat(record["started"]),
            sent_estimate=record.get("sent_estimate", 0),
            sent_raw=record.get("sent_raw", 0),
            first_token=_moment(record.get("first_token")),
            ended=_moment(record.get("ended")),
            interrupted=record.get("interrupted", False),
            failed=record.get("failed", False),
            estimated=record.get("estimated", record["state"] == "estimated"),
            cache_tag=_known_tag(record.get("cache_tag")),
            sent=record.get("sent", True),
        )


def _known_tag(text: object) -> CacheTag:
    """A tag of a newer version counts as none."""
    known: CacheTag
    for known in CACHE_TAGS:
        if known == text:
            return known
    return ""


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
