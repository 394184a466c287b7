"""One question to one source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Query:
    """Words, years (both included), and how many papers are wanted at most."""

    text: str
    start_year: int
    end_year: int
    limit: int
    key: str = ""
    """A key of the user for this source; none is needed."""

    def covers(self, year: int | None) -> bool:
        """A paper of that year is wanted; without a year it is kept."""
        return year is None or self.start_year <= year <= self.end_year
