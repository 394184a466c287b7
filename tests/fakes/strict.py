"""What the strictest providers demand of a history, checked on our own message model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reactagent_tui.core.messages import AssistantMessage, Message, ToolResult, UserMessage


def complaints(messages: Sequence[Message], id_pattern: str = r"[A-Za-z0-9_-]{1,40}") -> list[str]:
    """Everything that OpenAI, DeepSeek, Anthropic or Gemini would answer with a 400. Empty: valid."""
    bad: list[str] = []
    open_ids: list[str] = []
    used: set[str] = set()
    if not messages or not isinstance(messages[0], UserMessage):
        bad.append("does not start with a user message")
    if messages and isinstance(messages[-1], AssistantMessage):
        bad.append("ends with an assistant message")
    previous: Message | None = None
    for i, message in enumerate(messages):
        if not isinstance(message, ToolResult) and open_ids:
            bad.append(f"[{i}] calls without a result: {open_ids}")
            open_ids = []
        match message:
            case UserMessage():
                if isinstance(previous, UserMessage):
                    bad.append(f"[{i}] two user messages in a row")
                if not message.text.strip() and not message.attachments:
                    bad.append(f"[{i}] empty user message")
            case AssistantMessage():
                if isinstance(previous, AssistantMessage):
                    bad.append(f"[{i}] two assistant messages in a row")
                if message.is_empty:
                    bad.append(f"[{i}] empty assistant message")
                for call in message.tool_calls:
                    if not re.fullmatch(id_pattern, call.id):
                        bad.append(f"[{i}] illegal id {call.id!r}")
                    if call.id in used:
                        bad.append(f"[{i}] id used twice: {call.id!r}")
                    if not call.name:
                        bad.append(f"[{i}] call without a name")
                    if call.arguments is None:
                        bad.append(f"[{i}] arguments are not an object")
                    used.add(call.id)
                    open_ids.append(call.id)
            case ToolResult():
                if not open_ids or open_ids[0] != message.call_id:
                    bad.append(f"[{i}] result for {message.call_id!r}, expected {open_ids[:1]}")
                if message.call_id in open_ids:
                    open_ids.remove(message.call_id)
                if not message.text.strip():
                    bad.append(f"[{i}] empty result")
        previous = message
    if open_ids:
        bad.append(f"end: calls without a result: {open_ids}")
    return bad
