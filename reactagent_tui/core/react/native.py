"""The native action protocol: tools go in the request, calls come back as tool calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec
from reactagent_tui.core.messages import AssistantMessage, AssistantPart, Message, TextPart, ThinkingPart
from reactagent_tui.core.react.protocol import THOUGHT, ActionProtocol, ReplyReader
from reactagent_tui.core.react.stray_calls import StrayCallReader

__all__ = ["ActionProtocol", "NativeProtocol"]


class NativeProtocol:
    """Provider tool calls, as they are. Calls that a server let through as text are recognised."""

    def prepare(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Thoughts of another protocol become text before the calls they led to; those before an answer are dropped."""
        return [_without_thoughts(m) if isinstance(m, AssistantMessage) else m for m in messages]

    def request(
        self,
        info: ModelInfo,
        system: str,
        messages: tuple[Message, ...],
        tools: tuple[ToolSpec, ...],
        *,
        failures: int = 0,
    ) -> ModelRequest:
        return ModelRequest(
            model=info.name,
            system=system,
            messages=messages,
            tools=tools if info.rules.supports_tools else (),
            max_output=info.max_output,
            extra=info.extra,
        )

    def reader(self, tools: Sequence[ToolSpec], *, failures: int = 0) -> ReplyReader:
        return StrayCallReader(tools, failures=failures)


def _without_thoughts(message: AssistantMessage) -> AssistantMessage:
    if not any(isinstance(part, ThinkingPart) and part.field == THOUGHT for part in message.parts):
        return message
    is_answer = not message.tool_calls and not message.is_empty
    parts: list[AssistantPart] = []
    for part in message.parts:
        if not isinstance(part, ThinkingPart) or part.field != THOUGHT:
            parts.append(part)
        elif not is_answer:
            parts.append(TextPart(part.text))
    return replace(message, parts=tuple(parts))
