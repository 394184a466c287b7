"""Commands that read whole folders (`grep -r`, `find -exec cat`): which key files lie in their way.

Looked up on the disk, folder by folder from the top, within a limit: a question more or less is not worth a second.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from reactagent_tui.core.safety.command_data import command_data
from reactagent_tui.core.safety.command_line import SimpleCommand
from reactagent_tui.core.safety.command_paths import PlacedPart, expand, find_roots, read_by
from reactagent_tui.core.safety.command_words import Word
from reactagent_tui.core.safety.key_reads import reads_content
from reactagent_tui.core.safety.place import Place
from reactagent_tui.core.safety.wrappers import ANYTHING

_MOST_ENTRIES = 4000
_DEEPEST = 8
_MOST_ROOTS = 30
_MOST_IN_ALL = 12_000
_MOST_SHOWN = 5
_PASSED_OVER = frozenset(
    (".git", "node_modules", ".venv", "venv", "site-packages", "__pycache__", ".tox", ".nox", ".mypy_cache")
)
_GREPS = frozenset(("grep", "egrep", "fgrep", "zgrep"))
_SEARCHERS = frozenset(("rg", "ag"))
_FINDERS = frozenset(("find", "fd", "fdfind"))
_NAMERS = frozenset(("git", "rg", "grep", "egrep", "pwd", "basename", "dirname", "seq", "nproc", "date"))
"""What they print names no file that a person would miss: tracked files, or files found by content."""

_NAMES_ONLY = ("--files-with-matches", "--files-without-match", "--files", "--quiet", "--count", "--count-matches")
_NAME_TESTS = ("-name", "-iname", "-path", "-ipath", "-wholename", "--include", "-g", "--glob", "-e", "--extension")
_COUNTERS = frozenset(("wc",))
_VARIABLE = re.compile(r"\$\{?([A-Z_][A-Z0-9_]*)")
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")


@dataclass(frozen=True, slots=True)
class Sweep:
    """Files that one command reads: all below the roots that its name patterns let through."""

    roots: tuple[Path, ...]
    names: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    hidden: bool = True

    def lets_through(self, path: Path, root: Path) -> bool:
        """Would it read this file below `root`?"""
        inside = path.relative_to(root).as_posix()
        if not self.hidden and any(part.startswith(".") for part in Path(inside).parts):
            return False
        if any(_name_matches(pattern, inside) for pattern in self.excluded):
            return False
        return not self.names or any(_name_matches(pattern, inside) for pattern in self.names)


class Sweeps:
    """What the parts of one command line sweep through; each folder is looked through once."""

    def __init__(self, items: Sequence[PlacedPart], place: Place) -> None:
        self._items = items
        self._place = place
        self._walked: dict[Path, tuple[Path, ...]] = {}
        self._left = _MOST_IN_ALL

    def aimed(self, item: PlacedPart) -> tuple[str, ...]:
        """Name patterns and folders that mean keys and nothing else (`find -name .env -exec cat`)."""
        own = (found for sweep in self._own(item) for found in self._targets(sweep))
        return (*own, *(self._finder_targets if self._takes_finds(item) else ()))

    def keys(self, item: PlacedPart) -> tuple[str, ...]:
        """Key files (or secret variables) that the part reads along with everything else; at most a few."""
        if item.part.program in ("echo", "printf"):
            return tuple(word.text for word in item.part.args if word.dynamic and _names_secret(word.text))
        own = (found for sweep in self._own(item) for found in self._swept(sweep))
        found = (*own, *(self._finder_keys if self._takes_finds(item) else ()))
        return tuple(dict.fromkeys(found))[:_MOST_SHOWN]

    @cached_property
    def _finders(self) -> tuple[Sweep, ...]:
        found = (_find_of(item, self._place) for item in self._items if item.part.program in _FINDERS)
        return tuple(dict.fromkeys(found))

    @cached_property
    def _finder_targets(self) -> tuple[str, ...]:
        return tuple(target for sweep in self._finders for target in self._targets(sweep))

    @cached_property
    def _finder_keys(self) -> tuple[str, ...]:
        return tuple(found for sweep in self._finders for found in self._swept(sweep))

    def _own(self, item: PlacedPart) -> Iterator[Sweep]:
        part = item.part
        searches = part.program in _SEARCHERS or (part.program in _GREPS and _is_recursive(part))
        if searches and not _prints_names_only(part):
            yield _search_of(item, self._place)
        unknown = _unknown_files(part)
        if unknown and not self._finders and not self._names_come_from(part, unknown) <= _NAMERS:
            yield Sweep((item.cwd or self._place.workdir,))

    def _names_come_from(self, part: SimpleCommand, unknown: list[Word]) -> set[str]:
        if "xargs" in part.wrappers:
            return {part.piped_from.rsplit("/", 1)[-1]}
        text = " ".join(word.text for word in unknown)
        return {name.rsplit("/", 1)[-1] for name in self._substituted if name in text}

    @cached_property
    def _substituted(self) -> frozenset[str]:
        return frozenset(item.part.name for item in self._items if item.part.is_substitution)

    def _takes_finds(self, item: PlacedPart) -> bool:
        return bool(_unknown_files(item.part)) and bool(self._finders)

    def _targets(self, sweep: Sweep) -> Iterator[str]:
        for root in sweep.roots:
            if self._place.holds_keys(root / "x") or _is_process_folder(root):
                yield str(root)
            for pattern in () if sweep.excluded else sweep.names:
                bare = pattern.rsplit("/", 1)[-1]
                forms = {bare, bare.replace("*", "").replace("?", "")} - {""}
                if any(self._place.holds_keys(root / form) for form in forms):
                    yield pattern

    def _swept(self, sweep: Sweep) -> Iterator[str]:
        for root in sweep.roots:
            if root not in self._walked and (len(self._walked) >= _MOST_ROOTS or self._left <= 0):
                yield str(root)  # not looked at any more, so it is asked about
                return
            if root not in self._walked:
                files, seen = _key_files(root, self._place, min(self._left, _MOST_ENTRIES))
                self._walked[root] = files
                self._left -= seen
            yield from (str(path) for path in self._walked[root] if sweep.lets_through(path, root))


def _unknown_files(part: SimpleCommand) -> list[Word]:
    """Operands of a program that shows its files which only another command's output tells."""
    name = part.program
    if not reads_content(part) or name in _COUNTERS or command_data().interpreter(name) is not None:
        return []
    return [word for word in read_by(part) if _is_unknown(word, part)]


def _is_unknown(word: Word, part: SimpleCommand) -> bool:
    """Comes from the output of another command."""
    if word == ANYTHING:
        return True
    passed = word.dynamic and any(wrapper in ("find", "xargs") for wrapper in part.wrappers)
    return passed or (word.dynamic and ("$(" in word.text or "`" in word.text) and not _is_here(word))


def _is_here(word: Word) -> bool:
    return word.text.startswith(("$(pwd)", "`pwd`"))


def _is_recursive(part: SimpleCommand) -> bool:
    return any(
        word.text in ("--recursive", "--dereference-recursive", "--directories=recurse")
        or (word.text[:1] == "-" and word.text[:2] != "--" and bool({"r", "R"} & set(word.text[1:])))
        for word in part.args
    )


def _prints_names_only(part: SimpleCommand) -> bool:
    for word in part.args:
        short = word.text[:1] == "-" and word.text[:2] != "--" and not word.dynamic
        if word.text in _NAMES_ONLY or (short and word.text[1:].isalpha() and set("lLqc") & set(word.text[1:])):
            return True
    return False


def _search_of(item: PlacedPart, place: Place) -> Sweep:
    part = item.part
    operands = [word for word in read_by(part) if not word.text.startswith("-")]
    given = {value for _, value in _values(part, ("--include", "--exclude", "--exclude-dir", "-g", "--glob"))}
    paths = [path for word in operands if word.text not in given for path in expand(word, item.cwd, place)]
    names = tuple(value for _, value in _values(part, ("--include", "-g", "--glob")) if not value.startswith("!"))
    excluded = [value for _, value in _values(part, ("--exclude", "--exclude-dir"))]
    excluded += [value[1:] for _, value in _values(part, ("-g", "--glob")) if value.startswith("!")]
    hidden = part.program not in _SEARCHERS or any(
        word.text in ("--hidden", "-.", "-uu", "-uuu") or word.text.startswith("-uu") for word in part.args
    )
    return Sweep(tuple(paths) or (item.cwd or place.workdir,), names, tuple(excluded), hidden)


def _find_of(item: PlacedPart, place: Place) -> Sweep:
    """`find` by its name tests; `fd` by its first operand as a piece of the name."""
    part, cwd = item.part, item.cwd or place.workdir
    if part.program != "find":
        hidden = any(word.text in ("--hidden", "-H", "-u", "-HI", "-IH") for word in part.args)
        patterns = [f"*{word.text.strip('^$')}*" for word in part.args if not word.text.startswith("-")][:1]
        extensions = [f"*.{value}" for _, value in _values(part, ("-e", "--extension"))]
        return Sweep((cwd,), tuple(extensions or patterns), hidden=hidden)
    names: list[str] = []
    excluded: list[str] = []
    for negated, value in _values(part, _NAME_TESTS):
        (excluded if negated else names).append(value)
    roots = [path for word in find_roots(part) for path in expand(word, item.cwd, place)]
    return Sweep(tuple(roots) or (cwd,), tuple(names), tuple(excluded))


def _values(part: SimpleCommand, options: tuple[str, ...]) -> list[tuple[bool, str]]:
    """Values of these options, each with whether `!` or `-not` stands before it."""
    found: list[tuple[bool, str]] = []
    for index, word in enumerate(part.args):
        option, equals, value = word.text.partition("=")
        negated = index > 0 and part.args[index - 1].text in ("!", "-not")
        if word.text in options and index + 1 < len(part.args):
            found.append((negated, part.args[index + 1].text))
        elif option in options and equals:
            found.append((negated, value))
        elif "-g" in options and word.text.startswith("-g") and len(word.text) > 2:
            found.append((negated, word.text[2:]))
    return found


def _name_matches(pattern: str, inside: str) -> bool:
    bare = pattern.removeprefix("./").removeprefix("**/").removeprefix("/")
    if "/" in bare:
        return fnmatchcase(inside.lower(), bare.lower()) or fnmatchcase(f"/{inside}".lower(), bare.lower())
    return any(fnmatchcase(part.lower(), bare.lower()) for part in inside.split("/"))


def _is_process_folder(root: Path) -> bool:
    parts = root.parts
    if parts[:2] != ("/", "proc"):
        return False
    return len(parts) == 2 or parts[2].isdigit() or parts[2] in ("self", "thread-self") or "*" in parts[2]


def _key_files(root: Path, place: Place, most: int) -> tuple[tuple[Path, ...], int]:
    """Key files below a folder, nearest first, and how many entries were looked at (at most `most`)."""
    found: list[Path] = []
    seen = 0
    level = [root]
    for _ in range(_DEEPEST):
        below: list[Path] = []
        for folder in level:
            try:
                with os.scandir(folder) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)[: most - seen]
            except OSError:
                continue
            seen += len(entries)
            for entry in entries:
                path = folder / entry.name
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _PASSED_OVER:
                        below.append(path)
                elif place.holds_keys(path):
                    found.append(path)
            if seen >= most:
                return tuple(found), seen
        level = below
    return tuple(found), seen


def _names_secret(text: str) -> bool:
    if "${!" in text:
        return True  # the value of a variable whose name only running would tell
    return any(word in name for name in _VARIABLE.findall(text) for word in _SECRET_WORDS)
