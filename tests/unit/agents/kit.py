"""A session whose models are scripted by what they are asked, so that agents may run in any order."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reactagent_tui.core.agents.roles import RoleSource
from reactagent_tui.core.agents.session_agents import open_agents
from reactagent_tui.core.config.schema import AgentSettings
from reactagent_tui.core.cost.budget import Budget
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.events import AgentFinished, AgentStarted
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, StreamDelta, WireRecord
from reactagent_tui.core.messages import AssistantMessage, ToolResult, UserMessage
from reactagent_tui.core.reporter import Answer, Question, RecordingReporter
from reactagent_tui.core.safety.permissions import Mode, Permissions
from reactagent_tui.core.sessions.store import SessionStore
from reactagent_tui.core.tools.base import Tool
from reactagent_tui.core.tools.toolkit import Toolkit
from tests.fakes.scripted import Beat, say

MAIN = "SYSTEM of the main agent"


@dataclass
class Minds:
    """A provider: the first user message of a request says who asks, and each asker has a script of its own."""

    scripts: dict[str, list[Sequence[Beat]]]
    info: ModelInfo = field(default_factory=lambda: ModelInfo("scripted", "script", "scripted", 100_000))
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])
    last_exchange: WireRecord | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamDelta]:
        self.requests.append(request)
        for beat in self._script(request):
            if isinstance(beat, BaseException):
                raise beat
            if callable(beat):
                await beat()
            else:
                yield beat

    def of(self, word: str) -> list[ModelRequest]:
        """Requests of the asker whose first message has this word."""
        return [request for request in self.requests if word in request.messages[0].text]

    def _script(self, request: ModelRequest) -> Sequence[Beat]:
        first = request.messages[0].text
        word = next((word for word in self.scripts if word in first), None)
        assert word is not None, f"nobody answers {first!r}"
        script = self.scripts[word]
        return script.pop(0) if len(script) > 1 else script[0]

    async def aclose(self) -> None:
        """Nothing to close."""


@dataclass
class Played:
    """A session with its agents."""

    live: LiveSession
    minds: Minds
    reporter: RecordingReporter

    @property
    def results(self) -> list[ToolResult]:
        """In the order of the calls; the file has them in the order in which they came."""
        messages = self.live.file.messages
        order = [
            call.id for message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls
        ]
        found = [message for message in messages if isinstance(message, ToolResult)]
        return sorted(found, key=lambda result: order.index(result.call_id))

    def events(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.reporter.events if isinstance(event, kind)]

    @property
    def started(self) -> list[AgentStarted]:
        return self.events(AgentStarted)

    @property
    def finished(self) -> list[AgentFinished]:
        return self.events(AgentFinished)

    async def turn(self, text: str = "main task") -> Any:
        return await self.live.run(UserMessage(text))


def play(
    place: Path,
    scripts: dict[str, list[Sequence[Beat]]],
    *tools: Tool,
    mode: Mode = "auto",
    max_depth: int = 1,
    roles: Sequence[RoleSource] = (),
    answer: Callable[[Question], Answer] = lambda _question: Answer("deny"),
    prices: dict[str, Any] | None = None,
    budget: dict[str, Any] | None = None,
    settings: AgentSettings | None = None,
    more: dict[str, Minds] | None = None,
) -> Played:
    """A session with these scripts; its main agent is asked `main task`."""
    from reactagent_tui.core.config.schema import Config

    work = Path(os.path.realpath(place)) / "work"
    work.mkdir(exist_ok=True)
    minds = Minds(scripts)
    file = SessionStore(place / "state").create(work, model="script", mode=mode)
    config = Config.model_validate({"pricing": prices or {}})
    ledger = Ledger(file.id, PriceBook.from_config(config))
    reporter = RecordingReporter(answer)
    others = more or {}

    def make(name: str) -> Any:
        from reactagent_tui.core.errors import ConfigError

        if name not in others:
            raise ConfigError(f"no model {name}")
        others[name].info = replace(others[name].info, name=name)
        return others[name]

    live = LiveSession(
        file=file,
        workdir=work,
        reporter=reporter,
        provider=minds,
        toolkit=Toolkit(tools),
        permissions=Permissions(mode, (work,)),
        ledger=ledger,
        system=lambda _session: MAIN,
        budget=Budget(ledger.totals, budget or {}),
        make_provider=make,
    )
    open_agents(live, settings or AgentSettings(max_depth=max_depth), lambda: roles, lambda: ("A_API_KEY",))
    return Played(live, minds, reporter)


def done() -> list[Beat]:
    """The main agent's last word."""
    return say("main answer")
