"""How many tokens a request will take, without counting the same message twice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec
from reactagent_tui.core.llm.tokens import TokenEstimator, estimate, estimate_message, weigh
from reactagent_tui.core.messages import AssistantMessage, Message, ThinkingPart

KEEP = 20_000
SHORT_REPLY = 40
"""Tokens; shorter replies are mostly frame and teach nothing."""


@dataclass
class WindowCounter:
    """Estimates for one session. Messages are immutable, so each is weighed once."""

    estimator: TokenEstimator = field(default_factory=TokenEstimator)
    """For what is sent."""
    _output: TokenEstimator | None = None
    warned: set[str] = field(default_factory=set[str])
    """Models whose server was found to cut prompts, and the user told."""
    _messages: dict[int, tuple[Message, int]] = field(default_factory=dict[int, tuple[Message, int]])
    _thoughts: dict[int, tuple[Message, int]] = field(default_factory=dict[int, tuple[Message, int]])
    _fixed: tuple[str, tuple[ToolSpec, ...], int] | None = None

    def message(self, message: Message) -> int:
        """Tokens of one message by this model."""
        return self.estimator.scale(self._raw(message))

    def fixed(self, system: str, tools: Sequence[ToolSpec]) -> int:
        """Tokens of what every request carries: system prompt and tools."""
        return self.estimator.scale(self._raw_fixed(system, tuple(tools)))

    @property
    def output(self) -> TokenEstimator:
        """For what the model generates; as for what is sent until the provider told otherwise."""
        return self._output or self.estimator

    def raw(self, request: ModelRequest, info: ModelInfo | None = None) -> int:
        """The uncorrected estimate of a whole request, for `learn`; with `info`, of what of it is really sent."""
        total = self._raw_fixed(request.system, request.tools) + sum(self._raw(m) for m in request.messages)
        if info is None or info.api != "openai-chat" or info.rules.reasoning_replay == "always":
            return total
        but_for_calls = info.rules.reasoning_replay == "tool_turns"
        return total - sum(
            self._thought(m)
            for m in request.messages
            if isinstance(m, AssistantMessage) and not (but_for_calls and m.tool_calls)
        )

    def request(self, request: ModelRequest) -> int:
        """Tokens of a whole request by this model."""
        return self.estimator.scale(self.raw(request))

    def learn(self, raw: int, reported: int) -> None:
        """A provider told the true prompt size."""
        self.estimator.observe(raw, reported)

    def learn_output(self, raw: float, reported: int) -> None:
        """A provider told the true size of a reply. Far more than came is thinking that was not shown: no lesson."""
        if min(raw, reported) < SHORT_REPLY or reported > 2 * self.output.scale(raw):
            return
        if self._output is None:
            self._output = TokenEstimator()
        self._output.observe(raw, reported)

    def _raw(self, message: Message) -> int:
        known = self._messages.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        if len(self._messages) > KEEP:
            self._messages.clear()
        weight = estimate_message(message)
        self._messages[id(message)] = (message, weight)
        return weight

    def _thought(self, message: AssistantMessage) -> int:
        """Tokens of a message's thinking, which not every wire takes back."""
        known = self._thoughts.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        if len(self._thoughts) > KEEP:
            self._thoughts.clear()
        weight = int(sum(weigh(part.text) for part in message.parts if isinstance(part, ThinkingPart)))
        self._thoughts[id(message)] = (message, weight)
        return weight

    def _raw_fixed(self, system: str, tools: tuple[ToolSpec, ...]) -> int:
        if self._fixed is not None and self._fixed[0] == system and self._fixed[1] == tools:
            return self._fixed[2]
        text = system + "".join(f"{t.name}\n{t.description}\n{json.dumps(t.parameters)}" for t in tools)
        self._fixed = (system, tools, estimate(text))
        return self._fixed[2]
