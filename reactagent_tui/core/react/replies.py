"""What a reply written as text can mean, and how one JSON object says it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from reactagent_tui.core.react.text_input import InputValue, ToolNames, is_finish, read_action, read_input


@dataclass(frozen=True, slots=True)
class Action:
    """One call that a reply asks for."""

    name: str
    input: InputValue = None
    thought: str = ""


@dataclass(frozen=True, slots=True)
class Act:
    """The reply calls tools."""

    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Final:
    """The reply is the answer. `unrun`: actions that stood beside it."""

    answer: str
    thought: str = ""
    unrun: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class NoAction:
    """The reply thinks, and neither acts nor answers."""

    thought: str = ""


@dataclass(frozen=True, slots=True)
class Direct:
    """The reply ignores the format altogether."""

    text: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """Nothing can be made of the reply."""

    why: Literal["empty", "both"]
    thought: str = ""


ParsedReply: TypeAlias = Act | Final | NoAction | Direct | Malformed

ACTION_KEYS = ("action", "tool", "tool_name")
INPUT_KEYS = ("action_input", "actionInput", "input", "arguments", "args", "parameters")
ANSWER_KEYS = ("final_answer", "finalAnswer", "answer")
_INPUT_IN_NAME = ("arguments", "args", "input", "parameters")


KNOWN_KEYS = {"thought", "actions", *ACTION_KEYS, *INPUT_KEYS, *ANSWER_KEYS}


def reply_of_json(value: Mapping[str, Any], tools: ToolNames) -> ParsedReply | None:
    """A reply that is a JSON object; None when it has none of the keys."""
    thought = value.get("thought")
    thought = thought.strip() if isinstance(thought, str) else ""
    answer = _first(value, ANSWER_KEYS)
    steps = value.get("actions")
    entries = cast("list[object]", steps) if isinstance(steps, list) else [value]
    actions: list[Action] = []
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        name, given = _named_action(cast("dict[str, Any]", entry))
        if name is not None and is_finish(name):
            return Final(as_text(answer if given in (None, "") else given), thought)
        found = None if name is None else read_action(name, tools, has_input=True)
        if found is not None:
            actions.append(Action(found.name, _input(given, found.name, tools), "" if actions else thought))
    if answer is not None:
        return Final(as_text(answer), thought, tuple(actions))
    if actions:
        return Act(tuple(actions))
    return NoAction(thought) if "thought" in value and not set(value) - KNOWN_KEYS else None


def _named_action(entry: Mapping[str, Any]) -> tuple[str | None, object]:
    action: object = _first(entry, ACTION_KEYS)
    given: object = _first(entry, INPUT_KEYS)
    if isinstance(action, dict):
        named = cast("dict[str, Any]", action)
        action, given = named.get("name"), _first(named, _INPUT_IN_NAME)
    return (action if isinstance(action, str) else None), given


def _input(given: object, name: str, tools: ToolNames) -> InputValue:
    if isinstance(given, str):
        return read_input(given, tools.find(name))
    return cast("InputValue", given) if isinstance(given, dict | list) else None if given is None else str(given)


def _first(value: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((value[key] for key in keys if value.get(key) not in (None, "")), None)


def as_text(value: object) -> str:
    """An answer that came as JSON, for people."""
    if isinstance(value, str):
        return value.strip()
    return "" if value is None else json.dumps(value, ensure_ascii=False, indent=2)
