"""A sub-agent as tools and pipelines see it: a task in, a result out. `core/agents` runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from reactagent_tui.core.events import EndReason
from reactagent_tui.core.money import NOTHING_SPENT, Money
from reactagent_tui.core.usage import Usage

DEFAULT_STEPS = 50


@dataclass(frozen=True, slots=True)
class AgentTask:
    """What a sub-agent is asked to do. It sees this, and nothing of its caller's conversation."""

    task: str
    system_prompt: str | None = None
    """None: that of the role, or the plain one."""
    input_files: tuple[str, ...] = ()
    """Read and put into its prompt, each with its path; a placeholder that is no path is named as such."""
    output_file: str | None = None
    """Where its answer goes when it has not written the file itself."""
    tools_allowlist: tuple[str, ...] = ()
    """Names of the caller's tools it may use. None of them: it can only answer."""
    model: str | None = None
    max_steps: int = DEFAULT_STEPS
    max_usd: Decimal | None = None
    role: str | None = None
    name: str = ""
    """Wanted name, made unique; empty: from the role or a number."""
    roots: tuple[Path, ...] | None = None
    """Folders its tools may read and write, without a question; None: as its caller."""
    read_only: tuple[Path, ...] = ()
    """Folders among `roots` that it may not write; one inside them that is a root of its own it may."""
    cause: str = "sub_agent"
    """Cause of its ledger rows: sub_agent or pipeline."""
    input_cap: int = 200_000
    """Characters of each input file."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class AgentResult:
    """How a sub-agent ended. `text` holds what it said, also when it was stopped."""

    name: str
    run_id: str
    reason: EndReason
    text: str
    usage: Usage = field(default_factory=Usage)
    cost: Money = NOTHING_SPENT
    steps: int = 0
    seconds: float = 0.0
    output_file: Path | None = None
    """Written by the agent or from its answer; None: nothing was written."""
    written: int = 0
    """Bytes of it."""
    error: str | None = None
    files: tuple[str, ...] = ()
    """Files it created or changed, absolute."""
    stops_all: bool = False
    """The user answered one of its questions with "no, and stop": its caller shall stop as well."""
    log: Path | None = None
    """Its conversation on disk."""

    @property
    def is_done(self) -> bool:
        return self.reason == "ANSWER"


class AgentStopped(asyncio.CancelledError):
    """Its caller was cancelled, and so was the agent. `result` is what it had done by then."""

    def __init__(self, result: AgentResult) -> None:
        super().__init__(result.name)
        self.result = result
