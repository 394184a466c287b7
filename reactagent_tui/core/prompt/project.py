"""Instruction files that are plain text and always read: the user's own AGENTS.md, then the project's, root first.

`CLAUDE.md` and `GEMINI.md` count only in a folder without an `AGENTS.md`.
"""

from __future__ import annotations

from pathlib import Path

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
CAP = 32 * 1024


def instruction_files(workdir: Path, config: Path) -> list[tuple[str, str]]:
    """(shown name, text) from the most general to the nearest; the texts together stay under 32 KiB."""
    found: list[tuple[str, str]] = []
    own = config / "AGENTS.md"
    text = _read(own)
    if text:
        found.append((str(own), text))
    for folder in _folders(workdir):
        for name in NAMES:
            text = _read(folder / name)
            if text:
                found.append((str(folder / name), text))
                break
    return _capped(found)


def _folders(workdir: Path) -> list[Path]:
    """From the root of the repository down to the working directory; only the latter outside of one."""
    chain = [workdir, *workdir.parents]
    for index, folder in enumerate(chain):
        if (folder / ".git").exists():
            return list(reversed(chain[: index + 1]))
    return [workdir]


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:
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
