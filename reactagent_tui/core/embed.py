"""The agent inside another program: a provider, some tools, a reporter, and `Agent.run`. No screen, no session files.

    @tool
    def word_count(text: str) -> str:
        "Count the words of a text."
        return str(len(text.split()))

    agent = Agent("deepseek/deepseek-chat", [word_count])
    print(asyncio.run(agent.run("How many words has 'to be or not to be'?")).answer)

Everything here is a thin layer over `react`, `tools` and `llm`; a program that needs more builds a `RunSetup` itself,
one that needs sessions on disk uses `runtime.Runtime`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import secrets
import tempfile
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, ParamSpec, cast, get_type_hints, overload

from pydantic import create_model

from reactagent_tui.core.agents.pool import AgentHost, Caller, SessionAgents
from reactagent_tui.core.agents.spawner import Spawner
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.events import AgentEvent
from reactagent_tui.core.llm.base import (
    ChatProvider,
    ModelInfo,
    ModelRequest,
    StreamDelta,
    StreamText,
    StreamThinking,
    StreamToolCall,
    StreamUsage,
    WireRecord,
    WireRules,
)
from reactagent_tui.core.messages import Message, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.prompt.composer import PromptParts, compose, join
from reactagent_tui.core.react.controller import ReActController
from reactagent_tui.core.react.executor import PermissionRules
from reactagent_tui.core.react.gates import Limits
from reactagent_tui.core.react.state import MemoryHistory, RunResult, RunSetup
from reactagent_tui.core.reporter import Answer, Question, RecordingReporter, Reporter
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.safety.permissions import Mode, Permissions
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.tools.base import AgentPort, Tool, ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase
from reactagent_tui.core.tools.jobs import SessionJobs
from reactagent_tui.core.tools.schema import ToolArgs, json_schema
from reactagent_tui.core.tools.subagent import SpawnSubagent
from reactagent_tui.core.tools.toolkit import Toolkit
from reactagent_tui.core.tools.truncate import truncate

__all__ = [
    "Agent",
    "AgentEvent",
    "Answer",
    "FunctionTool",
    "Limits",
    "ModelRequest",
    "Provider",
    "Question",
    "RecordingReporter",
    "Reporter",
    "RunResult",
    "StreamDelta",
    "StreamText",
    "StreamThinking",
    "StreamToolCall",
    "StreamUsage",
    "Tool",
    "ToolContext",
    "ToolOutcome",
    "ToolResult",
    "UserMessage",
    "tool",
]

P = ParamSpec("P")


class Provider(ABC):
    """A model API of your own: write `stream`. Tokens are estimated unless you yield `StreamUsage`; costs are none."""

    info: ModelInfo = ModelInfo(
        "embedded", "own", "own", context_size=128_000, local=True, rules=WireRules(merge_users=False)
    )
    """Set your own to change name, window or price."""

    @abstractmethod
    def stream(self, request: ModelRequest) -> AsyncIterator[StreamDelta]:
        """The reply, piece by piece; an `async def` with `yield`. Raise only ProviderErrors."""

    async def aclose(self) -> None:
        """Release connections."""
        return

    @property
    def last_exchange(self) -> WireRecord | None:
        """The newest exchange, for debug views."""
        return None


class FunctionTool(ToolBase[ToolArgs], Generic[P]):
    """A function as a tool; still callable as the function. Made by `tool`."""

    def __init__(self, function: Callable[P, object], name: str, *, writes: bool) -> None:
        hints = get_type_hints(function)
        parameters = inspect.signature(function).parameters.values()
        self.name = name
        self.writes = writes
        self.function = function
        self._context = next((p.name for p in parameters if hints.get(p.name) is ToolContext), None)
        fields: dict[str, Any] = {
            p.name: (hints.get(p.name, str), ... if p.default is p.empty else p.default)
            for p in parameters
            if p.name != self._context
        }
        self.args_type = create_model(name, __base__=ToolArgs, **fields)
        self.description = inspect.getdoc(function) or name
        self.parameters = json_schema(self.args_type)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> object:
        return self.function(*args, **kwargs)

    async def perform(self, args: ToolArgs, ctx: ToolContext) -> ToolOutcome:
        """Call the function: a coroutine in this loop, anything else in a thread. ValueError and OSError are told."""
        values = {name: getattr(args, name) for name in type(args).model_fields}
        if self._context is not None:
            values[self._context] = ctx
        function = cast("Callable[..., Any]", self.function)
        if inspect.iscoroutinefunction(function):
            value = await function(**values)
        else:
            value = await asyncio.to_thread(function, **values)
        return value if isinstance(value, ToolOutcome) else ToolOutcome(truncate(_as_text(value)).text)


@overload
def tool(function: Callable[P, object], /) -> FunctionTool[P]: ...
@overload
def tool(*, name: str | None = None, writes: bool = False) -> Callable[[Callable[P, object]], FunctionTool[P]]: ...
def tool(function: Callable[..., object] | None = None, /, *, name: str | None = None, writes: bool = False) -> object:
    """A function as a tool: its docstring is the description, its annotated parameters are the arguments.

    `writes`: it changes something, so it runs alone and is asked about in the modes `ask` and `edits`. A parameter
    annotated ToolContext gets the context of the call. The value is text, a ToolOutcome, or anything JSON can hold.
    """

    def make(wrapped: Callable[..., object]) -> FunctionTool[...]:
        return FunctionTool(wrapped, name or wrapped.__name__, writes=writes)

    return make if function is None else make(function)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


class _Silent:
    """Tells nobody; questions are answered with no."""

    def emit(self, event: AgentEvent) -> None:
        """Nobody listens."""

    async def ask(self, question: Question) -> Answer:
        return Answer("deny")


class Agent:
    """One conversation. Every `run` goes on with it; use it in one event loop, one `run` at a time."""

    def __init__(
        self,
        provider: ChatProvider | str,
        tools: Iterable[Tool] = (),
        reporter: Reporter | None = None,
        *,
        system: str | None = None,
        workdir: str | Path = ".",
        mode: Mode = "ask",
        permissions: PermissionRules | None = None,
        limits: Limits | None = None,
        sub_agents: bool = False,
    ) -> None:
        """`provider`: an object, or a model's name as in the configuration file, whose keys and prices then count.

        `system` None: the program's own prompt. `permissions` replaces the rules that `mode` gives. `sub_agents`: the
        model gets `spawn_subagent`, with `tools` to give away. Raises ConfigError for a name that cannot be resolved.
        """
        self.id = secrets.token_hex(8)
        self.history = MemoryHistory()
        self.workdir = Path(os.path.realpath(workdir))
        self._reporter = reporter or _Silent()
        self._workspace = Workspace.at(self.workdir)
        self._files_seen = FilesSeen()
        self._jobs = SessionJobs()
        self._controller: ReActController | None = None
        self._close: Callable[[], Any] | None = None
        prices = PriceBook()
        if isinstance(provider, str):
            provider, prices, self._close = _connect(provider)
        self.provider: ChatProvider = provider
        self.ledger = Ledger(self.id, prices)
        self._setup = RunSetup(
            provider=provider,
            toolkit=Toolkit([*tools, SpawnSubagent()] if sub_agents else tools),
            permissions=permissions or Permissions(mode, self._workspace.roots),
            history=self.history,
            ledger=self.ledger,
            reporter=self._reporter,
            system=lambda: join(compose(PromptParts(self.workdir))) if system is None else system,
            context=self._context,
            session_id=self.id,
            limits=limits or Limits(),
        )
        self._agents = SessionAgents(AgentHost(self.id, self.workdir)) if sub_agents else None

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation so far."""
        return tuple(self.history.messages)

    async def run(self, prompt: str | UserMessage) -> RunResult:
        """One turn, to its answer or another end (`reason` says which); a provider's failure is an end, not an error.

        Raises RuntimeError while another turn runs, CancelledError when cancelled; the conversation stays valid.
        """
        if self._controller is not None:
            raise RuntimeError("this agent runs already; a second conversation is a second Agent")
        self._setup.run_id = secrets.token_hex(4)
        self.ledger.begin_turn()
        self._controller = ReActController(self._setup)
        try:
            return await self._controller.run(UserMessage(prompt) if isinstance(prompt, str) else prompt)
        finally:
            self._controller = None

    def interrupt(self) -> None:
        """End the running turn now: its `run` returns with the reason INTERRUPTED."""
        if self._controller is not None:
            self._controller.interrupt()

    async def aclose(self) -> None:
        """End background jobs, close the provider and its connections."""
        await self._jobs.close()
        await self.provider.aclose()
        if self._close is not None:
            await self._close()

    async def __aenter__(self) -> Agent:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _context(self, call: ToolCall, output: Callable[[str], None]) -> ToolContext:
        return ToolContext(
            session_id=self.id,
            run_id=self._setup.run_id,
            call_id=call.id,
            workdir=self.workdir,
            workspace=self._workspace,
            files_seen=self._files_seen,
            output=output,
            ask=self._reporter.ask,
            jobs=self._jobs,
            agents=self._port(),
            log_dir=Path(tempfile.gettempdir()) / f"reactagent-{self.id}",
        )

    def _port(self) -> AgentPort | None:
        if self._agents is None:
            return None
        setup = self._setup
        caller = Caller(setup.toolkit, self.provider, setup.permissions, self.ledger, self._reporter)
        return Spawner(self._agents, caller)


def _connect(model: str, env: Mapping[str, str] | None = None) -> tuple[ChatProvider, PriceBook, Callable[[], Any]]:
    """The provider of a configured model, its prices, and what closes its connections. Raises ConfigError."""
    from reactagent_tui.core.config.loader import load_config
    from reactagent_tui.core.llm.http import HttpPool
    from reactagent_tui.core.llm.pacing import Pacers
    from reactagent_tui.core.llm.registry import make_provider, resolve_model
    from reactagent_tui.core.paths import user_paths

    env = dict(os.environ) if env is None else env
    loaded = load_config(explicit=None, env=env, paths=user_paths(env))
    http = HttpPool()
    provider = make_provider(resolve_model(loaded, model), http, Pacers())
    return provider, PriceBook.from_config(loaded.config), http.aclose
