"""Tool arguments: from a pydantic model to the JSON schema a model reads, and from what it sent to checked values.

Forgiving where the meaning is plain (numbers as text, usual synonyms of a name), exact where it is not.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from reactagent_tui.core.errors import ReactAgentError
from reactagent_tui.core.llm.base import JsonSchema

_TYPO = 0.8
"""Similarity from which an unknown argument is taken for a misspelt one."""
_SHOWN = 60


class ArgumentError(ReactAgentError):
    """The arguments do not fit; the text is written for the model."""


class ToolArgs(BaseModel):
    """Base of every built-in tool's arguments."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True, frozen=True)

    synonyms: ClassVar[Mapping[str, str]] = {}
    """Other names that models use -> field name."""


ArgsT = TypeVar("ArgsT", bound=ToolArgs)


def json_schema(model: type[BaseModel]) -> JsonSchema:
    """A self-contained schema: no titles, no references, no unknown keys, fields in the order of declaration."""
    raw = model.model_json_schema(by_alias=False)
    definitions = cast("dict[str, Any]", raw.pop("$defs", {}))
    cleaned = _clean(raw, definitions)
    cleaned.pop("description", None)
    cleaned.setdefault("properties", {})
    return cleaned


def _clean(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """One schema object, references put in place and `X or null` reduced to X."""
    if "$ref" in node:
        target = definitions[str(node["$ref"]).rsplit("/", 1)[-1]]
        rest = {key: value for key, value in node.items() if key != "$ref"}
        inlined = {key: value for key, value in target.items() if key != "description"} | rest
        return _clean(inlined, definitions)
    options = [option for option in node.get("anyOf", ()) if option != {"type": "null"}]
    if "anyOf" in node and len(options) == 1:
        rest = {key: value for key, value in node.items() if key != "anyOf"}
        return _clean({**options[0], **rest}, definitions)
    cleaned: dict[str, Any] = {}
    for key, value in node.items():
        if key == "title" or (key == "default" and value is None):
            continue
        if key == "properties":
            cleaned[key] = {name: _clean(sub, definitions) for name, sub in value.items()}
        elif key == "items":
            cleaned[key] = _clean(value, definitions)
        elif key == "anyOf":
            cleaned[key] = [_clean(option, definitions) for option in options]
        else:
            cleaned[key] = value
    if cleaned.get("type") == "object" and "properties" in cleaned:
        cleaned["additionalProperties"] = False
    return cleaned


def parse_args(model: type[ArgsT], tool: str, args: Mapping[str, Any]) -> ArgsT:
    """The checked arguments. Raises ArgumentError naming each field, what is wrong and what is expected."""
    named, unknown = _named(model, args)
    problems = _misspelt(model, unknown)
    try:
        parsed = model.model_validate(named)
    except ValidationError as error:
        problems = [_problem(model, detail) for detail in error.errors(include_url=False)] + problems
        raise ArgumentError(_complaint(model, tool, problems)) from error
    if problems:
        raise ArgumentError(_complaint(model, tool, problems))
    return parsed


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).replace("-", "_").strip().lower()


def _named(model: type[ToolArgs], args: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Arguments under their field names, and the names that no field has. Exact names win over synonyms."""
    fields = model.model_fields
    named = {name: value for name, value in args.items() if name in fields}
    unknown: list[str] = []
    for name, value in args.items():
        if name in fields:
            continue
        snake = _snake(name)
        field = snake if snake in fields else model.synonyms.get(snake)
        if field is None:
            unknown.append(name)
        else:
            named.setdefault(field, value)
    for name, value in list(named.items()):
        if value is None and not fields[name].is_required():
            del named[name]
        elif isinstance(value, str) and _wants_array(fields[name]):
            named[name] = _array_in(value)
    return named, unknown


def _wants_array(field: FieldInfo) -> bool:
    return re.match(r"(typing\.)?(list|tuple|Sequence)\b", _type_text(field.annotation)) is not None


def _type_text(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) and "[" not in str(annotation) else str(annotation)


def _array_in(text: str) -> Any:
    """A list that arrived as JSON text; anything else stays, for the validator to complain about."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return cast("Any", value) if isinstance(value, list) else text


def _misspelt(model: type[ToolArgs], unknown: Sequence[str]) -> list[str]:
    """Complaints about names that look like a typo; other extra names are harmless and ignored."""
    problems: list[str] = []
    for name in unknown:
        near = difflib.get_close_matches(_snake(name), list(model.model_fields), n=1, cutoff=_TYPO)
        if near:
            problems.append(f"`{name}`: no such argument; did you mean `{near[0]}`?")
    return problems


def _problem(model: type[ToolArgs], detail: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in detail["loc"]) or "arguments"
    if detail["type"] == "missing":
        return f"`{place}` is missing"
    message = str(detail["msg"]).removeprefix("Input should be ").removeprefix("Value error, ")
    message = message.split(", unable to")[0]
    shown = json.dumps(detail.get("input"), ensure_ascii=False, default=str)
    if len(shown) > _SHOWN:
        shown = shown[:_SHOWN] + "…"
    return f"`{place}`: expected {message}, got {shown}"


def _complaint(model: type[ToolArgs], tool: str, problems: Sequence[str]) -> str:
    properties = cast("dict[str, dict[str, Any]]", json_schema(model)["properties"])
    expected = ", ".join(
        f"{name}: {_kind(properties[name])}{'' if field.is_required() else ' (optional)'}"
        for name, field in model.model_fields.items()
    )
    wrong = "\n".join(f"- {problem}" for problem in problems)
    return f"Invalid arguments for {tool}, nothing was done:\n{wrong}\nExpected: {expected or 'no arguments'}."


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"array of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "value"))
