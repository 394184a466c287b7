"""Typed skills: checked arguments, JSON on stdin, run and judged as a command is."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.display import CodeBlock, CommandBlock
from reactagent_tui.core.paths import data_dir
from reactagent_tui.core.safety.access import Allow, Ask, Deny, Mode
from reactagent_tui.core.safety.permissions import Permissions
from reactagent_tui.core.skills.loader import SkillLibrary, SkillSource, weight
from reactagent_tui.core.skills.models import Skill
from reactagent_tui.core.tools.base import Effect, ToolContext
from reactagent_tui.core.tools.builtin import builtin_tools
from reactagent_tui.core.tools.shell import RunShellCommand
from reactagent_tui.core.tools.skills import skill_tools
from reactagent_tui.core.tools.toolkit import Toolkit
from reactagent_tui.core.tools.typed_skill import TypedSkill, fitted, with_typed_skills
from tests.fakes.scripted import call
from tests.unit.agents.kit import done, play

SCHEMA = """parameters:
  type: object
  additionalProperties: false
  required: [city]
  properties:
    city: {type: string, minLength: 2}
    days: {type: integer, minimum: 1}
    deep: {type: boolean}
"""
ECHO = "import json, os, sys\nprint(os.environ['SKILL_INPUT'], json.dumps(json.load(sys.stdin), sort_keys=True))\n"


def write(root: Path, name: str = "weather", program: str = ECHO, entry: str = "run.py", head: str = SCHEMA) -> Path:
    place = root / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: does things\n{head}---\nBody.\n")
    (place / entry).write_text(program)
    return place


def library(root: Path) -> SkillLibrary:
    return SkillLibrary([SkillSource(root, "user")])


def tool(root: Path, name: str = "weather") -> TypedSkill:
    skill = library(root).get(name)
    assert skill is not None
    assert skill.is_typed
    return TypedSkill(skill, RunShellCommand())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "some skills"


async def test_the_program_gets_its_arguments_as_json_on_stdin(root: Path, file_ctx: ToolContext) -> None:
    write(root)
    outcome = await tool(root).run({"city": "北京", "days": "3", "deep": None}, file_ctx)
    assert not outcome.is_error, outcome.text
    assert outcome.text.startswith('json {"city": "\\u5317\\u4eac", "days": 3}\n')


async def test_the_validator_is_imported_in_a_thread(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root)
    seen: list[tuple[str, bool]] = []
    load = importlib.import_module

    def noted(name: str) -> object:
        seen.append((name, threading.current_thread() is threading.main_thread()))
        return load(name)

    monkeypatch.setattr("reactagent_tui.core.tools.typed_skill.importlib.import_module", noted)
    script = [call(("skill_weather", '{"city": "Rome", "days": 0}')), done()]
    played = play(tmp_path, {"main task": script}, RunShellCommand(), tool(root))
    await played.turn()
    assert "minimum" in played.results[0].text
    assert seen[0] == ("jsonschema", False)


async def test_a_shell_program_runs_too(root: Path, file_ctx: ToolContext) -> None:
    write(root, program='cat; echo " from $SKILL_DIR"; pwd\n', entry="run.sh")
    outcome = await tool(root).run({"city": "Rome"}, file_ctx)
    first, second = outcome.text.splitlines()[:2]
    assert first == f'{{"city": "Rome"}} from {root / "weather"}'
    assert Path(second).name == file_ctx.workdir.name


@pytest.mark.parametrize(
    ("args", "part"),
    [
        ({}, "'city' is a required property"),
        ({"city": 5}, "`city`: 5 is not of type 'string'"),
        ({"city": "x"}, "`city`: 'x' is too short"),
        ({"city": "Rome", "days": 0}, "`days`: 0 is less than the minimum"),
        ({"city": "Rome", "days": "many"}, "'many' is not of type 'integer'"),
        ({"city": "Rome", "town": 1}, "'town' was unexpected"),
    ],
)
async def test_wrong_arguments_are_told_and_nothing_runs(
    root: Path, file_ctx: ToolContext, args: dict[str, Any], part: str
) -> None:
    place = write(root, program="open('ran', 'w')\n")
    found = tool(root)
    assert part in (found.check(args, file_ctx) or "")
    outcome = await found.run(args, file_ctx)
    assert (outcome.is_error, outcome.error_kind) == (True, "arguments")
    assert "city, days, deep" in outcome.text
    assert not (file_ctx.workdir / "ran").exists()
    assert place.exists()


def test_what_plainly_means_a_number_becomes_one() -> None:
    schema = {"properties": {name: {"type": name} for name in ("integer", "number", "boolean", "string")}}
    given = {"integer": " 5 ", "number": "2.5", "boolean": "True", "string": "5", "other": "7"}
    assert fitted(schema, given) == {"integer": 5, "number": 2.5, "boolean": True, "string": "5", "other": "7"}
    doubtful = {"integer": "true", "boolean": "1", "number": "[1]"}
    assert fitted(schema, doubtful) == doubtful


@pytest.mark.parametrize(
    "bad",
    [
        "parameters: {type: object, properties: {a: {type: text}}}\n",
        "parameters: {type: object, properties: {a: 5}}\n",
        "parameters: {type: object, properties: {a b: {type: string}}}\n",
        "parameters: {type: object, properties: {1: {type: string}}}\n",
        "parameters: {type: object, required: city}\n",
        "parameters: {type: object, properties: {a: {default: 2024-01-01}}}\n",
        "parameters: {type: object, properties: {a: {$ref: 'https://example.org/x.json'}}}\n",
        "parameters: {type: object, properties: {a: {type: {}}}}\n",
        "parameters: {type: object, properties: {a: {anyOf: 3}}}\n",
    ],
)
def test_a_schema_that_a_server_would_refuse_is_not_offered(root: Path, bad: str) -> None:
    write(root, head=bad)
    found = library(root)
    assert not found.all()[0].is_typed
    assert [problem.key for problem in found.problems()] == ["bad_parameters"]


@pytest.mark.parametrize("rule", ["{$ref: '#/nope'}", "{type: string, pattern: '('}"])
async def test_a_schema_that_breaks_the_validator_is_an_answer(root: Path, file_ctx: ToolContext, rule: str) -> None:
    write(root, head=f"parameters: {{type: object, properties: {{city: {rule}}}}}\n")
    assert "no valid JSON Schema" in (tool(root).check({"city": "Rome"}, file_ctx) or "")


async def test_the_time_out_of_the_skill_counts(root: Path, file_ctx: ToolContext) -> None:
    head = f"metadata:\n  timeout_seconds: '1'\n{SCHEMA}"
    write(root, program="import time\nprint('begun', flush=True)\ntime.sleep(60)\n", head=head)
    outcome = await tool(root).run({"city": "Rome"}, file_ctx)
    assert (outcome.is_error, outcome.error_kind) == (True, "timeout")
    assert "begun" in outcome.text


async def test_a_stop_ends_the_program_and_keeps_what_it_printed(root: Path, file_ctx: ToolContext) -> None:
    write(root, program="import time\nprint('begun', flush=True)\ntime.sleep(60)\n")
    begun = asyncio.Event()
    ctx = dataclasses.replace(file_ctx, output=lambda text: begun.set())
    found = tool(root)
    running = asyncio.create_task(found.run({"city": "Rome"}, ctx))
    await asyncio.wait_for(begun.wait(), 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    partial = found.partial(ctx.call_id)
    assert partial is not None
    assert "begun" in partial.text
    assert "interrupted" in partial.text


async def test_a_failing_program_and_one_that_is_gone(root: Path, file_ctx: ToolContext) -> None:
    place = write(root, program="import sys\nprint('no such city')\nsys.exit(3)\n")
    found = tool(root)
    outcome = await found.run({"city": "Rome"}, file_ctx)
    assert (outcome.is_error, outcome.error_kind) == (True, "exit_code")
    assert "no such city" in outcome.text
    (place / "run.py").unlink()
    assert "its program is gone" in (await found.run({"city": "Rome"}, file_ctx)).text


async def test_provider_keys_are_not_handed_on(
    root: Path, file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    write(root, program="import os\nprint(os.environ.get('OPENAI_API_KEY'))\n")
    assert (await tool(root).run({"city": "Rome"}, file_ctx)).text.startswith("None\n")


# -- permissions ----------------------------------------------------------------------------


def rules(ctx: ToolContext, mode: Mode = "ask", **lists: tuple[str, ...]) -> Permissions:
    return Permissions(mode, (ctx.workdir,), **lists)


async def test_a_skill_of_the_user_is_asked_about_like_a_command(root: Path, file_ctx: ToolContext) -> None:
    write(root)
    found = tool(root)
    access = found.access({"city": "Rome"}, file_ctx)
    decision = rules(file_ctx).decide(access, reads_only=False)
    assert isinstance(decision, Ask)
    assert decision.pattern == "skill_weather"
    command, given = await found.preview({"city": "Rome", "days": "2"}, file_ctx)
    assert isinstance(command, CommandBlock)
    assert "run.py" in command.command
    assert isinstance(given, CodeBlock)
    assert json.loads(given.text) == {"city": "Rome", "days": 2}
    assert found.effect({}) is Effect.WRITES


def test_a_grant_for_one_call_covers_its_arguments_only(root: Path, file_ctx: ToolContext) -> None:
    write(root)
    found, permissions = tool(root), rules(file_ctx)
    permissions.grant(found.access({"city": "Rome"}, file_ctx), None)
    assert isinstance(permissions.decide(found.access({"city": "Rome"}, file_ctx), reads_only=False), Allow)
    assert isinstance(permissions.decide(found.access({"city": "Oslo"}, file_ctx), reads_only=False), Ask)
    permissions.grant(found.access({"city": "Rome"}, file_ctx), "skill_weather")
    assert isinstance(permissions.decide(found.access({"city": "Oslo"}, file_ctx), reads_only=False), Allow)


@pytest.mark.parametrize(
    ("mode", "lists", "kind"),
    [
        ("plan", {}, Deny),
        ("edits", {}, Ask),
        ("auto", {}, Allow),
        ("auto", {"deny": ("skill_weather",)}, Deny),
        ("auto", {"deny": ("run_shell_command",)}, Deny),
        ("auto", {"ask": ("skill_*",)}, Ask),
        ("ask", {"allow": ("skill_weather",)}, Allow),
        ("ask", {"allow": ("skill_other",)}, Ask),
        ("ask", {"allow": ("run_shell_command",)}, Allow),
    ],
)
def test_modes_and_rules(
    root: Path, file_ctx: ToolContext, mode: Mode, lists: dict[str, tuple[str, ...]], kind: type
) -> None:
    write(root)
    decision = rules(file_ctx, mode, **lists).decide(tool(root).access({"city": "x"}, file_ctx), reads_only=False)
    assert isinstance(decision, kind)


@pytest.mark.parametrize("mode", ["ask", "edits", "plan"])
@pytest.mark.parametrize(
    ("name", "args", "part"),
    [("now", {"timezone": "Asia/Shanghai"}, "UTC+08:00"), ("system_health", {"top": 0}, "memory:")],
)
async def test_bundled_ones_run_without_a_question(
    file_ctx: ToolContext, mode: Mode, name: str, args: dict[str, Any], part: str
) -> None:
    skill = SkillLibrary([SkillSource(data_dir("skills"), "bundled")]).get(name)
    assert skill is not None
    found = TypedSkill(skill, RunShellCommand(default_timeout=60))
    decision = rules(file_ctx, mode).decide(found.access(args, file_ctx), reads_only=False)
    assert decision == Allow("bundled skill")
    outcome = await found.run(args, file_ctx)
    assert not outcome.is_error
    assert part in outcome.text


# -- the toolkit ----------------------------------------------------------------------------


def test_the_kit_changes_only_when_a_typed_skill_does(root: Path) -> None:
    write(root)
    found = library(root)
    bare = Toolkit([*builtin_tools(), *skill_tools(lambda: found)])
    kit = with_typed_skills(bare, found)
    assert kit.names == [*bare.names, "skill_weather"]
    assert with_typed_skills(kit, found) is kit
    write(root, "untyped", head="")
    assert found.reload_if_changed()
    assert with_typed_skills(kit, found) is kit
    write(root, "alpha")
    assert found.reload_if_changed()
    more = with_typed_skills(kit, found)
    assert more.names == [*bare.names, "skill_alpha", "skill_weather"]
    for name in ("alpha", "weather"):
        (root / name / "run.py").unlink()
    assert found.reload_if_changed()
    assert with_typed_skills(more, found).names == bare.names


def test_other_parameters_reach_the_model(root: Path) -> None:
    write(root)
    found = library(root)
    kit = with_typed_skills(Toolkit(builtin_tools()), found)
    write(root, head="parameters: {type: object, properties: {town: {type: string}}}\n")
    assert found.reload_if_changed()
    spec = next(spec for spec in with_typed_skills(kit, found).specs() if spec.name == "skill_weather")
    assert list(spec.parameters["properties"]) == ["town"]


def test_without_a_shell_there_are_none(root: Path) -> None:
    write(root)
    kit = Toolkit(builtin_tools()).restricted(["read_file"])
    assert with_typed_skills(kit, library(root)) is kit


def test_a_tool_name_is_legal_short_and_never_one_of_ours() -> None:
    def name(skill: str) -> str:
        return Skill(skill, "d", Path("/s"), "").tool_name

    assert name("Paper-search") == "skill_Paper-search"
    assert name("view").startswith("skill_view_")
    assert name("VIEW").startswith("skill_VIEW_")
    longest = "x" * 63
    assert len(name(longest + "a")) == 64
    assert name(longest + "a") != name(longest + "b")


def test_the_weight_of_a_typed_skill_holds_its_tool(root: Path) -> None:
    write(root)
    write(root, "plainer", head="")
    typed, plain = library(root).get("weather"), library(root).get("plainer")
    assert typed is not None
    assert plain is not None
    assert weight(typed).listed > weight(plain).listed + 20
