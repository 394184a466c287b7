"""Token counts of one model call, in the buckets that are priced differently."""

from __future__ import annotations

from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more calls. Buckets of the prompt do not overlap; `reasoning` is part of `output`."""

    input: int = 0
    """Prompt tokens that came from no cache."""
    cache_read: int = 0
    cache_write: int = 0
    """Prompt tokens written to a 5-minute cache."""
    cache_write_1h: int = 0
    output: int = 0
    """All generated tokens, reasoning included."""
    reasoning: int = 0
    cost_usd: Decimal | None = None
    """What the provider itself says the call cost, in US dollars."""

    @property
    def prompt(self) -> int:
        """Everything that was sent: the tokens that fill the window."""
        return self.input + self.cache_read + self.cache_write + self.cache_write_1h

    @property
    def total(self) -> int:
        return self.prompt + self.output

    def __add__(self, other: Usage) -> Usage:
        cost = None
        if self.cost_usd is not None or other.cost_usd is not None:
            cost = (self.cost_usd or Decimal(0)) + (other.cost_usd or Decimal(0))
        return Usage(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.cache_write_1h + other.cache_write_1h,
            self.output + other.output,
            self.reasoning + other.reasoning,
            cost,
        )

    def to_record(self) -> dict[str, Any]:
        """A JSON-ready dict without zeros."""
        record: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value or isinstance(value, Decimal):
                record[field.name] = str(value) if isinstance(value, Decimal) else value
        return record

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Usage:
        """The usage that `to_record` wrote; unknown keys are ignored."""
        known = {field.name for field in fields(cls)}
        values = {key: value for key, value in record.items() if key in known}
        if values.get("cost_usd") is not None:
            values["cost_usd"] = Decimal(str(values["cost_usd"]))
        return cls(**values)
