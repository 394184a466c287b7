"""Replaces a small file as a whole: readers see the old content or the new one, never half of it."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Write beside the file, then take its place. Makes the folder. Raises OSError, and leaves nothing behind then."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        draft.write_bytes(data)
        os.replace(draft, path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
