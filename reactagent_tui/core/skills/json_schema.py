"""Is a JSON Schema of a skill fit to be sent to any model API? A quick look at its shape, without a validator."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_PROPERTY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_MAPS = ("properties", "$defs", "definitions")
_LISTS = ("anyOf", "oneOf", "allOf")
_SINGLE = ("items", "additionalProperties", "not")


def is_plain_schema(schema: Mapping[str, Any]) -> bool:
    """One broken schema makes a server refuse every request, so what is odd is not offered at all."""
    try:
        json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError):
        return False  # YAML knows dates, sets and keys that are no text
    return _is_node(schema)


def _is_node(node: object) -> bool:
    if isinstance(node, bool):
        return True
    if not isinstance(node, dict):
        return False
    if not _are_texts(list(cast("dict[object, Any]", node))):
        return False
    schema = cast("dict[str, Any]", node)
    return _keywords_fit(schema) and _below_fits(schema)


def _keywords_fit(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type", [])
    if not _are_texts([kinds] if isinstance(kinds, str) else kinds, _TYPES):
        return False
    if not _are_texts(schema.get("required", [])):
        return False
    if not isinstance(schema.get("enum", []), list) or not isinstance(schema.get("description", ""), str):
        return False
    properties: Any = schema.get("properties", {})
    if not isinstance(properties, dict) or not _are_texts(list(cast("dict[object, Any]", properties))):
        return False
    if not all(map(_PROPERTY.fullmatch, cast("dict[str, Any]", properties))):
        return False
    return str(schema.get("$ref", "#")).startswith("#")  # nothing is fetched


def _are_texts(values: object, allowed: frozenset[str] | None = None) -> bool:
    if not isinstance(values, list):
        return False
    items = cast("list[object]", values)
    return all(isinstance(item, str) and (allowed is None or item in allowed) for item in items)


def _below_fits(schema: Mapping[str, Any]) -> bool:
    below: list[object] = [schema[key] for key in _SINGLE if key in schema]
    for key in _MAPS:
        values: Any = schema.get(key, {})
        if not isinstance(values, dict):
            return False
        below += cast("dict[str, object]", values).values()
    for key in _LISTS:
        options: Any = schema.get(key, [])
        if not isinstance(options, list):
            return False
        below += cast("list[object]", options)
    return all(map(_is_node, below))
