"""A reply of the model: its parts while they arrive, and as the history has them in the end."""

from __future__ import annotations

from typing import Literal

from reactagent_tui.core.display import clean
from reactagent_tui.core.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall
from reactagent_tui.tui.transcript.chunks import split
from reactagent_tui.tui.transcript.items import Answer, AnswerItem, Item, ThinkingItem
from reactagent_tui.tui.transcript.tool_item import ToolItem

_WHOLE = 3000
"""A finished answer up to this many characters is one item, cut into chunks when it is first seen."""

Kind = Literal["thinking", "text"]


class Reply:
    """A message of the model that is arriving."""

    __slots__ = ("blank", "calls", "live", "parts", "pending")

    def __init__(self) -> None:
        self.parts: list[ThinkingItem | Answer] = []
        self.calls: dict[int, ToolItem] = {}
        self.live: AnswerItem | None = None
        self.blank = ""
        """White space that came before any text of an answer."""
        self.pending: list[tuple[Kind, list[str], float]] = []
        """Deltas that wait for the next frame, with the time the first of them came."""

    def queue(self, kind: Kind, text: str, now: float) -> None:
        if self.pending and self.pending[-1][0] == kind:
            self.pending[-1][1].append(text)
        else:
            self.pending.append((kind, [text], now))

    def items(self) -> list[Item]:
        """Its items, in the order of its parts."""
        found: list[Item] = []
        for part in self.parts:
            found += part.items if isinstance(part, Answer) else [part]
        return [*found, *self.calls.values()]

    def last_item(self) -> Item | None:
        """The one that stands lowest."""
        if self.calls:
            return list(self.calls.values())[-1]
        for part in reversed(self.parts):
            if isinstance(part, ThinkingItem):
                return part
            if part.items:
                return part.items[-1]
        return None

    def told(self) -> list[tuple[Kind, str]]:
        """What was streamed, part by part, without parts that are empty."""
        found: list[tuple[Kind, str]] = []
        for part in self.parts:
            kind: Kind = "text" if isinstance(part, Answer) else "thinking"
            text = part.source if isinstance(part, Answer) else part.text()
            if text.strip():
                found.append((kind, text))
        return found


def answer_items(answer: Answer) -> list[AnswerItem]:
    """The items of a finished answer: one when it is short, else one per chunk."""
    source = answer.source
    if len(source) <= _WHOLE:
        AnswerItem(answer, None)
        return answer.items
    chunks, definitions = split(clean(source))
    answer.definitions.update(definitions)
    for chunk in chunks:
        AnswerItem(answer, chunk)
    return answer.items


def told_by(message: AssistantMessage) -> list[tuple[Kind, str]]:
    """The thinking and text of a message, neighbours of one kind joined, empty parts left out."""
    told: list[tuple[Kind, list[str]]] = []
    for part in message.parts:
        match part:
            case TextPart(text=text):
                kind: Kind = "text"
            case ThinkingPart(text=text):
                kind = "thinking"
            case ToolCall():
                continue
        if told and told[-1][0] == kind:
            told[-1][1].append(text)
        elif text.strip():
            told.append((kind, [text]))
    return [(kind, "".join(texts)) for kind, texts in told]
