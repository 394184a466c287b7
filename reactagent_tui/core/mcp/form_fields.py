"""The fields of a form that a server wants filled in: what each takes, and what was typed as its value. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from reactagent_tui.core.display import clean, clean_line
from reactagent_tui.core.errors import ReactAgentError

Value = str | int | float | bool | list[str] | None
Kind = Literal["string", "integer", "number", "boolean", "array"]
FORMATS = ("email", "uri", "date", "date-time")
_KINDS = ("string", "integer", "number", "boolean", "array")
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+")
_WORDS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "yes", "y", "1", "on", "是"), True),
    **dict.fromkeys(("false", "no", "n", "0", "off", "否"), False),
}
_LONGEST = 2_000
_PLAIN = (str, int, float, bool)
"""What a value that can be chosen may be."""


class FieldError(ReactAgentError):
    """The text is no value of the field; the message is a locale key that says why."""


@dataclass(frozen=True, slots=True)
class FormField:
    """One field."""

    name: str
    title: str
    description: str
    kind: Kind
    is_required: bool
    choices: tuple[tuple[str, Value], ...] = ()
    """(what is shown, the value): nothing else is taken."""
    default: Value = None
    format: str = ""
    least: float | None = None
    """Of a number; of a text and a list how long it is."""
    most: float | None = None

    @property
    def limits(self) -> str:
        """`1–10`, `≥ 1`, `≤ 10`."""
        if self.least is None:
            return "" if self.most is None else f"≤ {self.most:g}"
        return f"≥ {self.least:g}" if self.most is None else f"{self.least:g}–{self.most:g}"


def read_fields(schema: Mapping[str, Any]) -> tuple[FormField, ...]:
    """The fields in their order; what is no field is left out."""
    listed = schema.get("properties")
    required = schema.get("required")
    names = [str(name) for name in cast("list[Any]", required)] if isinstance(required, list) else []
    found = cast("dict[str, Any]", listed).items() if isinstance(listed, dict) else ()
    return tuple(
        _field(str(name), cast("Mapping[str, Any]", field), str(name) in names)
        for name, field in found
        if isinstance(field, dict)
    )


def _field(name: str, given: Mapping[str, Any], is_required: bool) -> FormField:
    kind = cast("Kind", given.get("type") if given.get("type") in _KINDS else "string")
    choices = _array_choices(given) if kind == "array" else _choices(given)
    low, high = {"string": ("minLength", "maxLength"), "array": ("minItems", "maxItems")}.get(
        kind, ("minimum", "maximum")
    )
    default = given.get("default")
    return FormField(
        name=name,
        title=clean_line(str(given.get("title") or name))[:_LONGEST],
        description=clean(str(given.get("description") or ""))[:_LONGEST],
        kind=kind,
        is_required=is_required,
        choices=choices,
        default=cast("Value", default) if isinstance(default, str | int | float | bool | list) else None,
        format=str(given.get("format") or "") if kind == "string" else "",
        least=_number(given.get(low)),
        most=_number(given.get(high)),
    )


def read_value(field: FormField, text: str) -> Value:
    """What was typed as a value of the field. Raises FieldError."""
    text = text.strip()
    match field.kind:
        case "boolean":
            if text.casefold() not in _WORDS:
                raise FieldError("mcp.wrong.boolean")
            return _WORDS[text.casefold()]
        case "integer" | "number":
            return _read_number(field, text)
        case "array":
            return _read_list(field, text)
        case "string" if field.choices:
            return _chosen(field, text)
        case "string":
            _check_length(field, len(text), "mcp.wrong.length")
            if not _fits(field.format, text):
                raise FieldError(f"mcp.wrong.{field.format}")
            return text


def _read_number(field: FormField, text: str) -> int | float:
    try:
        value = int(text) if field.kind == "integer" else float(text)
    except ValueError as error:
        raise FieldError(f"mcp.wrong.{field.kind}") from error
    if not math.isfinite(value):
        raise FieldError("mcp.wrong.number")
    _check_length(field, value, "mcp.wrong.range")
    return value


def _read_list(field: FormField, text: str) -> list[str]:
    try:
        found: object = json.loads(text) if text.startswith("[") else [one.strip() for one in re.split("[,，、]", text)]
    except ValueError as error:
        raise FieldError("mcp.wrong.array") from error
    words = [str(one) for one in cast("list[Any]", found) if str(one)]
    _check_length(field, len(words), "mcp.wrong.items")
    return [str(_chosen(field, word)) for word in words] if field.choices else words


def _chosen(field: FormField, text: str) -> Value:
    for label, value in field.choices:
        plain = value[0] if isinstance(value, list) else value
        if text.casefold() in (label.casefold(), str(plain).casefold()):
            return plain
    raise FieldError("mcp.wrong.choice")


def _check_length(field: FormField, size: float, key: str) -> None:
    if (field.least is not None and size < field.least) or (field.most is not None and size > field.most):
        raise FieldError(key)


def _fits(form: str, text: str) -> bool:
    """A format that is not known is not checked: the server does."""
    try:
        match form:
            case "email":
                return _EMAIL.fullmatch(text) is not None
            case "uri":
                parts = urlsplit(text)
                return bool(parts.scheme and (parts.netloc or parts.path)) and not re.search(r"\s", text)
            case "date":
                return date.fromisoformat(text).isoformat() == text
            case "date-time":
                datetime.fromisoformat(text)
                return "T" in text.upper()
            case _:
                return True
    except ValueError:
        return False


def _choices(given: Mapping[str, Any]) -> tuple[tuple[str, Value], ...]:
    titled = given.get("oneOf") or given.get("anyOf")
    if isinstance(titled, list):
        entries = [cast("dict[str, Any]", one) for one in cast("list[Any]", titled) if isinstance(one, dict)]
        found = [(one.get("title") or one.get("const"), one.get("const")) for one in entries]
        return tuple((_label(label), value) for label, value in found if isinstance(value, _PLAIN))
    values = given.get("enum")
    if not isinstance(values, list):
        return ()
    names: object = given.get("enumNames")
    labels = cast("list[Any]", names) if isinstance(names, list) else cast("list[Any]", values)
    pairs = zip(labels, cast("list[Any]", values), strict=False)
    return tuple((_label(label), value) for label, value in pairs if isinstance(value, _PLAIN))


def _array_choices(given: Mapping[str, Any]) -> tuple[tuple[str, Value], ...]:
    inner = given.get("items")
    listed = _choices(cast("dict[str, Any]", inner)) if isinstance(inner, dict) else ()
    return tuple((label, [str(value)]) for label, value in listed)


def _label(value: object) -> str:
    return clean_line(str(value))[:200]


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
