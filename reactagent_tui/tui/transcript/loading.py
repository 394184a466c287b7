"""A history as items: the newest part at once, the older one piece by piece behind it. Draws nothing."""

from __future__ import annotations

from collections.abc import Sequence

from reactagent_tui.core.display import TextBlock, clean_line
from reactagent_tui.core.messages import AssistantMessage, Message, ToolResult, UserMessage
from reactagent_tui.tui.transcript.items import Answer, Item, NoticeItem, ThinkingItem, UserItem
from reactagent_tui.tui.transcript.reply import answer_items, told_by
from reactagent_tui.tui.transcript.rows import Translate
from reactagent_tui.tui.transcript.tool_item import ToolItem

LATEST = 400
"""Messages of a history that become items before anything is drawn; at least."""
PIECE = 400
"""Older messages that become items at a time: a few milliseconds."""
MARKED = frozenset({"cut", "interrupted", "lost", "length", "content_filter", "refusal"})
"""How a reply may end that is told below it."""
_SILENT_ORIGINS = frozenset({"nudge", "reminder"})
_NO_PROMPT = _SILENT_ORIGINS | {"summary"}
_LABELS = {"steer": "transcript.steer", "follow_up": "transcript.follow_up", "skill": "transcript.skill"}


class Loader:
    """Makes the items of messages; counts the user's prompts and knows the rows of calls."""

    def __init__(self, t: Translate) -> None:
        self.calls: dict[str, ToolItem] = {}
        self.prompts = 0
        self._t = t

    def items(self, messages: Sequence[Message]) -> list[Item]:
        """Of messages that follow those of earlier calls."""
        items: list[Item] = []
        for message in messages:
            match message:
                case UserMessage():
                    item = self.user_item(message)
                    if item is not None:
                        items.append(item)
                case AssistantMessage():
                    self._reply(message, items)
                case ToolResult():
                    tool = self.calls.get(message.call_id)
                    if tool is None:
                        tool = self.calls[message.call_id] = ToolItem(message.name)
                        items.append(tool)
                    tool.take(message)
        return items

    def user_item(self, message: UserMessage) -> Item | None:
        """A message of the user; None: the program said it in the user's place, and it is not shown."""
        if message.origin in _SILENT_ORIGINS:
            return self._recalled(message) if message.origin == "reminder" else None
        shown = message.text if message.shown is None else message.shown
        if message.origin == "summary":
            return NoticeItem(self._t("transcript.compacted"))
        number = self.prompts
        self.prompts += 1
        return UserItem(
            shown,
            label=_LABELS.get(message.origin, ""),
            attachments=[attachment.label for attachment in message.attachments],
            number=number,
        )

    def _recalled(self, message: UserMessage) -> Item | None:
        """What was remembered is told to the user as well; other reminders are not shown."""
        from reactagent_tui.core.memory.recalled import recalled_in

        facts = recalled_in(message)
        blocks = tuple(TextBlock(clean_line(fact), "dim") for fact in facts)
        return NoticeItem(self._t("memory.recalled"), "info", blocks) if facts else None

    def _reply(self, message: AssistantMessage, items: list[Item]) -> None:
        for kind, text in told_by(message):
            if kind == "thinking":
                items.append(ThinkingItem(text, done=True))
            else:
                items += answer_items(Answer.finished(text))
        for call in message.tool_calls:
            tool = ToolItem(call.name, call, "lost")
            self.calls[call.id] = tool
            items.append(tool)
        if message.stop_reason in MARKED:
            items.append(NoticeItem(self._t(f"transcript.stop_{message.stop_reason}"), "warn"))


class Backlog:
    """The older part of a history, on its way to become items."""

    def __init__(self, t: Translate, messages: Sequence[Message] = ()) -> None:
        self._messages = messages
        self._done = 0
        self._loader = Loader(t)
        self._items: list[Item] = []

    @property
    def waits(self) -> bool:
        """There is something that was not taken."""
        return bool(self._messages)

    @property
    def is_ready(self) -> bool:
        """Every message has its items."""
        return self._done >= len(self._messages)

    def advance(self) -> None:
        """Make the items of one more piece."""
        end = self._done + PIECE
        self._items += self._loader.items(self._messages[self._done : end])
        self._done = end

    def take(self) -> tuple[list[Item], dict[str, ToolItem]]:
        """All its items and the rows of its calls; what is not made yet is made now. Nothing is left."""
        while not self.is_ready:
            self.advance()
        items, calls = self._items, self._loader.calls
        self._messages, self._items, self._done = (), [], 0
        return items, calls


def where_to_cut(messages: Sequence[Message], latest: int = LATEST) -> int:
    """Where the newest part begins: at a prompt, so that no result is apart from its call; 0 when it is all of it."""
    for start in range(len(messages) - latest, 0, -1):
        if _is_prompt(messages[start]):
            return start
    return 0


def count_prompts(messages: Sequence[Message]) -> int:
    """How many of the messages are prompts of the user."""
    return sum(map(_is_prompt, messages))


def _is_prompt(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.origin not in _NO_PROMPT
