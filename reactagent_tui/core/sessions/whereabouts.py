"""Where the files of sessions lie. Looks at names and times only, never into a file."""

from __future__ import annotations

import os
from pathlib import Path

from reactagent_tui.core.paths import folder_slug

FILE = "session.jsonl"


def newest_files(root: Path, workdir: Path) -> list[Path]:
    """The session files of a folder, the one written last first."""
    found: list[tuple[int, Path]] = []
    for folder in subfolders(root / folder_slug(workdir)):
        path = folder / FILE
        try:
            found.append((path.stat().st_mtime_ns, path))
        except OSError:
            continue
    return [path for _, path in sorted(found, key=lambda entry: entry[0], reverse=True)]


def file_of(root: Path, session_id: str, workdir: Path) -> Path | None:
    """The file of the session with exactly this id, in the folder of `workdir` or any other; None: there is none."""
    if not session_id or session_id in (".", "..") or set(session_id) & {"/", "\\", "\0"}:
        return None
    for folder in (root / folder_slug(workdir), *subfolders(root)):
        path = folder / session_id / FILE
        if path.is_file():
            return path
    return None


def subfolders(folder: Path) -> list[Path]:
    """The folders in a folder; none when it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
