"""`run_<skill>_pipeline`: legal names, what is offered, what a stopped call leaves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reactagent_tui.core.paths import data_dir
from reactagent_tui.core.skills.loader import SkillLibrary, SkillSource
from reactagent_tui.core.tools.base import Effect, ToolContext
from reactagent_tui.core.tools.pipeline import PipelineTool, pipeline_tool_name, pipeline_tools, with_pipelines
from reactagent_tui.core.tools.toolkit import Toolkit
from tests.fakes.pipeline_kit import PipelineDesk, make_skill
from tests.fakes.tools import echo
from tests.unit.pipeline.test_driver import THREE


@pytest.mark.parametrize(
    ("skill", "name"),
    [("idea-spark", "run_idea-spark_pipeline"), ("demo_x", "run_demo_x_pipeline"), ("图 思!", "run_skill_pipeline")],
)
def test_names(skill: str, name: str) -> None:
    assert pipeline_tool_name(skill) == name


def test_long_names_stay_legal_and_apart() -> None:
    names = {pipeline_tool_name("a" * 60 + end) for end in ("bcd", "bce")}
    assert len(names) == 2
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)


def test_every_skill_with_a_state_machine_is_offered() -> None:
    library = SkillLibrary([SkillSource(data_dir("skills"), "bundled")])
    tools = pipeline_tools(lambda: library, ())
    assert "run_demo-pipeline_pipeline" in [tool.name for tool in tools]
    assert all(library.get(tool.skill.name) is not None for tool in tools if isinstance(tool, PipelineTool))


def test_the_toolkit_changes_only_when_the_skills_do(tmp_path: Path) -> None:
    library = SkillLibrary([SkillSource(tmp_path, "user")])
    kit = Toolkit([echo("other")])
    assert with_pipelines(kit, pipeline_tools(lambda: library, ())) is kit
    make_skill(tmp_path, THREE)
    library.reload_if_changed()
    more = with_pipelines(kit, pipeline_tools(lambda: library, ()))
    assert [tool.name for tool in more] == ["other", "run_steps_pipeline"]
    assert with_pipelines(more, pipeline_tools(lambda: library, ())) is more
    assert [tool.name for tool in with_pipelines(more, [])] == ["other"]


async def test_a_call(tmp_path: Path, clean_place: Path, file_ctx: ToolContext) -> None:
    make_skill(tmp_path / "s", THREE)
    library = SkillLibrary([SkillSource(tmp_path / "s", "user")])
    tool = pipeline_tools(lambda: library, ())[0]
    desk = PipelineDesk(clean_place)
    assert tool.effect({"query": "x"}) is Effect.ISOLATED
    assert "query is empty" in str(tool.check({"query": " "}, desk.context()))
    assert tool.check({"resume_dir": "x"}, desk.context()) is None
    outcome = await tool.run({"question": "go"}, desk.context())
    assert not outcome.is_error
    assert desk.end.outcome == "DONE"
    refused = await tool.run({"query": "go"}, file_ctx)
    assert "cannot be called from here" in refused.text
    assert "scripts/run.py" in str(await tool.preview({"query": "go"}, desk.context()))
