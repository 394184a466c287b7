"""A tool's schema as every model API takes it: references put in place, recursion cut, nothing without a type. Pure.

What one provider alone cannot take is left to its own adapter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from reactagent_tui.core.llm.schema_refs import (
    MAX_DEPTH,
    Schema,
    SchemaError,
    check_nodes,
    check_size,
    referred,
    root_of,
)

_DROPPED = frozenset({"$schema", "$id", "$defs", "definitions", "$comment", "$anchor", "title", "examples"})
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")


def cleaned(schema: object) -> Schema:
    """The parameters of a tool as a self-contained object schema. Raises SchemaError."""
    root = root_of(schema)
    if root is None:
        return {"type": "object", "properties": {}}
    check_size(root)
    found = _Cleaner(root).clean(root, (), 0)
    found = _one_object(found)
    if found.get("type") != "object":
        raise SchemaError(f"its parameters are of type {found.get('type')!r}, not an object")
    found.setdefault("properties", {})
    check_size(found)
    return found


class _Cleaner:
    """One schema on its way; counts nodes, because references can multiply them without end."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._nodes = 0

    def clean(self, node: object, refs: tuple[str, ...], depth: int) -> Schema:
        """`refs`: the references that are being put in place around this node."""
        self._nodes += 1
        check_nodes(self._nodes)
        if not isinstance(node, dict):
            return {"type": "string"}  # `true`: anything goes
        fields = cast("Schema", node)
        if depth > MAX_DEPTH:
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
        target = referred(self._root, reference)
        if reference in refs or target is None:
            told = str(rest.get("description") or "the same again" if reference in refs else "any value")
            return _cut(cast("Schema", target) if isinstance(target, dict) else {}) | {"description": told}
        merged: Schema = {**target, **rest} if isinstance(target, dict) else rest
        return self.clean(merged, (*refs, reference), depth + 1)

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
