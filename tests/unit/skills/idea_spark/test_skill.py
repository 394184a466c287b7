"""idea-spark as the loader and a driver see it."""

from __future__ import annotations

import yaml

from reactagent_tui.core.paths import data_dir
from reactagent_tui.core.skills.loader import SkillLibrary, SkillSource
from tests.fakes.spark_driver import SKILL


def test_the_loader_sees_an_inline_pipeline_that_never_asks() -> None:
    library = SkillLibrary([SkillSource(data_dir("skills"), "bundled")])
    skill = library.get("idea-spark")
    assert skill is not None
    assert library.get("idea_spark") is skill
    assert (skill.is_pipeline, skill.invoke, skill.never_ask) == (True, "inline", True)
    assert [problem for problem in library.problems() if "idea-spark" in str(problem)] == []


def test_the_driver_is_told_how_it_ends_and_what_to_fill_in() -> None:
    settings = yaml.safe_load((SKILL / "pipeline.yaml").read_text("utf-8"))
    assert settings["terminal_signals"] == [r"^DONE\b", r"^do_not_generate\b", r"^phase_\d+_failed\b"]
    assert settings["supports_query_injection"] is True
    assert settings["query_injection_placeholder"] == "q1|q2|q3|q4"
    assert settings["ood_detection"] is True
