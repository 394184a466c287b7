"""A run with everything scripted, for tests of the action protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.events import Notice, RunEnded, TextDelta, ThinkingDelta, ToolCallDelta
from reactagent_tui.core.llm.base import ModelRequest, StreamFinish, StreamText, StreamUsage
from reactagent_tui.core.messages import AssistantMessage, Message, ToolResult, UserMessage
from reactagent_tui.core.react.controller import ReActController
from reactagent_tui.core.react.protocols import Protocols
from reactagent_tui.core.react.state import MemoryHistory, RunResult, RunSetup
from reactagent_tui.core.reporter import Answer, RecordingReporter
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.safety.permissions import Permissions
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.sessions.window import repair
from reactagent_tui.core.tools.base import Effect, Tool, ToolContext
from reactagent_tui.core.tools.toolkit import Toolkit
from reactagent_tui.core.usage import Usage
from tests.fakes.scripted import Beat, ScriptedProvider
from tests.fakes.strict import complaints
from tests.fakes.tools import FakeTool


def words(text: str, *, size: int = 3, finish: Any = "stop") -> list[Beat]:
    """A reply that streams in small pieces."""
    pieces: list[Beat] = [StreamText(text[at : at + size]) for at in range(0, len(text), size)]
    return [*pieces, StreamFinish(finish), StreamUsage(Usage(input=100, output=10))]


def weather(results: Mapping[str, str] | None = None) -> FakeTool:
    """S2's tool: the weather of one city."""
    known = results or {"北京": "晴，20 度", "上海": "小雨，24 度"}

    async def act(args: Mapping[str, Any], _ctx: ToolContext) -> str:
        return known.get(str(args.get("city")), "unknown city")

    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return FakeTool("get_weather", act, description="The weather of a city.", parameters=schema)


def writer() -> FakeTool:
    """A tool that changes things."""

    async def act(args: Mapping[str, Any], _ctx: ToolContext) -> str:
        return f"wrote {args.get('text')}"

    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return FakeTool("write_note", act, Effect.WRITES, parameters=schema)


@dataclass
class Run:
    """One controller and what it left behind."""

    provider: ScriptedProvider
    reporter: RecordingReporter
    history: MemoryHistory
    controller: ReActController
    protocols: Protocols
    result: RunResult | None = None

    def events(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.reporter.events if isinstance(event, kind)]

    @property
    def notices(self) -> list[str]:
        return [event.key for event in self.events(Notice)]

    @property
    def shown_text(self) -> str:
        return "".join(event.text for event in self.events(TextDelta))

    @property
    def shown_thinking(self) -> str:
        return "".join(event.text for event in self.events(ThinkingDelta))

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(event.name for event in self.events(ToolCallDelta)))

    @property
    def replies(self) -> list[AssistantMessage]:
        return [message for message in self.history.messages if isinstance(message, AssistantMessage)]

    @property
    def results(self) -> list[ToolResult]:
        return [message for message in self.history.messages if isinstance(message, ToolResult)]


@dataclass
class Bench:
    """Makes and plays runs."""

    place: Path
    protocols: Protocols = field(default_factory=Protocols)
    history: list[Message] = field(default_factory=list[Message])
    model: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of the model's description to change."""

    def make(self, replies: Sequence[Sequence[Beat]], *tools: Tool, repeat: bool = False) -> Run:
        provider = ScriptedProvider(replies, repeat=repeat)
        provider.info = replace(provider.info, **self.model)
        reporter = RecordingReporter(lambda _question: Answer("deny"))
        history = MemoryHistory(self.history)
        workspace = Workspace.at(self.place)

        def context(call: Any, output: Any) -> ToolContext:
            return ToolContext(
                "s", "r", call.id, self.place, workspace, FilesSeen(), output, reporter.ask, self.place / "out"
            )

        setup = RunSetup(
            provider=provider,
            toolkit=Toolkit(tools),
            permissions=Permissions("auto", workspace.roots),
            history=history,
            ledger=Ledger("s", PriceBook()),
            reporter=reporter,
            system=lambda: "SYSTEM",
            context=context,
            protocols=self.protocols,
        )
        return Run(provider, reporter, history, ReActController(setup), self.protocols)

    async def play(
        self, replies: Sequence[Sequence[Beat]], *tools: Tool, prompt: str = "go", repeat: bool = False
    ) -> Run:
        """One turn to its end; exactly one end, and the next request is valid."""
        run = self.make(replies, *tools, repeat=repeat)
        run.result = await run.controller.run(UserMessage(prompt))
        assert len(run.events(RunEnded)) == 1
        for request in run.provider.requests:
            assert complaints(request.messages) == []
        assert complaints(repair([*run.history.messages, UserMessage("next")], run.provider.info)) == []
        return run


def conversation(request: ModelRequest) -> list[tuple[str, str]]:
    """(role, text) of what a request says."""
    return [("user" if isinstance(m, UserMessage) else "assistant", m.text) for m in request.messages]
