"""Schemas of tools in the subset that every API takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.llm.base import ToolSpec
from reactagent_tui.core.llm.gemini_payload import declarations
from reactagent_tui.core.llm.schema_refs import MAX_CHARS, SchemaError
from reactagent_tui.core.llm.schema_subset import parameters_subset
from reactagent_tui.core.tools.base import spec_of
from reactagent_tui.core.tools.builtin import builtin_tools
from tests.wire.validators_gemini import declaration_complaints, schema_complaints


def one(schema: object, **definitions: Any) -> Any:
    """The subset of one parameter."""
    reduced = parameters_subset({"type": "object", "properties": {"p": schema}, "$defs": definitions})
    assert reduced is not None
    assert schema_complaints(reduced) == []
    return reduced["properties"]["p"]


STRING = {"type": "string"}
NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "v": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "reduced"),
    [
        ({"$ref": "#/$defs/T", "description": "d", "default": "x"}, {"type": "string", "enum": ["x", "y"]}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"type": "array"}, {"type": "array", "items": STRING}),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, {"type": "array", "items": STRING, "nullable": True}),
        ({"type": "array", "items": {"$ref": "#/properties/p"}}, {"type": "array", "items": {"type": "array"}}),
        ({"type": "object"}, {"type": "object"}),
        ({"type": "object", "properties": {}, "additionalProperties": True}, {"type": "object"}),
        (
            {"type": "array", "items": {"anyOf": [{"type": "array", "items": {}}, STRING]}},
            {"type": "array", "items": {"anyOf": [{"type": "array", "items": STRING}, STRING]}},
        ),
        ({"const": 1}, {"type": "integer", "description": "(always 1)"}),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"type": "string", "format": "uri"}, {"type": "string", "description": "(format: uri)"}),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
        ({"type": "number", "exclusiveMaximum": 0.5}, {"type": "number", "maximum": 0.5}),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, {"type": "number", "minimum": 0}),
        (
            {"type": "integer", "default": 3, "title": "N", "description": "how many"},
            {"type": "integer", "description": "how many (default: 3)"},
        ),
        ({"enum": [1, 2]}, {"type": "integer", "description": "(one of: 1, 2)"}),
        ({"enum": ["a", None]}, {"type": "string", "enum": ["a"], "nullable": True}),
        ({"enum": ["", "a"]}, {"type": "string", "description": '(one of: "", "a")'}),
        ({"type": ["integer", "string"]}, {"anyOf": [{"type": "integer"}, STRING]}),
        (
            {"oneOf": [STRING, {"type": "integer"}], "description": "d"},
            {"anyOf": [{"type": "string", "description": "d"}, {"type": "integer", "description": "d"}]},
        ),
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": "string", "anyOf": [{"minLength": 1}, {"pattern": "^x"}]}, STRING),
        (
            {"allOf": [{"$ref": "#/$defs/T"}, {"description": "d"}]},
            {"type": "string", "description": "d", "enum": ["x", "y"]},
        ),
        (
            {"type": "array", "prefixItems": [STRING, {"type": "integer"}]},
            {"type": "array", "items": {"anyOf": [STRING, {"type": "integer"}]}},
        ),
        (True, STRING),
        ({}, STRING),
        ({"$ref": "https://elsewhere/x"}, STRING),
        ({"$ref": "#/$defs/none"}, STRING),
        ({"type": "STRING"}, STRING),
        ({"type": "file"}, STRING),
    ],
)
def test_a_parameter(schema: object, reduced: dict[str, Any]) -> None:
    got = one(schema, T={"enum": ["x", "y"], "type": "string"})
    if "$ref" in str(schema) and "default" in str(schema):
        reduced = {**reduced, "description": 'd (default: "x")'}
    if "#/properties/p" in str(schema):
        assert got["items"]["type"] == "array"  # the same again, cut off where it repeats
    else:
        assert got == reduced


def test_recursion_ends() -> None:
    assert one({"$ref": "#/$defs/Node"}, Node=NODE) == {
        "type": "object",
        "properties": {"next": {"type": "object"}, "v": {"type": "integer"}},
    }
    looping = {"allOf": [{"$ref": "#/$defs/Loop"}], "properties": {"a": STRING}}
    assert one({"$ref": "#/$defs/Loop"}, Loop=looping)["type"] == "object"
    assert parameters_subset({"type": "object", "properties": {"a": {"$ref": "#"}}}) is not None


@pytest.mark.parametrize(
    "schema", [None, True, {}, {"type": "object"}, {"type": "object", "properties": {}, "required": ["x"]}]
)
def test_a_function_without_parameters(schema: object) -> None:
    assert parameters_subset(schema) is None


def test_alternatives_at_the_top_become_one_object() -> None:
    schema = {
        "anyOf": [
            {"type": "object", "properties": {"a": STRING, "b": STRING}, "required": ["a", "b"]},
            {"type": "object", "properties": {"a": STRING, "c": STRING}, "required": ["a"]},
        ]
    }
    reduced = parameters_subset(schema)
    assert reduced is not None
    assert set(reduced["properties"]) == {"a", "b", "c"}
    assert reduced["required"] == ["a"]
    kept = parameters_subset({"type": "object", "properties": {"a": STRING}, "oneOf": [{"required": ["a"]}]})
    assert kept == {"type": "object", "properties": {"a": STRING}}


def test_required_names_only_what_is_there() -> None:
    reduced = parameters_subset({"type": "object", "properties": {"a": STRING}, "required": ["a", "b", "a"]})
    assert reduced == {"type": "object", "properties": {"a": STRING}, "required": ["a"]}


def test_one_bad_tool_is_left_out_and_named() -> None:
    wide = {"type": "object", "properties": {"p" * 40 + str(i): STRING for i in range(MAX_CHARS // 40)}}
    bomb: dict[str, Any] = {"type": "object", "properties": {"a": {"$ref": "#/$defs/l0"}}}
    bomb["$defs"] = {
        f"l{i}": {"type": "object", "properties": {k: {"$ref": f"#/$defs/l{i + 1}"} for k in "abcdefgh"}}
        for i in range(12)
    }
    tools = [
        ToolSpec("list", "x", {"type": "array"}),
        ToolSpec("text", "x", "nonsense"),  # type: ignore[arg-type]
        ToolSpec("wide", "x", wide),
        ToolSpec("bomb", "x", bomb),
        ToolSpec("good", "x", {}),
    ]
    declared, refused = declarations(tools)
    assert declared == [{"name": "good", "description": "x"}]
    assert list(refused) == ["list", "text", "wide", "bomb"]
    assert "not an object" in refused["list"]
    assert "more than" in refused["wide"]


def test_the_built_in_tools() -> None:
    specs = [spec_of(tool) for tool in builtin_tools()]
    declared, refused = declarations(specs)
    assert len(declared) == len(specs) > 5
    assert not refused
    for function, spec in zip(declared, specs, strict=True):
        assert declaration_complaints(function) == []
        given = spec.parameters.get("properties", {})
        assert list(function.get("parameters", {"properties": {}})["properties"]) == list(given)


leaves = st.sampled_from(
    [
        True,
        {},
        STRING,
        {"type": "null"},
        {"const": 1},
        {"enum": ["a", 2]},
        {"$ref": "#/$defs/a"},
        {"$ref": "#"},
        "x",
        None,
    ]
)
names = st.sampled_from(["a", "b", "with space", "d.ot"])


def _grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, max_size=3)
    return st.one_of(
        st.builds(lambda v, n: {"type": "object", "properties": v, "required": n}, st.dictionaries(names, inner), some),
        st.builds(lambda v: {"type": "array", "items": v}, inner | some),
        st.builds(
            lambda k, v, d: {k: v, "description": d}, st.sampled_from(["anyOf", "oneOf", "allOf"]), some, st.text()
        ),
        st.builds(lambda v, t: {"type": t, "anyOf": v}, some, st.sampled_from(["string", ["array", "null"], "odd", 3])),
    )


@given(schema=st.recursive(leaves, _grow, max_leaves=12), other=st.recursive(leaves, _grow, max_leaves=6))
def test_any_schema_is_reduced_or_refused(schema: object, other: object) -> None:
    whole = {"type": "object", "properties": {"p": schema}, "$defs": {"a": other}}
    try:
        reduced = parameters_subset(whole)
    except SchemaError:
        return
    assert reduced is not None
    assert schema_complaints(reduced) == []
    assert json.dumps(parameters_subset(whole)) == json.dumps(reduced)
