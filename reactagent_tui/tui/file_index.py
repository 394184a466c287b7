"""The files and folders of a project for `@`: listed once by `rg --files` in a thread, searched without a pause.

Names only: nothing is opened, so a named pipe or a huge file costs nothing. `.gitignore` is honoured by rg; without rg
a plain walk leaves out hidden and dependency folders.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from reactagent_tui.tui.widgets.completion import MAX_SURVIVORS, Completion, match_score

log = logging.getLogger(__name__)

MAX_FILES = 100_000
LIST_SECONDS = 10.0
DEBOUNCE = 0.03
FRESH_FOR = 20.0
"""Seconds after which the next question lists the files again, in the background."""
_SKIPPED = frozenset({"node_modules", "__pycache__", "target", "venv"})


class FileIndex:
    """Completions for `@`. `query` is for one caller at a time: a newer question makes an older one answer None."""

    def __init__(self, root: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._clock = clock
        self._paths: Sequence[str] = ()
        self._lowered: Sequence[str] = ()
        self._listed_at: float | None = None
        self._listing: asyncio.Task[None] | None = None
        self._question = 0

    async def query(self, prefix: str, limit: int = 50, *, debounce: float = DEBOUNCE) -> list[Completion] | None:
        """The best matches; None if another question came meanwhile."""
        self._question += 1
        question = self._question
        if debounce:
            await asyncio.sleep(debounce)
        if question != self._question:
            return None
        await self._ready()
        found = await asyncio.to_thread(search_paths, prefix.strip('"'), self._paths, self._lowered, limit)
        if question != self._question:
            return None
        return [Completion(mention(path), path) for path in found]

    def forget(self) -> None:
        """List again at the next question (files changed)."""
        self._listed_at = None

    async def _ready(self) -> None:
        stale = self._listed_at is None or self._clock() - self._listed_at > FRESH_FOR
        if stale and (self._listing is None or self._listing.done()):
            self._listing = asyncio.create_task(self._list())
        if not self._paths and self._listing is not None:
            await asyncio.shield(self._listing)

    async def _list(self) -> None:
        self._listed_at = self._clock()
        paths, lowered = await asyncio.to_thread(_list_sorted, self._root)
        self._paths, self._lowered = paths, lowered


def mention(path: str) -> str:
    """A path as it is written in a prompt: `@src/a.py`, quoted if it holds spaces."""
    return f'@"{path}"' if any(character.isspace() for character in path) else f"@{path}"


def search_paths(query: str, paths: Sequence[str], lowered: Sequence[str], limit: int) -> list[str]:
    """The best `limit` paths: those that contain the query; if they are few, also those with its letters in order.

    `lowered` holds `paths` in lower case.
    """
    query = query.lower()
    if not query:
        return list(paths[:limit])
    hits = [index for index, text in enumerate(lowered) if query in text][:MAX_SURVIVORS]
    if len(hits) < limit:
        taken = set(hits)
        hits += [index for index in _scattered(query, lowered) if index not in taken]
    scored = [(score, index) for index in hits if (score := match_score(query, lowered[index])) is not None]
    return [paths[index] for _, index in sorted(scored)[:limit]]


def _scattered(query: str, lowered: Sequence[str]) -> Iterator[int]:
    letters = set(query)
    survivors = 0
    for index, text in enumerate(lowered):
        if letters.issubset(text):
            yield index
            survivors += 1
            if survivors == MAX_SURVIVORS:
                return


def _list_sorted(root: Path) -> tuple[list[str], list[str]]:
    names = _by_rg(root)
    files = names if names is not None else list(_by_walk(root))
    folders: set[str] = set()
    for name in files:
        parent = os.path.dirname(name)
        while parent and parent not in folders:
            folders.add(parent)
            parent = os.path.dirname(parent)
    paths = sorted([*files, *(f"{folder}/" for folder in folders)], key=lambda path: (path.count("/"), path))
    return paths, [path.lower() for path in paths]


def find_rg() -> str | None:
    """The `rg` that came with this installation, else the one on PATH."""
    beside = Path(sys.executable).with_name("rg.exe" if sys.platform == "win32" else "rg")
    return str(beside) if beside.is_file() else shutil.which("rg")


def _by_rg(root: Path) -> list[str] | None:
    rg = find_rg()
    if rg is None:
        return None
    command = [rg, "--files", "--null", "--hidden", "--no-messages", "--no-config", "--glob=!.git"]
    try:
        process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        log.warning("cannot list files with %s: %s", rg, error)
        return None
    with process:
        names = _read_names(process)
        process.kill()
    return names


def _read_names(process: subprocess.Popen[bytes]) -> list[str]:
    assert process.stdout is not None
    names: list[str] = []
    rest = b""
    end = time.monotonic() + LIST_SECONDS
    while len(names) < MAX_FILES and time.monotonic() < end and (data := os.read(process.stdout.fileno(), 1 << 16)):
        *whole, rest = (rest + data).split(b"\0")
        names += [name for raw in whole if (name := _readable(raw)) is not None]
    return names[:MAX_FILES]


def _readable(raw: bytes) -> str | None:
    try:
        name = raw.decode().removeprefix("./")
    except UnicodeDecodeError:
        return None
    return name.replace(os.sep, "/") if name.isprintable() else None


def _by_walk(root: Path) -> Iterator[str]:
    end = time.monotonic() + LIST_SECONDS
    count = 0
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _SKIPPED]
        inside = os.path.relpath(folder, root)
        for file in files:
            name = file if inside == "." else f"{inside}/{file}".replace(os.sep, "/")
            if name.isprintable():
                yield name
                count += 1
        if count >= MAX_FILES or time.monotonic() > end:
            return
