"""Git as the sandbox uses it: trees of a folder's files, made without touching the folder's own index. Blocks."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reactagent_tui.core.errors import ReactAgentError

PATIENCE = 600.0
MOST_UNTRACKED = 5_000
LARGEST_UNTRACKED = 50_000_000
"""Bytes of one file that git does not know; a larger one stays out."""
_QUIET = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "gc.auto=0",
    "filter.lfs.smudge=",
    "filter.lfs.clean=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
)
_NAME = {
    "GIT_AUTHOR_NAME": "ReactAgent",
    "GIT_AUTHOR_EMAIL": "reactagent@localhost",
    "GIT_COMMITTER_NAME": "ReactAgent",
    "GIT_COMMITTER_EMAIL": "reactagent@localhost",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C",
}


class SandboxError(ReactAgentError):
    """The sandbox cannot be had, or not be ended in this way; the text says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a tree."""

    mode: str
    blob: str


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one path between two trees; None: not there."""

    path: str
    old: Entry | None
    new: Entry | None


@dataclass(frozen=True, slots=True)
class Repo:
    """Where objects are kept, and the folder whose files are looked at."""

    git_dir: Path
    tree: Path
    own_index: Path | None = None
    """Taken as a start, which makes it fast; never written."""
    with_ignored: bool = False

    def run(self, *args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> bytes:
        """Output of a git command. Raises SandboxError."""
        place = {"GIT_DIR": str(self.git_dir), "GIT_WORK_TREE": str(self.tree)}
        return run_git(args, self.tree, stdin=stdin, env={**place, **(env or {})})

    def text(self, *args: str) -> str:
        return self.run(*args).decode("utf-8", "surrogateescape").strip()

    def snapshot(self) -> tuple[str, tuple[str, ...]]:
        """The tree of all files as they are now, and the paths that are too large for it."""
        with _scratch_index(self.own_index) as index:
            env = {"GIT_INDEX_FILE": str(index)}
            if index.exists():
                self.run("add", "-u", "--", ":/", env=env)
            flags = () if self.with_ignored else ("--exclude-standard",)
            listed = self.run("ls-files", "-o", "-z", *flags, env=env).split(b"\0")
            chosen, left_out = self._choose([path for path in listed if path])
            if chosen:
                self.run("update-index", "--add", "-z", "--stdin", stdin=b"\0".join(chosen) + b"\0", env=env)
            tree = self.run("write-tree", env=env).decode().strip()
        return tree, tuple(os.fsdecode(path) for path in left_out)

    def _choose(self, paths: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
        chosen: list[bytes] = []
        left_out: list[bytes] = []
        for path in paths:
            full = os.path.join(os.fsencode(self.tree), path)
            try:
                size = os.lstat(full).st_size
            except OSError:
                continue
            nested = path.endswith(b"/")  # a repository of its own
            fits = not nested and size <= LARGEST_UNTRACKED and len(chosen) < MOST_UNTRACKED
            (chosen if fits else left_out).append(path)
        return chosen, left_out

    def changes(self, old: str, new: str) -> tuple[Change, ...]:
        """What differs between two trees, by path."""
        fields = self.run("diff-tree", "-r", "-z", "--no-renames", "--raw", old, new).split(b"\0")
        found: list[Change] = []
        for facts, path in zip(fields[::2], fields[1::2], strict=False):
            old_mode, new_mode, old_blob, new_blob, _status = facts.decode().lstrip(":").split(" ")
            before = None if old_mode == "000000" else Entry(old_mode, old_blob)
            after = None if new_mode == "000000" else Entry(new_mode, new_blob)
            found.append(Change(os.fsdecode(path), before, after))
        return tuple(found)

    def entries(self, tree: str) -> dict[str, Entry]:
        """Every file of a tree."""
        found: dict[str, Entry] = {}
        for line in self.run("ls-tree", "-r", "-z", tree).split(b"\0"):
            facts, _, path = line.partition(b"\t")
            if path:
                mode, _kind, blob = facts.decode().split(" ")
                found[os.fsdecode(path)] = Entry(mode, blob)
        return found

    def content(self, tree: str, path: str) -> bytes:
        """A file of a tree as it would be checked out."""
        return self.run("cat-file", "--filters", f"{tree}:{path}")


def run_git(
    args: Sequence[str], cwd: Path, *, stdin: bytes | None = None, env: Mapping[str, str] | None = None
) -> bytes:
    """Output of git without the user's hooks, pagers and questions. Raises SandboxError."""
    base = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *(word for setting in _QUIET for word in ("-c", setting)), *args]
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**base, **_NAME, **(env or {})},
            input=stdin if stdin is not None else b"",
            capture_output=True,
            check=False,
            timeout=PATIENCE,
        )
    except FileNotFoundError as error:
        raise SandboxError("git is not installed") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"git {args[0]}: {error}") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit {done.returncode}"]
        raise SandboxError(f"git {args[0]}: {lines[-1]}")
    return done.stdout


def merged(ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """A three-way merge of one text; None: both changed the same lines, or it is no text."""
    if b"\0" in ours + base + theirs:
        return None
    with tempfile.TemporaryDirectory(prefix="reactagent-merge-") as folder:
        paths = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for path, data in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(data)
        done = subprocess.run(
            ["git", "merge-file", "-p", "-q", *map(str, paths)], capture_output=True, check=False, timeout=60
        )
    return done.stdout if done.returncode == 0 else None


@contextmanager
def _scratch_index(own: Path | None) -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="reactagent-index-") as folder:
        index = Path(folder, "index")
        if own is not None and own.is_file():
            shutil.copy2(own, index)  # with its time: git looks again at files that changed in the second of the index
        yield index
