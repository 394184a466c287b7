"""A request as its parts' digests, to find how much of one is the beginning of the next. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from reactagent_tui.core.llm.base import ModelRequest, ToolSpec
from reactagent_tui.core.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserMessage,
)

_DIGEST = 12


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a provider reads, in its order: tools and system prompt, then the messages."""

    tools: bytes
    system: bytes
    messages: tuple[bytes, ...]

    def shared(self, later: Prefix) -> int:
        """How many of our messages a later request begins with."""
        mine, theirs = self.messages, later.messages
        if mine == theirs[: len(mine)]:
            return len(mine)
        return next((i for i, (one, other) in enumerate(zip(mine, theirs, strict=False)) if one != other), len(theirs))

    def differs(self, later: Prefix) -> Literal["", "tools", "system", "history"]:
        """The first part of ours that a later request does not begin with; "" when it begins with all of it."""
        if self.tools != later.tools:
            return "tools"
        if self.system != later.system:
            return "system"
        return "" if self.shared(later) == len(self.messages) else "history"


class Fingerprints:
    """Digests of the requests of one session. A message is immutable: it is hashed once, found again by identity."""

    def __init__(self) -> None:
        self._messages: dict[int, tuple[Message, bytes]] = {}
        self._tools: tuple[Sequence[ToolSpec], bytes] | None = None
        self.hashed = 0
        """Messages hashed so far."""

    def of(self, request: ModelRequest) -> Prefix:
        """The digests of a request; remembers the messages of this one only."""
        known, kept = self._messages, dict[int, tuple[Message, bytes]]()
        for message in request.messages:
            entry = known.get(id(message))
            if entry is None or entry[0] is not message:
                entry = (message, _digest(_message_texts(message)))
                self.hashed += 1
            kept[id(message)] = entry
        self._messages = kept
        digests = tuple(kept[id(message)][1] for message in request.messages)
        return Prefix(self._tools_digest(request.tools), _digest((request.system,)), digests)

    def _tools_digest(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if self._tools is None or self._tools[0] != tools:
            texts = (
                text
                for tool in tools
                for text in (tool.name, tool.description, json.dumps(tool.parameters, default=str))
            )
            self._tools = (tools, _digest(texts))
        return self._tools[1]


def _digest(texts: Iterator[str] | tuple[str, ...]) -> bytes:
    hasher = hashlib.blake2b(digest_size=_DIGEST)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        hasher.update(len(data).to_bytes(8, "little"))
        hasher.update(data)
    return hasher.digest()


def _message_texts(message: Message) -> Iterator[str]:
    """Everything of a message that goes to the provider."""
    match message:
        case UserMessage():
            yield "user"
            yield message.text
            yield from (attachment.path for attachment in message.attachments)
        case ToolResult():
            yield "tool"
            yield message.call_id
            yield message.text
        case AssistantMessage():
            yield "assistant"
            for part in message.parts:
                yield from _part_texts(part)


def _part_texts(part: AssistantPart) -> Iterator[str]:
    match part:
        case TextPart():
            yield "text"
            yield part.text
        case ThinkingPart():
            yield "thinking"
            yield part.text
        case ToolCall():
            yield "call"
            yield part.id
            yield part.name
            yield part.arguments_raw
