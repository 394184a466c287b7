"""A history for models that act in text: calls and results become the words of a conversation.

Works on any history, however it was made: by this protocol, by another one, or with native tool calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

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
from reactagent_tui.core.react.protocol import THOUGHT
from reactagent_tui.core.react.text_labels import match_label

Write = Callable[[str, str, Sequence[ToolCall]], str]
"""(thought, answer, calls) -> the text of an assistant message."""


def with_written_replies(messages: Sequence[Message], write: Write) -> list[Message]:
    """Replies without calls as text; in those with calls the thought is gathered before the calls."""
    return [_written(m, write) if isinstance(m, AssistantMessage) else m for m in messages]


def _written(message: AssistantMessage, write: Write) -> AssistantMessage:
    thought = "\n".join(
        part.text.strip() for part in message.parts if isinstance(part, ThinkingPart) and part.field == THOUGHT
    )
    kept: list[AssistantPart] = [
        part for part in message.parts if isinstance(part, ThinkingPart) and part.field != THOUGHT
    ]
    said = message.text.strip()
    if message.tool_calls:
        thought = "\n".join(part for part in (thought, said) if part)
        if thought:
            kept.append(TextPart(thought))
        kept += message.tool_calls
    elif thought or said:
        kept.append(TextPart(write(thought, said, ())))
    return replace(message, parts=tuple(kept))


def without_calls(messages: Sequence[Message], write: Write) -> tuple[Message, ...]:
    """A repaired history with its calls and results as text. User messages in a row become one."""
    out: list[Message] = []
    index = 0
    while index < len(messages):
        message = messages[index]
        index += 1
        if isinstance(message, AssistantMessage) and message.tool_calls:
            out.append(_acting(message, write))
            results: list[ToolResult] = []
            while index < len(messages) and isinstance(found := messages[index], ToolResult):
                results.append(found)
                index += 1
            out.append(UserMessage(observations(results), origin="reminder"))
        elif isinstance(message, UserMessage) and out and isinstance(last := out[-1], UserMessage):
            text = "\n\n".join(part for part in (last.text, message.text) if part)
            out[-1] = replace(message, text=text, attachments=last.attachments + message.attachments)
        else:
            out.append(message)
    return tuple(out)


def _acting(message: AssistantMessage, write: Write) -> AssistantMessage:
    kept: list[AssistantPart] = [part for part in message.parts if isinstance(part, ThinkingPart)]
    kept.append(TextPart(write(message.text.strip(), "", message.tool_calls)))
    return replace(message, parts=tuple(kept), stop_reason="stop")


def observations(results: Sequence[ToolResult]) -> str:
    """The results of one step, numbered when there are several."""
    if len(results) == 1:
        return _observation("Observation", results[0])
    return "\n\n".join(
        _observation(f"Observation {number} ({result.name})", result) for number, result in enumerate(results, 1)
    )


def _observation(label: str, result: ToolResult) -> str:
    """A result as data: fenced unless it is one plain line, so that nothing in it reads as a label."""
    text = result.text.strip("\n")
    if "\n" not in text and "`" not in text and match_label(text, complete=True) is None:
        return f"{label}: {text}"
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{label}:\n{fence}\n{text}\n{fence}"
