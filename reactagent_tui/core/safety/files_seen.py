"""What the session knows of files: their hash when last read or written, so that nothing stale is overwritten."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path


def digest(data: bytes) -> str:
    """A content hash; equality means equal bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@dataclass
class FilesSeen:
    """Real path -> content hash at the last read or write by this session."""

    _digests: dict[Path, str] = field(default_factory=dict[Path, str])

    def remember(self, path: Path, data: bytes) -> None:
        """The model has seen these bytes (or wrote them)."""
        self._digests[path] = digest(data)

    def remember_digest(self, path: Path, known: str) -> None:
        """`remember` for a file that was hashed as it streamed by (with `digest`'s hash)."""
        self._digests[path] = known

    def forget(self, path: Path) -> None:
        self._digests.pop(path, None)

    def has(self, path: Path) -> bool:
        return path in self._digests

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every file that was read or written."""
        return tuple(self._digests)

    def is_stale(self, path: Path, data: bytes) -> bool:
        """The file was seen before and its bytes are others now."""
        known = self._digests.get(path)
        return known is not None and known != digest(data)
