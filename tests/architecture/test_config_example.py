"""config_example.yaml and the schema say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel

from reactagent_tui.core.config.loader import load_config
from reactagent_tui.core.config.schema import Config, ModelEntry, PriceEntry
from reactagent_tui.core.llm.catalog import preset_names
from reactagent_tui.core.llm.presets import PRESETS
from reactagent_tui.core.llm.registry import resolve_model
from reactagent_tui.core.paths import user_paths

EXAMPLE = Path(__file__).parents[2] / "config_example.yaml"
COMMENTED = re.compile(r"^# (provider|api): ", re.MULTILINE)


def without_comments_on_keys() -> dict[str, Any]:
    """The example with its two commented keys switched on."""
    return yaml.safe_load(COMMENTED.sub(r"\1: ", EXAMPLE.read_text("utf-8")))


def schema_keys(section: type[BaseModel], at: str = "") -> Iterator[str]:
    for name, info in section.model_fields.items():
        inner, names = section_in(info.annotation)
        path = f"{at}{name}"
        if inner is None:
            yield path
        elif inner is PriceEntry and section is ModelEntry:
            yield f"{path}.input"  # documented once, under `pricing:`
            yield f"{path}.output"
        else:
            yield from schema_keys(inner, f"{path}.{'*.' if names else ''}")


def section_in(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    found = next((inner for arg in get_args(annotation) if (inner := section_in(arg)[0])), None)
    return found, get_origin(annotation) in (dict, tuple)


OPEN = ("extra", "headers", "keys", "env")
"""Sections whose keys are the user's own."""


def file_keys(data: Any, at: tuple[str, ...] = ()) -> Iterator[str]:
    named = at in (("providers",), ("models",), ("pricing",), ("agents", "external"), ("mcp_servers",))
    if isinstance(data, dict) and data and not (at and at[-1] in OPEN):
        for key, value in data.items():
            yield from file_keys(value, (*at, "*" if named else str(key)))
    elif isinstance(data, list) and data and isinstance(data[0], dict):
        for item in data:
            yield from file_keys(item, (*at, "*"))
    else:
        yield ".".join(at)


def test_every_key_is_documented_and_every_documented_key_exists() -> None:
    assert set(file_keys(without_comments_on_keys())) == set(schema_keys(Config))


def test_the_example_works_as_it_is(tmp_path: Path) -> None:
    loaded = load_config(
        explicit=EXAMPLE, env={"DEEPSEEK_API_KEY": "k-example"}, paths=user_paths({"HOME": str(tmp_path)})
    )
    assert resolve_model(loaded).info.name == "deepseek-flash"
    assert resolve_model(loaded, "fast").info.provider == "work"
    Config.model_validate(without_comments_on_keys())


@pytest.mark.parametrize("section", ["ui", "permissions", "limits", "logging", "tools", "skills"])
def test_values_that_are_no_examples_are_the_defaults(section: str) -> None:
    defaults = getattr(Config(), section).model_dump(mode="json")
    shown = yaml.safe_load(EXAMPLE.read_text("utf-8"))[section]
    examples = {"permissions": {"allow", "ask", "deny"}, "limits": {"timeout", "max_tokens", "max_usd"}}
    for key, value in shown.items():
        if key not in examples.get(section, set()):
            assert value == defaults[key], f"{section}.{key}"


def test_the_example_names_every_preset() -> None:
    text = EXAMPLE.read_text("utf-8")
    named = {word for word in re.findall(r"[a-z0-9-]+", text) if word in preset_names()}
    assert {preset.name for preset in PRESETS} <= named
