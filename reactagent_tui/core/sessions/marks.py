"""What of a history the model sees after compactions and trims. The history itself is never changed.

A mark is one step of that kind: a note that stands for the beginning, or old tool outputs that are only named. Marks
lie on a stack and are taken back one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from reactagent_tui.core.messages import AssistantMessage, Message, ToolResult, UserMessage

TAIL = 6
"""Messages at the end that a compaction leaves alone, more where that would part a call from its result."""
LEAST_MASKED = 400
"""Characters; a shorter output is not worth a note in its place."""
MASKED = "[This output of {chars} characters was taken out to make room.{where}]"
_WHERE = " The full text: {path}"
_OPENS_TURN = frozenset({"user", "follow_up", "skill"})


@dataclass(frozen=True, slots=True)
class Mark:
    """One compaction or one trim."""

    kind: Literal["compact", "trim"]
    upto: int
    """Messages from the start that it is about."""
    note: str = ""
    """compact: what stands for them."""
    kept: tuple[int, ...] = ()
    """compact: of these, the messages that are still sent as they are."""
    masked: Mapping[int, str] = field(default_factory=dict[int, str])
    """trim: message to file with its full text, "" when there is none."""
    before: int = 0
    after: int = 0
    """Tokens of the request, estimated."""

    def to_record(self) -> dict[str, Any]:
        """JSON-ready."""
        record: dict[str, Any] = {"kind": self.kind, "upto": self.upto, "before": self.before, "after": self.after}
        if self.kind == "compact":
            return record | {"note": self.note, "kept": list(self.kept)}
        return record | {"masked": [[at, path] for at, path in self.masked.items()]}


def mark_from_record(record: Mapping[str, Any]) -> Mark:
    """The mark that `to_record` wrote. Raises KeyError, TypeError or ValueError on foreign records."""
    kind, upto = record["kind"], int(record["upto"])
    sizes = (int(record.get("before", 0)), int(record.get("after", 0)))
    if kind == "compact":
        return Mark("compact", upto, str(record["note"]), tuple(int(at) for at in record["kept"]), {}, *sizes)
    if kind == "trim":
        return Mark("trim", upto, "", (), {int(at): str(path) for at, path in record["masked"]}, *sizes)
    raise ValueError(f"unknown kind of compaction {kind!r}")


class Marks:
    """The marks of one history, and the messages that stand for others: made once, so that they are weighed once."""

    def __init__(self) -> None:
        self.stack: list[Mark] = []
        self._made: dict[tuple[int, str], tuple[object, Message]] = {}

    @property
    def compaction(self) -> Mark | None:
        """The newest compaction that holds."""
        return next((mark for mark in reversed(self.stack) if mark.kind == "compact"), None)

    @property
    def hidden(self) -> int:
        """Messages at the start that a note stands for."""
        newest = self.compaction
        return 0 if newest is None else newest.upto

    @property
    def masked(self) -> Mapping[int, str]:
        """Every result that is only named."""
        return {at: path for mark in self.stack for at, path in mark.masked.items()}

    def add(self, mark: Mark) -> None:
        self.stack.append(mark)

    def undo(self) -> Mark | None:
        """Take the newest mark back; None: there is none."""
        return self.stack.pop() if self.stack else None

    def cut_to(self, keep: int) -> list[Mark]:
        """The history is only its first `keep` messages now: marks about more than that do not hold any more."""
        first = next((at for at, mark in enumerate(self.stack) if mark.upto > keep), len(self.stack))
        gone = self.stack[first:]
        del self.stack[first:]
        return gone

    def apply_record(self, record: Mapping[str, Any], length: int) -> None:
        """Fold a `compaction` record of a file that holds `length` messages so far."""
        if record.get("undo"):
            self.undo()
            return
        mark = mark_from_record(record)
        if not 0 <= mark.upto <= length:
            raise ValueError("a compaction of messages that are not there")
        self.add(mark)

    def view(self, messages: Sequence[Message]) -> list[Message]:
        """What the model sees; the list itself when there is no mark."""
        if not self.stack:
            return list(messages)
        masked, newest = self.masked, self.compaction
        if newest is None:
            return [self._shown(at, message, masked) for at, message in enumerate(messages)]
        note = self._once((0, newest.note), newest, lambda: UserMessage(newest.note, origin="summary"))
        kept = [messages[at] for at in newest.kept if at < len(messages)]
        rest = (self._shown(at, messages[at], masked) for at in range(newest.upto, len(messages)))
        return [note, *kept, *rest]

    def _shown(self, at: int, message: Message, masked: Mapping[int, str]) -> Message:
        path = masked.get(at)
        if path is None or not isinstance(message, ToolResult):
            return message
        return self._once((id(message), path), message, lambda: mask(message, path))

    def _once(self, key: tuple[int, str], owner: object, make: Callable[[], Message]) -> Message:
        known = self._made.get(key)
        if known is None or known[0] is not owner:
            known = self._made[key] = (owner, make())
        return known[1]


def mask(result: ToolResult, path: str) -> ToolResult:
    """The result with a note in place of its text."""
    where = _WHERE.format(path=path) if path else ""
    return replace(result, text=MASKED.format(chars=len(result.text), where=where), blocks=(), attachments=())


def boundary(messages: Sequence[Message], tail: int = TAIL) -> int:
    """Where a compaction may cut: before the last `tail` messages, never between a call and its result."""
    at = max(len(messages) - tail, 0)
    while 0 < at < len(messages) and isinstance(messages[at], ToolResult):
        at -= 1
    asked = at
    while asked > 0 and isinstance(messages[asked - 1], ToolResult):
        asked -= 1
    answered = {m.call_id for m in messages[asked:at] if isinstance(m, ToolResult)}
    last = messages[asked - 1] if asked else None
    is_open = isinstance(last, AssistantMessage) and any(call.id not in answered for call in last.tool_calls)
    return asked - 1 if is_open else at  # calls whose results have not come belong to what follows


def last_prompt(messages: Sequence[Message], before: int) -> int | None:
    """The prompt that opened the turn which message `before` belongs to; None: it opens one itself."""
    if before < len(messages) and _opens_turn(messages[before]):
        return None
    return next((at for at in range(before - 1, -1, -1) if _opens_turn(messages[at])), None)


def _opens_turn(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.origin in _OPENS_TURN


def maskable(messages: Sequence[Message], marks: Marks, tail: int = TAIL) -> list[int]:
    """The results that a trim may take out, oldest first: long, not taken out yet, before the last `tail` messages."""
    done = marks.masked
    return [
        at
        for at in range(marks.hidden, max(len(messages) - tail, 0))
        if at not in done and isinstance(found := messages[at], ToolResult) and len(found.text) >= LEAST_MASKED
    ]
