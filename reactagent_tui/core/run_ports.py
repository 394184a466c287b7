"""What a run of a live session reaches the session through: history and screen until it is abandoned, the model now."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from reactagent_tui.core.events import RunEnded
from reactagent_tui.core.messages import ToolCall, ToolResult, UserMessage
from reactagent_tui.core.react.observation import INTERRUPTED
from reactagent_tui.core.react.state import RunResult
from reactagent_tui.core.reporter import Answer, Question, Reporter

if TYPE_CHECKING:
    from reactagent_tui.core.events import AgentEvent
    from reactagent_tui.core.llm.base import ChatProvider, ModelInfo, ModelRequest, StreamDelta, WireRecord
    from reactagent_tui.core.messages import Message
    from reactagent_tui.core.money import CostTotals
    from reactagent_tui.core.react.counting import WindowCounter
    from reactagent_tui.core.react.executor import RunHooks
    from reactagent_tui.core.react.state import RunSetup
    from reactagent_tui.core.sessions.marks import Mark, Marks
    from reactagent_tui.core.sessions.store import SessionFile


class QuestionListener(Protocol):
    """Is told what the user is asked."""

    def on_question(self, question: Question) -> None: ...


@dataclass
class RunGuard:
    """The only way a run reaches history, ledger and screen. Closed, it lets nothing of that run through."""

    file: SessionFile
    reporter: Reporter
    hooks: QuestionListener | None = None
    run_hooks: RunHooks | None = None
    """The user's hooks around calls."""
    open: bool = True
    holds_end: bool = False
    """Keep the run's own RunEnded back until `release`: what it did to files is not known yet."""
    _held: RunEnded | None = None

    @property
    def messages(self) -> list[Message]:
        return self.file.messages

    def append_message(self, message: Message) -> None:
        if self.open:
            self.file.append_message(message)

    @property
    def marks(self) -> Marks:
        return self.file.marks

    def mark(self, mark: Mark) -> None:
        if self.open:
            self.file.mark(mark)

    def append_partial(self, call: str, text: str, thinking: str) -> None:
        if self.open:
            self.file.append_partial(call, text, thinking)

    def append(self, kind: Any, data: Mapping[str, Any]) -> None:
        if self.open:
            self.file.append(kind, data)

    def sync(self) -> None:
        if self.open:
            self.file.sync()

    def emit(self, event: AgentEvent) -> None:
        if self.open and self.holds_end and isinstance(event, RunEnded) and event.parent_run_id is None:
            self._held = event
        elif self.open:
            self.reporter.emit(event)

    def release(self, changed: Callable[[RunEnded], RunEnded]) -> None:
        """Send the end that was kept back."""
        held, self._held, self.holds_end = self._held, None, False
        if held is not None:
            self.emit(changed(held))

    async def ask(self, question: Question) -> Answer:
        if not self.open:
            return Answer("deny")
        if self.hooks is not None:
            self.hooks.on_question(question)
        return await self.reporter.ask(question)


def close_open_calls(file: SessionFile) -> None:
    """Results for calls that an abandoned run left open, so that the history on disk is valid as well."""
    answered = {m.call_id for m in file.messages if isinstance(m, ToolResult)}
    for message in reversed(file.messages):
        calls: Sequence[ToolCall] = getattr(message, "tool_calls", ())
        if isinstance(message, UserMessage):
            break
        for call in calls:
            if call.id not in answered:
                file.append_message(ToolResult(call.id, call.name, INTERRUPTED, is_error=True, status="interrupted"))
        if calls:
            break


class FallbackChain:
    """The user's chain of models, for one run."""

    def __init__(
        self, names: Sequence[str], provider: Callable[[str], ChatProvider], use: Callable[[ChatProvider], None]
    ) -> None:
        """`provider` makes one by name (raises ConfigError), `use` switches the session to it."""
        self._left = list(names)
        self._provider = provider
        self._use = use

    def following(self, failed: ModelInfo) -> str | None:
        """The next model that was not used yet; the one that failed is passed over."""
        same = {failed.name, f"{failed.provider}/{failed.name}"}
        self._left = [name for name in self._left if name not in same]
        return next(iter(self._left), None)

    def use(self, name: str) -> None:
        """Go on with this one."""
        self._left.remove(name)
        self._use(self._provider(name))


class ModelUser(Protocol):
    """A session, as far as its models go."""

    fallback_models: Sequence[str]
    make_provider: Callable[[str], ChatProvider] | None

    @property
    def counter(self) -> WindowCounter: ...
    def set_provider(self, provider: ChatProvider) -> None: ...


def model_switch(session: ModelUser, setup: RunSetup, current: CurrentProvider) -> Callable[[ChatProvider], None]:
    """What takes a run, in the middle of a step, to another model."""

    def use(provider: ChatProvider) -> None:
        session.set_provider(provider)
        current.renew()
        setup.counter = session.counter

    return use


def fallback_chain(session: ModelUser, setup: RunSetup, current: CurrentProvider) -> FallbackChain | None:
    """The chain of the session for one run; None: it has none."""
    if not session.fallback_models or session.make_provider is None:
        return None
    return FallbackChain(session.fallback_models, session.make_provider, model_switch(session, setup, current))


class CurrentProvider:
    """The session's provider: a model switched in mid-run holds from the next step on, not for a retry of this one."""

    def __init__(self, provider: Callable[[], ChatProvider]) -> None:
        self._provider = provider
        self._now = provider()

    def renew(self) -> None:
        """A step begins."""
        self._now = self._provider()

    @property
    def info(self) -> ModelInfo:
        return self._now.info

    @property
    def paced(self) -> ChatProvider:
        """The provider that this step uses."""
        return self._now

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamDelta]:
        return self._now.stream(request)

    async def aclose(self) -> None:
        """The session owns the provider."""

    @property
    def last_exchange(self) -> WireRecord | None:
        return self._now.last_exchange


def abandoned_result(totals: CostTotals, steps: int) -> RunResult:
    """The end of a run that did not stop when it should."""
    return RunResult("INTERRUPTED", "", totals.turn_usage, totals.turn_cost, steps, 0.0, error="abandoned")
