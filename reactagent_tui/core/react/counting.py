"""How many tokens a request will take, without counting the same message twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ReasoningReplay, ToolSpec
from reactagent_tui.core.llm.estimator import TokenEstimator
from reactagent_tui.core.llm.tokens import Weight, weigh_apart, weigh_message, weigh_tools
from reactagent_tui.core.messages import AssistantMessage, Message

KEEP = 20_000


@dataclass
class WindowCounter:
    """Estimates for one session. Messages are immutable, so each is weighed once, whatever the model."""

    estimator: TokenEstimator = field(default_factory=TokenEstimator)
    """Of the present model; another model brings its own."""
    replay: ReasoningReplay = "always"
    """Which thinking goes back to the model."""
    _messages: dict[int, tuple[Message, Weight]] = field(default_factory=dict[int, tuple[Message, Weight]])
    _fixed: tuple[str, tuple[ToolSpec, ...], Weight] | None = None

    def use(self, info: ModelInfo, estimator: TokenEstimator) -> None:
        """Count for this model from now on."""
        self.estimator = estimator
        replay = _replay_of(info)
        if replay != self.replay:
            self.replay = replay
            self._messages.clear()

    def message(self, message: Message) -> int:
        """Tokens of one message by this model."""
        return self.estimator.scale(self._raw(message))

    def fixed(self, system: str, tools: Sequence[ToolSpec]) -> int:
        """Tokens of what every request carries: system prompt and tools."""
        return self.estimator.scale(self._raw_fixed(system, tuple(tools)))

    def raw(self, request: ModelRequest) -> Weight:
        """The uncorrected weight of a whole request, for `learn`."""
        plain = wide = 0.0
        for message in request.messages:
            weight = self._raw(message)
            plain += weight.plain
            wide += weight.wide
        return self._raw_fixed(request.system, request.tools) + Weight(plain, wide)

    def request(self, request: ModelRequest) -> int:
        """Tokens of a whole request by this model."""
        return self.estimator.scale(self.raw(request))

    def learn(self, raw: Weight, reported: int) -> None:
        """A provider told the true prompt size."""
        self.estimator.observe(raw, reported)

    def _raw(self, message: Message) -> Weight:
        known = self._messages.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        if len(self._messages) > KEEP:
            self._messages.clear()
        weight = weigh_message(message, thinking=self._sends_thinking(message))
        self._messages[id(message)] = (message, weight)
        return weight

    def _sends_thinking(self, message: Message) -> bool:
        match self.replay:
            case "always":
                return True
            case "never":
                return False
            case "tool_turns":
                return isinstance(message, AssistantMessage) and bool(message.tool_calls)
            case _:
                assert_never(self.replay)

    def _raw_fixed(self, system: str, tools: tuple[ToolSpec, ...]) -> Weight:
        if self._fixed is not None and self._fixed[0] == system and self._fixed[1] == tools:
            return self._fixed[2]
        self._fixed = (system, tools, weigh_apart(system) + weigh_tools(tools))
        return self._fixed[2]


def _replay_of(info: ModelInfo) -> ReasoningReplay:
    """What of earlier thinking is billed as prompt again; two APIs take it back but drop what led to no call."""
    match info.api:
        case "anthropic" | "openai-responses":
            return "tool_turns"
        case "gemini":
            return "never"
        case _:
            return info.rules.reasoning_replay
