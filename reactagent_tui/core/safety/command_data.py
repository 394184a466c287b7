"""The lists of commands that permissions go by, read once from `data/`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

_DATA = Path(__file__).parent / "data"
_Test: TypeAlias = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class ReadOnlyRule:
    """When a command only reads."""

    reads: bool = False
    """Its operands are files it reads."""
    pattern_first: bool = False
    """The first operand is a pattern or script, not a file."""
    deny: tuple[str, ...] = ()
    """Options with which it does more; a short one also within a cluster or with its value attached."""
    exact: tuple[str, ...] = ()
    """The same, as whole words only."""
    only: tuple[str, ...] | None = None
    """All arguments it may have."""
    need: tuple[str, ...] = ()
    """Options of which one must be there."""
    operands: int | None = None
    """At most this many words that are no option."""
    prefix_only: str = ""
    """Every operand begins so."""
    options: str = "anywhere"
    """Where an unknown value could turn out to be one of those options: anywhere, first, or never (fixed)."""
    names: bool = False
    """Its operands are variables that it sets."""
    script: str = ""
    """`sed` or `awk`: the script is looked into."""
    deny_text: str = ""
    """A regular expression: where an argument holds it, the command does more or tells more than files."""
    needs_operand: bool = False
    """Without an operand or assignment it prints every variable."""


@dataclass(frozen=True, slots=True)
class Subcommands:
    """A command whose next words say what it does."""

    flags: frozenset[str]
    valued: frozenset[str]
    commands: Mapping[str, ReadOnlyRule]


@dataclass(frozen=True, slots=True)
class Writer:
    """Which arguments of a command are files it writes."""

    operands: str
    """all, last, first, rest (all but the first), of (dd), in_place (sed -i), none."""
    options: tuple[str, ...] = ()
    """Options whose value is written to."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """How a program that runs code is told which code; without any it runs what stands in its input."""

    names: tuple[str, ...]
    code: tuple[str, ...] = ()
    """Options (or subcommands) whose value is the code."""
    given: tuple[str, ...] = ()
    """Options that name the program to run."""
    valued: tuple[str, ...] = ()
    """Other options that take a value."""
    stdin: tuple[str, ...] = ()
    """Options with which the input is run whatever else is there."""
    skip: tuple[str, ...] = ()
    """Subcommands in front of the file."""
    code_first: bool = False
    """The first operand is the code."""


@dataclass(frozen=True, slots=True)
class CommandData:
    """`data/commands.json`, typed."""

    read_only: Mapping[str, ReadOnlyRule]
    subcommands: Mapping[str, Subcommands]
    version_only: frozenset[str]
    writers: Mapping[str, Writer]
    valued_options: Mapping[str, frozenset[str]]
    pattern_words: Mapping[str, int]
    module_patterns: Mapping[str, frozenset[str]]
    decoders: Mapping[str, frozenset[str]]
    """Programs that turn unreadable text into readable, and the options with which they do (none: always)."""
    code_interpreters: tuple[Interpreter, ...]
    lists: Mapping[str, frozenset[str]]

    def named(self, name: str) -> frozenset[str]:
        """One of the plain lists. Raises KeyError."""
        return self.lists[name]

    def matches(self, list_name: str, text: str) -> bool:
        """Is `text` in a list whose entries may hold `*`?"""
        return _matches_any(text, self.lists[list_name])

    def interpreter(self, program: str) -> Interpreter | None:
        """How this program takes code, or None when it is no interpreter."""
        return _named_interpreter(program, self.code_interpreters)

    def is_safe_env(self, name: str) -> bool:
        """May this variable be set without changing what commands do? Lower-case names are the script's own."""
        own = name.isidentifier() and name.islower() and not name.endswith("_proxy")
        return own or self.matches("safe_env", name)


@lru_cache(maxsize=1)
def command_data() -> CommandData:
    """The lists. Raises OSError or ValueError when the installation is damaged."""
    raw: dict[str, Any] = json.loads((_DATA / "commands.json").read_text(encoding="utf-8"))
    lists: dict[str, list[str]] = {
        name: entry for name, entry in raw.items() if isinstance(entry, list) and name != "code_interpreters"
    }
    return CommandData(
        read_only={name: _rule(rule) for name, rule in raw["read_only"].items()},
        subcommands={
            name: Subcommands(
                frozenset(entry["flags"]),
                frozenset(entry["valued"]),
                {words: _rule(rule) for words, rule in entry["commands"].items()},
            )
            for name, entry in raw["subcommands"].items()
        },
        version_only=frozenset(raw["version_only"]),
        writers={
            name: Writer(entry["operands"], tuple(entry.get("options", ()))) for name, entry in raw["writers"].items()
        },
        valued_options={name: frozenset(options) for name, options in raw["valued_options"].items()},
        pattern_words=raw["pattern_words"],
        module_patterns={name: frozenset(modules) for name, modules in raw["module_patterns"].items()},
        decoders={name: frozenset(options) for name, options in raw["decoders"].items()},
        code_interpreters=tuple(_interpreter(entry) for entry in raw["code_interpreters"]),
        lists={name: frozenset(entries) for name, entries in lists.items()},
    )


@lru_cache(maxsize=1)
def key_file_patterns() -> tuple[str, ...]:
    """The patterns of `data/key_files.txt` in order."""
    lines = (_DATA / "key_files.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


_PLAIN_CONFIG = ("agents", "skills")
"""Folders of the user's configuration that hold texts and programs for models, no keys."""


def is_key_file(path: Path, home: Path, own_config: Path) -> bool:
    """Does this real path name a file with keys or passwords in it? `.ENV` is `.env` on many disks."""
    text, name = str(path), path.name
    if path == own_config or text.startswith(f"{own_config}{os.sep}"):
        inside = path.relative_to(own_config).parts
        if len(inside) < 2 or inside[0] not in _PLAIN_CONFIG:
            return True
    found = False
    for negated, whole, bare in _key_tests(str(home)):
        if found == negated and ((whole is not None and whole(text)) or (bare is not None and bare(name))):
            found = not negated
    return found


@lru_cache(maxsize=4)
def _key_tests(home: str) -> tuple[tuple[bool, _Test | None, _Test | None], ...]:
    """The patterns in order, neighbours of one kind in one test: takes out, of whole paths, of bare names."""
    groups: list[tuple[bool, list[str], list[str]]] = []
    for pattern in key_file_patterns():
        negated, text = pattern.startswith("!"), pattern.removeprefix("!")
        if not groups or groups[-1][0] != negated:
            groups.append((negated, [], []))
        _, wholes, names = groups[-1]
        if text.startswith("~/"):
            wholes.append(re.escape(home) + translate(text[1:]))
        else:
            (wholes if "/" in text else names).append(translate(text))
    return tuple((negated, _one_of(wholes), _one_of(names)) for negated, wholes, names in groups)


def _one_of(patterns: list[str]) -> _Test | None:
    return re.compile("|".join(patterns), re.IGNORECASE).match if patterns else None


def _rule(raw: Mapping[str, Any]) -> ReadOnlyRule:
    only: list[str] | None = raw.get("only")
    return ReadOnlyRule(
        reads=raw.get("reads", False),
        pattern_first=raw.get("pattern_first", False),
        deny=tuple(raw.get("deny", ())),
        exact=tuple(raw.get("exact", ())),
        only=None if only is None else tuple(only),
        need=tuple(raw.get("need", ())),
        operands=raw.get("operands"),
        prefix_only=raw.get("prefix_only", ""),
        options=raw.get("options", "anywhere"),
        names=raw.get("names", False),
        script=raw.get("script", ""),
        deny_text=raw.get("deny_text", ""),
        needs_operand=raw.get("needs_operand", False),
    )


@lru_cache(maxsize=2048)
def _matches_any(text: str, entries: frozenset[str]) -> bool:
    return any(fnmatchcase(text, entry) for entry in entries)


@lru_cache(maxsize=1024)
def _named_interpreter(program: str, entries: tuple[Interpreter, ...]) -> Interpreter | None:
    for entry in entries:
        if any(fnmatchcase(program, name) for name in entry.names):
            return entry
    return None


def _interpreter(raw: Mapping[str, Any]) -> Interpreter:
    fields = ("names", "code", "given", "valued", "stdin", "skip")
    texts: dict[str, tuple[str, ...]] = {field: tuple(raw.get(field, ())) for field in fields}
    return Interpreter(**texts, code_first=raw.get("code_first", False))
