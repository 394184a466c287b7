"""A command's view of one live session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path
from typing import Protocol

from reactagent_tui.core.agents.pool import SessionAgents
from reactagent_tui.core.checkpoints.rewinder import Outcome, Rewinder
from reactagent_tui.core.commands.mcp import server_prompt
from reactagent_tui.core.commands.registry import CommandResult, FolderTrustLike, Rules, Translate
from reactagent_tui.core.cost.budget import Budget, Scope
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.hooks.session_hooks import SessionHooks
from reactagent_tui.core.llm.base import ChatProvider, ModelInfo, WireRecord
from reactagent_tui.core.llm.registry import ModelChoice
from reactagent_tui.core.messages import Message
from reactagent_tui.core.safety.permissions import Mode
from reactagent_tui.core.sandbox.port import SandboxLike
from reactagent_tui.core.sessions.store import SessionFile, SessionStore, SessionSummary
from reactagent_tui.core.skills.loader import SkillLibrary
from reactagent_tui.core.tools.jobs import SessionJobs
from reactagent_tui.core.tools.session_servers import SessionServers
from reactagent_tui.core.tools.todo_list import TodoList


class GateLike(Protocol):
    """What prompts pass."""

    @property
    def hooks(self) -> SessionHooks: ...


class SessionLike(Protocol):
    """The part of a live session that commands use."""

    file: SessionFile
    workdir: Path
    provider: ChatProvider
    ledger: Ledger
    budget: Budget | None
    jobs: SessionJobs
    todo: TodoList
    agents: SessionAgents | None
    servers: SessionServers | None

    @property
    def permissions(self) -> Rules: ...
    @property
    def gate(self) -> GateLike | None: ...
    @property
    def sandbox(self) -> SandboxLike | None: ...
    @property
    def mode(self) -> Mode: ...
    def set_mode(self, mode: Mode) -> None: ...
    def set_provider(self, provider: ChatProvider) -> None: ...
    def set_title(self, title: str) -> None: ...
    def allow_repeats(self, times: int) -> None: ...
    def set_budget(self, scope: Scope, limit: Decimal | None) -> None: ...
    def take_fallback(self) -> bool: ...

    rewinder: Rewinder | None

    @property
    def is_running(self) -> bool: ...
    def rewound(self, outcome: Outcome, *, forward: bool = False) -> None: ...


class RuntimeLike(Protocol):
    """The part of the runtime that commands use."""

    @property
    def store(self) -> SessionStore: ...
    def provider(self, name: str | None = None) -> ChatProvider: ...
    def models(self) -> list[ModelChoice]: ...
    def skills(self, workdir: Path) -> SkillLibrary: ...
    def config_lines(self) -> list[tuple[str, str, str]]: ...
    @property
    def trust(self) -> FolderTrustAnswers: ...
    def trust_changed(self, workdir: Path) -> None: ...


class FolderTrustAnswers(FolderTrustLike, Protocol):
    """The same, and remembering an answer."""

    def answer(self, folder: Path, trusted: bool) -> None: ...


async def _cannot_switch(_wanted: str | None) -> None:
    """Without a screen there is one session: `-r` chooses it."""


class SessionHost:
    """Implements `Host` for commands. `switch(None)` opens a new session, `switch(text)` resumes one."""

    def __init__(
        self,
        runtime: RuntimeLike,
        session: SessionLike,
        t: Translate,
        switch: Callable[[str | None], Awaitable[None]] = _cannot_switch,
    ) -> None:
        self.runtime = runtime
        self.session = session
        self.t = t
        self._switch = switch

    @property
    def workdir(self) -> Path:
        return self.session.workdir

    @property
    def session_folder(self) -> Path:
        """Where the session's own files are."""
        return self.session.file.folder

    @property
    def messages(self) -> list[Message]:
        return self.session.file.messages

    @property
    def ledger(self) -> Ledger:
        return self.session.ledger

    @property
    def mode(self) -> Mode:
        return self.session.mode

    @property
    def model(self) -> ModelInfo:
        return self.session.provider.info

    @property
    def skills(self) -> SkillLibrary:
        return self.runtime.skills(self.session.workdir)

    @property
    def last_exchange(self) -> WireRecord | None:
        return self.session.provider.last_exchange

    def models(self) -> list[ModelChoice]:
        return self.runtime.models()

    def sessions(self) -> list[SessionSummary]:
        return self.runtime.store.list(Path(self.session.file.header.workdir))

    def set_mode(self, mode: Mode) -> None:
        self.session.set_mode(mode)

    def set_model(self, name: str) -> ChatProvider:
        provider = self.runtime.provider(name)
        self.session.set_provider(provider)
        return provider

    def set_title(self, title: str) -> None:
        self.session.set_title(title)

    def allow_repeats(self, times: int) -> None:
        self.session.allow_repeats(times)

    @property
    def budget(self) -> Budget | None:
        return self.session.budget

    def set_budget(self, scope: Scope, limit: Decimal | None) -> None:
        self.session.set_budget(scope, limit)

    @property
    def hooks(self) -> SessionHooks | None:
        return None if self.session.gate is None else self.session.gate.hooks

    @property
    def sandbox(self) -> SandboxLike | None:
        return self.session.sandbox

    def take_fallback(self) -> bool:
        return self.session.take_fallback()

    @property
    def rewinder(self) -> Rewinder | None:
        return self.session.rewinder

    @property
    def is_running(self) -> bool:
        return self.session.is_running

    def rewound(self, outcome: Outcome, *, forward: bool = False) -> None:
        self.session.rewound(outcome, forward=forward)

    @property
    def agents(self) -> SessionAgents | None:
        return self.session.agents

    @property
    def servers(self) -> SessionServers | None:
        return self.session.servers

    async def server_prompt(self, name: str, arguments: str) -> CommandResult | None:
        """`/server:prompt` as a message; None when there is no such prompt."""
        return await server_prompt(self, name, arguments)

    @property
    def jobs(self) -> SessionJobs:
        return self.session.jobs

    @property
    def permissions(self) -> Rules:
        return self.session.permissions

    @property
    def trust(self) -> FolderTrustLike:
        return self.runtime.trust

    def set_trusted(self, trusted: bool) -> None:
        """Raises StorageError."""
        self.runtime.trust.answer(self.session.workdir, trusted)
        self.runtime.trust_changed(self.session.workdir)

    def config_lines(self) -> list[tuple[str, str, str]]:
        return self.runtime.config_lines()

    @property
    def todo(self) -> TodoList:
        return self.session.todo

    async def new_session(self) -> None:
        await self._switch(None)

    async def resume_session(self, wanted: str) -> None:
        await self._switch(wanted)
