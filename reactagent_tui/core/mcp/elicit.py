"""A form that a server wants filled in, as questions one after the other; and a page it wants the user to visit."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, cast

from reactagent_tui.core.display import clean
from reactagent_tui.core.reporter import Answer, ChoiceQuestion, Question

Ask = Callable[[Question], Awaitable[Answer]]
Action = Literal["accept", "decline", "cancel"]
Value = str | int | float | bool | list[str] | None
_SHOWN = 2_000
_MOST_OPTIONS = 8
_TRIES = 3
_SKIP = object()


async def fill_in(ask: Ask, server: str, message: str, schema: Mapping[str, Any]) -> tuple[Action, dict[str, Value]]:
    """Every field in turn; a form without fields is a question for consent."""
    fields = _fields(schema)
    required = _names(schema.get("required"))
    if not fields:
        return await _confirmed(ask, "mcp.confirm", server=server, message=clean(message)[:_SHOWN]), {}
    head = f"{server}: {clean(message)[:_SHOWN]}"
    values: dict[str, Value] = {}
    for name, field in fields.items():
        value = await _field(ask, head, name, field, is_required=name in required)
        if isinstance(value, tuple):
            values[name] = value[0]
        elif value != "skip":
            return value, {}
    return "accept", values


async def visit(ask: Ask, server: str, message: str, url: str) -> Action:
    """Tell the user the address; nothing is opened by itself."""
    return await _confirmed(ask, "mcp.visit", server=server, message=clean(message)[:_SHOWN], url=clean(url)[:_SHOWN])


async def _confirmed(ask: Ask, key: str, **params: str) -> Action:
    answer = await ask(ChoiceQuestion(key, ("mcp.accept", "mcp.decline"), params=params))
    if answer.verdict == "choice" and answer.choice == 0:
        return "accept"
    return "decline" if answer.verdict == "choice" else "cancel"


async def _field(
    ask: Ask, head: str, name: str, field: Mapping[str, Any], *, is_required: bool
) -> Literal["decline", "cancel", "skip"] | tuple[Value]:
    """The value of one field in a tuple. Asked again when what was typed does not fit."""
    options = _options(field)
    shown = [label for label, _ in options][:_MOST_OPTIONS]
    told = clean(str(field.get("title") or name))
    more = f" ({clean(str(field['description']))})" if field.get("description") else ""
    kind = "" if options else f" [{field.get('type', 'string')}]"
    default = field.get("default")
    if default is not None and not options:
        shown.append(str(default))
    leave = [] if is_required else ["—"]
    complaint = ""
    for _ in range(_TRIES):
        question = ChoiceQuestion("dock.question", (*shown, *leave), text=f"{head}\n\n{told}{more}{kind}{complaint}")
        answer = await ask(question)
        own = answer.comment.strip()
        if answer.verdict in ("deny", "stop"):
            return "decline" if answer.verdict == "deny" else "cancel"
        chosen = answer.choice if answer.verdict == "choice" else None
        if chosen is not None and chosen < len(shown):
            return (options[chosen][1] if options else cast("Value", default),)
        if chosen is not None and leave and chosen == len(shown):
            return "skip"
        value = _typed(own, field, options)
        if value is not _SKIP and own:
            return (cast("Value", value),)
        complaint = f"\n! {own!r}" if own else ""
    return "cancel"


def _names(value: object) -> frozenset[str]:
    return frozenset(map(str, cast("list[Any]", value))) if isinstance(value, list) else frozenset()


def _fields(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    listed = schema.get("properties")
    if not isinstance(listed, dict):
        return {}
    found = cast("dict[str, Any]", listed).items()
    return {name: cast("Mapping[str, Any]", field) for name, field in found if isinstance(field, dict)}


def _options(field: Mapping[str, Any]) -> list[tuple[str, Value]]:
    """(what is shown, the value) of a field with a list of values."""
    if field.get("type") == "boolean":
        return [("true", True), ("false", False)]
    if field.get("type") == "array":
        inner = field.get("items")
        listed = _options({**cast("dict[str, Any]", inner), "type": "string"}) if isinstance(inner, dict) else []
        return [(label, [str(value)]) for label, value in listed]
    titled = field.get("oneOf") or field.get("anyOf")
    if isinstance(titled, list):
        entries = [cast("dict[str, Any]", one) for one in cast("list[Any]", titled) if isinstance(one, dict)]
        return [(clean(str(one.get("title") or one.get("const"))), one.get("const")) for one in entries]
    values = field.get("enum")
    if not isinstance(values, list):
        return []
    names: object = field.get("enumNames")
    labels = cast("list[Any]", names) if isinstance(names, list) else cast("list[Any]", values)
    return [(clean(str(label)), value) for label, value in zip(labels, cast("list[Any]", values), strict=False)]


def _typed(text: str, field: Mapping[str, Any], options: list[tuple[str, Value]]) -> object:
    """What the user wrote as the field's type; `_SKIP` when it is none."""
    if options:
        by_label = {label.casefold(): value for label, value in options}
        return by_label.get(text.casefold(), _SKIP)
    try:
        match field.get("type"):
            case "integer":
                return int(text)
            case "number":
                return float(text)
            case "array":
                found: object = json.loads(text) if text.startswith("[") else [one.strip() for one in text.split(",")]
                return cast("object", found) if isinstance(found, list) else _SKIP
            case _:
                least, most = field.get("minLength"), field.get("maxLength")
                fits = (not isinstance(least, int) or len(text) >= least) and (
                    not isinstance(most, int) or len(text) <= most
                )
                return text if fits else _SKIP
    except ValueError:
        return _SKIP
