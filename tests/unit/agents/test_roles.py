"""Roles: files in the format of Claude Code, from four kinds of places."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.agents.roles import RoleLibrary, RoleSource, read_role, role_sources
from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.tools.builtin import builtin_tools
from tests.fakes.scripted import say
from tests.unit.agents.kit import Minds, done, play
from tests.unit.agents.test_agents import spawn

ROLE = """---
name: reviewer
description: Looks at changes: all of them.
tools: Read, Grep, Bash(git diff *), NoSuchTool
model: {model}
---

You review.
"""


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_the_bundled_ones_can_be_read_and_say_what_they_are_for(tmp_path: Path) -> None:
    library = RoleLibrary(role_sources(user_paths({"HOME": str(tmp_path)}), tmp_path, trusted=False))
    assert [role.name for role in library.all()] == ["audit", "explore", "retrieval", "tools"]
    assert not library.problems()
    names = {tool.name for tool in builtin_tools()} | {"skills_list", "skill_view"}
    for role in library.all():
        assert role.tools is not None
        assert set(role.tools) <= names
        assert len(role.prompt) > 500
        assert len(role.summary) < 160


def test_a_role_of_claude_code(tmp_path: Path) -> None:
    path = write(tmp_path, "reviewer.md", ROLE.format(model="inherit"))
    role, problem = read_role(path, "user")
    assert problem is None
    assert role is not None
    assert role.description == "Looks at changes: all of them."
    assert role.tools == ("Read", "Grep", "Bash(git diff *)", "NoSuchTool")
    assert (role.model, role.prompt) == (None, "You review.")


@pytest.mark.parametrize(
    ("head", "tools"),
    [
        ("", None),
        ("tools:\n", ()),
        ("tools: []\n", ()),
        ("tools: '*'\n", None),
        ("tools: [Read, Write]\n", ("Read", "Write")),
        ("tools: Read Write\n", ("Read", "Write")),
    ],
)
def test_tools_in_every_spelling(tmp_path: Path, head: str, tools: tuple[str, ...] | None) -> None:
    role, _ = read_role(write(tmp_path, "a.md", f"---\ndescription: d\n{head}---\np\n"), "user")
    assert role is not None
    assert role.tools == tools
    assert role.name == "a"


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("no front matter", "no_front_matter", 1),
        ("---\nname: x\n", "unclosed", 1),
        ("---\nname: x\n---\nbody", "no_description", None),
        ("---\nname: 'a b'\ndescription: d\n---\nbody", "bad_name", 2),
        ("---\nname: x\ndescription: d\n---\n", "no_prompt", 5),
        ("", "empty", None),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path: Path, text: str, key: str, line: int | None) -> None:
    path = write(tmp_path, "x.md", text)
    library = RoleLibrary([RoleSource(tmp_path, "user")])
    assert not library.all()
    (problem,) = library.problems()
    assert (problem.path, problem.key, problem.line, problem.severity) == (path, key, line, "skipped")


def test_the_folder_wins_when_it_is_trusted_and_changes_are_seen(tmp_path: Path) -> None:
    paths = user_paths({"HOME": str(tmp_path / "home")})
    work = tmp_path / "w"
    write(paths.config / "agents", "explore.md", "---\ndescription: mine\n---\nmine\n")
    write(work / ".claude" / "agents", "explore.md", "---\ndescription: theirs\n---\ntheirs\n")
    untrusted = RoleLibrary(role_sources(paths, work, trusted=False))
    trusted = RoleLibrary(role_sources(paths, work, trusted=True))
    mine, theirs = untrusted.get("Explore"), trusted.get("explore")
    assert mine is not None
    assert theirs is not None
    assert (mine.prompt, theirs.prompt) == ("mine", "theirs")
    assert [problem.key for problem in trusted.problems()] == ["shadowed", "shadowed"]
    write(work / ".agents" / "agents", "new.md", "---\ndescription: n\n---\nn\n")
    trusted.reload_if_changed()
    assert trusted.get("new") is not None


async def test_an_agent_with_a_role_has_its_prompt_tools_and_model(tmp_path: Path) -> None:
    write(tmp_path / "roles", "reviewer.md", ROLE.format(model="small"))
    small = Minds({"child": [say("from the small one")]})
    played = play(
        tmp_path,
        {"main task": [spawn({"task": "child", "role": "Reviewer"}), done()]},
        *builtin_tools(),
        roles=[RoleSource(tmp_path / "roles", "user")],
        more={"small": small},
    )
    await played.turn()
    (request,) = small.requests
    assert request.system.startswith("You review.")
    assert [tool.name for tool in request.tools] == ["run_shell_command", "read_file", "grep"]
    assert played.started[0].name.lower() == played.started[0].role.lower() == "reviewer"
    (described,) = [tool for tool in played.minds.requests[0].tools if tool.name == "spawn_subagent"]
    assert "- reviewer: Looks at changes" in described.description


async def test_a_model_of_a_role_that_is_not_there_is_that_of_the_caller(tmp_path: Path) -> None:
    write(tmp_path / "roles", "reviewer.md", ROLE.format(model="sonnet"))
    played = play(
        tmp_path,
        {"main task": [spawn({"task": "child", "role": "reviewer"}), done()], "child": [say("x")]},
        roles=[RoleSource(tmp_path / "roles", "user")],
    )
    await played.turn()
    assert played.results[0].text == "x"
