"""Taking a session away for good. What it cost stays in usage.db."""

from __future__ import annotations

import shutil
from pathlib import Path

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.sessions.presence import opened_by


class OpenSessionError(StorageError):
    """The session is open, here or in another process."""


def delete_session(path: Path) -> None:
    """Remove the folder of a session file. Raises OpenSessionError, and StorageError when the disk refuses."""
    folder = path.parent
    if path.name != "session.jsonl":
        raise StorageError(f"{path} is no session file")
    owner = opened_by(folder)
    if owner is not None:
        raise OpenSessionError(f"the session {folder.name} is open (process {owner.pid})")
    try:
        path.unlink(missing_ok=True)  # first: a removal that is cut short leaves no half a session in the lists
        shutil.rmtree(folder)
    except OSError as error:
        raise StorageError(f"cannot delete {folder}: {error.strerror or error}") from error
