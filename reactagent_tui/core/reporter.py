"""The one interface between the agent and whatever shows it: a screen, a pipe, an editor, a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from reactagent_tui.core.display import DisplayBlock

if TYPE_CHECKING:
    from reactagent_tui.core.events import AgentEvent


ASKING_SESSION: ContextVar[str] = ContextVar("asking_session", default="")
"""The session whose run asks: set by the run, read by a front end that shows one session of many."""


@dataclass(frozen=True, slots=True)
class ApprovalQuestion:
    """May this call run?"""

    tool: str
    """Tool name as the model knows it."""
    subject: str
    """The key argument: command, path or URL."""
    blocks: tuple[DisplayBlock, ...]
    """The full diff or command."""
    reason: str
    """Locale key that says why it asks: `asks.writes`, `asks.command`, `asks.outside`, `asks.dangerous`, …"""
    pattern: str | None = None
    """Rule to offer for "allow like this", e.g. `run_shell_command(git status *)`."""
    risk: tuple[str, ...] = ()
    """Lines for `w`: what the command would do, computed from its parts."""
    dangerous: bool = False
    """On the hard list: no session or pattern grant is offered."""
    new: tuple[str, ...] = ()
    """The parts of a command line that nothing allows yet, where others are allowed."""
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """One of several options; `key` is a locale key for the text unless `text` is given (a model's own question)."""

    key: str
    options: tuple[str, ...]
    """Locale keys, or a model's own words beside `text`."""
    text: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """For the texts of `key` and of the options; a tuple holds locale keys, shown one after the other."""
    title: str = ""
    """Locale key of the heading, when it is not just a decision."""
    commented: bool = False
    """The answer may be the user's own words as well."""
    literal: int = 0
    """So many of the first options are words of somebody else, not locale keys, though `text` is not given."""
    numeric: bool = False
    """The user's own words are a number: letters choose the options, and a digit begins the number."""

    @property
    def keys(self) -> str:
        """The keys of the options, one each."""
        return ("abcdefgh" if self.numeric else "123456789")[: len(self.options)]


Question: TypeAlias = ApprovalQuestion | ChoiceQuestion

GrantScope = Literal["session", "project", "always"]
"""How long a pattern holds: in this session, in this project, or everywhere."""
Verdict = Literal["once", "session", "pattern", "deny", "stop", "choice"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the user decided. `stop`: deny and end the run. `comment` goes to the model, `scope` is the pattern's."""

    verdict: Verdict
    comment: str = ""
    pattern: str | None = None
    choice: int | None = None
    scope: GrantScope = "session"


class Reporter(Protocol):
    """Receives every event of every run."""

    def emit(self, event: AgentEvent) -> None:
        """Never blocks, never raises. Deltas may be merged; the rest must arrive in order."""
        ...

    async def ask(self, question: Question) -> Answer:
        """The user's answer; cancelled with the turn. A front end without a user answers by policy."""
        ...


@dataclass
class RecordingReporter:
    """Keeps every event and answers by a function; for tests and for programs that embed the core."""

    answer: Callable[[Question], Answer] = lambda _question: Answer("deny")
    events: list[AgentEvent] = field(default_factory=lambda: [])
    questions: list[Question] = field(default_factory=list[Question])

    def emit(self, event: AgentEvent) -> None:
        self.events.append(event)

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return self.answer(question)
