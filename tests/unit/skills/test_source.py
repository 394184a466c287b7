"""Addresses of skills taken apart, and what git brings: from repositories on this disk, with nothing run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.skills.source import SourceSpec, fetch_source, parse_source, run_git, without_password


def git(folder: Path, *args: str) -> str:
    named = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *named, *args], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(folder: Path, files: dict[str, str]) -> str:
    """A repository with one more commit; gives it."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True)
        git(folder, "init", "--quiet")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "x")
    return git(folder, "rev-parse", "HEAD")


@pytest.mark.parametrize(
    ("text", "address", "subdir", "ref"),
    [
        ("https://example.org/a/b", "https://example.org/a/b", "", ""),
        ("https://example.org/a/b.git@v1.2", "https://example.org/a/b.git", "", "v1.2"),
        ("https://example.org/a/b#skills/x", "https://example.org/a/b", "skills/x", ""),
        ("https://example.org/a/b#skills/x@v1", "https://example.org/a/b", "skills/x", "v1"),
        ("https://example.org/a/b#@feature/y", "https://example.org/a/b", "", "feature/y"),
        ("https://me:pw@example.org/a/b", "https://me:pw@example.org/a/b", "", ""),
        ("https://me@example.org/a/b@main", "https://me@example.org/a/b", "", "main"),
        ("git@example.org:a/b.git", "git@example.org:a/b.git", "", ""),
        ("git@example.org:b", "git@example.org:b", "", ""),
        ("git@example.org:a/b.git@v1#x", "git@example.org:a/b.git@v1", "x", ""),
        ("git@example.org:a/b.git#x@v1", "git@example.org:a/b.git", "x", "v1"),
        ("ssh://git@example.org:22/a", "ssh://git@example.org:22/a", "", ""),
    ],
)
def test_an_address_is_taken_apart(text: str, address: str, subdir: str, ref: str, tmp_path: Path) -> None:
    assert parse_source(text, tmp_path) == SourceSpec(address, subdir, ref)


def test_folders_are_taken_as_they_are_called(tmp_path: Path) -> None:
    for name in ("plain", "with@at", "with#hash"):
        (tmp_path / name).mkdir()
        assert parse_source(f"./{name}", tmp_path) == SourceSpec(str(tmp_path / name))
    assert parse_source("plain@v1", tmp_path) == SourceSpec(str(tmp_path / "plain"), "", "v1")
    assert parse_source("plain#a/b@v1", tmp_path) == SourceSpec(str(tmp_path / "plain"), "a/b", "v1")


@pytest.mark.parametrize(
    "text",
    [
        *("", "#x", "--upload-pack=touch x", "https://example.org/a@-x", "ext::sh -c touch", "ftp://example.org/x"),
        *(
            "none-such-folder",
            "https://example.org/a#../up",
            "https://example.org/a#.GIT/hooks",
            "https://example.org/a#a/../../b",
            "https://e.org/\x1b[2J",
        ),
        "https://example.org/a#.git/hooks",
    ],
)
def test_what_is_no_address_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(SkillError):
        parse_source(text, tmp_path)


def test_passwords_are_not_shown() -> None:
    assert without_password("https://me:token@example.org/a") == "https://example.org/a"
    assert without_password("git@example.org:a") == "git@example.org:a"
    assert SourceSpec("https://t@example.org/a", "s", "v").shown == "https://example.org/a#s@v"
    assert SourceSpec("https://example.org/a", "", "f/y").shown == "https://example.org/a#@f/y"


def test_branches_tags_and_commits(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    first = repository(repo, {"a/x.txt": "one"})
    git(repo, "tag", "v1")
    git(repo, "checkout", "--quiet", "-b", "feature/y")
    branch = repository(repo, {"a/x.txt": "branch"})
    git(repo, "checkout", "--quiet", "main")
    middle = repository(repo, {"a/x.txt": "two"})
    last = repository(repo, {"a/x.txt": "three"})
    for number, (ref, commit, text) in enumerate(
        [
            *(("", last, "three"), ("v1", first, "one"), ("feature/y", branch, "branch"), (middle, middle, "two")),
            (middle[:10], middle, "two"),
        ]
    ):
        into = tmp_path / f"into{number}"
        into.mkdir()
        fetched = fetch_source(SourceSpec(str(repo), "a", ref), into)
        assert (fetched.commit, (fetched.folder / "x.txt").read_text(), fetched.name) == (commit, text, "repo")


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repository(repo, {"x.txt": "one"})
    into = tmp_path / "into"
    into.mkdir()
    with pytest.raises(SkillError, match="no branch, tag or commit v9"):
        fetch_source(SourceSpec(str(repo), "", "v9"), into)
    with pytest.raises(SkillError, match="there is no folder none"):
        fetch_source(SourceSpec(str(repo), "none"), _empty(tmp_path / "b"))
    with pytest.raises(SkillError, match="git fetch"):
        fetch_source(SourceSpec("file:///none/such/repo"), _empty(tmp_path / "c"))


def _empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_a_plain_folder_needs_no_git_and_has_no_ref(tmp_path: Path) -> None:
    (tmp_path / "plain" / "in").mkdir(parents=True)
    fetched = fetch_source(SourceSpec(str(tmp_path / "plain"), "in"), _empty(tmp_path / "into"))
    assert (fetched.folder, fetched.commit) == (tmp_path / "plain" / "in", "")
    with pytest.raises(SkillError, match="no git repository"):
        fetch_source(SourceSpec(str(tmp_path / "plain"), "", "v1"), tmp_path / "into")


def test_a_subfolder_that_is_a_link_out_is_refused(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "--quiet")
    (repo / "out").symlink_to("/etc")
    repository(repo, {"x.txt": ""})
    with pytest.raises(SkillError, match="leads out"):
        fetch_source(SourceSpec(str(repo), "out"), _empty(tmp_path / "into"))


def test_no_hook_of_anybody_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = tmp_path / "repo"
    repository(repo, {"x.txt": "", ".githooks/post-checkout": "#!/bin/sh\ntouch ran"})
    hooks = tmp_path / "template" / "hooks"
    hooks.mkdir(parents=True)
    marker = tmp_path / "ran"
    for folder, name in ((hooks, "post-checkout"), (repo / ".git" / "hooks", "post-checkout")):
        (folder / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(hooks.parent))
    monkeypatch.setenv("GIT_DIR", str(repo / ".git"))
    fetch_source(SourceSpec(str(repo)), _empty(tmp_path / "into"))
    assert not marker.exists()


def test_submodules_are_not_fetched(tmp_path: Path) -> None:
    repository(tmp_path / "inner", {"secret.txt": "x"})
    repository(tmp_path / "repo", {"x.txt": ""})
    git(tmp_path / "repo", "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "inner"), "sub")
    repository(tmp_path / "repo", {})
    fetched = fetch_source(SourceSpec(str(tmp_path / "repo")), _empty(tmp_path / "into"))
    assert list((fetched.folder / "sub").iterdir()) == []


def test_git_is_ended_when_it_takes_too_long(tmp_path: Path) -> None:
    with pytest.raises(SkillError, match="no answer within"):
        run_git(["-c", "alias.wait=!sleep 60", "wait"], tmp_path, patience=0.2)


def test_git_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SkillError, match="not installed"):
        run_git(["status"], tmp_path)
