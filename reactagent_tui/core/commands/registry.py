"""Slash commands that need no screen. Each returns display blocks; the front end decides how to show them."""

from __future__ import annotations

import asyncio
import difflib
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from reactagent_tui.core.agents.pool import SessionAgents
from reactagent_tui.core.checkpoints.rewinder import Outcome, Rewinder
from reactagent_tui.core.cost.budget import Budget, Scope
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.display import DisplayBlock, TextBlock
from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.hooks.session_hooks import SessionHooks
from reactagent_tui.core.llm.base import ChatProvider, ModelInfo, WireRecord
from reactagent_tui.core.llm.registry import ModelChoice
from reactagent_tui.core.memory.memory import Memory
from reactagent_tui.core.messages import Message, UserMessage
from reactagent_tui.core.pipeline.user_pipeline import PipelineSession
from reactagent_tui.core.plans.decision import PlanningSession
from reactagent_tui.core.reporter import Answer, Question
from reactagent_tui.core.safety.grants import Grants
from reactagent_tui.core.safety.permissions import Mode
from reactagent_tui.core.sessions.store import SessionFile, SessionSummary
from reactagent_tui.core.skills.loader import SkillLibrary
from reactagent_tui.core.skills.models import Skill
from reactagent_tui.core.tools.jobs import SessionJobs
from reactagent_tui.core.tools.session_servers import SessionServers
from reactagent_tui.core.tools.todo_list import TodoList
from reactagent_tui.core.trust import Verdict

if TYPE_CHECKING:
    from reactagent_tui.core.commands.context_room import SessionContext
    from reactagent_tui.core.sandbox.port import SandboxLike

Translate: TypeAlias = Callable[..., str]


class Rules(Protocol):
    """The rules of a session, as `/permissions` shows and changes them."""

    grants: Grants

    @property
    def configured(self) -> tuple[tuple[Literal["deny", "ask", "allow"], str], ...]: ...


class FolderTrustLike(Protocol):
    """Whether the folder of a session is trusted, and what hangs on it."""

    def verdict(self, folder: Path) -> Verdict: ...


class Host(Protocol):
    """What a command may use of the session it runs in and of the program around it."""

    t: Translate

    @property
    def workdir(self) -> Path: ...
    @property
    def messages(self) -> list[Message]: ...
    @property
    def session_folder(self) -> Path: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def mode(self) -> Mode: ...
    @property
    def model(self) -> ModelInfo: ...
    @property
    def skills(self) -> SkillLibrary: ...
    @property
    def last_exchange(self) -> WireRecord | None: ...
    def models(self) -> list[ModelChoice]: ...
    def sessions(self) -> list[SessionSummary]: ...
    def set_mode(self, mode: Mode) -> None: ...
    def set_model(self, name: str) -> ChatProvider: ...
    def set_title(self, title: str) -> None: ...
    def allow_repeats(self, times: int) -> None: ...
    @property
    def budget(self) -> Budget | None: ...
    def set_budget(self, scope: Scope, limit: Decimal | None) -> None: ...
    def take_fallback(self) -> bool: ...
    @property
    def hooks(self) -> SessionHooks | None: ...
    @property
    def sandbox(self) -> SandboxLike | None: ...
    @property
    def agents(self) -> SessionAgents | None: ...
    @property
    def pipelines(self) -> PipelineSession: ...
    @property
    def servers(self) -> SessionServers | None: ...
    async def server_prompt(self, name: str, arguments: str) -> CommandResult | None: ...
    @property
    def jobs(self) -> SessionJobs: ...
    @property
    def permissions(self) -> Rules: ...
    @property
    def trust(self) -> FolderTrustLike: ...
    def set_trusted(self, trusted: bool) -> None: ...
    def config_lines(self) -> list[tuple[str, str, str]]: ...
    @property
    def rewinder(self) -> Rewinder | None: ...
    @property
    def is_running(self) -> bool: ...
    def rewound(self, outcome: Outcome, *, forward: bool = False) -> None: ...
    @property
    def todo(self) -> TodoList: ...
    @property
    def context(self) -> SessionContext: ...
    @property
    def memory(self) -> Memory: ...
    @property
    def planning(self) -> PlanningSession: ...
    @property
    def config_folder(self) -> Path: ...
    @property
    def events(self) -> Sequence[Mapping[str, Any]]: ...
    async def ask(self, question: Question) -> Answer: ...
    async def reflect(self, prompt: str) -> tuple[str, ...]: ...
    async def new_session(self) -> None: ...
    async def resume_session(self, wanted: str) -> None: ...
    @property
    def file(self) -> SessionFile: ...
    async def fork_session(self, keep: int | None) -> None: ...


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command gives back: blocks to show, and perhaps a message that starts a turn."""

    blocks: tuple[DisplayBlock, ...] = ()
    submit: UserMessage | None = None
    level: Literal["info", "error"] = "info"
    draft: str = ""
    """A text that goes back to the prompt."""


Run: TypeAlias = Callable[[Host, str], CommandResult | Awaitable[CommandResult]]


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command. Its summary is the locale text `command.<name>`."""

    name: str
    run: Run
    usage: str = ""
    """Arguments, for the list: `[name]`."""
    headless: bool = True
    """Makes sense with `-p`."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """No such command; `nearest` is the closest name."""

    name: str
    nearest: str | None


class CommandRegistry:
    """All commands of a front end. Skills answer to their names as well."""

    def __init__(self, commands: Iterable[Command]) -> None:
        self._commands = {command.name: command for command in commands}

    def all(self) -> tuple[Command, ...]:
        return tuple(self._commands[name] for name in sorted(self._commands))

    def find(self, name: str) -> Command | None:
        return self._commands.get(name.lower())

    def nearest(self, name: str, skills: Iterable[str] = ()) -> Unknown:
        known = [*self._commands, *skills]
        close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
        return Unknown(name, close[0] if close else None)


def split_command(text: str) -> tuple[str, str] | None:
    """(`name`, `arguments`) of `/name arguments`, or None when the text is no command (a path, a comment)."""
    if not text.startswith("/") or text.startswith("//"):
        return None
    name, _, arguments = text[1:].partition(" ")
    if "\n" in name:
        name, _, rest = name.partition("\n")
        arguments = f"{rest}\n{arguments}" if arguments else rest
    if not name or "/" in name or not name.replace("-", "").replace("_", "").replace(":", "").isalnum():
        return None
    return name, arguments.strip()


async def execute(registry: CommandRegistry, host: Host, name: str, arguments: str) -> CommandResult | Unknown:
    """Run a command or expand a skill. Commands beat skills of the same name."""
    command = registry.find(name)
    if command is not None:
        result = command.run(host, arguments)
        return await result if inspect.isawaitable(result) else result
    skill = host.skills.get(name)
    if skill is not None:
        return await _call_skill(host, skill, arguments)
    if ":" in name:
        prompted = await host.server_prompt(name, arguments)
        if prompted is not None:
            return prompted
    return registry.nearest(name, (skill.name for skill in host.skills.all()))


async def _call_skill(host: Host, skill: Skill, arguments: str) -> CommandResult:
    """The message that starts the skill; with a folder for its files where it wants one, but not in plan mode."""
    from reactagent_tui.core.skills.expand import expand_skill_command
    from reactagent_tui.core.skills.run_dir import new_run_dir

    if not skill.run_dir or host.mode == "plan":
        return CommandResult(submit=expand_skill_command(skill, arguments))
    try:
        run_dir = await asyncio.to_thread(new_run_dir, host.workdir, skill.name, arguments.strip() or skill.name)
    except SkillError as error:
        return CommandResult((TextBlock(str(error), "error"),), level="error")
    return CommandResult(submit=expand_skill_command(skill, arguments, run_dir))
