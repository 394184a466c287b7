"""What happened, as items: replies while they stream, tool calls with their results, notices. Draws nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reactagent_tui.core.display import DisplayBlock
from reactagent_tui.core.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from reactagent_tui.tui.transcript.chunks import Chunk
from reactagent_tui.tui.transcript.column import Column
from reactagent_tui.tui.transcript.items import (
    Answer,
    AnswerItem,
    Item,
    Level,
    NoticeItem,
    SummaryItem,
    ThinkingItem,
    UserItem,
)
from reactagent_tui.tui.transcript.loading import MARKED, Backlog, Loader, count_prompts, where_to_cut
from reactagent_tui.tui.transcript.reply import Kind, Reply, answer_items, told_by
from reactagent_tui.tui.transcript.rows import Translate
from reactagent_tui.tui.transcript.tool_item import ToolItem


class Conversation:
    """The items of a session and the verbs that change them; `touched` are those to be drawn anew."""

    def __init__(self, t: Translate, clock: Callable[[], float]) -> None:
        self.column = Column()
        self.touched: dict[Item, None] = {}
        self.running: dict[ToolItem | ThinkingItem, None] = {}
        self.structure_changed = False
        """Items were put in or taken out since the last flush."""
        self._t = t
        self._clock = clock
        self._replies: dict[str, Reply] = {}
        self._loader = Loader(t)
        self._calls = self._loader.calls
        self._backlog = Backlog(t)
        self._loaded: tuple[Sequence[Message], int] = ((), 0)
        """What an early look showed, and how many items that made."""

    # --- adding

    def _put(self, item: Item, after: Item | None = None) -> None:
        """Add an item at the end, or after another one."""
        index = len(self.column) if after is None else self.column.index(after) + 1
        if index >= len(self.column):
            self.column.append(item)
        else:
            self.column.insert(index, item)
            self.touch(self.column.items[index + 1])
        self.touch(item)
        self.structure_changed = True

    def _take_out(self, item: Item) -> None:
        index = self.column.index(item)
        if index < 0:
            return
        self.column.remove(index)
        self.touched.pop(item, None)
        self.structure_changed = True
        if index < len(self.column):
            self.touch(self.column.items[index])

    def touch(self, item: Item) -> None:
        """Draw an item anew with the next frame."""
        self.touched[item] = None

    def add_user(self, message: UserMessage) -> None:
        """A message of the user; what the program says in the user's place is not shown."""
        item = self._loader.user_item(message)
        if item is not None:
            self._put(item)

    def add_notice(self, text: str, level: Level, blocks: Sequence[DisplayBlock]) -> None:
        self._put(NoticeItem(text, level, blocks))

    def add_turn_summary(self, text: str) -> None:
        self._put(SummaryItem(text))

    # --- a reply that streams

    def begin(self, key: str) -> None:
        """A reply begins; one that never ended is over."""
        for other in [name for name in self._replies if name != key]:
            self._abandon(other)
        self._replies.setdefault(key, Reply())

    def _abandon(self, key: str) -> None:
        self.apply()
        reply = self._replies.pop(key)
        self._end_part(reply, self._clock())
        self._adopt_calls(reply, ())

    def end_run(self) -> None:
        """Nothing more comes: close the replies that are open and the calls that seem to run."""
        for key in list(self._replies):
            self._abandon(key)
        for item in list(self.running):
            if isinstance(item, ToolItem):
                item.finish("interrupted", "", (), is_error=False, summary="", seconds=item.seconds)
            else:
                self._end_thinking(item, self._clock())
            self.touch(item)
        self.running.clear()

    def _reply(self, key: str) -> Reply:
        return self._replies.setdefault(key, Reply())

    def append(self, key: str, kind: Kind, text: str) -> None:
        """A delta; it becomes rows with the next `apply`."""
        if text:
            self._reply(key).queue(kind, text, self._clock())

    def apply(self) -> None:
        """Turn waiting deltas into items."""
        for reply in self._replies.values():
            if not reply.pending:
                continue
            pending, reply.pending = reply.pending, []
            for kind, texts, came in pending:
                if kind == "text":
                    self._apply_text(reply, "".join(texts), came)
                else:
                    self._apply_thinking(reply, "".join(texts), came)

    def _apply_thinking(self, reply: Reply, text: str, came: float) -> None:
        last = reply.parts[-1] if reply.parts else None
        if not isinstance(last, ThinkingItem):
            if not text.strip():
                return
            self._end_part(reply, came)
            last = ThinkingItem(started=came)
            self._put(last, reply.last_item())
            reply.parts.append(last)
            self.running[last] = None
        last.feed(text)
        self.touch(last)

    def _apply_text(self, reply: Reply, text: str, came: float) -> None:
        last = reply.parts[-1] if reply.parts else None
        if not isinstance(last, Answer):
            text, reply.blank = reply.blank + text, ""
            if not text.strip():
                reply.blank = text
                return
            self._end_part(reply, came)
            last = Answer()
            reply.parts.append(last)
        closed, tail = last.feed(text)
        self._place_chunks(reply, last, closed, tail)

    def _place_chunks(self, reply: Reply, answer: Answer, closed: Sequence[Chunk], tail: Chunk | None) -> None:
        for chunk in closed:
            self._place_chunk(reply, answer, chunk, live=False)
        if tail is not None:
            self._place_chunk(reply, answer, tail, live=True)

    def _place_chunk(self, reply: Reply, answer: Answer, chunk: Chunk, *, live: bool) -> None:
        item = reply.live
        if item is None:
            after = reply.last_item()
            item = AnswerItem(answer, chunk, live=live)
            self._put(item, after)
        else:
            item.set_chunk(chunk, live=live)
            self.touch(item)
        reply.live = item if live else None

    def _end_part(self, reply: Reply, now: float) -> None:
        """The part that was arriving is complete."""
        last = reply.parts[-1] if reply.parts else None
        if isinstance(last, ThinkingItem):
            self._end_thinking(last, now)
        elif isinstance(last, Answer) and not last.closed:
            self._place_chunks(reply, last, last.close(), None)
            reply.live = None
            if last.definitions:
                for item in last.items:
                    if "[" in item.text():
                        self.touch(item)

    def _end_thinking(self, item: ThinkingItem, now: float) -> None:
        if item.done:
            return
        item.done = True
        if item.started is not None:
            item.seconds = now - item.started
        self.running.pop(item, None)
        self.touch(item)

    def reclassify_text_as_thinking(self, key: str) -> None:
        """What was taken for the answer turned out to be reasoning."""
        self.apply()
        reply = self._reply(key)
        text = "".join(part.source for part in reply.parts if isinstance(part, Answer))
        if not text.strip():
            return
        self._drop_answers(reply)
        self._apply_thinking(reply, text, self._clock())

    def _drop_answers(self, reply: Reply) -> None:
        for part in reply.parts:
            if isinstance(part, Answer):
                for item in part.items:
                    self._take_out(item)
        reply.parts = [part for part in reply.parts if isinstance(part, ThinkingItem)]
        reply.live = None

    def finish(self, key: str, message: AssistantMessage) -> None:
        """The reply as it is in the history now; what was streamed is corrected where it differs."""
        self.apply()
        reply = self._replies.pop(key, None) or Reply()
        self._end_part(reply, self._clock())
        for part in reply.parts:
            if isinstance(part, ThinkingItem):
                self._end_thinking(part, self._clock())
        wanted = told_by(message)
        if [(kind, text.strip()) for kind, text in wanted] != [(kind, text.strip()) for kind, text in reply.told()]:
            self._rebuild(reply, wanted)
        self._adopt_calls(reply, message.tool_calls)
        if message.stop_reason in MARKED and (reply.parts or reply.calls):
            notice = NoticeItem(self._t(f"transcript.stop_{message.stop_reason}"), "warn")
            self._put(notice, reply.last_item())

    def _rebuild(self, reply: Reply, wanted: Sequence[tuple[Kind, str]]) -> None:
        first = next(iter(reply.items()), None)
        index = len(self.column) if first is None else self.column.index(first)
        above = self.column.items[index - 1] if index > 0 else None
        seconds = [part.seconds for part in reply.parts if isinstance(part, ThinkingItem)]
        for part in reply.parts:
            for item in part.items if isinstance(part, Answer) else [part]:
                self._take_out(item)
        reply.parts = []
        for kind, text in wanted:
            if kind == "thinking":
                thinking = ThinkingItem(text, done=True)
                thinking.seconds = seconds.pop(0) if seconds else None
                reply.parts.append(thinking)
            else:
                answer = Answer.finished(text)
                answer_items(answer)
                reply.parts.append(answer)
        at = 0 if above is None else self.column.index(above) + 1
        for part in reply.parts:
            for item in part.items if isinstance(part, Answer) else [part]:
                self._insert(at, item)
                at += 1

    def _insert(self, index: int, item: Item) -> None:
        self.column.insert(index, item)
        self.touch(item)
        if index + 1 < len(self.column):
            self.touch(self.column.items[index + 1])
        self.structure_changed = True

    def _adopt_calls(self, reply: Reply, calls: Sequence[ToolCall]) -> None:
        """Give the rows that showed arriving arguments their calls; rows without a call go."""
        waiting = [reply.calls[index] for index in sorted(reply.calls)]
        for call in calls:
            item = self._calls.get(call.id)
            if item is None and waiting:
                item = waiting.pop(0)
            elif item is None:
                item = ToolItem(call.name)
                self._put(item, reply.last_item())
                reply.calls[max(reply.calls, default=-1) + 1] = item
            elif item in waiting:
                waiting.remove(item)
            if item.call is None:
                item.call, item.name = call, call.name
            self._calls[call.id] = item
            self.touch(item)
        for item in waiting:
            if item.call is None:
                self._take_out(item)
                reply.calls = {index: kept for index, kept in reply.calls.items() if kept is not item}

    # --- tools

    def tool_delta(self, key: str, index: int, name: str, size: int) -> None:
        """Arguments of a call arrive."""
        self.apply()
        reply = self._reply(key)
        item = reply.calls.get(index)
        if item is None:
            self._end_part(reply, self._clock())
            item = ToolItem(name)
            self._put(item, reply.last_item())
            reply.calls[index] = item
        item.name = name or item.name
        item.size = size
        self.touch(item)

    def _call_item(self, call: ToolCall) -> ToolItem:
        item = self._calls.get(call.id)
        if item is None:
            item = self._calls[call.id] = ToolItem(call.name, call)
            self._put(item)
        return item

    def tool_started(self, call: ToolCall, *, waiting: bool) -> None:
        item = self._call_item(call)
        item.start(call, self._clock(), waiting=waiting)
        self.running[item] = None
        self.touch(item)

    def tool_output(self, call_id: str, text: str) -> None:
        item = self._calls.get(call_id)
        if item is not None and not item.is_finished:
            item.add_output(text)
            self.touch(item)

    def tool_finished(self, result: ToolResult) -> None:
        """A call has its result."""
        item = self._calls.get(result.call_id)
        if item is None:
            item = self._call_item(ToolCall(result.call_id, result.name, "", {}))
        item.take(result)
        self.running.pop(item, None)
        self.touch(item)

    def note(self, call_id: str, text: tuple[str, str]) -> None:
        """The line under a call's row, of what it runs; the row opens a view of its own from now on."""
        item = self._calls.get(call_id)
        if item is not None and (item.note != text or not item.opens_view):
            item.note, item.opens_view = text, True
            self.touch(item)

    def tool_item(self, call_id: str) -> ToolItem | None:
        return self._calls.get(call_id)

    # --- whole histories

    def clear(self) -> None:
        self.column.clear()
        self.touched.clear()
        self.running.clear()
        self._replies.clear()
        self._loader = Loader(self._t)
        self._calls = self._loader.calls
        self._backlog = Backlog(self._t)
        self._loaded = ((), 0)
        self.structure_changed = True

    def load(self, messages: Sequence[Message]) -> None:
        """A history, in place of what was there: its newest part; the rest waits. Nothing is drawn, nothing cut yet."""
        self.clear()
        self._load_end(messages, where_to_cut(messages))

    def load_early(self, end: Sequence[Message]) -> None:
        """The end of a history of which nothing else is known yet. Its prompts have no numbers."""
        self.clear()
        self.column.extend(self._loader.items(end))
        self._loaded = (end, len(self.column))
        for item in self.column.items:
            if isinstance(item, UserItem):
                item.number = -1

    def complete(self, messages: Sequence[Message]) -> bool:
        """The whole history of what was loaded early, if that is its end and nothing came since; else False."""
        end, items = self._loaded
        start = len(messages) - len(end)
        if not end or start < 0 or len(self.column) != items or list(messages[start:]) != list(end):
            return False
        number = count_prompts(messages[:start])
        for item in self.column.items:
            if isinstance(item, UserItem):
                item.number = number
                number += 1
        self._loader.prompts = number
        self._loaded = ((), 0)
        self._backlog = Backlog(self._t, messages[:start])
        return True

    def _load_end(self, messages: Sequence[Message], start: int) -> None:
        older = messages[:start]
        self._backlog = Backlog(self._t, older)
        self._loader.prompts = count_prompts(older)
        self.column.extend(self._loader.items(messages[start:]))

    @property
    def waits(self) -> bool:
        """An older part of the history is not in the column yet."""
        return self._backlog.waits

    def prepare_older(self) -> bool:
        """Make some of the items that wait; True when all are made."""
        if not self._backlog.is_ready:
            self._backlog.advance()
        return self._backlog.is_ready

    def add_older(self) -> int:
        """Put the items that wait before the others; how many they are."""
        items, calls = self._backlog.take()
        for call_id, item in calls.items():
            self._calls.setdefault(call_id, item)
        self.column.prepend(items)
        return len(items)
