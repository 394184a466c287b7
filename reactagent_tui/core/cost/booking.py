"""A ledger row with its place in the world: what usage.db holds of a call."""

from __future__ import annotations

from dataclasses import dataclass

from reactagent_tui.core.cost.ledger import LedgerRow


@dataclass(frozen=True, slots=True)
class Booking:
    """A ledger row and where it belongs."""

    row: LedgerRow
    project: str = ""
    """The session's working folder."""
    skill: str = ""
    """The skill that was at work, when one is known."""

    @property
    def key(self) -> tuple[str, str]:
        return self.row.session_id, self.row.call_id
