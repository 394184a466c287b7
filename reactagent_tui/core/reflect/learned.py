"""`learned.md`: one line each for what the user approved; the user's own file, and one of the project. Blocking, small.

A line is in the prompt of every turn that begins after it, until it is removed here or in an editor.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reactagent_tui.core.errors import StorageError

Scope = Literal["user", "project"]
NAME = "learned.md"
LONGEST = 300
"""Characters of a line."""
CAP = 8 * 1024
"""Bytes of each file that are read."""
_HEAD = "# Learned\n\nOne line each; delete a line to forget it.\n\n"


@dataclass(frozen=True, slots=True)
class LearnedLine:
    """One approved line and the file it stands in."""

    text: str
    scope: Scope


def learned_file(scope: Scope, workdir: Path, config: Path) -> Path:
    """Where the lines of a scope stand."""
    return config / NAME if scope == "user" else workdir / ".reactagent" / NAME


def all_learned(workdir: Path, config: Path) -> tuple[LearnedLine, ...]:
    """The user's lines, then the project's."""
    scopes: tuple[Scope, ...] = ("user", "project")
    return tuple(
        LearnedLine(line, scope) for scope in scopes for line in _lines(_read(learned_file(scope, workdir, config)))
    )


def learned_lines(workdir: Path, config: Path) -> str:
    """The section of the prompt; "" when nothing was learned."""
    return "\n".join(dict.fromkeys(f"- {line.text}" for line in all_learned(workdir, config)))


def one_line(text: str) -> str:
    """A suggestion as it would stand in the file."""
    return " ".join(text.split()).lstrip("-*• ")[:LONGEST]


def keep(text: str, scope: Scope, workdir: Path, config: Path) -> Path:
    """Add a line unless it stands there already. Raises StorageError."""
    path, line = learned_file(scope, workdir, config), one_line(text)
    before = _read(path)
    if line and line not in _lines(before):
        start = before or _HEAD
        _write(path, f"{start}{'' if start.endswith(chr(10)) else chr(10)}- {line}\n")
    return path


def forget(line: LearnedLine, workdir: Path, config: Path) -> None:
    """Take a line away, and nothing else of the file. Raises StorageError."""
    path = learned_file(line.scope, workdir, config)
    rows = _read(path).splitlines(keepends=True)
    _write(path, "".join(row for row in rows if _lines(row) != [line.text]))


def _lines(text: str) -> list[str]:
    """The list items of a file; headings and prose are for the reader."""
    items = (row.strip() for row in text.splitlines())
    return [one_line(row) for row in items if row.startswith(("- ", "* ")) and one_line(row)]


def _read(path: Path) -> str:
    """The text of a plain file; a link, a pipe or nothing reads as nothing."""
    try:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        fd = os.open(path, flags)
    except OSError:
        return ""
    with os.fdopen(fd, "rb") as stream:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return ""
        return stream.read(CAP).decode("utf-8", errors="replace").removeprefix("\ufeff").replace("\r\n", "\n")


def _write(path: Path, text: str) -> None:
    if len(text.encode("utf-8")) > CAP:
        raise StorageError(f"{path} is full: remove a line first")
    part = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        if path.is_symlink():
            raise StorageError(f"{path} is a link; it is not written")
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(path)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
