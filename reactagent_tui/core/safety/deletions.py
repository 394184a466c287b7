"""Deletions that take more than a person would want: the workspace, the home folder, the system, or nobody knows what.

Each finding is a risk line, as in `hard_list.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from reactagent_tui.core.safety.command_line import SimpleCommand
from reactagent_tui.core.safety.command_paths import PlacedPart, expand, find_roots, operands_of, resolve
from reactagent_tui.core.safety.command_words import Word
from reactagent_tui.core.safety.place import Place
from reactagent_tui.core.safety.wrappers import ANYTHING

_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|[@*]|\{[^{}]*\})")
_TOP = 2
"""Parts of `/usr`: a folder of the system itself."""

_NARROWING = (
    "-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-wholename", "-lname", "-empty", "-mtime", "-mmin",
    "-ctime", "-atime", "-newer", "-size",
)  # fmt: skip
_DELETERS = ("rm", "rmdir", "shred", "unlink")
_FINDERS = ("find", "fd", "fdfind")
_NAMERS = ("git", "rg", "grep", "egrep", "fgrep")
"""What they print is tracked, or was found by its content: no whole tree."""


def deletions(item: PlacedPart, place: Place) -> Iterator[str]:
    """What one part deletes by its own words."""
    part = item.part
    name = part.name.rsplit("/", 1)[-1]
    if name == "find" and any(word.text == "-delete" for word in part.args):
        targets: tuple[Word, ...] = () if _is_narrow(part) else tuple(find_roots(part))
    elif name == "rm" and _has_short(part, "rR", "--recursive"):
        targets = operands_of(part)
    else:
        return
    for word in targets:
        yield from _deletion_of(word, item.cwd, place)


def _deletion_of(word: Word, cwd: Path | None, place: Place) -> Iterator[str]:
    path = resolve(word, cwd, place)
    if path is None:
        if word != ANYTHING and (cwd is None or _dangerous_when_empty(word, cwd, place)):
            yield f"risk.empty_variable\t{word.text}"
        return
    doomed = _whole_folder(path, word)
    if place.is_vital(doomed):
        yield f"risk.deletes_all\t{doomed}"
    elif ".git" in (path.name, doomed.name):
        yield f"risk.deletes_history\t{path}"


def _whole_folder(path: Path, word: Word) -> Path:
    """The folder of which a pattern like `*` takes everything, else the path itself."""
    return path.parent if word.glob and set(path.name) <= {"*", ".", "?"} else path


def _dangerous_when_empty(word: Word, cwd: Path, place: Place) -> bool:
    """Would the path be a vital one if its variables were unset?"""
    emptied = _VARIABLE.sub("", word.text)
    if "$" in emptied or "`" in emptied:
        return emptied.startswith(("$", "`"))
    if not emptied or (emptied.startswith("/") and len(Path(emptied).parts) <= _TOP):
        return True
    path = resolve(Word(emptied, glob=word.glob), cwd, place)
    return path is None or place.is_vital(_whole_folder(path, word))


def _has_short(part: SimpleCommand, letters: str, long: str) -> bool:
    return any(
        word.text == long or (word.text[:1] == "-" and word.text[:2] != "--" and set(letters) & set(word.text[1:]))
        for word in part.args
    )


def passed_on_deletions(items: Sequence[PlacedPart], place: Place) -> Iterator[str]:
    """What a deletion gets from another command: `find ~ -exec rm {} +`, `ls | xargs rm -rf`, `xargs rm -rf < list`."""
    finders = [item for item in items if item.part.program in _FINDERS]
    for item in items:
        part = item.part
        if part.program not in _DELETERS or ANYTHING not in part.args:
            continue
        if finders:
            for finder in finders:
                yield from _found_by(finder, place)
        elif part.piped_from == "ls":
            yield f"risk.deletes_all\t{item.cwd or place.workdir}"
        elif part.piped_from not in _NAMERS and _has_short(part, "rR", "--recursive"):
            yield "risk.deletes_unknown"


def _found_by(finder: PlacedPart, place: Place) -> Iterator[str]:
    part = finder.part
    roots = find_roots(part) if part.program == "find" else [Word(".")]
    for root in roots:
        for path in expand(root, finder.cwd, place):
            if not place.contains(path):
                yield f"risk.outside\t{path}"
            elif place.is_vital(path) and part.program == "find" and not _is_narrow(part):
                yield f"risk.deletes_all\t{path}"


def _is_narrow(part: SimpleCommand) -> bool:
    return any(word.text in _NARROWING for word in part.args)
