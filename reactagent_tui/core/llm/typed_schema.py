"""A tool's JSON schema in which every property has a type, for servers that refuse one without. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

Schema = dict[str, Any]

_ELSEWHERE = frozenset({"$ref", "anyOf", "oneOf", "allOf"})
"""With one of these the type stands in what it leads to."""
_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)


def typed_parameters(parameters: Mapping[str, Any]) -> Schema:
    """A copy of a function's parameters in which what has no type gets the one that its other keys suggest."""
    return _with_types({"type": "object", **parameters})


def _with_types(schema: Mapping[str, Any]) -> Schema:
    typed = {key: _inside(key, value) for key, value in schema.items()}
    if "type" not in typed and not _ELSEWHERE & typed.keys():
        typed["type"] = _suggested(typed)
    return typed


def _inside(key: str, value: object) -> object:
    match key:
        case "properties" | "$defs" | "definitions" | "patternProperties" if isinstance(value, dict):
            return {name: _typed(each) for name, each in cast("Schema", value).items()}
        case "anyOf" | "oneOf" | "allOf" | "prefixItems" if isinstance(value, list):
            return [_typed(each) for each in cast("list[object]", value)]
        case "items" | "additionalProperties":
            return _typed(value)
        case _:
            return value


def _typed(value: object) -> object:
    return _with_types(cast("Schema", value)) if isinstance(value, dict) else value


def _suggested(schema: Schema) -> str:
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    values = list(cast("list[object]", schema["enum"])) if isinstance(schema.get("enum"), list) else []
    values += [schema[key] for key in ("const", "default") if key in schema]
    return next((name for kind, name in _TYPES for value in values if isinstance(value, kind)), "string")
