"""What a run needs and what it gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from reactagent_tui.core.cost.budget import Budget
from reactagent_tui.core.cost.cache_tag import CacheWatch
from reactagent_tui.core.cost.call_book import CallBook
from reactagent_tui.core.events import EndReason, StopReport
from reactagent_tui.core.llm.base import ChatProvider, ModelInfo, ModelRequest, WireRecord
from reactagent_tui.core.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.money import Money
from reactagent_tui.core.react.counting import WindowCounter
from reactagent_tui.core.react.executor import PermissionRules, RunHooks
from reactagent_tui.core.react.gates import Limits
from reactagent_tui.core.react.protocol import ActionProtocol
from reactagent_tui.core.react.protocols import Protocols
from reactagent_tui.core.react.two_phase import TwoPhaseThinking
from reactagent_tui.core.reporter import Reporter
from reactagent_tui.core.sessions.marks import Mark, Marks
from reactagent_tui.core.tools.base import ToolContext
from reactagent_tui.core.tools.toolkit import Toolkit
from reactagent_tui.core.usage import Usage

MakeContext = Callable[[ToolCall, Callable[[str], None]], ToolContext]


class History(Protocol):
    """Where messages live: a session file, or a list in a test or an embedding program."""

    @property
    def messages(self) -> list[Message]: ...
    @property
    def marks(self) -> Marks: ...
    def mark(self, mark: Mark) -> None: ...
    def append_message(self, message: Message) -> None: ...
    def append_partial(self, call: str, text: str, thinking: str) -> None: ...
    def append(self, kind: Any, data: Mapping[str, Any]) -> None: ...
    def sync(self) -> None: ...


@dataclass
class MemoryHistory:
    """A history that is kept nowhere."""

    messages: list[Message] = field(default_factory=list[Message])
    marks: Marks = field(default_factory=Marks)

    def mark(self, mark: Mark) -> None:
        self.marks.add(mark)

    def append_message(self, message: Message) -> None:
        self.messages.append(message)

    def append_partial(self, call: str, text: str, thinking: str) -> None:
        """Partials serve recovery after a crash; memory has none."""

    def append(self, kind: Any, data: Mapping[str, Any]) -> None:
        """Nothing to keep."""

    def sync(self) -> None:
        """Nothing to push."""


class Fallbacks(Protocol):
    """The models to go on with when one fails, in the user's order."""

    def following(self, failed: ModelInfo) -> str | None:
        """The next one that was not used yet in this run."""
        ...

    def use(self, name: str) -> None:
        """Go on with this one. Raises ConfigError when it cannot be used."""
        ...


@dataclass(frozen=True, slots=True)
class OtherModel:
    """A model with a larger window, by the name it is configured with."""

    name: str
    info: ModelInfo


class OtherModels(Protocol):
    """The models that the user has besides the present one."""

    def roomier(self, tokens: int) -> OtherModel | None:
        """The cheapest one that takes this many tokens and more than the present one; None: there is none."""
        ...

    def cost(self, info: ModelInfo, tokens: int, output: int) -> Money:
        """What a call of it would cost, estimated."""
        ...

    def borrow(self, name: str) -> RunSetup:
        """The setup of this run with that model in it, for one call. Raises ConfigError."""
        ...

    def use(self, name: str) -> None:
        """Switch the session to it. Raises ConfigError."""
        ...


class StepLog(Protocol):
    """Receives whole requests, responses and results for `--debug`."""

    def request(self, *, step: int, request: ModelRequest) -> None: ...
    def response(self, *, step: int, message: AssistantMessage | None, exchange: WireRecord | None) -> None: ...
    def tool_result(self, *, step: int, result: ToolResult) -> None: ...


def no_messages() -> Sequence[UserMessage]:
    return ()


async def nothing_first() -> None:
    """Nothing to wait for before the first step."""


async def nothing_between(_step: int) -> None:
    """Nothing to do before a step."""


@dataclass
class RunSetup:
    """Everything one run works with; made by the runtime, or by hand in fifteen lines."""

    provider: ChatProvider
    toolkit: Toolkit
    permissions: PermissionRules
    history: History
    ledger: CallBook
    reporter: Reporter
    system: Callable[[], str]
    """The system prompt, made anew for each step; stable bytes within a turn."""
    context: MakeContext
    counter: WindowCounter = field(default_factory=WindowCounter)
    cache: CacheWatch = field(default_factory=CacheWatch)
    """One for each conversation: it compares a request with the one before."""
    session_id: str = ""
    run_id: str = ""
    parent_run_id: str | None = None
    parent_call_id: str | None = None
    agent: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    budget: Budget | None = None
    fallbacks: Fallbacks | None = None
    others: OtherModels | None = None
    """Models to choose from when a request is too long for this one. None: there are none."""
    two_phase: TwoPhaseThinking = field(default_factory=TwoPhaseThinking)
    """Share it between the runs of a session: it remembers which models reason by themselves."""
    loop_window: int = 3
    polling: frozenset[str] = frozenset()
    steer: Callable[[], Sequence[UserMessage]] = no_messages
    """Takes the messages that wait for a step boundary."""
    prepare: Callable[[], Awaitable[None]] = nothing_first
    """Awaited before the first step; a stop cancels it."""
    between: Callable[[int], Awaitable[None]] = nothing_between
    """Awaited before every step, with the number of the last one; a stop cancels it."""
    protocol: ActionProtocol | None = None
    """Always this one; None: chosen per model by `protocols`."""
    protocols: Protocols = field(default_factory=Protocols)
    """Share it between the runs of a session: it remembers what servers refused."""
    output_dir: Path | None = None
    """Where outputs go that make room for others. None: nowhere, they stay in the history only."""
    on_window: Callable[[], None] = lambda: None
    """Called when the server named another window than was known."""
    debug: StepLog | None = None
    hooks: RunHooks | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended."""

    reason: EndReason
    answer: str
    usage: Usage
    cost: Money
    steps: int
    seconds: float
    error: str | None = None
    stop: StopReport | None = None
    denied: tuple[ToolCall, ...] = ()
    files_created: tuple[str, ...] = ()
    files_changed: tuple[str, ...] = ()

    def event_values(self) -> dict[str, Any]:
        """The fields that a `RunEnded` takes over."""
        return {
            "reason": self.reason,
            "answer": self.answer,
            "usage": self.usage,
            "cost": self.cost,
            "steps": self.steps,
            "seconds": self.seconds,
            "error": self.error,
            "stop": self.stop,
            "files_created": self.files_created,
            "files_changed": self.files_changed,
        }
