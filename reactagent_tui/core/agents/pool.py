"""The sub-agents of one session: what they share, who runs, who has run, and stopping one of them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from reactagent_tui.core.agents.roles import Role, RoleLibrary
from reactagent_tui.core.cost.budget import Budget
from reactagent_tui.core.cost.cache_tag import CacheWatch
from reactagent_tui.core.cost.call_book import CallBook
from reactagent_tui.core.llm.base import ChatProvider, ModelInfo
from reactagent_tui.core.react.counting import WindowCounter
from reactagent_tui.core.react.executor import PermissionRules, RunHooks
from reactagent_tui.core.react.protocols import Protocols
from reactagent_tui.core.react.state import StepLog
from reactagent_tui.core.react.two_phase import TwoPhaseThinking
from reactagent_tui.core.reporter import Reporter
from reactagent_tui.core.tools.agent_task import AgentResult, AgentTask
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.toolkit import Toolkit

AT_ONCE = 8
DEEPEST = 3
KEPT = 200
"""Agents that ended and are still listed."""
_UNFIT = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class ExternalAgent:
    """A program that speaks the Agent Client Protocol on its stdin and stdout."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    description: str = ""


def _no_roles() -> RoleLibrary:
    return RoleLibrary(())


@dataclass
class AgentHost:
    """What the sub-agents of a session take from it."""

    session_id: str
    workdir: Path
    make_provider: Callable[[str], ChatProvider] | None = None
    """By name. Raises ConfigError."""
    folder: Path | None = None
    """Where their conversations are kept; None: nowhere."""
    budget: Budget | None = None
    roles: Callable[[], RoleLibrary] = _no_roles
    external: Callable[[], Mapping[str, ExternalAgent]] = dict[str, ExternalAgent]
    environment: Callable[[Mapping[str, str]], Mapping[str, str]] = dict[str, str]
    """The environment of an external agent, with its own additions."""
    counter: Callable[[ModelInfo], WindowCounter] = lambda _info: WindowCounter()
    """A new one for each agent."""
    cache: Callable[[], CacheWatch] = CacheWatch
    protocols: Protocols = field(default_factory=Protocols)
    two_phase: TwoPhaseThinking = field(default_factory=TwoPhaseThinking)
    loop_window: int = 3
    polling: frozenset[str] = frozenset()
    debug: StepLog | None = None
    hooks: Callable[[], RunHooks | None] = lambda: None
    max_depth: int = 1
    """1: sub-agents have none of their own."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks for a sub-agent: the main agent of a session, or another sub-agent."""

    toolkit: Toolkit
    provider: ChatProvider
    permissions: PermissionRules
    book: CallBook
    reporter: Reporter
    path: tuple[str, ...] = ()
    """Names from the main agent's child down to this one."""
    left: Callable[[], Decimal | None] = lambda: None
    """What it may still spend."""
    is_open: Callable[[], bool] = lambda: True
    """False: the run was given up, and nothing of it may go on."""
    on_stop: Callable[[], None] = lambda: None
    """The user answered "no, and stop" to an agent of its own."""

    @property
    def depth(self) -> int:
        return len(self.path)


@dataclass
class AgentRecord:
    """One sub-agent of the session, running or ended."""

    name: str
    run_id: str
    parent_run_id: str
    task: str
    role: str
    model: str
    depth: int
    stop: Callable[[], None] = lambda: None
    began: float = field(default_factory=time.monotonic)
    result: AgentResult | None = None
    figures: Callable[[], AgentResult] | None = None
    """How it stands while it runs."""

    @property
    def is_running(self) -> bool:
        return self.result is None

    def now(self) -> AgentResult:
        """What it has used so far."""
        if self.result is not None:
            return self.result
        return AgentResult(self.name, self.run_id, "PAUSED", "") if self.figures is None else self.figures()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began if self.result is None else self.result.seconds


class SessionAgents:
    """Made once for a session."""

    def __init__(self, host: AgentHost) -> None:
        self.host = host
        self.asking = asyncio.Lock()
        """One question at a time, whoever asks."""
        self.tell_roles: Callable[[], None] = lambda: None
        """Brings the tool's description up to date; called when a turn begins, so that it is stable within one."""
        self._outputs: dict[Path, tuple[str, ...]] = {}
        """Files that agents are to write now, and whose they are."""
        self._records: dict[str, AgentRecord] = {}
        self._names: set[str] = set()

    def all(self) -> tuple[AgentRecord, ...]:
        """Every agent of the session that is still remembered, in the order of their beginning."""
        return tuple(self._records.values())

    def running(self) -> tuple[AgentRecord, ...]:
        return tuple(record for record in self._records.values() if record.is_running)

    def roles(self) -> tuple[Role, ...]:
        """Roles and external programs, fresh from the disk."""
        library = self.host.roles()
        known = {role.name for role in library.all()}
        outside = (
            Role(name, agent.description or " ".join(agent.command), "", origin="external")
            for name, agent in self.host.external().items()
            if name not in known
        )
        return (*library.all(), *outside)

    def stop(self, run_id: str) -> bool:
        """Stop one agent; its caller goes on with what it had done. False: no such agent runs."""
        record = self._records.get(run_id)
        if record is None or not record.is_running:
            return False
        record.stop()
        return True

    def refuse_more(self, caller: Caller) -> None:
        """Raises ToolFailure when no further agent may begin.

        A ninth is refused and does not wait: an agent that waits for its own sub-agents would hold the very place
        they wait for. Calls of one reply never see this: the loop runs eight of them at a time.
        """
        if caller.depth >= min(self.host.max_depth, DEEPEST):
            raise ToolFailure("depth", "Sub-agents cannot start sub-agents of their own here. Do it yourself.")
        if len(self.running()) >= AT_ONCE:
            raise ToolFailure(
                "busy", f"{AT_ONCE} sub-agents run already, and that is the limit. Call again when one has ended."
            )

    def reserve(self, output: Path, path: tuple[str, ...]) -> None:
        """One file, one agent: of two answers the second would be lost. Raises ToolFailure."""
        owner = self._outputs.get(output)
        if owner is None:
            self._outputs[output] = path
        elif owner != path[: len(owner)]:
            raise ToolFailure(
                "busy",
                f"{output} is the output_file of the agent {'/'.join(owner)}, which runs now. Name another file.",
            )

    def release(self, path: tuple[str, ...]) -> None:
        """The agent has ended."""
        for output in [output for output, owner in self._outputs.items() if owner == path]:
            del self._outputs[output]

    def begin(self, task: AgentTask, caller: Caller, run_id: str, parent_run_id: str, model: str) -> AgentRecord:
        """A new record under a name that no other agent of the session has."""
        record = AgentRecord(
            self._name(task), run_id, parent_run_id, task.task, task.role or "", model, caller.depth + 1
        )
        self._records[run_id] = record
        for old in [known for known in self._records.values() if not known.is_running][:-KEPT]:
            del self._records[old.run_id]
        return record

    def _name(self, task: AgentTask) -> str:
        wanted = _UNFIT.sub("-", task.name or task.role or "").strip("-.")[:40]
        base, number = wanted or "agent", 1 if not wanted else 2
        name = wanted or "agent-1"
        while name in self._names:
            name = f"{base}-{number}"
            number += 1
        self._names.add(name)
        return name
