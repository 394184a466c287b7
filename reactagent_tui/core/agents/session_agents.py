"""Sub-agents for the sessions of the program: what they take from a live session, and the port of its main agent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Protocol

from reactagent_tui.core.agents.pool import AgentHost, Caller, ExternalAgent, SessionAgents
from reactagent_tui.core.agents.roles import RoleLibrary, RoleSource
from reactagent_tui.core.agents.spawner import Spawner
from reactagent_tui.core.config.schema import AgentSettings
from reactagent_tui.core.cost.budget import Budget
from reactagent_tui.core.cost.cache_tag import CacheWatch
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.llm.base import ChatProvider, ModelInfo
from reactagent_tui.core.llm.calibration import Calibration
from reactagent_tui.core.react.counting import WindowCounter
from reactagent_tui.core.react.debug import DebugSteps
from reactagent_tui.core.react.executor import RunHooks
from reactagent_tui.core.react.protocols import Protocols
from reactagent_tui.core.react.two_phase import TwoPhaseThinking
from reactagent_tui.core.reporter import Reporter
from reactagent_tui.core.safety.permissions import Permissions
from reactagent_tui.core.sessions.store import SessionFile
from reactagent_tui.core.tools.base import AgentPort
from reactagent_tui.core.tools.shell_env import child_env
from reactagent_tui.core.tools.subagent import SpawnSubagent
from reactagent_tui.core.tools.toolkit import Toolkit

AGENTS_FOLDER = "agents"


class GateLike(Protocol):
    """Where the hooks of a session are."""

    @property
    def hooks(self) -> RunHooks: ...


class AgentSession(Protocol):
    """The part of a live session that its sub-agents use."""

    file: SessionFile
    workdir: Path
    provider: ChatProvider
    toolkit: Toolkit
    permissions: Permissions
    ledger: Ledger
    budget: Budget | None
    make_provider: Callable[[str], ChatProvider] | None
    calibration: Calibration
    protocols: Protocols
    two_phase: TwoPhaseThinking
    loop_window: int
    polling: frozenset[str]
    debug: DebugSteps | None
    agents: SessionAgents | None

    @property
    def gate(self) -> GateLike | None: ...


class GuardLike(Reporter, Protocol):
    """The way of a run to the screen; closed, nothing of that run may go on."""

    open: bool


def open_agents(
    session: AgentSession,
    settings: AgentSettings,
    sources: Callable[[], Sequence[RoleSource]],
    secrets: Callable[[], Iterable[str]],
) -> None:
    """Give a session its sub-agents and the tool that begins them."""
    external = {
        name: ExternalAgent(entry.command, entry.env, entry.description) for name, entry in settings.external.items()
    }
    roles = _Roles(sources)

    def counter(info: ModelInfo) -> WindowCounter:
        made = WindowCounter()
        made.use(info, session.calibration.estimator(info))
        return made

    def environment(more: Mapping[str, str]) -> Mapping[str, str]:
        return child_env(os.environ, more, secrets=secrets())

    agents = session.agents = SessionAgents(
        AgentHost(
            session_id=session.file.id,
            workdir=session.workdir,
            make_provider=session.make_provider,
            folder=session.file.folder / AGENTS_FOLDER,
            budget=session.budget,
            roles=roles.library,
            external=lambda: external,
            environment=environment,
            counter=counter,
            cache=lambda: CacheWatch(session.calibration),
            protocols=session.protocols,
            two_phase=session.two_phase,
            loop_window=session.loop_window,
            polling=session.polling,
            debug=session.debug,
            hooks=lambda: None if session.gate is None else session.gate.hooks,
            max_depth=settings.max_depth,
        )
    )
    tool = SpawnSubagent()
    agents.tell_roles = lambda: tool.describe((role.name, role.description) for role in agents.roles())
    agents.tell_roles()
    session.toolkit = session.toolkit.extended([tool])


def main_port(session: AgentSession, guard: GuardLike) -> AgentPort | None:
    """The port of the main agent in the run that this guard belongs to; None: the session has no sub-agents."""
    if session.agents is None:
        return None
    caller = Caller(
        toolkit=session.toolkit,
        provider=session.provider,
        permissions=session.permissions,
        book=session.ledger,
        reporter=guard,
        left=lambda: _left(session),
        is_open=lambda: guard.open,
    )
    return Spawner(session.agents, caller)


def _left(session: AgentSession) -> Decimal | None:
    return None if session.budget is None else session.budget.left()


class _Roles:
    """The roles of a folder; trust may come and go."""

    def __init__(self, sources: Callable[[], Sequence[RoleSource]]) -> None:
        self._sources = sources
        self._known: tuple[RoleSource, ...] = ()
        self._library = RoleLibrary(())

    def library(self) -> RoleLibrary:
        sources = tuple(self._sources())
        if sources != self._known:
            self._known, self._library = sources, RoleLibrary(sources)
        else:
            self._library.reload_if_changed()
        return self._library
