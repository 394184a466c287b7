"""B62: a schema of any shape becomes one that providers take, or is refused with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reactagent_tui.core.llm.schema_refs import MAX_CHARS, SchemaError
from reactagent_tui.core.llm.schema_subset import parameters_subset
from reactagent_tui.core.mcp.schemas import cleaned

WORDS = st.sampled_from(["a", "b", "no.type", "x y"])
KINDS = st.sampled_from(["string", "array", "object", "integer", ["string", "null"], "odd", 3])
REFERENCES = st.sampled_from(["#", "#/$defs/T", "#/$defs/U", "#/no", "other.json", "#/properties/a"])
LEAVES = st.one_of(
    st.booleans(),
    st.none(),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "array", "object", "integer", ["string", "null"], "odd", 3])}
    ),
    st.fixed_dictionaries(
        {"$ref": st.sampled_from(["#", "#/$defs/T", "#/$defs/U", "#/no", "other.json", "#/properties/a"])}
    ),
    st.fixed_dictionaries({"const": st.integers()}),
    st.fixed_dictionaries({"enum": st.lists(st.one_of(st.text(max_size=3), st.none()), max_size=3)}),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("object"), "properties": st.dictionaries(WORDS, inner, max_size=3)}),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"allOf": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"additionalProperties": inner}),
        st.fixed_dictionaries({"properties": st.dictionaries(WORDS, inner, max_size=2), "required": st.lists(WORDS)}),
    ),
    max_leaves=12,
)
ROOTS = st.builds(
    lambda properties, definitions: {"type": "object", "properties": properties, "$defs": definitions},
    st.dictionaries(WORDS, SCHEMAS, max_size=3),
    st.fixed_dictionaries({"T": SCHEMAS, "U": SCHEMAS}),
)


def check(node: Any) -> None:
    assert isinstance(node, dict)
    assert not {"$ref", "$defs", "$schema", "const"} & node.keys()
    kinds = [key for key in ("anyOf", "oneOf", "allOf") if node.get(key)]
    assert kinds or isinstance(node["type"], str)
    for key in kinds:
        for one in node[key]:
            check(one)
    for one in node.get("properties", {}).values():
        check(one)
    if node.get("type") == "array":
        check(node["items"])


@given(ROOTS)
@example(
    {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/U"}},
        "$defs": {"U": {"type": "array", "items": {"$ref": "#"}}},
    }
)
@example(
    {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/U"}},
        "$defs": {"U": {"type": "array", "items": {"$ref": "#/$defs/U"}}},
    }
)
def test_every_node_has_a_type_and_no_reference(schema: dict[str, Any]) -> None:
    try:
        found = cleaned(schema)
    except SchemaError:
        return
    check(found)
    assert found["type"] == "object"
    assert len(json.dumps(found)) <= MAX_CHARS
    parameters_subset(found)  # the strictest provider takes it


def test_the_schema_of_the_case() -> None:
    schema: dict[str, Any] = json.loads(CASE)
    found = cleaned(schema)
    check(found)
    fields = found["properties"]
    assert fields["a"] == {"enum": ["x", "y"], "type": "string", "description": "d", "default": "x"}
    assert fields["b"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert fields["r"]["properties"]["next"]["type"] == "object"
    assert fields["g"] == {"enum": [1], "type": "integer"}
    assert schema == json.loads(CASE)


@pytest.mark.parametrize("schema", [None, True, {}, {"type": "object"}])
def test_a_tool_without_a_schema_takes_nothing_or_anything(schema: Any) -> None:
    assert cleaned(schema) == {"type": "object", "properties": {}}


def test_a_union_at_the_top() -> None:
    options = [
        {"type": "object", "properties": {"a": {"type": "string"}, "k": {"type": "string"}}, "required": ["a", "k"]},
        {"type": "object", "properties": {"b": {"type": "string"}, "k": {"type": "string"}}, "required": ["b", "k"]},
    ]
    found = cleaned({"anyOf": options})
    assert set(found["properties"]) == {"a", "b", "k"}
    assert found["required"] == ["k"]
    assert "anyOf" not in found


@pytest.mark.parametrize("schema", [False, [], "x", {"type": "string"}, {"type": "object", "x": "y" * 2_000_000}])
def test_what_cannot_be_sent_is_refused_with_a_reason(schema: Any) -> None:
    with pytest.raises(SchemaError, match="its"):
        cleaned(schema)


CASE = """{"type":"object","properties":{"a":{"$ref":"#/$defs/T","description":"d","default":"x"},
"b":{"type":["string","null"]},"c":{"type":"array"},"d":{"anyOf":[{"type":"array"},{"type":"null"}]},
"e":{"type":"array","items":{"$ref":"#/properties/h"}},"h":{"type":"object"},
"f":{"type":"array","items":{"anyOf":[{"type":"array","items":{}},{"type":"string"}]}},"g":{"const":1},
"r":{"$ref":"#/$defs/Node"},"u":{"type":"string","format":"uri"},"n":{"type":"integer","exclusiveMinimum":0}},
"$defs":{"T":{"enum":["x","y"],"type":"string"},
"Node":{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"}}}},
"$schema":"https://json-schema.org/draft/2020-12/schema","additionalProperties":false}"""
