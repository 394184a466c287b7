"""A tool's schema as every model API takes it: references put in place, recursion cut, nothing without a type. Pure.

What one provider alone cannot take is left to its own adapter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import unquote

from reactagent_tui.core.errors import ReactAgentError

MAX_CHARS = 100_000
"""JSON characters of a schema; a larger one costs more than its tool is worth."""
_MAX_NODES = 3_000
_MAX_DEPTH = 24
_DROPPED = frozenset({"$schema", "$id", "$defs", "definitions", "$comment", "$anchor", "title", "examples"})
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")

Schema = dict[str, Any]


class SchemaError(ReactAgentError):
    """The schema cannot be sent; the text says why."""


def cleaned(schema: object) -> Schema:
    """The parameters of a tool as a self-contained object schema. Raises SchemaError."""
    if schema is None or schema is True or schema == {}:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        raise SchemaError(f"its parameters are no JSON schema but {json.dumps(schema, default=str)[:60]}")
    root = cast("Schema", schema)
    _check_size(root)
    found = _Cleaner(root).clean(root, (), 0)
    found = _one_object(found)
    if found.get("type") != "object":
        raise SchemaError(f"its parameters are of type {found.get('type')!r}, not an object")
    found.setdefault("properties", {})
    _check_size(found)
    return found


def _check_size(schema: Schema) -> None:
    try:
        size = len(json.dumps(schema, ensure_ascii=False))
    except (RecursionError, ValueError, TypeError) as error:
        raise SchemaError(f"its schema cannot be written: {error}") from error
    if size > MAX_CHARS:
        raise SchemaError(f"its schema has {size:,} characters, more than {MAX_CHARS:,}")


class _Cleaner:
    """One schema on its way; counts nodes, because references can multiply them without end."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._nodes = 0

    def clean(self, node: object, refs: tuple[str, ...], depth: int) -> Schema:
        """`refs`: the references that are being put in place around this node."""
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise SchemaError(f"its schema unfolds to more than {_MAX_NODES:,} parts")
        if not isinstance(node, dict):
            return {"type": "string"}  # `true`: anything goes
        fields = cast("Schema", node)
        if depth > _MAX_DEPTH:
            return _cut(fields)
        if "$ref" in fields:
            return self._referred(fields, refs, depth)
        kinds = fields.get("type")
        if isinstance(kinds, list):
            return self.clean(_as_union(fields, cast("list[Any]", kinds)), refs, depth + 1)
        return self._plain(fields, refs, depth)

    def _referred(self, fields: Schema, refs: tuple[str, ...], depth: int) -> Schema:
        reference = str(fields["$ref"])
        rest = {key: value for key, value in fields.items() if key != "$ref"}
        target = self._target(reference)
        if reference in refs or target is None:
            told = str(rest.get("description") or "the same again" if reference in refs else "any value")
            return _cut(cast("Schema", target) if isinstance(target, dict) else {}) | {"description": told}
        merged: Schema = {**target, **rest} if isinstance(target, dict) else rest
        return self.clean(merged, (*refs, reference), depth + 1)

    def _target(self, reference: str) -> object:
        """What a reference inside this schema points to; None when it leads nowhere or to another document."""
        if not reference.startswith("#"):
            return None
        found = cast("object", self._root)
        for piece in unquote(reference[1:]).split("/")[1:]:
            key = piece.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict):
                found = cast("Schema", found).get(key)
            elif isinstance(found, list) and key.isdigit() and int(key) < len(cast("list[Any]", found)):
                found = cast("list[Any]", found)[int(key)]
            else:
                return None
        return found

    def _plain(self, fields: Schema, refs: tuple[str, ...], depth: int) -> Schema:
        out: Schema = {}
        for key, value in fields.items():
            if key in _DROPPED and not (key == "title" and not isinstance(value, str)):
                continue
            if key == "const":
                out["enum"] = [value]
            elif key in _LISTS and isinstance(value, list):
                out[key] = [self.clean(one, refs, depth + 1) for one in cast("list[Any]", value)]
            elif key == "properties" and isinstance(value, dict):
                listed = cast("Schema", value).items()
                out[key] = {str(name): self.clean(one, refs, depth + 1) for name, one in listed}
            elif key == "items":
                out[key] = self.clean(_one_item(value), refs, depth + 1)
            elif key == "additionalProperties" and isinstance(value, dict):
                out[key] = self.clean(cast("object", value), refs, depth + 1) if value else True
            else:
                out[key] = value
        if not any(out.get(key) for key in ("anyOf", "oneOf", "allOf")):
            out["type"] = _type_of(out)
        if out.get("type") == "array":
            out.setdefault("items", {"type": "string"})
        if isinstance(required := out.get("required"), list) and "properties" in out:
            known = cast("Schema", out["properties"])
            out["required"] = [name for name in cast("list[Any]", required) if name in known]
        return out


def _cut(fields: Schema) -> Schema:
    """The type alone, where a schema goes no further; an array without items is one that providers refuse."""
    kind = _type_of(fields)
    return {"type": kind, "items": {"type": "string"}} if kind == "array" else {"type": kind}


def _one_item(value: object) -> object:
    """`items` as a list is the old form of `prefixItems`: the first stands for all."""
    if isinstance(value, list):
        return cast("list[Any]", value)[0] if value else True
    return value


def _as_union(fields: Schema, kinds: Sequence[Any]) -> Schema:
    known = [kind for kind in kinds if kind in _TYPES]
    if len(known) <= 1:
        return {**fields, "type": known[0] if known else "string"}
    told = {key: fields[key] for key in ("description", "default") if key in fields}
    own = {key: value for key, value in fields.items() if key not in ("type", "description", "default")}
    null = [{"type": "null"}] if "null" in known else []
    options = [{**own, "type": kind} for kind in known if kind != "null"]
    for option in options:
        if isinstance(values := option.get("enum"), list):
            option["enum"] = [value for value in cast("list[Any]", values) if value is not None]
    return {**told, "anyOf": [*options, *null]}


def _type_of(fields: Mapping[str, Any]) -> str:
    kind = fields.get("type")
    if isinstance(kind, str) and kind in _TYPES:
        return kind
    if "properties" in fields or "additionalProperties" in fields:
        return "object"
    if "items" in fields or "prefixItems" in fields:
        return "array"
    values = fields.get("enum")
    if isinstance(values, list) and values:
        return _type_of_value(cast("list[Any]", values)[0])
    if any(key in fields for key in ("minimum", "maximum", "exclusiveMinimum", "multipleOf")):
        return "number"
    return "string"


def _type_of_value(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case dict():
            return "object"
        case list():
            return "array"
        case None:
            return "null"
        case _:
            return "string"


def _one_object(schema: Schema) -> Schema:
    """A union at the top as one object that has the properties of all; only what all require is required."""
    options: list[Schema] = []
    for key in ("anyOf", "oneOf", "allOf"):
        options += [option for option in schema.get(key, ()) if option.get("type") == "object"]
    if not options:
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf", "allOf")}
    properties: Schema = {}
    for option in (*options, schema):
        properties |= option.get("properties") or {}
    required = set(schema.get("required") or ())
    if "allOf" in schema:
        required |= {name for option in options for name in option.get("required") or ()}
    else:
        required |= {name for name in properties if all(name in (option.get("required") or ()) for option in options)}
    merged: Schema = {**rest, "type": "object", "properties": properties}
    if required:
        merged["required"] = sorted(required & properties.keys())
    return merged
