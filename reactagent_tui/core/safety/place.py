"""The surroundings of a session that dangers are measured against, and what was looked up there for one decision."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from reactagent_tui.core.safety.command_data import is_key_file
from reactagent_tui.core.safety.command_words import Word

_TOP = 2
"""Parts of `/usr`: a folder of the system itself."""

MOST_LOOKED_UP = 1_500
"""Paths looked up on the disk for one command line; a line that names more is asked about."""


@dataclass(frozen=True, slots=True)
class Place:
    """Real paths. Made for one decision: what it looked up once it does not look up again."""

    workdir: Path
    roots: tuple[Path, ...]
    home: Path
    own_config: Path
    _real: dict[str, Path] = field(default_factory=dict[str, Path], compare=False, repr=False)
    _keys: dict[Path, bool] = field(default_factory=dict[Path, bool], compare=False, repr=False)
    expanded: dict[tuple[Word, Path | None], tuple[Path, ...]] = field(
        default_factory=dict[tuple[Word, "Path | None"], tuple[Path, ...]], compare=False, repr=False
    )
    """What words named so far."""
    key_names: dict[tuple[Word, Path | None], tuple[str, ...]] = field(
        default_factory=dict[tuple[Word, "Path | None"], tuple[str, ...]], compare=False, repr=False
    )
    """What words named so far that holds keys."""

    @property
    def is_exhausted(self) -> bool:
        """More was to be looked up than is worth it: what is known of the line is not all."""
        return len(self._real) >= MOST_LOOKED_UP

    def real(self, text: str) -> Path:
        """The real path, links followed; beyond the limit only as it is written."""
        known = self._real.get(text)
        if known is None:
            if self.is_exhausted:
                return Path(os.path.normpath(text))
            try:
                known = Path(os.path.realpath(text))
            except OSError:  # a link that may not be read (`/proc/1/root`)
                known = Path(os.path.normpath(text))
            self._real[text] = known
        return known

    def contains(self, path: Path) -> bool:
        return any(path == root or path.is_relative_to(root) for root in self.roots)

    def is_vital(self, path: Path) -> bool:
        """Deleting this whole would take the workspace, the home folder or the system with it."""
        everything = (*self.roots, self.home)
        return any(root == path or root.is_relative_to(path) for root in everything) or len(path.parts) <= _TOP

    def holds_keys(self, path: Path) -> bool:
        known = self._keys.get(path)
        if known is None:
            known = self._keys[path] = is_key_file(path, self.home, self.own_config)
        return known
