"""How a model is told about tools, and how its reply becomes calls: the interface of the three action protocols."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, StreamDelta, ToolSpec
from reactagent_tui.core.messages import AssistantMessage, Message, ToolCall

THOUGHT = "written_thought"
"""`ThinkingPart.field` of a thought that the model wrote as text by our own format: it never goes back as reasoning.

No API has a field of this name; Gemini's thoughts, for one, come in `thought`."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a complete reply came to."""

    message: AssistantMessage
    """With its actions as tool calls and its thoughts as thinking."""
    nudge: str | None = None
    """The reply cannot be used as it is: what to ask the model for."""
    unrun: tuple[ToolCall, ...] = ()
    """Calls that stood beside a final answer and are not run."""
    notice: str | None = None
    """Key of a text for the user."""


class ReplyReader(Protocol):
    """Reads one reply while it streams."""

    @property
    def is_over(self) -> bool:
        """What comes now is not wanted: the stream may be cancelled."""
        ...

    def feed(self, delta: StreamDelta) -> Iterable[StreamDelta]:
        """What the user sees of a delta."""
        ...

    def flush(self) -> Iterable[StreamDelta]:
        """The stream ended: what was held back and is shown after all."""
        ...

    def reading(self, message: AssistantMessage) -> Reading:
        """What the reply means. `message` is made of the deltas that were shown."""
        ...


class ActionProtocol(Protocol):
    """How a model is told about tools and how its reply becomes calls."""

    def prepare(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The history with thoughts and answers in this protocol's form; called before it is repaired."""
        ...

    def request(
        self,
        info: ModelInfo,
        system: str,
        messages: tuple[Message, ...],
        tools: tuple[ToolSpec, ...],
        *,
        failures: int = 0,
    ) -> ModelRequest:
        """The request for one step. `failures`: replies in a row that could not be used."""
        ...

    def reader(self, tools: Sequence[ToolSpec], *, failures: int = 0) -> ReplyReader:
        """A reader for the reply to such a request."""
        ...
