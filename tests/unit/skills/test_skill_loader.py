"""Folders of skills: found, ranked, reported, and read again when they change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reactagent_tui.core.paths import Paths
from reactagent_tui.core.skills.loader import SkillLibrary, SkillSource, default_sources, weight
from reactagent_tui.core.skills.models import Skill
from reactagent_tui.core.skills.reading import read_skill


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    place.mkdir()
    return place


def write(root: Path, folder: str, head: str = "", body: str = "Body.", name: str | None = None) -> Path:
    place = root / folder
    place.mkdir(parents=True, exist_ok=True)
    head = head or "description: does things"
    name = place.name if name is None else name
    (place / "SKILL.md").write_text(f"---\nname: {name}\n{head}\n---\n{body}\n", encoding="utf-8")
    return place


def library(*roots: Path, origin: str = "user") -> SkillLibrary:
    return SkillLibrary([SkillSource(root, origin) for root in roots])  # type: ignore[arg-type]


def one(root: Path, folder: str = "demo") -> Skill:
    skill, problems = read_skill(root / folder, "user")
    assert skill is not None, problems
    return skill


def keys(found: SkillLibrary) -> list[str]:
    return [problem.key for problem in found.problems()]


def test_every_field_is_read(root: Path) -> None:
    place = write(
        root,
        "demo",
        "description: ok\nlicense: MIT\ncompatibility: any\nallowed-tools: Read, Bash(git log:*) Grep\ninvoke: inline\n"
        "never_ask: true\nmetadata:\n  version: 1.5\nparameters:\n  type: object\n  properties: {a: {type: integer}}",
    )
    (place / "run.py").write_text("print(1)")
    (place / "references").mkdir()
    (place / "references" / "more.md").write_text("more")
    (place / ".hidden").write_text("no")
    (place / "REACT_AGENT.md").write_text("Notes.")
    skill = one(root)
    assert skill.allowed_tools == ("Read", "Bash(git log:*)", "Grep")
    assert (skill.invoke, skill.never_ask, skill.license, skill.compatibility) == ("inline", True, "MIT", "any")
    assert skill.metadata == {"version": "1.5"}
    assert skill.files == ("run.py", "references/more.md")
    assert skill.is_typed
    assert skill.command_line is not None
    assert str(place / "run.py") in skill.command_line
    assert skill.text_for_model() == "Body.\n\nNotes."


@pytest.mark.parametrize(
    ("name", "key"),
    [("../../x", "bad_name"), ("G H", "bad_name"), ("", "no_name"), ("other", "other_folder"), ("x" * 70, "bad_name")],
)
def test_a_wrong_name_is_reported_with_its_line(root: Path, name: str, key: str) -> None:
    write(root, "demo", name=name)
    found = library(root)
    assert found.all() == ()
    (problem,) = found.problems()
    assert (problem.key, problem.line, problem.severity) == (key, 2, "skipped")
    assert problem.path == root / "demo" / "SKILL.md"
    assert problem.reason


@pytest.mark.parametrize("head", ["description:", "license: MIT", "description: [a, b]", "description: '  '"])
def test_a_description_is_required(root: Path, head: str) -> None:
    write(root, "demo", head)
    assert keys(library(root)) == ["no_description"]


def test_names_are_compared_without_case_and_with_either_dash(root: Path) -> None:
    write(root, "Paper_Search", name="paper-search")
    found = library(root)
    assert found.problems() == ()
    assert found.get("PAPER_search") is found.get("paper-search") is not None
    assert found.get("paper") is None
    assert found.nearest("papersearch") == ("paper-search",)


def test_project_beats_user_beats_bundled_and_the_loser_is_named(root: Path) -> None:
    for origin in ("bundled", "user", "project"):
        write(root / origin, "same-name", f"description: from {origin}")
    write(root / "later", "same_name", "description: later user source", name="same_name")
    sources = [SkillSource(root / "project", "project"), SkillSource(root / "bundled", "bundled")]
    users = [SkillSource(root / "user", "user"), SkillSource(root / "later", "user")]
    found = SkillLibrary(sources + users)
    assert [skill.description for skill in found.all()] == ["from project"]
    assert keys(found) == ["shadowed"] * 3
    assert {problem.path.parent.parent.name for problem in found.problems()} == {"bundled", "user", "later"}
    assert all("project" in problem.reason for problem in found.problems())
    assert SkillLibrary(users).all()[0].description == "later user source"


def test_the_same_real_folder_counts_once(root: Path) -> None:
    place = write(root / "skills", "demo")
    (root / "linked").mkdir()
    (root / "linked" / "demo").symlink_to(place)
    bundled = SkillSource(root / "skills", "bundled")
    sources = [bundled, SkillSource(root / "skills", "project"), SkillSource(root / "linked", "user")]
    found = SkillLibrary(sources)
    assert [skill.source for skill in found.all()] == ["bundled"]
    assert found.problems() == ()


def test_links_may_loop_and_lead_nowhere(root: Path) -> None:
    write(root, "demo")
    (root / "group").mkdir()
    (root / "group" / "up").symlink_to(root)
    (root / "itself").symlink_to(root / "itself")
    found = library(root)
    assert [skill.name for skill in found.all()] == ["demo"]
    assert sorted(keys(found)) == ["broken_link", "no_skill_file"]


def test_skills_in_groups_are_found_and_hidden_folders_are_not(root: Path) -> None:
    write(root, "group/inner/deep")
    write(root, ".git/hook")
    write(root, "node_modules/pkg")
    assert [skill.name for skill in library(root).all()] == ["deep"]


def test_odd_files_are_reported_not_fatal(root: Path) -> None:
    write(root, "good")
    (root / "folder" / "SKILL.md").mkdir(parents=True)
    (root / "latin").mkdir()
    (root / "latin" / "SKILL.md").write_bytes(b"---\nname: latin\ndescription: \xa9\n---\n")
    (root / "nothing").mkdir()
    (root / "pipe").mkdir()
    os.mkfifo(root / "pipe" / "SKILL.md")
    found = library(root)
    assert [skill.name for skill in found.all()] == ["good"]
    by_folder = {str(problem.path.relative_to(root)): problem.key for problem in found.problems()}
    assert by_folder == {
        "folder/SKILL.md": "not_a_file",
        "latin/SKILL.md": "not_utf8",
        "nothing": "no_skill_file",
        "pipe/SKILL.md": "not_a_file",
    }


@pytest.mark.parametrize(
    ("head", "body", "key"),
    [
        ("description: calls run_foo_pipeline", "", "pipeline_word"),
        ("description: ok", "line\nuse run_shell_command here", "framework_word"),
        ("description: ok", "key sk-abcdefghijklmnopqrstuvwx", "secret"),
        ("description: ok\ninvoke: always", "", "bad_invoke"),
        ("description: ok\nnever_ask: maybe", "", "bad_switch"),
        ("description: ok\nparameters: {type: string}", "", "bad_parameters"),
        ("description: ok\nparameters: &p {type: object, properties: {a: *p}}", "", "bad_parameters"),
        (f"description: {'x' * 1025}", "", "long_description"),
        ("description: a: b", "", "recovered"),
    ],
)
def test_the_guide_is_enforced_by_warnings(root: Path, head: str, body: str, key: str) -> None:
    write(root, "demo", head, body)
    found = library(root)
    assert len(found.all()) == 1
    assert [(problem.key, problem.severity) for problem in found.problems()] == [(key, "warning")]


def test_a_warning_about_the_body_names_its_line(root: Path) -> None:
    write(root, "demo", body="one\ntwo spawn_subagent")
    (problem,) = library(root).problems()
    rows = (root / "demo" / "SKILL.md").read_text(encoding="utf-8").split("\n")
    assert problem.line is not None
    assert "spawn_subagent" in rows[problem.line - 1]


def test_pipelines_are_inline_unless_told_otherwise(root: Path) -> None:
    place = write(root, "demo")
    (place / "scripts").mkdir()
    (place / "scripts" / "run.py").write_text("")
    assert one(root).invoke == "inline"
    (place / "pipeline.yaml").write_text("invoke: reference\nnever_ask: true\n")
    assert (one(root).invoke, one(root).never_ask) == ("reference", True)
    write(root, "demo", "description: ok\ninvoke: inline\nmetadata:\n  never_ask: 'false'")
    assert (one(root).invoke, one(root).never_ask) == ("inline", False)
    (place / "pipeline.yaml").write_text("a: [\n")
    assert keys(library(root)) == ["bad_pipeline"]


def test_reload_sees_new_changed_and_removed(root: Path) -> None:
    place = write(root, "demo")
    found = library(root)
    assert not found.reload_if_changed()
    write(root, "second")
    assert found.reload_if_changed()
    assert len(found.all()) == 2
    write(root, "demo", "description: quite another one")
    assert found.reload_if_changed()
    assert found.all()[0].description == "quite another one"
    (place / "REACT_AGENT.md").write_text("notes")
    assert found.reload_if_changed()
    assert found.all()[0].notes == "notes"
    (place / "REACT_AGENT.md").unlink()
    (place / "SKILL.md").unlink()
    assert found.reload_if_changed()
    assert [skill.name for skill in found.all()] == ["second"]
    assert not found.reload_if_changed()


def test_a_missing_source_is_empty_and_may_appear(root: Path) -> None:
    found = library(root / "none")
    assert (found.all(), found.problems()) == ((), ())
    write(root / "none", "demo")
    assert found.reload_if_changed()
    assert len(found.all()) == 1


def test_project_folders_need_trust(root: Path) -> None:
    paths = Paths(root / "config", root / "state", root / "cache")
    work = root / "project"
    closed = default_sources(paths, root, work)
    assert "project" not in {source.origin for source in closed}
    opened = default_sources(paths, root, work, project_trusted=True)
    assert [source.path.relative_to(work).as_posix() for source in opened if source.origin == "project"] == [
        ".claude/skills",
        ".agents/skills",
        "skills",
        ".reactagent/skills",
    ]
    assert opened[: len(closed)] == closed


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cap=st.integers(0, 1200))
def test_the_catalogue_keeps_its_cap_and_order(root: Path, cap: int) -> None:
    for number in range(12):
        write(root, f"skill-{number:02}", f"description: {'long words ' * (number + 1)}")
    text = library(root).catalogue(cap)
    assert len(text) <= cap
    names = [row[2:].partition(":")[0] for row in text.split("\n") if row.startswith("- ")]
    assert names == sorted(names)
    assert len(names) == 12 or cap < 170 or "more" in text


def test_weights_count_list_line_and_whole_text(root: Path) -> None:
    write(root, "demo", body="word " * 400)
    both = weight(one(root))
    assert 0 < both.listed < 30
    assert 300 < both.viewed < 800
