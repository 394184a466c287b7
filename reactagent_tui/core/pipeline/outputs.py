"""Was the output of a step made? Files that are there and newer, and JSON that can be read. Blocks: use a thread."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, cast

Stamp: TypeAlias = tuple[int, int, int]
"""mtime in ns, size, inode."""
MOST_WATCHED = 5_000
MAX_JSON = 20_000_000
_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)\n?```", re.DOTALL)


class BadJson(Exception):
    """The text holds no JSON that can be read; the message is for the model."""


def stamp(path: Path) -> Stamp | None:
    """What tells a file from its later self; of a folder, that of the newest file in it. None: not there."""
    try:
        if path.is_dir():
            stamps = [found for item in path.rglob("*") if item.is_file() and (found := stamp(item))]
            return max(stamps, default=None)
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def stamps(paths: Iterable[Path]) -> dict[Path, Stamp | None]:
    return {path: stamp(path) for path in paths}


def not_made(before: Mapping[Path, Stamp | None]) -> tuple[Path, ...]:
    """Of the paths that were stamped before a step, those that are missing or as they were."""
    return tuple(path for path, old in before.items() if (now := stamp(path)) is None or now == old)


def tree(folder: Path) -> dict[str, Stamp]:
    """Stamps of every file of a run, by path relative to it; what begins with a dot at the top is the driver's."""
    found: dict[str, Stamp] = {}
    for root, folders, names in os.walk(folder):
        here = Path(root).relative_to(folder)
        if here == Path("."):
            folders[:] = [name for name in folders if name != ".archive"]
            names = [name for name in names if name not in (".pipeline.jsonl", ".pipeline.lock")]
        for name in sorted(names):
            mark = stamp(folder / here / name)
            if mark is not None:
                found[(here / name).as_posix()] = mark
        if len(found) > MOST_WATCHED:
            break
    return found


def changed(before: Mapping[str, Stamp], after: Mapping[str, Stamp]) -> tuple[str, ...]:
    """Files that are new or other."""
    return tuple(sorted(name for name, mark in after.items() if before.get(name) != mark))


def settle_json(path: Path) -> None:
    """Make the file hold JSON: text around it goes, small faults are mended. Raises BadJson, OSError."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return
    if path.stat().st_size > MAX_JSON:
        return
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        value = read_json(text)
        write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Put text where a file is or shall be, whole or not at all. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8", errors="replace", newline="\n")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read_json(text: str) -> Any:
    """The outermost object or list in a text, mended where quotes or control characters inside strings break it.

    Raises BadJson with what the parser said. Nothing is invented: what was cut off stays broken.
    """
    fences = [found[1] for found in _FENCE.finditer(text)]
    first: str | None = None
    for candidate in (text.strip(), *fences, *_outermost(text)):
        for attempt in (candidate, _mended(candidate)):
            try:
                value = json.loads(attempt, strict=False)
            except (ValueError, RecursionError) as error:
                first = first or str(error)
                continue
            if isinstance(value, dict | list):
                return cast("Any", value)
    raise BadJson(first or "there is no JSON object in it")


def _outermost(text: str) -> list[str]:
    """From the first bracket to the last of its kind, for objects and for lists."""
    found: list[tuple[int, str]] = []
    for opening, closing in ("{}", "[]"):
        start, end = text.find(opening), text.rfind(closing)
        if 0 <= start < end:
            found.append((start, text[start : end + 1]))
    return [piece for _, piece in sorted(found)]


def _mended(text: str) -> str:
    """Quotes inside strings escaped: one that no comma, colon, bracket or end follows does not end its string."""
    done: list[str] = []
    inside = False
    position = 0
    while position < len(text):
        char = text[position]
        if char == "\\" and inside:
            done.append(text[position : position + 2])
            position += 2
            continue
        if char == '"':
            if not inside:
                inside = True
            elif _closes(text, position):
                inside = False
            else:
                char = '\\"'
        done.append(char)
        position += 1
    return "".join(done)


def _closes(text: str, position: int) -> bool:
    rest = text[position + 1 : position + 400].lstrip()
    if not rest or rest[0] in "}]:":
        return True
    return rest[0] == "," and bool(re.match(r',\s*(?:["{\[\]}\-\d]|true|false|null)', rest))
