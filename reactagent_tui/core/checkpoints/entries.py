"""What stands at a path: a file, a link, a folder, or something that is never touched. Plain data and one look.

Paths are absolute and real (no link on the way), as `str` with surrogates for bytes that are no text.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Kind = Literal["file", "link", "dir", "other"]
_KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in the tree. Two that are equal need no restoring."""

    kind: Kind
    mode: int = 0
    """Permission bits; 0 for links."""
    digest: str = ""
    """Hash of the content (of the target for a link); for what is not stored a stamp that changes with it."""
    size: int = 0
    stored: bool = True
    """The content is kept, so that it can be brought back."""

    def to_record(self) -> dict[str, Any]:
        """A JSON-ready dict."""
        record: dict[str, Any] = {"kind": self.kind, "mode": self.mode, "digest": self.digest, "size": self.size}
        return record if self.stored else record | {"stored": False}


def entry_from_record(record: Mapping[str, Any] | None) -> Entry | None:
    """What `to_record` wrote; None: nothing was there. Raises KeyError, TypeError or ValueError."""
    if record is None:
        return None
    kind = str(record["kind"])
    if kind not in _KINDS:
        raise ValueError(f"unknown kind {kind!r}")
    return Entry(
        kind,
        int(record["mode"]),
        str(record["digest"]),
        int(record["size"]),
        bool(record.get("stored", True)),
    )


@dataclass(frozen=True, slots=True)
class Change:
    """A path whose entry became another one. None: nothing there."""

    path: str
    before: Entry | None
    after: Entry | None

    def to_record(self) -> dict[str, Any]:
        """A JSON-ready dict."""
        return {
            "path": self.path,
            "before": None if self.before is None else self.before.to_record(),
            "after": None if self.after is None else self.after.to_record(),
        }


def change_from_record(record: Mapping[str, Any]) -> Change:
    """What `to_record` wrote. Raises KeyError, TypeError or ValueError."""
    return Change(str(record["path"]), entry_from_record(record["before"]), entry_from_record(record["after"]))


def stamp(status: os.stat_result) -> str:
    """Changes with the content of a file that is not read."""
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


def unstored(status: os.stat_result) -> Entry:
    """A regular file whose content is not kept."""
    return Entry("file", stat.S_IMODE(status.st_mode), stamp(status), status.st_size, stored=False)


def special(status: os.stat_result) -> Entry:
    """A pipe, socket or device, or what cannot be read: never touched."""
    return Entry("other", stat.S_IMODE(status.st_mode), f"{stat.S_IFMT(status.st_mode)}-{status.st_ino}", stored=False)


def has_real_parent(path: str) -> bool:
    """No link on the way to the path: else it is not the file it was noted as."""
    parent = os.path.dirname(path)
    return os.path.realpath(parent) == parent
