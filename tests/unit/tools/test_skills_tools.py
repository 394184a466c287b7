"""skills_list and skill_view: what the model gets, fresh from the disk, and what it gets for a wrong name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from reactagent_tui.core.reporter import Answer, Question
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.skills.loader import SkillLibrary, SkillSource
from reactagent_tui.core.tools.base import Effect, ToolContext, spec_of
from reactagent_tui.core.tools.skills import ALIASES, MAX_LIST, MAX_VIEW, SkillsListTool, SkillViewTool, skill_tools


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "skills"
    place.mkdir()
    return place


@pytest.fixture
def ctx(tmp_path: Path) -> ToolContext:
    async def ask(_question: Question) -> Answer:
        raise AssertionError("reading a skill asks nothing")

    def output(_text: str) -> None:
        raise AssertionError("reading a skill prints nothing")

    return ToolContext("s", "r", "c", tmp_path, Workspace.at(tmp_path), FilesSeen(), output, ask, tmp_path / "logs")


def write(root: Path, name: str, description: str = "does things", body: str = "Body.") -> Path:
    place = root / name
    place.mkdir(exist_ok=True)
    (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n", encoding="utf-8")
    return place


def library(root: Path) -> Callable[[], SkillLibrary]:
    made = SkillLibrary([SkillSource(root, "user")])
    return lambda: made


async def test_the_list_is_json_in_a_stable_order(root: Path, ctx: ToolContext) -> None:
    tool = SkillsListTool(library(root))
    assert "No skills" in (await tool.run({}, ctx)).text
    write(root, "beta", "第二个")
    write(root, "alpha", "first")
    outcome = await tool.run({}, ctx)
    assert json.loads(outcome.text) == [
        {"name": "alpha", "description": "first"},
        {"name": "beta", "description": "第二个"},
    ]
    assert "第二个" in outcome.text
    assert (outcome.is_error, outcome.summary) == (False, "2")


async def test_a_huge_list_keeps_every_name(root: Path, ctx: ToolContext) -> None:
    for number in range(40):
        write(root, f"skill-{number:02}", "x" * 1000)
    outcome = await SkillsListTool(library(root)).run({}, ctx)
    assert len(json.loads(outcome.text)) == 40
    assert len(outcome.text) < MAX_LIST + 4_000


async def test_view_gives_body_folder_files_and_command(root: Path, ctx: ToolContext) -> None:
    place = write(root, "my-skill", body='Run "$SKILL_DIR/run.py".')
    (place / "run.py").write_text("print(1)")
    (place / "REACT_AGENT.md").write_text("Notes for us.")
    outcome = await SkillViewTool(library(root)).run({"name": "My_Skill"}, ctx)
    assert not outcome.is_error
    assert f"Folder: {place}" in outcome.text
    assert "Files: run.py" in outcome.text
    assert str(place / "run.py") in outcome.text.partition("Run: ")[2].partition("\n")[0]
    assert "$SKILL_DIR" not in outcome.text
    assert outcome.text.endswith("Notes for us.")
    assert "description" not in outcome.text


async def test_view_is_fresh(root: Path, ctx: ToolContext) -> None:
    place = write(root, "demo")
    tool = SkillViewTool(library(root))
    write(root, "demo", body="Quite another body.")
    (place / "new.txt").write_text("x")
    text = (await tool.run({"name": "/demo"}, ctx)).text
    assert "Quite another body." in text
    assert "Files: new.txt" in text


async def test_an_unknown_name_gets_the_nearest_and_all(root: Path, ctx: ToolContext) -> None:
    tool = SkillViewTool(library(root))
    assert "no skills are installed" in (await tool.run({"name": "x"}, ctx)).text
    write(root, "paper-search")
    write(root, "hello")
    outcome = await tool.run({"name": "papersearch"}, ctx)
    assert (outcome.is_error, outcome.error_kind) == (True, "not_found")
    assert "Did you mean paper-search?" in outcome.text
    assert "Installed: hello, paper-search" in outcome.text


async def test_a_long_skill_is_cut_and_says_where_the_rest_is(root: Path, ctx: ToolContext) -> None:
    place = write(root, "long", body="line of text\n" * 5_000)
    text = (await SkillViewTool(library(root)).run({"name": "long"}, ctx)).text
    assert len(text) < MAX_VIEW + 300
    assert f"read_file {place / 'SKILL.md'}" in text


def test_both_only_read_and_touch_no_path(root: Path, ctx: ToolContext) -> None:
    for tool, args in zip(skill_tools(library(root)), ({}, {"name": "x"}), strict=True):
        assert tool.effect(args) is Effect.READS
        access = tool.access(args, ctx)
        assert (access.tool, access.reads, access.writes, access.command) == (tool.name, (), (), None)
        assert spec_of(tool).parameters["type"] == "object"
        assert tool.check(args, ctx) is None
    assert "name" in str(SkillViewTool(library(root)).check({}, ctx))
    assert ALIASES == {"read_skill": "skill_view"}
