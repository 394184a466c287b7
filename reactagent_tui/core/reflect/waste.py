"""Calls of a session that were wasted, found by rules in its own records. Pure: no model is asked.

The rules would rather miss a wasted call than blame one that had its reason: a call repeated after something was
changed, or one whose result was another one the second time, is never named.
"""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from reactagent_tui.core.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.safety.read_only import is_read_only

WasteKind = Literal["repeated", "retried", "read_twice", "never_used", "whole_read", "cut_output"]
WHOLE = 200
"""Lines from which reading a whole file is more than the place in it."""
TELLING = 20
"""Words a file must bring into the conversation before their absence later says that it was not used."""
CUT_BYTES = 20_000
"""Bytes of a command's output that were left out: less is not worth a word."""
_WRITERS = frozenset({"write_file", "edit_file"})
_ONLY_READ = frozenset(
    {"read_file", "grep", "glob", "list_dir", "web_fetch", "todo_write", "skill_view", "skills_list", "job_output"}
)
_LOOKS_AGAIN = frozenset({"job_output", "todo_write", "ask_user", "spawn_subagent", "skill_view", "skills_list"})
"""Calls that may well be made again."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{5,}|[\u3400-\u9fff]{2,}")
_LEFT_OUT = re.compile(r"lines(?: \(([\d,]+) bytes\))? left out here")
_TOTAL = re.compile(r"([\d,]+) bytes in all")


@dataclass(frozen=True, slots=True)
class Waste:
    """Calls that need not have been made."""

    kind: WasteKind
    tool: str
    subject: str
    """The key argument."""
    calls: tuple[str, ...]
    """Ids of the wasted ones, in order."""
    detail: str = ""
    """Where it should have been known from: a line of a result, the size that was thrown away."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A call with its result, and its place in the history."""

    call: ToolCall
    result: ToolResult
    at: int

    @property
    def key(self) -> tuple[str, str]:
        return self.call.name, json.dumps(dict(self.call.arguments or {}), sort_keys=True, ensure_ascii=False)

    @property
    def failed(self) -> bool:
        return self.result.is_error or self.result.status in ("failed", "denied")

    @property
    def path(self) -> str:
        value = (self.call.arguments or {}).get("path")
        return os.path.normpath(value) if isinstance(value, str) and value else ""

    @property
    def is_whole_read(self) -> bool:
        arguments = self.call.arguments or {}
        return self.call.name == "read_file" and not arguments.get("offset") and not arguments.get("limit")


def find_waste(messages: Sequence[Message]) -> tuple[Waste, ...]:
    """Every wasted call once, by the first rule that names it, in the order of the session."""
    made = _calls(messages)
    found: list[Waste] = []
    named: set[str] = set()
    rules = (
        _retried(made),
        _read_twice(made),
        _repeated(made),
        _whole_reads(made),
        _unused(made, messages),
        _cut(made),
    )
    for waste in (one for rule in rules for one in rule):
        calls = tuple(call for call in waste.calls if call not in named)
        if calls:
            named.update(calls)
            found.append(Waste(waste.kind, waste.tool, waste.subject, calls, waste.detail))
    order = {one.call.id: number for number, one in enumerate(made)}
    return tuple(sorted(found, key=lambda waste: order[waste.calls[0]]))


def subject_of(call: ToolCall) -> str:
    """The argument that tells what a call was about, on one line."""
    arguments = call.arguments or {}
    for name in ("command", "pattern", "query", "url", "path", "name"):
        if isinstance(arguments.get(name), str):
            return " ".join(str(arguments[name]).split())[:200]
    return json.dumps(dict(arguments), ensure_ascii=False)[:200] if arguments else ""


def _calls(messages: Sequence[Message]) -> list[_Made]:
    results = {message.call_id: message for message in messages if isinstance(message, ToolResult)}
    return [
        _Made(call, results[call.id], at)
        for at, message in enumerate(messages)
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
        if call.id in results and results[call.id].status in ("done", "failed", "denied")
    ]


def _changed_between(made: Sequence[_Made], first: int, last: int) -> bool:
    """May something have changed what the second of two equal calls sees?

    A file: by a write to it, or a command that names it. Anything else: by any write, or a command that does not only
    read; one that is no more than the call itself is no such change.
    """
    path = made[last].path if made[last].call.name == "read_file" else ""
    name = os.path.basename(path)
    for one in made[first + 1 : last]:
        if one.failed or one.key == made[last].key:
            continue
        command = str((one.call.arguments or {}).get("command"))
        if one.call.name in _WRITERS:
            if not path or os.path.basename(one.path) == name:
                return True
        elif one.call.name == "run_shell_command" and ((name in command) if path else not is_read_only(command)):
            return True
        elif not path and one.call.name not in _ONLY_READ and one.call.name != "run_shell_command":
            return True  # a tool of a server: nobody knows what it changed
    return False


def _groups(made: Sequence[_Made]) -> Iterable[list[int]]:
    """Places of equal calls."""
    places: dict[tuple[str, str], list[int]] = {}
    for number, one in enumerate(made):
        if one.call.name not in _LOOKS_AGAIN:
            places.setdefault(one.key, []).append(number)
    return [group for group in places.values() if len(group) > 1]


def _retried(made: Sequence[_Made]) -> Iterable[Waste]:
    """A call that failed, made again unchanged, and failed again."""
    for group in _groups(made):
        wasted = [
            made[now]
            for before, now in pairwise(group)
            if made[before].failed and made[now].failed and not _changed_between(made, before, now)
        ]
        if wasted:
            yield _waste("retried", wasted, _first_line(wasted[0].result.text))


def _repeated(made: Sequence[_Made]) -> Iterable[Waste]:
    """The same call with the same result, and nothing was written in between."""
    for group in _groups(made):
        if made[group[0]].call.name in _WRITERS:
            continue
        wasted = [
            made[now]
            for before, now in pairwise(group)
            if not made[now].failed
            and made[before].result.text == made[now].result.text
            and not _changed_between(made, before, now)
        ]
        if wasted:
            yield _waste("repeated", wasted)


def _read_twice(made: Sequence[_Made]) -> Iterable[Waste]:
    """A file read again, in whole or in part, that was read in whole and has not changed since."""
    whole: dict[str, int] = {}
    again: dict[str, list[_Made]] = {}
    for number, one in enumerate(made):
        if one.call.name != "read_file" or one.failed or not one.path:
            continue
        before = whole.get(one.path)
        rows = set(made[before].result.text.splitlines()) if before is not None else set[str]()
        same = bool(rows) and all(row in rows for row in _file_rows(one.result.text))
        if before is not None and same and not _changed_between(made, before, number):
            again.setdefault(one.path, []).append(one)
        elif one.is_whole_read:
            whole[one.path] = number
    return [_waste("read_twice", calls) for calls in again.values()]


def _file_rows(text: str) -> list[str]:
    """The numbered lines of a read_file result, without its notes."""
    return [row for row in text.splitlines() if re.match(r"\s*\d+\t", row)]


def _whole_reads(made: Sequence[_Made]) -> Iterable[Waste]:
    """A long file read in whole although a search had shown the place."""
    for number, one in enumerate(made):
        if not one.is_whole_read or one.failed or len(_file_rows(one.result.text)) < WHOLE:
            continue
        name = os.path.basename(one.path)
        for earlier in made[:number]:
            if earlier.call.name != "grep" or earlier.failed:
                continue
            rows = earlier.result.text.splitlines()
            at = next((k for k, row in enumerate(rows) if os.path.basename(row.strip()) == name), None)
            if at is not None and at + 1 < len(rows):
                yield _waste("whole_read", [one], " ".join(rows[at + 1].split())[:120])
                break


def _unused(made: Sequence[_Made], messages: Sequence[Message]) -> Iterable[Waste]:
    """A file read of which nothing, neither its name nor any word of its own, ever came up again."""
    for one in made:
        if one.call.name != "read_file" or one.failed or not _turn_was_answered(messages, one.at):
            continue
        known = set(_WORD.findall("\n".join(_said(message) for message in messages[: one.at + 1])))
        own = {word for row in _file_rows(one.result.text) for word in _WORD.findall(row)} - known
        if len(own) < TELLING:
            continue
        later = "\n".join(_said(m) for m in messages[one.at + 1 :] if not isinstance(m, ToolResult))
        if os.path.basename(one.path) not in later and not own & set(_WORD.findall(later)):
            yield _waste("never_used", [one])


def _turn_was_answered(messages: Sequence[Message], at: int) -> bool:
    for message in messages[at + 1 :]:
        if isinstance(message, UserMessage) and message.origin == "user":
            return False
        if isinstance(message, AssistantMessage) and not message.tool_calls and message.text.strip():
            return True
    return False


def _said(message: Message) -> str:
    match message:
        case AssistantMessage():
            return "\n".join((message.text, message.thinking, *(call.arguments_raw for call in message.tool_calls)))
        case UserMessage(text=text) | ToolResult(text=text):
            return text


def _cut(made: Sequence[_Made]) -> Iterable[Waste]:
    """A command that printed far more than anybody could read of it."""
    for one in made:
        if one.call.name != "run_shell_command" or _LEFT_OUT.search(one.result.text) is None:
            continue
        total = _TOTAL.search(one.result.text)
        size = int(total[1].replace(",", "")) - len(one.result.text.encode("utf-8", "replace")) if total else 0
        if size >= CUT_BYTES:
            yield _waste("cut_output", [one], f"{size:,} bytes")


def _waste(kind: WasteKind, made: Sequence[_Made], detail: str = "") -> Waste:
    first = made[0]
    return Waste(kind, first.call.name, subject_of(first.call), tuple(one.call.id for one in made), detail)


def _first_line(text: str) -> str:
    return next((" ".join(line.split())[:120] for line in text.splitlines() if line.strip()), "")
