"""Which files the parts of a command line read and write, as far as the line itself tells."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from reactagent_tui.core.safety.command_data import Writer, command_data
from reactagent_tui.core.safety.command_line import CommandLine, SimpleCommand
from reactagent_tui.core.safety.command_words import Word
from reactagent_tui.core.safety.place import Place
from reactagent_tui.core.safety.read_only import is_sink
from reactagent_tui.core.safety.wrappers import ANYTHING

_MOST_MATCHES = 200
"""Names a pattern is expanded to at most."""
_MOST_WILD_FOLDERS = 2
_HOME_FORMS = ("$HOME", "${HOME}")
_HERE_FORMS = ("$PWD", "${PWD}", "$(pwd)", "`pwd`")
_TOP_FORMS = ("$(git rev-parse --show-toplevel)", "`git rev-parse --show-toplevel`")
_FILE_OPTIONS = ("-f", "--file", "--from-file", "--files0-from", "-files0-from")
"""Options of programs that read whose value is a file to read."""
_PATTERN_OPTIONS = ("--include", "--exclude", "--exclude-dir", "--glob", "--iglob")
_DIRECTORY_CHANGES = ("cd", "pushd", "popd", "chdir")


@dataclass(frozen=True, slots=True)
class PlacedPart:
    """A part and the directory it runs in; None when only running would tell."""

    part: SimpleCommand
    cwd: Path | None


def placed(line: CommandLine, place: Place) -> tuple[PlacedPart, ...]:
    """Every part with its directory: `cd` is followed in the order of writing."""
    cwd: Path | None = place.workdir
    found: list[PlacedPart] = []
    for part in line.parts:
        found.append(PlacedPart(part, cwd))
        if part.name in _DIRECTORY_CHANGES:
            cwd = _changed(part, cwd, place)
    return tuple(found)


def resolve(word: Word, cwd: Path | None, place: Place) -> Path | None:
    """The real path a word names, or None when it cannot be known."""
    text = word.text
    bases = [(form, place.home) for form in _HOME_FORMS]
    if cwd is not None:
        bases += [(form, cwd) for form in _HERE_FORMS]
    for form, base in bases:
        if text == form or text.startswith(f"{form}/"):
            text = f"{base}{text[len(form) :]}"
            if "$" in text or "`" in text:
                return None
            return place.real(text)
    if word.dynamic or "\0" in text:
        return None
    if not word.quoted and text.startswith("~"):
        text = _without_tilde(text, cwd, place)
        if text.startswith("~-"):
            return None
    if not os.path.isabs(text):
        if cwd is None:
            return None
        text = os.path.join(cwd, text)
    return place.real(text)


def _without_tilde(text: str, cwd: Path | None, place: Place) -> str:
    """`~`, `~user` and `~+` filled in; a user that does not exist is a plain name."""
    name, slash, rest = text.partition("/")
    if name == "~":
        return f"{place.home}{slash}{rest}"
    if name == "~+" and cwd is not None:
        return f"{cwd}{slash}{rest}"
    return os.path.expanduser(text)


def expand(word: Word, cwd: Path | None, place: Place) -> tuple[Path, ...]:
    """All real paths a word names: patterns are matched against what exists.

    A pattern over more folders than are worth looking through gives the folder that it starts from.
    """
    key = (word, cwd)
    if key not in place.expanded:
        place.expanded[key] = _expanded(word, cwd, place)
    return place.expanded[key]


def _expanded(word: Word, cwd: Path | None, place: Place) -> tuple[Path, ...]:
    path = resolve(word, cwd, place)
    if path is None:
        return ()
    if not word.glob:
        return (path,)
    wild = [index for index, part in enumerate(path.parts) if glob.has_magic(part)]
    if len(wild) > _MOST_WILD_FOLDERS:
        return (path, Path(*path.parts[: wild[0]]))
    matches = islice(glob.iglob(str(path), include_hidden=True), _MOST_MATCHES)
    return (path, *(place.real(match) for match in matches))


def operands_of(part: SimpleCommand) -> tuple[Word, ...]:
    """Arguments that are neither options nor values of options."""
    valued = command_data().valued_options.get(part.name, frozenset())
    found: list[Word] = []
    args = iter(part.args)
    for word in args:
        if word.text == "--" and not word.quoted:
            return (*found, *args)
        if word.text in valued:
            next(args, None)
        elif not word.text.startswith("-") or word.text == "-":
            found.append(word)
    return tuple(found)


def written_by(part: SimpleCommand) -> tuple[Word, ...]:
    """Words that name files this part writes, moves or deletes: redirections and known programs."""
    data = command_data()
    targets = [redirect.target for redirect in part.redirects if redirect.writes and not is_sink(redirect.target, data)]
    writer = data.writers.get(part.name.rsplit("/", 1)[-1])
    if writer is not None:
        targets += _written_operands(part, writer)
        targets += _option_values(part, writer.options)
    if part.name == "find" and any(word.text == "-delete" for word in part.args):
        targets += find_roots(part)
    return tuple(target for target in targets if not is_sink(target, data))


def find_roots(part: SimpleCommand) -> list[Word]:
    """Where a `find` starts."""
    roots: list[Word] = []
    for word in part.args:
        if word.text.startswith(("-", "(", "!")) and word.text not in ("-H", "-L", "-P"):
            break
        if not word.text.startswith("-"):
            roots.append(word)
    return roots or [Word(".")]


def read_by(part: SimpleCommand) -> Iterator[Word]:
    """Words that may name files this part reads; patterns of grep and scripts of sed are left out."""
    data = command_data()
    for redirect in part.redirects:
        if not redirect.writes:
            yield redirect.target
    name = part.name.rsplit("/", 1)[-1]
    rule = data.read_only.get(name)
    operands = operands_of(part)
    pattern_given = any(word.text in ("-e", "-f", "--regexp", "--file", "--expression") for word in part.args)
    skip_first = rule is not None and rule.pattern_first and not pattern_given
    yield from operands[1:] if skip_first else operands
    for index, word in enumerate(part.args):
        if word.text in _FILE_OPTIONS and rule is not None and index + 1 < len(part.args):
            yield part.args[index + 1]
        option, equals, value = word.text.partition("=")
        if word.text.startswith("-") and equals and value and option not in _PATTERN_OPTIONS:
            yield Word(value, word.dynamic, word.glob, True)
        elif word.text.startswith("@") and len(word.text) > 1:
            yield Word(word.text[1:], word.dynamic, word.glob, True)


def _written_operands(part: SimpleCommand, writer: Writer) -> tuple[Word, ...]:
    operands = tuple(word for word in operands_of(part) if word != ANYTHING)
    match writer.operands:
        case "all":
            return operands
        case "last":
            return operands[-1:] if len(operands) > 1 else ()
        case "first":
            return operands[:1]
        case "rest":
            return operands[1:]
        case "of":
            return tuple(Word(word.text[3:], word.dynamic) for word in part.args if word.text.startswith("of="))
        case "in_place" if any(_is_in_place(word.text) for word in part.args):
            return operands[1:] if not any(word.text in ("-e", "-f") for word in part.args) else operands
        case _:
            return ()


def _is_in_place(text: str) -> bool:
    return text.startswith("--in-place") or (text[:1] == "-" and text[:2] != "--" and "i" in text)


def _option_values(part: SimpleCommand, options: tuple[str, ...]) -> list[Word]:
    found: list[Word] = []
    for index, word in enumerate(part.args):
        for option in options:
            if word.text == option and index + 1 < len(part.args):
                found.append(part.args[index + 1])
            elif option.startswith("--") and word.text.startswith(f"{option}="):
                found.append(Word(word.text[len(option) + 1 :], word.dynamic))
    return found


def _changed(part: SimpleCommand, cwd: Path | None, place: Place) -> Path | None:
    operands = operands_of(part)
    if part.name == "popd" or (part.name == "pushd" and not operands) or (operands and operands[0].text == "-"):
        return None
    if not operands:
        return place.home
    if operands[0].text in _TOP_FORMS and cwd is not None:
        return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), None)
    return resolve(operands[0], cwd, place)
