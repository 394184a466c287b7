"""`.gitignore` rules of a tree, nested files included, for the places where ripgrep is not asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_FILES = (".gitignore", ".ignore")


class IgnoreRules:
    """Rules from every ignore file between the top of the repository and a folder."""

    def __init__(self, root: Path) -> None:
        self._top = _repository_top(root)
        self._specs: dict[Path, GitIgnoreSpec | None] = {}

    def is_ignored(self, path: Path, *, is_dir: bool) -> bool:
        """Would git leave this path out? Its own folders are taken as not ignored. The nearest rule decides."""
        if path.name == ".git":
            return True
        folder = path.parent
        while True:
            spec = self._spec_of(folder)
            if spec is not None:
                relative = path.relative_to(folder).as_posix() + ("/" if is_dir else "")
                include = spec.check_file(relative).include
                if include is not None:
                    return include
            if folder == self._top or folder == folder.parent:
                return False
            folder = folder.parent

    def _spec_of(self, folder: Path) -> GitIgnoreSpec | None:
        if folder not in self._specs:
            self._specs[folder] = _load(folder)
        return self._specs[folder]


def _load(folder: Path) -> GitIgnoreSpec | None:
    rules: list[str] = []
    for name in _FILES:
        try:
            if (folder / name).is_file():
                rules += (folder / name).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            continue
    if not rules:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(rule.rstrip("\r") for rule in rules)
    except ValueError:
        return None


def _repository_top(folder: Path) -> Path:
    """The folder that holds `.git`, or the folder itself outside a repository."""
    for one in (folder, *folder.parents):
        if (one / ".git").exists():
            return one
    return folder
