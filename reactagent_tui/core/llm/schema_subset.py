"""A JSON schema reduced to what the strictest model APIs take: the OpenAPI subset of Gemini's `parameters`. Pure.

References are put in place, recursion is cut, unions with null become `nullable`, every node has a type and every
array its items. A limit that the subset cannot say is said in the description: the arguments are checked against
the original schema all the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
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

_TYPES = ("string", "integer", "number", "boolean", "array", "object")
_SHAPES = frozenset({"type", "$ref", "enum", "const", "properties", "items", "prefixItems", "anyOf", "oneOf", "allOf"})
"""Keys that say what a value is; a schema without any of them only adds a condition."""
_UNION_KEYS = frozenset({"anyOf", "oneOf", "allOf"})
_KEPT: Mapping[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
    "object": (),
    "boolean": (),
}
_FORMATS: Mapping[str, frozenset[str]] = {
    "string": frozenset({"date-time"}),
    "integer": frozenset({"int32", "int64"}),
    "number": frozenset({"float", "double"}),
}


def parameters_subset(schema: object) -> Schema | None:
    """The parameters of a function in the subset, None when it takes none. Raises SchemaError."""
    root = root_of(schema)
    if root is None:
        return None
    reduced = _Reducer(root).reduce(root, (), 0)
    if "anyOf" in reduced:
        reduced = _one_object(reduced["anyOf"])
    if reduced.get("type") != "object":
        raise SchemaError(f"its parameters are of type {reduced.get('type')!r}, not an object")
    properties = reduced.get("properties")
    if not properties:
        return None
    wire: Schema = {"type": "object", "properties": properties}
    if required := reduced.get("required"):
        wire["required"] = required
    check_size(wire)
    return wire


class _Reducer:
    """One schema on its way into the subset; counts nodes, because references can multiply them without end."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._nodes = 0

    def reduce(self, node: object, refs: tuple[str, ...], depth: int) -> Schema:
        """`refs`: the references that are being put in place around this node."""
        self._nodes += 1
        check_nodes(self._nodes)
        if not isinstance(node, dict):
            return {"type": "string"}  # `true`: anything goes
        fields = cast("Schema", node)
        if depth > MAX_DEPTH:
            return _leaf(fields)
        if "$ref" in fields:
            return self._referred(fields, refs, depth)
        if fields.get("allOf"):
            merged, used = self._all_of(fields, refs)
            return self.reduce(merged, (*refs, *used), depth + 1)
        options = [option for key in ("anyOf", "oneOf") for option in _list(fields.get(key))]
        if options and (union := self._union(fields, options, refs, depth)) is not None:
            return union
        return self._typed(fields, refs, depth)

    def _referred(self, fields: Schema, refs: tuple[str, ...], depth: int) -> Schema:
        ref = str(fields["$ref"])
        target = referred(self._root, ref)
        rest = {key: value for key, value in fields.items() if key != "$ref"}
        if ref in refs:
            return _leaf({**_as_fields(target), **rest})
        return self.reduce({**_as_fields(target), **rest}, (*refs, ref), depth + 1)

    def _all_of(self, fields: Schema, refs: tuple[str, ...]) -> tuple[Schema, list[str]]:
        """Everything that must hold at once, as one schema, and the references in it that were put in place."""
        merged: Schema = {}
        used: list[str] = []
        own = {key: value for key, value in fields.items() if key != "allOf"}
        for part in (*_list(fields["allOf"]), own):
            piece = _as_fields(part)
            if "$ref" in piece and (ref := str(piece["$ref"])) not in refs:
                used.append(ref)
                piece = {**_as_fields(referred(self._root, ref)), **{key: piece[key] for key in piece if key != "$ref"}}
            for key, value in piece.items():
                if key == "properties":
                    merged[key] = {**_as_fields(merged.get(key)), **_as_fields(value)}
                elif key in ("required", "allOf"):
                    merged[key] = [*_list(merged.get(key)), *_list(value)]
                else:
                    merged[key] = value
        return merged, used

    def _union(self, fields: Schema, options: Sequence[object], refs: tuple[str, ...], depth: int) -> Schema | None:
        """One of several shapes; None when the options only add conditions to a shape that is given."""
        shaped = [option for option in options if _SHAPES & _as_fields(option).keys()]
        is_object = "properties" in fields
        if ("type" in fields or is_object) and (not shaped or is_object):
            return None
        is_null = [_as_fields(option).get("type") == "null" for option in shaped]
        outer = {key: value for key, value in fields.items() if key in ("description", "default")}
        rest = [option for option, null in zip(shaped, is_null, strict=True) if not null]
        reduced = _distinct(self.reduce(option, refs, depth + 1) for option in rest)
        made = _joined(reduced) if reduced else {"type": "string"}
        return _described(made, outer, nullable=any(is_null) or fields.get("nullable") is True)

    def _typed(self, fields: Schema, refs: tuple[str, ...], depth: int) -> Schema:
        """A node with a type of its own, or several."""
        kinds, nullable = _kinds(fields)
        if len(kinds) > 1:
            options = [self._one(kind, fields, refs, depth, plain=True) for kind in kinds]
            return _described({"anyOf": _distinct(options)}, fields, nullable=nullable)
        made = self._one(kinds[0], fields, refs, depth)
        return {**made, "nullable": True} if nullable else made

    def _one(self, kind: str, fields: Schema, refs: tuple[str, ...], depth: int, *, plain: bool = False) -> Schema:
        made: Schema = {"type": kind}
        hints = [] if plain else _hints(kind, fields)
        given = "" if plain else str(fields.get("description") or "")
        if text := " ".join([given, *hints]).strip():
            made["description"] = text
        if fields.get("format") in _FORMATS.get(kind, ()):
            made["format"] = fields["format"]
        if kind == "string" and (words := _words(fields)):
            made["enum"] = words
        made |= {key: fields[key] for key in _KEPT[kind] if _is_number(fields.get(key))}
        made |= _bounds(kind, fields)
        if kind == "array":
            made["items"] = self._items(fields, refs, depth)
        elif kind == "object":
            made |= self._members(fields, refs, depth)
        return made

    def _items(self, fields: Schema, refs: tuple[str, ...], depth: int) -> Schema:
        items = fields.get("items")
        several = _list(fields.get("prefixItems")) or _list(items)
        if several:
            return _joined(_distinct(self.reduce(item, refs, depth + 1) for item in several))
        return self.reduce(items, refs, depth + 1)

    def _members(self, fields: Schema, refs: tuple[str, ...], depth: int) -> Schema:
        given = dict(_as_fields(fields.get("properties")))
        for key in ("anyOf", "oneOf"):  # alternatives of one object: what any of them has may be given
            for option in _list(fields.get(key)):
                for name, value in _as_fields(_as_fields(option).get("properties")).items():
                    given.setdefault(name, value)
        if not given:
            return {}
        made: Schema = {"properties": {name: self.reduce(value, refs, depth + 1) for name, value in given.items()}}
        wanted = _list(fields.get("required"))
        if required := [name for name in made["properties"] if name in wanted]:
            made["required"] = required
        return made


def _kinds(fields: Schema) -> tuple[list[str], bool]:
    """The types a node allows, at least one, and whether null is among them."""
    given = fields.get("type")
    names = [str(name).lower() for name in (_list(cast("object", given)) if isinstance(given, list) else [given])]
    nullable = "null" in names or fields.get("nullable") is True or None in _list(fields.get("enum"))
    known = _distinct(name for name in names if name in _TYPES)
    return (known or [_guessed(fields)]), nullable


def _guessed(fields: Schema) -> str:
    """The type of a node that names none."""
    if "properties" in fields or "additionalProperties" in fields:
        return "object"
    if "items" in fields or "prefixItems" in fields:
        return "array"
    names: dict[type, str] = {bool: "boolean", int: "integer", float: "number"}
    kinds = {names.get(type(value), "string") for value in _values(fields)}
    return kinds.pop() if len(kinds) == 1 else "string"


def _values(fields: Schema) -> list[object]:
    """The only values that are allowed, null left out."""
    given = [fields["const"]] if "const" in fields else _list(fields.get("enum"))
    return [value for value in given if value is not None]


def _words(fields: Schema) -> list[str]:
    """The values as an enum, which holds texts that are not empty and nothing else."""
    values = _values(fields)
    return [str(value) for value in values] if all(isinstance(value, str) and value for value in values) else []


def _hints(kind: str, fields: Schema) -> list[str]:
    """What the subset has no key for, in words."""
    hints: list[str] = []
    if (values := _values(fields)) and not (kind == "string" and _words(fields)):
        shown = ", ".join(json.dumps(value, ensure_ascii=False, default=str) for value in values[:40])
        hints.append(f"(one of: {shown})" if len(values) > 1 else f"(always {shown})")
    form = fields.get("format")
    if isinstance(form, str) and form not in _FORMATS.get(kind, ()):
        hints.append(f"(format: {form})")
    if isinstance(pattern := fields.get("pattern"), str) and len(pattern) <= 200:
        hints.append(f"(pattern: {pattern})")
    default = fields.get("default")
    if default is not None and len(shown := json.dumps(default, ensure_ascii=False, default=str)) <= 100:
        hints.append(f"(default: {shown})")
    return hints


def _bounds(kind: str, fields: Schema) -> Schema:
    """Exclusive bounds as inclusive ones; of a fraction the bound itself is let through."""
    made: Schema = {}
    if kind not in ("integer", "number"):
        return made
    for exclusive, inclusive, step in (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)):
        value = fields.get(exclusive)
        if _is_number(value) and inclusive not in fields:
            made[inclusive] = cast("int", value) + step if kind == "integer" else value
    return made


def _joined(options: list[Schema]) -> Schema:
    """One of these; several lists of words become one."""
    if len(options) == 1:
        return options[0]
    if all(option.keys() == {"type", "enum"} for option in options):
        return {"type": "string", "enum": _distinct(word for option in options for word in option["enum"])}
    flat = [inner for option in options for inner in option.get("anyOf", [option])]
    return {"anyOf": _distinct(flat)}


def _described(made: Schema, fields: Schema, *, nullable: bool) -> Schema:
    """With the words and the null of the union around it: beside `anyOf` no other key may stand."""
    words = " ".join([str(fields.get("description") or ""), *_hints("", {"default": fields.get("default")})]).strip()
    options = [dict(option) for option in made.get("anyOf", [made])]
    for option in options:
        if words and (len(options) == 1 or "description" not in option):
            option["description"] = words
        if nullable:
            option["nullable"] = True
    return {"anyOf": options} if len(options) > 1 else options[0]


def _one_object(options: Sequence[Schema]) -> Schema:
    """Alternatives of a function's parameters as one object; required is what all of them require."""
    objects = [option for option in options if option.get("type") == "object"]
    if not objects:
        return {"type": options[0].get("type")}
    properties: Schema = {}
    for option in objects:
        properties = {**option.get("properties", {}), **properties}
    required = [name for name in properties if all(name in option.get("required", ()) for option in objects)]
    return {"type": "object", "properties": properties, "required": required}


def _leaf(fields: Schema) -> Schema:
    """A node whose inside is not told: deeper than anybody reads, or the same again."""
    kinds, _ = _kinds({key: value for key, value in fields.items() if key not in _UNION_KEYS})
    made: Schema = {"type": kinds[0]}
    if isinstance(text := fields.get("description"), str) and text:
        made["description"] = text
    if kinds[0] == "array":
        made["items"] = {"type": "string"}
    return made


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_fields(value: object) -> Schema:
    return cast("Schema", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _distinct(values: Iterable[Any]) -> list[Any]:
    """The values without repetitions, in order; they need not be hashable."""
    kept: list[Any] = []
    for value in values:
        if value not in kept:
            kept.append(value)
    return kept
