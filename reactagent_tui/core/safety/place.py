"""The surroundings of a session that dangers are measured against."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reactagent_tui.core.safety.command_data import is_key_file

_TOP = 2
"""Parts of `/usr`: a folder of the system itself."""


@dataclass(frozen=True, slots=True)
class Place:
    """Real paths."""

    workdir: Path
    roots: tuple[Path, ...]
    home: Path
    own_config: Path

    def contains(self, path: Path) -> bool:
        return any(path == root or path.is_relative_to(root) for root in self.roots)

    def is_vital(self, path: Path) -> bool:
        """Deleting this whole would take the workspace, the home folder or the system with it."""
        everything = (*self.roots, self.home)
        return any(root == path or root.is_relative_to(path) for root in everything) or len(path.parts) <= _TOP

    def holds_keys(self, path: Path) -> bool:
        return is_key_file(path, self.home, self.own_config)
