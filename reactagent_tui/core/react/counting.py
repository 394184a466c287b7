"""How many tokens a request will take, without counting the same message twice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from reactagent_tui.core.llm.base import ModelRequest, ToolSpec
from reactagent_tui.core.llm.tokens import TokenEstimator, estimate, estimate_message
from reactagent_tui.core.messages import Message

KEEP = 20_000


@dataclass
class WindowCounter:
    """Estimates for one session. Messages are immutable, so each is weighed once."""

    estimator: TokenEstimator = field(default_factory=TokenEstimator)
    warned: set[str] = field(default_factory=set[str])
    """Models whose server was found to cut prompts, and the user told."""
    _messages: dict[int, tuple[Message, int]] = field(default_factory=dict[int, tuple[Message, int]])
    _fixed: tuple[str, tuple[ToolSpec, ...], int] | None = None

    def message(self, message: Message) -> int:
        """Tokens of one message by this model."""
        return self.estimator.scale(self._raw(message))

    def fixed(self, system: str, tools: Sequence[ToolSpec]) -> int:
        """Tokens of what every request carries: system prompt and tools."""
        return self.estimator.scale(self._raw_fixed(system, tuple(tools)))

    def raw(self, request: ModelRequest) -> int:
        """The uncorrected estimate of a whole request, for `learn`."""
        return self._raw_fixed(request.system, request.tools) + sum(self._raw(m) for m in request.messages)

    def request(self, request: ModelRequest) -> int:
        """Tokens of a whole request by this model."""
        return self.estimator.scale(self.raw(request))

    def learn(self, raw: int, reported: int) -> None:
        """A provider told the true prompt size."""
        self.estimator.observe(raw, reported)

    def _raw(self, message: Message) -> int:
        known = self._messages.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        if len(self._messages) > KEEP:
            self._messages.clear()
        weight = estimate_message(message)
        self._messages[id(message)] = (message, weight)
        return weight

    def _raw_fixed(self, system: str, tools: tuple[ToolSpec, ...]) -> int:
        if self._fixed is not None and self._fixed[0] == system and self._fixed[1] == tools:
            return self._fixed[2]
        text = system + "".join(f"{t.name}\n{t.description}\n{json.dumps(t.parameters)}" for t in tools)
        self._fixed = (system, tools, estimate(text))
        return self._fixed[2]
