"""A form that a server wants filled in, as questions one after the other; and a page it wants the user to visit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from reactagent_tui.core.display import clean, clean_line
from reactagent_tui.core.mcp.form_fields import FORMATS, FieldError, FormField, Value, read_fields, read_value
from reactagent_tui.core.reporter import Answer, ChoiceQuestion, Question

Ask = Callable[[Question], Awaitable[Answer]]
Action = Literal["accept", "decline", "cancel"]
TITLE = "mcp.asks"
_SHOWN = 2_000
_AGAIN = 100
"""Characters of the message from the second field on."""
_LISTED = 300
"""Characters of the values that have no digit."""
_MOST_OPTIONS = 7
"""Values with a digit of their own; two digits are for leaving the field empty and for declining."""
_TRIES = 20
_YES_NO = ("mcp.yes", "mcp.no")


async def fill_in(ask: Ask, server: str, message: str, schema: Mapping[str, Any]) -> tuple[Action, dict[str, Value]]:
    """Every field in turn; a form without fields is a question for consent."""
    fields = read_fields(schema)
    if not fields:
        return await _confirmed(ask, "mcp.confirm", server=server, message=clean(message)[:_SHOWN]), {}
    values: dict[str, Value] = {}
    said = clean(message)[:_SHOWN]
    for number, field in enumerate(fields, 1):
        params = {"server": clean_line(server), "message": said, "place": f"{number}/{len(fields)}"}
        value = await _field(ask, field, params)
        if isinstance(value, tuple):
            values[field.name] = value[0]
            said = clean_line(message)[:_AGAIN]
        elif value != "skip":
            return value, {}
    return "accept", values


async def visit(ask: Ask, server: str, message: str, url: str) -> Action:
    """Tell the user the address, and its host apart; nothing is opened by itself. Only web pages are told of."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "decline"
    if parts.scheme not in ("http", "https") or not host:
        return "decline"
    shown = clean_line(url)[:_SHOWN]
    said = clean(message)[:_SHOWN]
    return await _confirmed(ask, "mcp.visit", server=clean_line(server), message=said, url=shown, host=clean_line(host))


async def _confirmed(ask: Ask, key: str, **params: str) -> Action:
    answer = await ask(ChoiceQuestion(key, ("mcp.accept", "mcp.decline"), params=params, title=TITLE))
    if answer.verdict == "choice" and answer.choice == 0:
        return "accept"
    return "decline" if answer.verdict in ("choice", "deny") else "cancel"


async def _field(
    ask: Ask, field: FormField, params: Mapping[str, Any]
) -> Literal["decline", "cancel", "skip"] | tuple[Value]:
    """The value of one field in a tuple. Asked again when what was typed does not fit."""
    offered = _offered(field)
    leave = () if field.is_required else ("mcp.leave_empty",)
    options = (*(label for label, _ in offered), *leave, "mcp.decline")
    told = {**params, **_told(field, offered)}
    key = "mcp.field"
    for _ in range(_TRIES):
        literal = 0 if field.kind == "boolean" else len(offered)
        numeric = field.kind in ("integer", "number") and not field.choices
        question = ChoiceQuestion(
            key, options, params=told, title=TITLE, commented=True, literal=literal, numeric=numeric
        )
        answer = await ask(question)
        own = answer.comment.strip()
        if answer.verdict in ("deny", "stop"):
            return "decline" if answer.verdict == "deny" else "cancel"
        chosen = answer.choice if answer.verdict == "choice" else None
        if chosen is not None and chosen < len(offered):
            return (offered[chosen][1],)
        if chosen is not None:
            return "skip" if leave and chosen == len(offered) else "decline"
        if own:
            try:
                return (read_value(field, own),)
            except FieldError as error:
                wrong = {"typed": clean_line(own)[:100], "wrong": (str(error),)}
                told = {**told, "message": clean_line(params["message"])[:_AGAIN], **wrong}
                key = "mcp.field_again"
    return "cancel"


def _offered(field: FormField) -> list[tuple[str, Value]]:
    """(what is shown, the value) of what can be chosen by a digit, the default first."""
    if field.kind == "boolean":
        pairs: list[tuple[str, Value]] = [(_YES_NO[0], True), (_YES_NO[1], False)]
    elif field.choices:
        pairs = list(field.choices)
    elif field.default is not None:
        default = field.default
        pairs = [(clean_line(", ".join(default) if isinstance(default, list) else str(default)), default)]
    else:
        pairs = []
    pairs.sort(key=lambda pair: pair[1] != field.default)
    return pairs[:_MOST_OPTIONS]


def _told(field: FormField, offered: list[tuple[str, Value]]) -> dict[str, Any]:
    """What the question says of the field."""
    kind = field.kind
    if kind == "string":
        kind = field.format if field.format in FORMATS else "length" if field.limits else "text"
    need = "mcp.required" if field.is_required else "mcp.optional"
    facts = (f"mcp.kind.{'choice' if field.choices and kind != 'array' else kind}", need)
    more = f"\n{field.description}" if field.description else ""
    shown = {label for label, _ in offered}
    if others := ", ".join(label for label, _ in field.choices if label not in shown):
        more += "\n… " + (others if len(others) <= _LISTED else f"{others[:_LISTED]}…")
    limits = f" · {field.limits}" if field.limits else ""
    return {"field": field.title, "more": more, "facts": facts, "limits": limits}
