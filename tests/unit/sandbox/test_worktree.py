"""Real repositories: the second place has the user's changes, and its work comes back or goes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from reactagent_tui.core.sandbox import worktree as places
from reactagent_tui.core.sandbox.applying import apply
from reactagent_tui.core.sandbox.git import SandboxError
from reactagent_tui.core.sandbox.worktree import Worktree, changes_of, discard, keep, load_all, open_worktree


def git(place: Path, *args: str) -> str:
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *args], cwd=place, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state" / "worktrees"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Two commits of nothing special, then changes of every kind that are not committed."""
    place = tmp_path / "shop"
    (place / "src").mkdir(parents=True)
    git(place, "init", "-q")
    (place / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    (place / "src" / "b.py").write_text("b = 1\n")
    (place / "gone.txt").write_text("x\n")
    (place / ".gitignore").write_text("ignored/\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "first")
    (place / "src" / "b.py").write_text("b = 2\n")
    (place / "staged.txt").write_text("staged\n")
    git(place, "add", "staged.txt")
    (place / "中 文.txt").write_text("untracked\n")
    (place / "gone.txt").unlink()
    (place / "ignored").mkdir()
    (place / "ignored" / "big").write_text("x")
    return place


def files(place: Path) -> dict[str, str]:
    found = (path for path in sorted(place.rglob("*")) if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(place)): path.read_text() for path in found}


def whole(place: Path) -> tuple[dict[str, str], str, str]:
    return files(place), git(place, "status", "--porcelain=v1"), git(place, "rev-parse", "HEAD")


def test_the_second_place_has_what_is_not_committed_and_the_first_is_not_touched(repo: Path, state: Path) -> None:
    before = whole(repo)
    tree, notes = open_worktree(repo / "src", state, "s1")
    assert tree.workdir == Path(tree.root) / "src"
    expected = {name: text for name, text in before[0].items() if not name.startswith("ignored")}
    assert files(Path(tree.root)) == expected
    assert notes == (("sandbox.no_ignored", 1),)
    Path(tree.root, "a.txt").write_text("changed\n")
    assert whole(repo) == before
    assert load_all(state) == (tree,)


def work(tree: Worktree) -> None:
    root = Path(tree.root)
    (root / "a.txt").write_text("ONE\ntwo\nthree\nfour\nfive\n")
    (root / "new").mkdir()
    (root / "new" / "tool.sh").write_text("#!/bin/sh\n")
    (root / "new" / "tool.sh").chmod(0o755)
    (root / "src" / "b.py").unlink()
    (root / "link").symlink_to("a.txt")
    git(root, "add", "a.txt")
    git(root, "commit", "-qm", "the agent commits as well")


def test_apply_brings_everything_and_leaves_index_and_commits_alone(repo: Path, state: Path) -> None:
    staged, head = git(repo, "diff", "--cached"), git(repo, "rev-parse", "HEAD")
    tree, _notes = open_worktree(repo, state, "s1")
    work(tree)
    assert {c.path for c in changes_of(tree)[1]} == {"a.txt", "new/tool.sh", "src/b.py", "link"}
    applied = apply(tree, state)
    assert applied.conflicts == applied.merged == ()
    assert (repo / "a.txt").read_text().startswith("ONE")
    assert os.access(repo / "new" / "tool.sh", os.X_OK)
    assert not (repo / "src" / "b.py").exists()
    assert os.readlink(repo / "link") == "a.txt"
    assert (repo / "中 文.txt").read_text() == "untracked\n"
    assert git(repo, "diff", "--cached") == staged
    assert git(repo, "rev-parse", "HEAD") == head
    assert not Path(tree.root).exists()
    assert git(repo, "branch", "--list", "reactagent/*") == ""
    assert load_all(state) == ()


def test_what_the_user_changed_meanwhile_is_merged(repo: Path, state: Path) -> None:
    tree, _notes = open_worktree(repo, state, "s1")
    work(tree)
    (repo / "a.txt").write_text("one\ntwo\nthree\nfour\nFIVE\n")
    (repo / "mine.txt").write_text("mine\n")
    applied = apply(tree, state)
    assert applied.merged == ("a.txt",)
    assert (repo / "a.txt").read_text() == "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert (repo / "mine.txt").read_text() == "mine\n"


def test_an_edit_in_the_second_of_the_index_is_seen(repo: Path, state: Path) -> None:
    """Same size, same time stamp: only the time of the index tells git to look into the file."""
    git(repo, "config", "core.trustctime", "false")
    tree, _notes = open_worktree(repo, state, "s1")
    work(tree)
    before = (repo / "a.txt").stat()
    (repo / "a.txt").write_text("one\ntwo\nthree\nfour\nFIVE\n")
    for path in (repo / "a.txt", repo / ".git" / "index"):
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert apply(tree, state).merged == ("a.txt",)
    assert (repo / "a.txt").read_text() == "ONE\ntwo\nthree\nfour\nFIVE\n"


@pytest.mark.parametrize("clash", ["same line", "deleted", "ignored file", "link on the way"])
def test_a_conflict_changes_nothing(repo: Path, state: Path, clash: str, tmp_path: Path) -> None:
    tree, _notes = open_worktree(repo, state, "s1")
    work(tree)
    match clash:
        case "same line":
            (repo / "a.txt").write_text("uno\ntwo\nthree\nfour\nfive\n")
        case "deleted":
            (repo / "a.txt").unlink()
        case "ignored file":
            Path(tree.root, ".gitignore").write_text("")
            Path(tree.root, "ignored").mkdir()
            Path(tree.root, "ignored", "big").write_text("other")
        case _:
            (tmp_path / "elsewhere").mkdir()
            (repo / "new").symlink_to(tmp_path / "elsewhere")
    before = whole(repo)
    applied = apply(tree, state)
    assert len(applied.conflicts) == 1
    assert whole(repo) == before
    assert Path(tree.root).is_dir()
    assert load_all(state) == (tree,)
    assert list((tmp_path / "elsewhere").glob("*")) == [] if clash == "link on the way" else True


def test_a_write_that_fails_is_taken_back(repo: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, _notes = open_worktree(repo, state, "s1")
    work(tree)
    before = whole(repo)
    real = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.name == "tool.sh":
            raise OSError(28, "No space left on device", str(target))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(SandboxError, match="nothing was changed"):
        apply(tree, state)
    assert whole(repo) == before
    assert Path(tree.root).is_dir()


def test_keep_leaves_a_branch_with_the_work(repo: Path, state: Path) -> None:
    before = whole(repo)
    tree, _notes = open_worktree(repo, state, "s1")
    work(tree)
    assert keep(tree, state) == "reactagent/s1"
    assert whole(repo) == before
    assert git(repo, "show", "reactagent/s1:new/tool.sh") == "#!/bin/sh"
    assert not Path(tree.root).exists()
    assert load_all(state) == ()
    assert len(git(repo, "worktree", "list").splitlines()) == 1


def test_discard_leaves_no_trace(repo: Path, state: Path) -> None:
    before = whole(repo)
    tree, _notes = open_worktree(repo, state, "s1")
    work(tree)
    discard(tree, state)
    assert whole(repo) == before
    assert git(repo, "branch", "--list", "reactagent/*") == ""
    assert list(state.iterdir()) == []


def test_hooks_of_the_repository_do_not_run_and_submodules_are_named(repo: Path, state: Path, tmp_path: Path) -> None:
    hook = repo / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    head = git(repo, "rev-parse", "HEAD")
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{head},lib")
    (repo / "lib").mkdir()
    (repo / ".gitattributes").write_text("*.psd filter=lfs diff=lfs merge=lfs -text\n")
    _tree, notes = open_worktree(repo, state, "s1")
    assert not (tmp_path / "ran").exists()
    assert {key for key, _count in notes} == {"sandbox.no_submodules", "sandbox.no_ignored", "sandbox.lfs_pointers"}


def test_a_folder_without_git_is_copied_when_it_is_small(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "notes"
    place.mkdir()
    (place / "a.md").write_text("a\n")
    (place / ".gitignore").write_text("b.md\n")
    (place / "b.md").write_text("b\n")
    tree, notes = open_worktree(place, state, "s1")
    assert (tree.kind, notes) == ("copy", ())
    assert files(Path(tree.root)) == files(place)
    Path(tree.root, "b.md").write_text("B\n")
    assert files(place)["b.md"] == "b\n"
    assert apply(tree, state).written == ("b.md",)
    assert files(place)["b.md"] == "B\n"
    assert not (place / ".git").exists()
    assert list(state.iterdir()) == []
    monkeypatch.setattr(places, "MOST_COPIED_FILES", 2)
    with pytest.raises(SandboxError, match="too large to copy"):
        open_worktree(place, state, "s2")


def test_a_disk_without_room_refuses(repo: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        free = 10

    monkeypatch.setattr(places.shutil, "disk_usage", lambda _path: Full)
    with pytest.raises(SandboxError, match="are free"):
        open_worktree(repo, state, "s1")
