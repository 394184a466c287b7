"""The native action protocol: tools go in the request, calls come back as tool calls."""

from __future__ import annotations

from typing import Protocol

from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec
from reactagent_tui.core.messages import AssistantMessage, Message


class ActionProtocol(Protocol):
    """How a model is told about tools and how its reply becomes calls."""

    def request(
        self, info: ModelInfo, system: str, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]
    ) -> ModelRequest:
        """The request for one step."""
        ...

    def read(self, message: AssistantMessage) -> AssistantMessage:
        """The reply with its actions as tool calls."""
        ...


class NativeProtocol:
    """Provider tool calls, as they are."""

    def request(
        self, info: ModelInfo, system: str, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]
    ) -> ModelRequest:
        return ModelRequest(
            model=info.name,
            system=system,
            messages=messages,
            tools=tools if info.rules.supports_tools else (),
            max_output=info.max_output,
            extra=info.extra,
        )

    def read(self, message: AssistantMessage) -> AssistantMessage:
        return message
