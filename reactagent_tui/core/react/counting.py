"""How many tokens a request will take, without counting the same message twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, assert_never

from reactagent_tui.core.cost.ledger_row import LedgerRow
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ReasoningReplay, ToolSpec
from reactagent_tui.core.llm.calibration import Calibration
from reactagent_tui.core.llm.estimator import TokenEstimator
from reactagent_tui.core.llm.image_tokens import attachment_tokens
from reactagent_tui.core.llm.tokens import Weight, weigh_apart, weigh_message, weigh_messages, weigh_tools
from reactagent_tui.core.messages import AssistantMessage, Message
from reactagent_tui.core.sessions.marks import Marks
from reactagent_tui.core.sessions.window import Selection, is_pinned, opens_turn, select

KEEP = 20_000
OUTPUT_RESERVE = 8192
"""Tokens of the window that are kept free for an answer of no known limit."""
SLACK = 0.4
"""Share of the window that is freed when old turns must go."""
SHORT_REPLY = 40
"""Tokens; shorter replies are mostly frame and teach nothing."""


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """What the user allows a request to hold of the history; None: as much as the model's window takes."""

    messages: int | None = None
    tokens: int | None = None
    compact: bool = True
    """Let the model summarise a history that fills its window."""


@dataclass
class WindowCounter:
    """Estimates for one session. Messages are immutable, so each is weighed once, whatever the model."""

    estimator: TokenEstimator = field(default_factory=TokenEstimator)
    """For what is sent; of the present model: another model brings its own."""
    replay: ReasoningReplay = "always"
    """Which thinking goes back to the model."""
    api: str = ""
    """Whose rule for images counts."""
    warned: set[str] = field(default_factory=set[str])
    """Models whose server was found to cut prompts, and the user told."""
    memory: WorkingMemory = field(default_factory=WorkingMemory)
    cut: Message | None = None
    """The first message that is still sent since old turns were left out; it moves in large steps, for caches."""
    told_dropped: int = 0
    """Old turns that the user was told are not sent."""
    no_gain: int = 0
    """Tokens of a history that could not be made smaller; it is not tried again until there is far more."""
    _cut_budget: int = 0
    _output: TokenEstimator | None = None
    _messages: dict[int, tuple[Message, Weight]] = field(default_factory=dict[int, tuple[Message, Weight]])
    _fixed: tuple[str, tuple[ToolSpec, ...], Weight] | None = None

    def use(self, info: ModelInfo, estimator: TokenEstimator) -> None:
        """Count for this model from now on."""
        self.estimator = estimator
        replay = _replay_of(info)
        if replay != self.replay or info.api != self.api:
            self.replay, self.api = replay, info.api
            self._messages.clear()

    def left_out(self, messages: Sequence[Message], budget: int) -> int:
        """Messages at the start that are not sent any more; 0 again when there is far more room than there was."""
        if self.cut is None or budget > self._cut_budget * 1.25:
            self.cut = None
            return 0
        return next((at for at, message in enumerate(messages) if message is self.cut), 0)

    def cut_at(self, first: Message, budget: int) -> None:
        """From now on requests begin with this message."""
        self.cut, self._cut_budget = first, budget

    def message(self, message: Message) -> int:
        """Tokens of one message by this model."""
        return self.estimator.scale(self._raw(message))

    def messages(self, messages: Sequence[Message]) -> int:
        """Tokens of a whole history by this model, whatever its length in no time; nothing is remembered of it."""
        weight = weigh_messages(messages, self._sends_thinking)
        for message in messages:
            if not isinstance(message, AssistantMessage) and message.attachments:
                weight += Weight(attachment_tokens(self.api, message.attachments))
        return self.estimator.scale(weight)

    def fixed(self, system: str, tools: Sequence[ToolSpec]) -> int:
        """Tokens of what every request carries: system prompt and tools."""
        return self.estimator.scale(self._raw_fixed(system, tuple(tools)))

    @property
    def output(self) -> TokenEstimator:
        """For what the model generates; as for what is sent until the provider told otherwise."""
        return self._output or self.estimator

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

    def learn_output(self, raw: Weight, reported: int) -> None:
        """A provider told the true size of a reply. Far more than came is thinking that was not shown: no lesson."""
        if min(raw.total, reported) < SHORT_REPLY or reported > 2 * self.output.scale(raw):
            return
        if self._output is None:
            self._output = TokenEstimator()
        self._output.observe(raw, reported)

    def _raw(self, message: Message) -> Weight:
        known = self._messages.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        if len(self._messages) > KEEP:
            self._messages.clear()
        weight = weigh_message(message, thinking=self._sends_thinking(message))
        if not isinstance(message, AssistantMessage) and message.attachments:
            weight += Weight(attachment_tokens(self.api, message.attachments))
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


def prompt_room(info: ModelInfo) -> int:
    """Tokens a request may have: the window without what an answer needs."""
    return info.context_size - min(info.max_output or OUTPUT_RESERVE, info.context_size // 4)


def newest_that_fit(
    counter: WindowCounter, info: ModelInfo, system: str, tools: Sequence[ToolSpec], messages: Sequence[Message]
) -> Selection:
    """The turns that the next request to this model holds: what is left beside instructions, tools and an answer.

    `messages` are what the marks leave of the history. Where turns were left out before, they stay out.
    """
    budget = prompt_room(info) - counter.fixed(system, tools)
    memory = counter.memory
    if memory.tokens is not None:
        budget = min(budget, memory.tokens)
    gone = counter.left_out(messages, budget)
    pinned = next((i for i, m in enumerate(messages) if not is_pinned(m)), len(messages))
    shown = [*messages[:pinned], *messages[max(gone, pinned) :]] if gone else messages
    chosen = select(shown, budget, counter.message, most=memory.messages, slack=SLACK)
    if chosen.dropped_turns and len(chosen.messages) > pinned:
        counter.cut_at(chosen.messages[pinned], budget)
    earlier = sum(map(opens_turn, messages[pinned:gone]))
    return replace(chosen, dropped_turns=chosen.dropped_turns + earlier) if earlier else chosen


class MarkedHistory(Protocol):
    """A history, and the marks that say what of it is sent."""

    @property
    def messages(self) -> list[Message]: ...
    @property
    def marks(self) -> Marks: ...


@dataclass(frozen=True, slots=True)
class RequestWindow:
    """What the next request to a model holds, and what that takes of its window. Tokens, estimated."""

    chosen: Selection
    fixed: int
    """Of instructions and tools."""

    @property
    def used(self) -> int:
        return self.fixed + self.chosen.tokens


def request_window(
    counter: WindowCounter, info: ModelInfo, system: str, tools: Sequence[ToolSpec], history: MarkedHistory
) -> RequestWindow:
    """The window of the next request: what runs send, prices are made of, and `/context` shows."""
    seen = history.marks.view(history.messages)
    chosen = newest_that_fit(counter, info, system, tools, seen)
    return RequestWindow(chosen, counter.fixed(system, tools))


async def weigh_ahead(counter: WindowCounter, messages: Sequence[Message]) -> None:
    """Weigh a history beside everything else, newest first, so that its first request need not wait for that."""
    for number, message in enumerate(reversed(messages[-KEEP:]), 1):
        counter.message(message)
        if number % 100 == 0:
            await asyncio.sleep(0.005)


class Counters:
    """A counter for each model of a session."""

    def __init__(
        self,
        calibration: Calibration,
        rows: Callable[[], Iterable[LedgerRow]],
        memory: Callable[[], WorkingMemory] = WorkingMemory,
    ) -> None:
        """`calibration` is what earlier sessions taught, `rows` the ledger of this one."""
        self._memory = memory
        self._calibration = calibration
        self._rows = rows
        self._counters: dict[tuple[str, str], WindowCounter] = {}

    def of(self, info: ModelInfo) -> WindowCounter:
        """Estimates for a model, corrected by what its provider reported, before a resume as well."""
        key = (info.provider, info.name)
        if key not in self._counters:
            counter = self._counters[key] = WindowCounter(memory=self._memory())
            counter.use(info, self._calibration.estimator(info))
            if not counter.estimator.factors.seen:
                for row in self._rows():
                    if (row.provider, row.model) == key and row.sent_raw and not row.estimated:
                        counter.learn(Weight(float(row.sent_raw)), row.usage.prompt)
        return self._counters[key]
