"""Two-phase thinking (seed S3 v1.1): a step reasons without tools, then acts; both are one message of the history.

Never for models that reason by themselves, nor in the protocols whose format has a thought of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from reactagent_tui.core.llm.base import (
    ModelInfo,
    ModelRequest,
    StreamDelta,
    StreamFinish,
    StreamText,
    StreamThinking,
    StreamToolCall,
)
from reactagent_tui.core.messages import AssistantMessage, Message, TextPart, ThinkingPart, ToolCall, UserMessage
from reactagent_tui.core.react.protocol import THOUGHT, Reading

TwoPhase = Literal["off", "first_step", "every_step"]

REASON = (
    "\n\n# This reply\nReason only: what is asked, what is known, what to do next and with which tool. Do not call a "
    "tool and do not answer yet."
)
TRANSITION = "Now do what you reasoned out: use the tools to complete the task, or answer."
GO_ON = "Go on."
"""Asked where the transition is not: a request must not end with the model's own words."""


@dataclass
class TwoPhaseThinking:
    """Says when a step reasons first, and makes its two requests."""

    mode: TwoPhase = "off"
    _natives: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Models that were seen to reason by themselves."""

    def applies(self, info: ModelInfo, kind: str, step: int) -> bool:
        """Does this step reason first?"""
        if self.mode == "off" or kind != "native" or (self.mode == "first_step" and step > 1):
            return False
        return not info.thinks and (info.provider, info.name) not in self._natives

    def note(self, info: ModelInfo, message: AssistantMessage) -> None:
        """Remember a model that reasons by itself."""
        if any(isinstance(part, ThinkingPart) and part.field != THOUGHT for part in message.parts):
            self._natives.add((info.provider, info.name))


def reasoning_request(request: ModelRequest) -> ModelRequest:
    """The first phase: no tools, or tools that must not be called where the history has calls."""
    has_calls = any(isinstance(message, AssistantMessage) and message.tool_calls for message in request.messages)
    return replace(
        request,
        system=request.system + REASON,
        tools=request.tools if has_calls else (),
        tool_choice="none" if has_calls else "auto",
    )


def with_thought(messages: Sequence[Message], thought: str, step: int) -> list[Message]:
    """The history for the second phase."""
    return [
        *messages,
        AssistantMessage((TextPart(thought),)),
        UserMessage(TRANSITION if step == 1 else GO_ON, origin="nudge"),
    ]


def merged(thought: str, message: AssistantMessage) -> AssistantMessage:
    """Both phases as one message: the thought, then what the model did."""
    if not thought:
        return message
    return replace(message, parts=(ThinkingPart(thought, field=THOUGHT), *message.parts))


class ThoughtReader:
    """Reads the first phase: all text is thinking, a call that comes all the same is dropped."""

    @property
    def is_over(self) -> bool:
        return False

    def feed(self, delta: StreamDelta) -> Iterable[StreamDelta]:
        match delta:
            case StreamText(text=text):
                return (StreamThinking(text, field=THOUGHT),)
            case StreamToolCall():
                return ()
            case StreamFinish(reason="tool_calls"):
                return (StreamFinish("stop", delta.raw),)
            case _:
                return (delta,)

    def flush(self) -> Iterable[StreamDelta]:
        return ()

    def reading(self, message: AssistantMessage) -> Reading:
        return Reading(replace(message, parts=tuple(p for p in message.parts if not isinstance(p, ToolCall))))


def thought_of(message: AssistantMessage) -> str:
    """What the first phase said."""
    return "".join(part.text for part in message.parts if isinstance(part, ThinkingPart)).strip()
