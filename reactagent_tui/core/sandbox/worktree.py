"""A second place to work in: a git worktree with the user's uncommitted changes, or a copy of a small folder.

The user's own tree is not changed before `apply`. Every function here blocks: call it in a thread.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from reactagent_tui.core.paths import folder_slug
from reactagent_tui.core.sandbox.git import Change, Repo, SandboxError, run_git

MOST_COPIED_FILES = 5_000
MOST_COPIED_BYTES = 100_000_000
_COMMIT = "Work of ReactAgent"
_CARRIED = "Uncommitted changes that the work began with"

Note = tuple[str, int]
"""A locale key of what is not there, and how many."""


@dataclass(frozen=True, slots=True)
class Worktree:
    """Where a session works, and what it began with. Kept as a file, so that a crash loses nothing."""

    session_id: str
    kind: Literal["worktree", "copy"]
    source: str
    """Top of the user's own tree."""
    origin: str
    """The folder the user started in."""
    root: str
    """Top of the second place."""
    git_dir: str
    base: str
    """Tree of all files at the start."""
    branch: str
    pid: int

    @property
    def workdir(self) -> Path:
        """The user's folder, in the second place."""
        return Path(self.root) / os.path.relpath(self.origin, self.source)

    def user_repo(self) -> Repo:
        git_dir = Path(self.git_dir)
        index = git_dir / "index" if self.kind == "worktree" else None
        return Repo(git_dir, Path(self.source), index, with_ignored=self.kind == "copy")

    def own_repo(self) -> Repo:
        """The same objects, the files of the second place."""
        root = Path(self.root)
        if self.kind == "copy":
            return Repo(Path(self.git_dir), root, with_ignored=True)
        own = Path(run_git(["rev-parse", "--absolute-git-dir"], root).decode().strip())
        return Repo(own, root, own / "index")


def open_worktree(workdir: Path, folder: Path, session_id: str) -> tuple[Worktree, tuple[Note, ...]]:
    """Make the second place for `workdir` under `folder`; what is not there comes back. Raises SandboxError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    root = folder / f"{folder_slug(workdir)}-{session_id}"
    try:
        top = Path(os.path.realpath(run_git(["rev-parse", "--show-toplevel"], workdir).decode().strip()))
        run_git(["rev-parse", "--verify", "-q", "HEAD^{commit}"], workdir)
    except SandboxError:
        if shutil.which("git") is None:
            raise
        return _open_copy(workdir, root, session_id, folder)
    git_dir = Path(run_git(["rev-parse", "--absolute-git-dir"], top).decode().strip())
    user = Repo(git_dir, top, git_dir / "index")
    _check_room(user, folder)
    tree, left_out = user.snapshot()
    branch = f"reactagent/{session_id}"
    start = user.text("rev-parse", "HEAD")
    if tree != user.text("rev-parse", "HEAD^{tree}"):
        start = user.text("commit-tree", tree, "-p", start, "-m", _CARRIED)
    user.run("worktree", "add", "-q", "-b", branch, str(root), start)
    made = Worktree(session_id, "worktree", str(top), str(workdir), str(root), str(git_dir), tree, branch, os.getpid())
    try:
        made.workdir.mkdir(parents=True, exist_ok=True)  # an empty folder is in no tree
        save(made, folder)
        notes = tuple(_notes(user, tree, left_out))
    except BaseException:
        _remove(made)
        raise
    return made, notes


def _open_copy(workdir: Path, root: Path, session_id: str, folder: Path) -> tuple[Worktree, tuple[Note, ...]]:
    _check_small(workdir)
    git_dir = folder / f"{root.name}.git"
    run_git(["init", "-q", "--bare", str(git_dir)], folder)
    user = Repo(git_dir, workdir, with_ignored=True)
    tree, left_out = user.snapshot()
    root.mkdir(mode=0o700)
    own = Repo(git_dir, root, with_ignored=True)
    own.run("read-tree", tree)
    own.run("checkout-index", "-a", "-q", "-f")
    made = Worktree(session_id, "copy", str(workdir), str(workdir), str(root), str(git_dir), tree, "", os.getpid())
    save(made, folder)
    return made, ((("sandbox.left_out", len(left_out)),) if left_out else ())


def _check_small(workdir: Path) -> None:
    files = size = 0
    for place, _folders, names in os.walk(workdir):
        for name in names:
            files += 1
            size += os.lstat(os.path.join(place, name)).st_size
        if files > MOST_COPIED_FILES or size > MOST_COPIED_BYTES:
            raise SandboxError(
                f"{workdir} is no git repository with a commit, and too large to copy "
                f"(more than {MOST_COPIED_FILES:,} files or {MOST_COPIED_BYTES // 1_000_000} MB)"
            )


def _check_room(user: Repo, folder: Path) -> None:
    """A checkout that would fill the disk is refused before it begins."""
    sizes = (line.split()[3] for line in user.run("ls-tree", "-r", "-l", "HEAD").splitlines())
    wanted = sum(int(size) for size in sizes if size != b"-")
    free = shutil.disk_usage(folder).free
    if wanted > free // 2:
        raise SandboxError(f"the repository needs {wanted // 1_000_000:,} MB and {free // 1_000_000:,} MB are free")


def _notes(user: Repo, tree: str, left_out: tuple[str, ...]) -> Iterator[Note]:
    """What the second place lacks."""
    if left_out:
        yield "sandbox.left_out", len(left_out)
    submodules = sum(1 for entry in user.entries(tree).values() if entry.mode == "160000")
    if submodules:
        yield "sandbox.no_submodules", submodules
    ignored = user.run("ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z").count(b"\0")
    if ignored:
        yield "sandbox.no_ignored", ignored
    attributes = user.tree / ".gitattributes"
    if attributes.is_file() and "filter=lfs" in attributes.read_text("utf-8", "replace"):
        yield "sandbox.lfs_pointers", 1


# -- the record ---------------------------------------------------------------------------------


def save(tree: Worktree, folder: Path) -> None:
    path = folder / f"{tree.session_id}.json"
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps(asdict(tree)), "utf-8")
    scratch.replace(path)


def load_all(folder: Path) -> tuple[Worktree, ...]:
    """Every place that still stands, oldest first."""
    found: list[Worktree] = []
    for path in sorted(folder.glob("*.json")):
        try:
            record: dict[str, Any] = json.loads(path.read_text("utf-8"))
            tree = Worktree(**record)
        except (OSError, ValueError, TypeError):
            continue
        if Path(tree.root).is_dir():
            found.append(tree)
    return tuple(found)


def is_in_use(tree: Worktree) -> bool:
    """Does another process that lives work there?"""
    if tree.pid == os.getpid():
        return False
    try:
        os.kill(tree.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


# -- the end ------------------------------------------------------------------------------------


def changes_of(tree: Worktree) -> tuple[str, tuple[Change, ...]]:
    """(tree of all files now, what the work changed). Raises SandboxError."""
    own = tree.own_repo()
    now, _left_out = own.snapshot()
    return now, own.changes(tree.base, now)


def keep(tree: Worktree, folder: Path) -> str:
    """Put the work on its branch (a copy: leave the copy) and say where it is. Raises SandboxError."""
    if tree.kind == "copy":
        _forget(tree, folder)
        return tree.root
    own = tree.own_repo()
    now, _left_out = own.snapshot()
    head = own.text("rev-parse", "HEAD")
    if now != own.text("rev-parse", "HEAD^{tree}"):
        head = own.text("commit-tree", now, "-p", head, "-m", _COMMIT)
    own.run("update-ref", f"refs/heads/{tree.branch}", head)
    _remove(tree, with_branch=False)
    _forget(tree, folder)
    return tree.branch


def discard(tree: Worktree, folder: Path) -> None:
    """Throw the work away."""
    _remove(tree)
    _forget(tree, folder)


def _remove(tree: Worktree, *, with_branch: bool = True) -> None:
    shutil.rmtree(tree.root, ignore_errors=True)
    if tree.kind == "copy":
        shutil.rmtree(tree.git_dir, ignore_errors=True)
        return
    user = tree.user_repo()
    user.run("worktree", "prune")
    if with_branch:
        user.run("update-ref", "-d", f"refs/heads/{tree.branch}")


def _forget(tree: Worktree, folder: Path) -> None:
    (folder / f"{tree.session_id}.json").unlink(missing_ok=True)
