"""Changes as the user reads them: what kind, how many lines, and the lines themselves. Blocking: reads contents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reactagent_tui.core.checkpoints.blobs import BlobStore
from reactagent_tui.core.checkpoints.entries import Change, Entry
from reactagent_tui.core.display import DiffBlock, clean_line
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.tools.diff import file_diff
from reactagent_tui.core.tools.places import shown_name
from reactagent_tui.core.tools.textfile import BinaryFileError, decode

Verb = Literal["created", "changed", "deleted", "renamed"]
LARGEST = 4 << 20
"""Bytes of a file whose lines are compared; above it only its size is told."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed file, link or mode. Folders are not listed: they come and go with files."""

    path: str
    shown: str
    """Relative to the working directory where it lies inside, safe to show."""
    verb: Verb
    added: int = 0
    removed: int = 0
    old_name: str = ""
    """Where a renamed file was, as `shown`."""
    note: Literal["", "binary", "mode", "kept_nowhere"] = ""
    """Why there are no lines."""
    before: Entry | None = None
    after: Entry | None = None
    block: DiffBlock | None = None


def file_changes(changes: Sequence[Change], store: BlobStore, workdir: Path, *, with_blocks: bool) -> list[FileChange]:
    """The changed files by name; a file that went and came elsewhere with the same content was renamed."""
    files = [c for c in changes if not all(one is None or one.kind == "dir" for one in (c.before, c.after))]
    moved = _renames(files)
    gone = {old.path for old in moved.values()}
    found: list[FileChange] = []
    for change in sorted(files, key=lambda change: change.path):
        if change.path in gone:
            continue
        old = moved.get(change.path)
        if old is not None:
            shown = _shown(change.path, workdir)
            was = _shown(old.path, workdir)
            found.append(FileChange(change.path, shown, "renamed", old_name=was, before=old.before, after=change.after))
        else:
            found.append(_file_change(change, store, workdir, with_blocks=with_blocks))
    return found


def _renames(files: Sequence[Change]) -> dict[str, Change]:
    """New path -> the change that took the file away."""
    gone: dict[tuple[str, str], list[Change]] = {}
    for change in files:
        if change.before is not None and change.before.size and (change.after is None or change.after.kind == "dir"):
            gone.setdefault((change.before.kind, change.before.digest), []).append(change)
    moved: dict[str, Change] = {}
    for change in files:
        if change.before is None and change.after is not None:
            sources = gone.get((change.after.kind, change.after.digest))
            if sources:
                moved[change.path] = sources.pop(0)
    return moved


def _file_change(change: Change, store: BlobStore, workdir: Path, *, with_blocks: bool) -> FileChange:
    before, after = _no_folder(change.before), _no_folder(change.after)
    verb: Verb = "created" if before is None else "deleted" if after is None else "changed"
    shown = _shown(change.path, workdir)
    if before is not None and after is not None and (before.kind, before.digest) == (after.kind, after.digest):
        return FileChange(change.path, shown, verb, note="mode", before=before, after=after)
    try:
        old, new = _text(before, store), _text(after, store)
    except BinaryFileError:
        return FileChange(change.path, shown, verb, note="binary", before=before, after=after)
    except StorageError:
        return FileChange(change.path, shown, verb, note="kept_nowhere", before=before, after=after)
    diff = file_diff(old, new)
    block = diff.block(shown, created=before is None) if with_blocks else None
    return FileChange(change.path, shown, verb, diff.added, diff.removed, before=before, after=after, block=block)


def _no_folder(entry: Entry | None) -> Entry | None:
    return None if entry is not None and entry.kind == "dir" else entry


def _text(entry: Entry | None, store: BlobStore) -> str:
    """The text of a file, the target of a link. Raises BinaryFileError, StorageError."""
    if entry is None:
        return ""
    if not entry.stored:
        raise StorageError("the content was not kept")
    if entry.size > LARGEST:
        raise BinaryFileError("too large to compare")
    data = store.get(entry.digest)
    if entry.kind == "link":
        return f"-> {shown_name(os.fsdecode(data))}\n"
    return decode(data).text


def _shown(path: str, workdir: Path) -> str:
    root = str(workdir)
    inside = path.startswith(root.rstrip(os.sep) + os.sep)
    return clean_line(shown_name(os.path.relpath(path, root) if inside else path))
