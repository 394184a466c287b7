"""What one agent said and did, bounded, so that its view can be opened at any time: whole messages and the open end."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from reactagent_tui.core.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage

MOST_CHARS = 2_000_000
"""Characters kept of one agent; the oldest messages go first."""
_OUTPUT_KEPT = 20_000
Kind = Literal["text", "thinking"]


@dataclass(slots=True)
class AgentLog:
    """Grows by events, is read when a view opens. A delta costs one append."""

    messages: deque[Message] = field(default_factory=deque[Message])
    cut: int = 0
    """Messages that were dropped at the start."""
    key: str = ""
    """Model call of the reply that arrives."""
    arriving: list[tuple[Kind, list[str]]] = field(default_factory=list[tuple[Kind, list[str]]])
    running: dict[str, tuple[ToolCall, bool]] = field(default_factory=dict[str, tuple[ToolCall, bool]])
    """Calls without a result, by id; True: it waits for an answer."""
    output: dict[str, str] = field(default_factory=dict[str, str])
    chars: int = 0

    def begin(self, key: str) -> None:
        """A reply begins; what an earlier one left open is over."""
        if key != self.key:
            self.key = key
            self.arriving = []

    def delta(self, key: str, kind: Kind, text: str) -> None:
        self.begin(key)
        if self.arriving and self.arriving[-1][0] == kind:
            self.arriving[-1][1].append(text)
        else:
            self.arriving.append((kind, [text]))

    def reclassify(self, key: str) -> None:
        """The text so far was thinking."""
        self.begin(key)
        self.arriving = [("thinking", pieces) for _, pieces in self.arriving]

    def add(self, message: Message) -> None:
        """A whole message."""
        if isinstance(message, AssistantMessage):
            self.key, self.arriving = "", []
        self.messages.append(message)
        self.chars += _size(message)
        while self.chars > MOST_CHARS and len(self.messages) > 1:
            self.chars -= _size(self.messages.popleft())
            self.cut += 1

    def started(self, call: ToolCall, *, waiting: bool) -> None:
        self.running[call.id] = (call, waiting)

    def printed(self, call_id: str, text: str) -> None:
        if call_id in self.running:
            self.output[call_id] = (self.output.get(call_id, "") + text)[-_OUTPUT_KEPT:]

    def finished(self, result: ToolResult) -> None:
        self.running.pop(result.call_id, None)
        self.output.pop(result.call_id, None)
        self.add(result)

    def end(self) -> None:
        """The run is over: nothing is open any more; a reply that was cut keeps what came."""
        self.running.clear()
        self.output.clear()

    def forget(self) -> None:
        """Give the memory back; the file of the session holds it all."""
        self.cut += len(self.messages)
        self.messages.clear()
        self.chars = 0

    def newest_text(self) -> str:
        """What it said last: of the reply that arrives, or of the last whole one."""
        now = "".join(piece for kind, pieces in self.arriving if kind == "text" for piece in pieces[-200:])
        if now.strip():
            return now
        for message in reversed(self.messages):
            if isinstance(message, AssistantMessage) and message.text.strip():
                return message.text
        return ""


def _size(message: Message) -> int:
    if isinstance(message, UserMessage | ToolResult):
        return len(message.text) + 200
    return len(message.text) + sum(len(call.arguments_raw) for call in message.tool_calls) + 200
