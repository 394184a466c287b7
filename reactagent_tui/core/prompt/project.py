"""Instruction files that are plain text and always read: the user's own AGENTS.md, then the project's, root first.

`CLAUDE.md` and `GEMINI.md` count only in a folder without an `AGENTS.md`.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
CAP = 32 * 1024


def instruction_files(workdir: Path, config: Path) -> list[tuple[str, str]]:
    """(shown name, text) from the most general to the nearest; the texts together stay under 32 KiB."""
    found: list[tuple[str, str]] = []
    own = config / "AGENTS.md"
    text = _read(own, Path(own.anchor))  # the user's own may be a link to anywhere
    if text:
        found.append((str(own), text))
    folders = _folders(workdir)
    found += [one for folder in folders if (one := instruction_file(folder, folders[0])) is not None]
    return _capped(found)


def instruction_file(folder: Path, inside: Path) -> tuple[str, str] | None:
    """(path, text) of the one instruction file that counts in a folder; a link must stay `inside`."""
    for name in NAMES:
        text = _read(folder / name, inside)
        if text:
            return str(folder / name), text
    return None


def _folders(workdir: Path) -> list[Path]:
    """From the root of the repository down to the working directory; only the latter outside of one."""
    chain = [workdir, *workdir.parents]
    for index, folder in enumerate(chain):
        if (folder / ".git").exists():
            return list(reversed(chain[: index + 1]))
    return [workdir]


def _read(path: Path, inside: Path) -> str:
    """The text of a plain file within `inside`: a link out of the project could name a key, a pipe never ends."""
    try:
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(os.path.realpath(inside)):
            return ""
        fd = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(fd, "rb") as stream:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return ""
            return stream.read(CAP + 1).decode("utf-8", errors="replace").removeprefix("\ufeff").strip()
    except OSError:
        return ""


def _capped(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The nearest files win when all together are too large."""
    kept: list[tuple[str, str]] = []
    left = CAP
    for name, text in reversed(found):
        if left <= 0:
            break
        if len(text) > left:
            text = text[:left] + "\n[cut: the instruction files are larger than 32 KiB]"
        kept.append((name, text))
        left -= len(text)
    return list(reversed(kept))
