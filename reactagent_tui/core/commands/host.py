"""A command's view of one live session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Protocol

from reactagent_tui.core.agents.pool import SessionAgents
from reactagent_tui.core.checkpoints.rewinder import Outcome, Rewinder
from reactagent_tui.core.commands.context_room import SessionContext
from reactagent_tui.core.commands.mcp import server_prompt
from reactagent_tui.core.commands.registry import CommandResult, FolderTrustLike, Rules, Translate
from reactagent_tui.core.cost.budget import Budget, Scope
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.hooks.session_hooks import SessionHooks
from reactagent_tui.core.llm.base import ChatProvider, ModelInfo, WireRecord
from reactagent_tui.core.llm.registry import ModelChoice
from reactagent_tui.core.memory.memory import Memory
from reactagent_tui.core.messages import Message, UserMessage
from reactagent_tui.core.paths import Paths
from reactagent_tui.core.pipeline.user_pipeline import PipelineSession
from reactagent_tui.core.plans.decision import PlanningSession
from reactagent_tui.core.plans.session_plan import SessionPlan
from reactagent_tui.core.prompt.composer import Section
from reactagent_tui.core.prompt.nested import NestedInstructions
from reactagent_tui.core.react.compacting import Compacting
from reactagent_tui.core.react.counting import WindowCounter
from reactagent_tui.core.react.room import Room
from reactagent_tui.core.reflect.reflection import Reflection
from reactagent_tui.core.reporter import ASKING_SESSION, Answer, Question, Reporter
from reactagent_tui.core.safety.permissions import Mode
from reactagent_tui.core.sandbox.port import SandboxLike
from reactagent_tui.core.sessions.store import SessionFile, SessionStore, SessionSummary
from reactagent_tui.core.skills.loader import SkillLibrary
from reactagent_tui.core.tools.jobs import SessionJobs
from reactagent_tui.core.tools.session_servers import SessionServers
from reactagent_tui.core.tools.todo_list import TodoList
from reactagent_tui.core.tools.toolkit import Toolkit


class GateLike(Protocol):
    """What prompts pass."""

    @property
    def hooks(self) -> SessionHooks: ...


class SessionLike(PipelineSession, Protocol):
    """The part of a live session that commands use."""

    file: SessionFile
    workdir: Path
    provider: ChatProvider
    ledger: Ledger
    budget: Budget | None
    jobs: SessionJobs
    todo: TodoList
    agents: SessionAgents | None
    without_skills: frozenset[str]
    without_files: frozenset[str]
    without_memory: bool
    nested: NestedInstructions
    toolkit: Toolkit
    servers: SessionServers | None

    @property
    def offered(self) -> Toolkit: ...
    @property
    def counter(self) -> WindowCounter: ...
    def hold(self, message: UserMessage, kind: Literal["steer", "follow_up", "command"]) -> None: ...
    def compact(self, focus: str = "") -> Compacting: ...
    def room(self) -> Room: ...
    def window_told(self) -> None: ...

    plan: SessionPlan
    reporter: Reporter

    @property
    def id(self) -> str: ...
    def submit(self, message: UserMessage) -> None: ...
    def begin_reflection(self, prompt: str) -> Reflection | None: ...
    async def settle(self, seconds: float | None = 2.0) -> bool: ...
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

    memory: Memory
    paths: Paths

    @property
    def store(self) -> SessionStore: ...
    def provider(self, name: str | None = None) -> ChatProvider: ...
    def models(self) -> list[ModelChoice]: ...
    def skills(self, workdir: Path) -> SkillLibrary: ...
    def config_lines(self) -> list[tuple[str, str, str]]: ...
    def prompt_sections(self, session: Any) -> tuple[Section, ...]: ...
    @property
    def trust(self) -> FolderTrustAnswers: ...
    def trust_changed(self, workdir: Path) -> None: ...


class FolderTrustAnswers(FolderTrustLike, Protocol):
    """The same, and remembering an answer."""

    def answer(self, folder: Path, trusted: bool) -> None: ...


async def _cannot_switch(_wanted: str | None) -> None:
    """Without a screen there is one session: `-r` chooses it."""


async def _cannot_fork(_keep: int | None) -> None:
    """The same."""


class SessionHost:
    """Implements `Host` for commands. `switch(None)` opens a new session, `switch(text)` resumes one.

    `fork(n)` goes on in a new session with the first n messages.
    """

    def __init__(
        self,
        runtime: RuntimeLike,
        session: SessionLike,
        t: Translate,
        switch: Callable[[str | None], Awaitable[None]] = _cannot_switch,
        fork: Callable[[int | None], Awaitable[None]] = _cannot_fork,
    ) -> None:
        self.runtime = runtime
        self.session = session
        self.t = t
        self._switch = switch
        self._fork = fork

    @property
    def workdir(self) -> Path:
        return self.session.workdir

    @property
    def session_folder(self) -> Path:
        """Where the session's own files are."""
        return self.session.file.folder

    @property
    def file(self) -> SessionFile:
        return self.session.file

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
    def pipelines(self) -> PipelineSession:
        return self.session

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
    def memory(self) -> Memory:
        return self.runtime.memory

    @property
    def todo(self) -> TodoList:
        return self.session.todo

    @property
    def context(self) -> SessionContext:
        return SessionContext(self.runtime, self.session)

    @property
    def planning(self) -> PlanningSession:
        return self.session

    @property
    def config_folder(self) -> Path:
        """Where the user's own files are."""
        return self.runtime.paths.config

    @property
    def events(self) -> Sequence[Mapping[str, Any]]:
        return self.session.file.events

    async def ask(self, question: Question) -> Answer:
        """Ask the user although no run goes."""
        ASKING_SESSION.set(self.session.id)
        return await self.session.reporter.ask(question)

    async def reflect(self, prompt: str) -> tuple[str, ...]:
        """What the model suggests; kept with the session. () when it could not or was stopped."""
        work = self.session.begin_reflection(prompt)
        if work is None:
            return ()
        await self.session.settle(None)
        if work.found:
            record = {"name": "reflection", "suggestions": list(work.found)}
            self.session.file.append("event", record)
            self.session.file.events.append(record)
        return work.found

    async def new_session(self) -> None:
        await self._switch(None)

    async def resume_session(self, wanted: str) -> None:
        await self._switch(wanted)

    async def fork_session(self, keep: int | None) -> None:
        await self._fork(keep)
