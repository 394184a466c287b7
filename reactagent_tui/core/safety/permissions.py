"""May a call run? Allow, ask or deny, from mode, grants and what the call touches. (Being built.)"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Mode = Literal["ask", "edits", "plan", "auto"]
MODES: tuple[Mode, ...] = ("ask", "edits", "plan", "auto")


@dataclass(frozen=True, slots=True)
class Access:
    """What one call touches."""

    tool: str
    command: str | None = None
    """A shell command line; decides on its own parts."""
    workdir: Path | None = None
    reads: tuple[Path, ...] = ()
    """Real paths."""
    writes: tuple[Path, ...] = ()
    network: bool = False


@dataclass(frozen=True, slots=True)
class Allow:
    """Runs without a question; `rule` says why (for "which rule allowed this")."""

    rule: str


@dataclass(frozen=True, slots=True)
class Ask:
    """The user decides."""

    reason: str
    """Locale key: asks.writes, asks.command, asks.outside, asks.dangerous, asks.unparsable, asks.network."""
    pattern: str | None = None
    risk: tuple[str, ...] = ()
    dangerous: bool = False


@dataclass(frozen=True, slots=True)
class Deny:
    """Never; `text` tells the model what is allowed instead."""

    text: str


Decision = Allow | Ask | Deny


class Permissions:
    """The rules of one session: mode and grants. See spec/03.

    `decide(access, effect_reads)` → Decision. `grant(access, scope, pattern)` records the user's answer.
    """

    def __init__(self, mode: Mode = "ask", workspace_roots: tuple[Path, ...] = ()) -> None:
        self.mode: Mode = mode
        self.workspace_roots = workspace_roots

    def decide(self, access: Access, *, reads_only: bool) -> Decision:
        raise NotImplementedError

    def grant(self, access: Access, pattern: str | None) -> None:
        raise NotImplementedError
