"""Argument schemas and complaints."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import ClassVar, Literal

import pytest
from pydantic import BaseModel, Field

from reactagent_tui.core.tools.builtin import builtin_tools
from reactagent_tui.core.tools.edit_file import EditFileArgs
from reactagent_tui.core.tools.schema import ArgumentError, ToolArgs, json_schema, parse_args


class Colour(StrEnum):
    RED = "red"


class Item(BaseModel):
    text: str
    state: Literal["open", "done"] = "open"


class Args(ToolArgs):
    synonyms: ClassVar[dict[str, str]] = {"entries": "items"}

    title: str = Field(description="A field that is called title.")
    items: list[Item]
    colour: Colour | None = None
    count: int = Field(default=3, ge=1)
    flag: bool = False


def test_schema_is_self_contained() -> None:
    schema = json_schema(Args)
    text = json.dumps(schema)
    assert "$ref" not in text
    assert "$defs" not in text
    assert list(schema["properties"]) == ["title", "items", "colour", "count", "flag"]
    assert schema["properties"]["title"] == {"type": "string", "description": "A field that is called title."}
    assert schema["properties"]["colour"] == {"type": "string", "enum": ["red"]}
    item = schema["properties"]["items"]["items"]
    assert item["additionalProperties"] is False
    assert list(item["properties"]) == ["text", "state"]
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["title", "items"]
    assert json_schema(Args) == schema


@pytest.mark.parametrize("tool", builtin_tools(), ids=lambda tool: tool.name)
def test_built_in_schemas(tool: object) -> None:
    text = json.dumps(tool.parameters)  # type: ignore[attr-defined]
    assert "$ref" not in text
    assert '"title"' not in text
    assert '"anyOf"' not in text
    assert len(tool.description) > 40  # type: ignore[attr-defined]
    assert all("description" in field for field in tool.parameters["properties"].values())  # type: ignore[attr-defined]


def test_forgiving_where_the_meaning_is_plain() -> None:
    args = parse_args(
        Args,
        "t",
        {"title": 7, "entries": '[{"text": "a"}]', "count": "10", "flag": "true", "colour": None, "why": "because"},
    )
    assert (args.title, args.items, args.count, args.flag) == ("7", [Item(text="a")], 10, True)
    assert args.colour is None


def test_names_from_elsewhere() -> None:
    args = parse_args(EditFileArgs, "edit_file", {"file_path": "a", "old_string": "x", "newText": "y", "replaceAll": 1})
    assert args == EditFileArgs(path="a", old_text="x", new_text="y", replace_all=True)
    exact_wins = parse_args(EditFileArgs, "edit_file", {"file": "b", "path": "a", "old_text": "x", "new_text": "y"})
    assert exact_wins.path == "a"


def test_one_complaint_names_everything() -> None:
    with pytest.raises(ArgumentError) as caught:
        parse_args(Args, "tool_x", {"items": [{"text": "a", "state": "gone"}], "count": "many", "flags": True})
    text = str(caught.value)
    assert "tool_x" in text
    assert "`title` is missing" in text
    assert "`items.0.state`: expected 'open' or 'done', got \"gone\"" in text
    assert '`count`: expected a valid integer, got "many"' in text
    assert "`flags`: no such argument; did you mean `flag`?" in text
    assert 'items: array of object, colour: "red" (optional), count: integer (optional)' in text
