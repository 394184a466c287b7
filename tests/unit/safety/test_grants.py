"""Grants at their scopes: kept where they belong, seen by other sessions, taken back, never damaging a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.paths import Paths
from reactagent_tui.core.safety.access import Access, Allow, Ask, Decision
from reactagent_tui.core.safety.grants import GRANT_SCOPES, GrantFile, Grants
from reactagent_tui.core.safety.permissions import Permissions


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "config", tmp_path / "state", tmp_path / "cache")


def session(paths: Paths, folder: Path, home: Path) -> Permissions:
    return Permissions("ask", (folder,), home=home, grants=Grants.of_folder(paths, folder))


def decide(permissions: Permissions, line: str) -> Decision:
    access = Access("run_shell_command", command=line, workdir=permissions.workspace_roots[0])
    return permissions.decide(access, reads_only=False)


def allow(permissions: Permissions, rule: str, scope: str) -> None:
    [known] = [one for one in GRANT_SCOPES if one == scope]
    permissions.grant(Access("run_shell_command", command="make"), rule, known)


@pytest.mark.parametrize(
    ("scope", "same_folder", "other_folder"),
    [("session", False, False), ("project", True, False), ("always", True, True)],
)
def test_how_far_a_scope_reaches(
    paths: Paths, workspace: Path, home: Path, tmp_path: Path, scope: str, same_folder: bool, other_folder: bool
) -> None:
    permissions = session(paths, workspace, home)
    open_already = session(paths, workspace, home)
    assert isinstance(decide(open_already, "make test"), Ask)
    allow(permissions, "Bash(make *)", scope)
    assert decide(permissions, "make test") == Allow("Bash(make *)")
    assert isinstance(decide(open_already, "make test"), Allow) is same_folder
    assert isinstance(decide(session(paths, workspace, home), "make test"), Allow) is same_folder
    assert isinstance(decide(session(paths, tmp_path / "other", home), "make test"), Allow) is other_folder
    [grant] = permissions.grants.listed()
    assert (grant.rule, grant.scope) == ("Bash(make *)", scope)
    assert permissions.grants.remove(grant)
    assert not permissions.grants.remove(grant)
    assert isinstance(decide(permissions, "make test"), Ask)
    assert isinstance(decide(open_already, "make test"), Ask)


def test_nothing_is_written_into_the_project_or_the_users_yaml(paths: Paths, workspace: Path, home: Path) -> None:
    paths.config.mkdir(parents=True)
    mine = "# my words\npermissions:\n  allow: [make]\n"
    (paths.config / "config.yaml").write_text(mine)
    before = sorted(workspace.rglob("*"))
    permissions = session(paths, workspace, home)
    for scope in GRANT_SCOPES:
        allow(permissions, f"Bash({scope} *)", scope)
    assert sorted(workspace.rglob("*")) == before
    assert (paths.config / "config.yaml").read_text() == mine
    assert json.loads((paths.config / "permissions.json").read_text()) == {"allow": ["Bash(always *)"]}
    [kept] = (paths.state / "projects").glob("*/permissions.json")
    assert json.loads(kept.read_text()) == {"folder": str(workspace), "allow": ["Bash(project *)"]}
    assert kept.stat().st_mode & 0o077 == 0


def test_calls_of_the_session_are_listed_and_taken_back(paths: Paths, workspace: Path, home: Path) -> None:
    permissions = session(paths, workspace, home)
    permissions.grant(Access("run_shell_command", command="make x", workdir=workspace), None)
    permissions.grant(Access("write_file", writes=(workspace / "a",)), None)
    listed = permissions.grants.listed()
    assert [grant.rule for grant in listed] == ["run_shell_command: make x", f"write_file: {workspace / 'a'}"]
    permissions.grants.remove(listed[0])
    assert isinstance(decide(permissions, "make x"), Ask)
    assert len(permissions.grants.listed()) == 1


@pytest.mark.parametrize("content", ["{", "[]", '{"allow": "x"}', '{"allow": [1]}', "\ud800", "\x00"])
def test_a_damaged_file_grants_nothing_and_is_not_overwritten(tmp_path: Path, content: str) -> None:
    path = tmp_path / "permissions.json"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    file = GrantFile(path)
    assert file.rules() == ()
    with pytest.raises(StorageError):
        file.add("make")
    assert path.read_bytes() == content.encode("utf-8", "surrogatepass")


def test_a_rule_that_is_none_is_left_out_and_kept_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    path.write_text('{"note": "mine", "allow": ["((", "Bash(ls *)"]}')
    file = GrantFile(path)
    assert [rule.text for rule in file.rules()] == ["Bash(ls *)"]
    file.add("Bash(make *)")
    assert json.loads(path.read_text()) == {"note": "mine", "allow": ["((", "Bash(ls *)", "Bash(make *)"]}
    with pytest.raises(ValueError, match="no permission rule"):
        file.add(")(")


def test_what_cannot_be_kept_holds_for_this_session(paths: Paths, workspace: Path, home: Path) -> None:
    paths.config.write_text("a file where the folder should be")
    permissions = session(paths, workspace, home)
    with pytest.raises(StorageError):
        allow(permissions, "Bash(make *)", "always")
    assert isinstance(decide(permissions, "make"), Allow)
    assert isinstance(decide(session(paths, workspace, home), "make"), Ask)


def test_the_hard_list_stays_whatever_is_kept(paths: Paths, workspace: Path, home: Path) -> None:
    permissions = session(paths, workspace, home)
    allow(permissions, "Bash", "always")
    decision = decide(permissions, "rm -rf ~")
    assert isinstance(decision, Ask)
    assert decision.dangerous


def test_the_question_names_the_part_that_is_new(paths: Paths, workspace: Path, home: Path) -> None:
    permissions = session(paths, workspace, home)
    allow(permissions, "Bash(make *)", "session")
    decision = decide(permissions, "ls && make test && cargo build | head")
    assert isinstance(decision, Ask)
    assert decision.new == ("cargo build",)
    assert decision.pattern == "run_shell_command(cargo build *)"
    alone = decide(permissions, "cargo build")
    assert isinstance(alone, Ask)
    assert alone.new == ()
