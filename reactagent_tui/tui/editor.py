"""Edit a text in $VISUAL or $EDITOR. The screen steps aside; the agent's thread goes on."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported


def edit_text(app: App[Any], text: str) -> str | None:
    """The edited text, or None when there is no editor or it failed. Blocks: the editor owns the terminal."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.NamedTemporaryFile("w", suffix=".md", prefix="prompt-", delete=False, encoding="utf-8") as file:
        file.write(text)
        path = Path(file.name)
    try:
        with app.suspend():
            done = subprocess.run([*shlex.split(command), str(path)], check=False)
        if done.returncode != 0:
            return None
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    except (OSError, ValueError, SuspendNotSupported):
        return None
    finally:
        path.unlink(missing_ok=True)
