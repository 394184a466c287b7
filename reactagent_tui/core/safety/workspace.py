"""Which paths belong to the session: the working directory and what the user added, by real path."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Workspace:
    """Real paths of the folders the agent works in; the first is the working directory."""

    roots: tuple[Path, ...]

    @classmethod
    def at(cls, workdir: Path, additional: tuple[Path, ...] = ()) -> Workspace:
        return cls(tuple(Path(os.path.realpath(path)) for path in (workdir, *additional)))

    def resolve(self, path: str | Path, workdir: Path) -> Path:
        """The real path that `path` names, symlinks followed, also when the last part does not exist yet.

        Raises ValueError for a path with a NUL byte.
        """
        text = os.fspath(path)
        if "\0" in text:
            raise ValueError("the path contains a NUL byte")
        return Path(os.path.realpath(workdir / Path(text).expanduser()))

    def contains(self, real: Path) -> bool:
        """Is this real path inside one of the roots?"""
        return any(real == root or real.is_relative_to(root) for root in self.roots)

    def shown(self, real: Path) -> str:
        """The path as a user would write it: relative to the working directory when inside, else absolute."""
        root = self.roots[0]
        if real == root:
            return "."
        return str(real.relative_to(root)) if real.is_relative_to(root) else str(real)
