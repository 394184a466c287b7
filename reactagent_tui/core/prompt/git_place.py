"""Branch and number of changed files of a folder, without ever holding the screen."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

PATIENCE = 3.0
"""Seconds; a huge repository simply shows no count."""
_RUNS_PROGRAMS = r"^(core\.fsmonitor|filter\..*\.(clean|process))$"


def branch_of(folder: Path) -> str | None:
    """The checked-out branch (or the short commit), read from the files of git; None outside a repository."""
    for place in (folder, *folder.parents):
        head = place / ".git" / "HEAD"
        try:
            if (place / ".git").is_file():
                pointer = (place / ".git").read_text(encoding="utf-8", errors="replace").strip()
                head = (place / pointer.removeprefix("gitdir:").strip()) / "HEAD"
            text = head.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        return text.removeprefix("ref: refs/heads/") if text.startswith("ref:") else text[:8]
    return None


async def changes_in(folder: Path) -> int | None:
    """Changed and untracked files, by git itself; None when it cannot tell in time.

    The folder need not be trusted: where its own configuration names programs that `status` would run, none is asked.
    """
    scopes = await _git(folder, "config", "--show-scope", "--name-only", "--get-regexp", _RUNS_PROGRAMS)
    if scopes is None or any(line.startswith((b"local", b"worktree")) for line in scopes.splitlines()):
        return None
    listed = await _git(
        folder, "--no-optional-locks", "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all"
    )
    return None if listed is None else listed.count(b"\n")


async def _git(folder: Path, *arguments: str) -> bytes | None:
    """What git prints; None when it cannot be run or is too slow."""
    process = None
    try:
        process = await asyncio.create_subprocess_exec(
            *("git", *arguments),
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(PATIENCE):  # not wait_for: in Python 3.11 it can swallow a cancel
            out, _ = await process.communicate()
        return out
    except (OSError, TimeoutError):
        return None
    finally:
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
