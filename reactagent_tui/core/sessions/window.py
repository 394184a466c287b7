"""What of the history the model sees, made valid for the strictest provider. Pure and total.

`select` drops whole old turns when the window is too small; `repair` closes every call, orders results, fixes
ids and roles. The history itself is never changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from reactagent_tui.core.llm.base import ModelInfo, WireRules
from reactagent_tui.core.messages import (
    INTERRUPTED_NOTE,
    LOST_NOTE,
    AssistantMessage,
    AssistantPart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserMessage,
)

LOST_TEXT = "No result: the program ended before this call was done. It may or may not have had an effect; check."
START_NOTE = "(The beginning of this conversation is not shown.)"
GO_ON = "Go on."
IMAGES_NOTE = "(The images that the tool results above name.)"
RAW_LIMIT = 500
_WITHIN_TURN = frozenset({"nudge", "steer", "reminder", "summary"})
"""What the program says, or the user while a turn runs: no turn begins there."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The newest turns that fit, and how many older ones do not."""

    messages: tuple[Message, ...]
    dropped_turns: int
    tokens: int = 0
    """Of `messages`."""
    fits: bool = True
    """False: not even the pinned messages and the last turn stay within the budget."""


def select(
    messages: Sequence[Message],
    budget: int,
    count: Callable[[Message], int],
    *,
    most: int | None = None,
    slack: float = 0.0,
) -> Selection:
    """The newest whole turns within `budget` tokens and `most` messages. A turn starts at what the user asked.

    Notes that stand for what came before are pinned, and the last turn is always kept. When turns must go, a share
    `slack` of the limits is freed beyond what is needed: the request then keeps its beginning for many steps.
    """
    pinned = 0
    while pinned < len(messages) and is_pinned(messages[pinned]):
        pinned += 1
    head, rest = messages[:pinned], messages[pinned:]
    starts = [i for i, message in enumerate(rest) if opens_turn(message)]
    if not starts or starts[0] != 0:  # what is left of a turn, or of none
        starts.insert(0, 0)
    ends = [*starts[1:], len(rest)]
    sizes = [sum(map(count, rest[start:end])) for start, end in zip(starts, ends, strict=True)]
    fixed = sum(map(count, head))
    first = 0
    total, number = fixed + sum(sizes), len(messages)
    if total > budget or (most is not None and number > most):
        goal, fewest = budget * (1 - slack), None if most is None else most * (1 - slack)
        while first < len(starts) - 1 and (total > goal or (fewest is not None and number > fewest)):
            total -= sizes[first]
            number -= ends[first] - starts[first]
            first += 1
    return Selection((*head, *rest[starts[first] :]), first, total, total <= budget)


def opens_turn(message: Message) -> bool:
    """What the user asked, typed or queued or by a skill."""
    return isinstance(message, UserMessage) and message.origin not in _WITHIN_TURN


def is_pinned(message: Message) -> bool:
    """Stands for what is not shown any more: it goes with every request."""
    return isinstance(message, UserMessage) and message.origin == "summary"


def repair(messages: Iterable[Message], info: ModelInfo) -> tuple[Message, ...]:
    """A history that `info`'s provider accepts: every call answered once and in order, roles as it wants them."""
    grouped = _pair(list(messages))
    own = [_only_own(message, info) for message in grouped]
    noted = _note_interruptions(own)
    kept = [m for m in noted if not (isinstance(m, AssistantMessage) and m.is_empty)]
    merged = _merge(kept) if info.rules.merge_users else kept
    framed = _frame(merged)
    return tuple(_fix_ids(framed, info.rules))


def _pair(messages: list[Message]) -> list[Message]:
    """Each assistant message directly followed by one result per call, in call order; orphans dropped."""
    out: list[Message] = []
    index = 0
    while index < len(messages):
        message = messages[index]
        index += 1
        if isinstance(message, ToolResult):
            continue
        if not isinstance(message, AssistantMessage) or not message.tool_calls:
            out.append(message)
            continue
        results: list[ToolResult] = []
        users: list[Message] = []
        while index < len(messages) and not isinstance(messages[index], AssistantMessage):
            later = messages[index]
            index += 1
            (results if isinstance(later, ToolResult) else users).append(later)  # type: ignore[arg-type]
        fixed, answers = _answer_calls(message, results)
        out.append(fixed)
        out.extend(replace(one, attachments=()) if one.attachments else one for one in answers)
        out.extend(_images_of(answers))
        out.extend(users)
    return out


def _images_of(answers: Sequence[ToolResult]) -> list[Message]:
    """What the results show, as a user message: not every wire takes images in a result."""
    files = tuple(file for answer in answers for file in answer.attachments)
    return [UserMessage(IMAGES_NOTE, files, origin="reminder")] if files else []


def _answer_calls(message: AssistantMessage, results: list[ToolResult]) -> tuple[AssistantMessage, list[ToolResult]]:
    """Give each call its result: the first unused one with its id, else a note that it was lost."""
    unused = list(results)
    parts: list[AssistantPart] = []
    answers: list[ToolResult] = []
    for part in message.parts:
        if not isinstance(part, ToolCall):
            parts.append(part)
            continue
        match = next((r for r in unused if r.call_id == part.id), None)
        if match is not None:
            unused.remove(match)
        answer = match or ToolResult(part.id, part.name, LOST_TEXT, is_error=True, status="lost")
        if part.arguments is None:
            answer = replace(answer, text=_with_raw(answer.text, part.arguments_raw))
            part = replace(part, arguments={}, arguments_raw="{}")
        if not part.name:
            part = replace(part, name="unknown_tool")
        parts.append(part)
        answers.append(answer if answer.text.strip() else replace(answer, text="(no output)"))
    return replace(message, parts=tuple(parts)), answers


def _with_raw(text: str, raw: str) -> str:
    shown = raw if len(raw) <= RAW_LIMIT else raw[:RAW_LIMIT] + "…"
    return text if not raw or shown in text else f"{text}\nThe arguments as received: {shown}"


def _only_own(message: Message, info: ModelInfo) -> Message:
    """Without what only the provider and model that wrote it may see: thinking, signatures, extra keys."""
    if not isinstance(message, AssistantMessage):
        return message
    if (
        message.provider == info.provider
        and message.model == info.name
        and message.stop_reason not in ("interrupted", "lost")
    ):
        return message
    foreign = not (message.provider == info.provider and message.model == info.name)
    parts: list[AssistantPart] = []
    for part in message.parts:
        if isinstance(part, ThinkingPart):
            if not foreign and part.signature is None:
                parts.append(part)
        elif not foreign:
            parts.append(part)
        elif isinstance(part, TextPart):
            parts.append(replace(part, signature=None))
        else:
            parts.append(replace(part, extra={}))
    return replace(message, parts=tuple(parts))


def _note_interruptions(messages: list[Message]) -> list[Message]:
    """The user message after an interrupted reply says so to the model."""
    out: list[Message] = []
    note = ""
    for message in messages:
        match message:
            case AssistantMessage(stop_reason=reason):
                note = {"interrupted": INTERRUPTED_NOTE, "lost": LOST_NOTE}.get(reason, "")
            case ToolResult(status=status):
                note = {"interrupted": INTERRUPTED_NOTE, "lost": LOST_NOTE}.get(status, note)
            case UserMessage():
                if note:
                    message = replace(message, text=f"{note}\n\n{message.text}")
                note = ""
        out.append(message)
    return out


def _merge(messages: list[Message]) -> list[Message]:
    """No two user messages and no two plain assistant messages in a row."""
    out: list[Message] = []
    for message in messages:
        last = out[-1] if out else None
        if isinstance(message, UserMessage) and isinstance(last, UserMessage):
            text = "\n\n".join(t for t in (last.text, message.text) if t)
            out[-1] = replace(last, text=text, attachments=last.attachments + message.attachments)
        elif isinstance(message, AssistantMessage) and isinstance(last, AssistantMessage) and not last.tool_calls:
            joined = _joined_text(last.parts, message.parts)
            out[-1] = replace(message, parts=joined)
        else:
            out.append(message)
    return out


def _joined_text(first: tuple[AssistantPart, ...], second: tuple[AssistantPart, ...]) -> tuple[AssistantPart, ...]:
    gap = (TextPart("\n\n"),) if any(isinstance(p, TextPart) for p in second) else ()
    return first + gap + second


def _frame(messages: list[Message]) -> list[Message]:
    """Starts with a user message and ends with something the model can answer."""
    out = list(messages)
    if not out or not isinstance(out[0], UserMessage):
        out.insert(0, UserMessage(START_NOTE, origin="reminder"))
    if isinstance(out[-1], AssistantMessage):
        out.append(UserMessage(GO_ON, origin="nudge"))
    return [
        replace(m, text="(empty)") if isinstance(m, UserMessage) and not (m.text.strip() or m.attachments) else m
        for m in out
    ]


def _fix_ids(messages: list[Message], rules: WireRules) -> list[Message]:
    """Ids that are empty, illegal for the provider or used before get new ones, on the call and on its result."""
    legal = re.compile(rules.id_pattern)
    used: set[str] = set()
    out: list[Message] = []
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, AssistantMessage) and message.tool_calls:
            waiting = []
            parts: list[AssistantPart] = []
            for part in message.parts:
                if isinstance(part, ToolCall):
                    new = part.id
                    if not legal.fullmatch(new) or new in used:
                        new = _new_id(part.id, len(used), legal, used)
                    used.add(new)
                    waiting.append(new)
                    part = part if new == part.id else replace(part, id=new)
                parts.append(part)
            out.append(replace(message, parts=tuple(parts)))
        elif isinstance(message, ToolResult):
            call_id = waiting.pop(0)
            out.append(message if call_id == message.call_id else replace(message, call_id=call_id))
        else:
            out.append(message)
    return out


def _new_id(old: str, position: int, legal: re.Pattern[str], used: set[str]) -> str:
    """A stable replacement: the same history always gives the same ids, so that provider caches hit."""
    for attempt in range(1000):
        digest = hashlib.blake2b(f"{old}|{position}|{attempt}".encode(errors="replace")).hexdigest()
        for candidate in (f"call_{digest[:16]}", digest[:9], digest[:24]):
            if legal.fullmatch(candidate) and candidate not in used:
                return candidate
    raise AssertionError(f"no id fits the pattern {legal.pattern!r}")
