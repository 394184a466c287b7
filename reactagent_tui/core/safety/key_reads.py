"""Which parts of a command line read keys or passwords: key files by name, environments of other processes, git."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from reactagent_tui.core.safety.command_data import command_data
from reactagent_tui.core.safety.command_line import SimpleCommand
from reactagent_tui.core.safety.command_paths import PlacedPart, expand, read_by
from reactagent_tui.core.safety.command_words import Word
from reactagent_tui.core.safety.place import Place

Bindings = Sequence[tuple[str, Word]]

_KEY_NAMES = re.compile(
    r"\.ssh/|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|\.aws/credentials|\.gnupg/|\.netrc\b|\.pgpass\b|\.git-credentials\b"
    r"|\.kube/config|\.docker/config\.json|/etc/g?shadow\b|/environ\b"
)
_KEY_NAMES_IN_CODE = re.compile(
    rf"{_KEY_NAMES.pattern}|[\"'/]\.env(?:\.(?!example|sample|template|dist|test)\w+)?[\"']|/proc/"
    r"(?=[^\"']*[\"'][^\n]*environ)"
)
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MOST_FORMS = 40
_COPIERS = ("tar", "zip", "7z", "cpio", "cp", "rsync", "scp")
"""They take whole folders."""

_GIT_CONTENT = frozenset(("show", "cat-file", "diff", "blame", "annotate", "grep", "archive", "difftool"))
_GIT_PATCHES = frozenset(("log", "whatchanged", "stash", "reflog"))
_PATCH_OPTIONS = ("-p", "-u", "-L", "--patch")

_PS_VALUED = frozenset("CGUgoOpqstukT")
"""Letters of `ps` after which a value follows."""


def key_reads(item: PlacedPart, place: Place, bindings: Bindings) -> Iterator[str]:
    """What the part names that holds keys or passwords, as it would be shown."""
    part = item.part
    data = command_data()
    reads_files = reads_content(part)
    is_interpreter = data.interpreter(part.program) is not None
    inputs = [redirect.target for redirect in part.redirects if not redirect.writes]
    for word in _read_words(part):
        if reads_files or word in inputs:
            yield from _named(word, item, place, bindings)
    if is_interpreter:
        yield from (_shortened(word.text) for word in part.args if _KEY_NAMES_IN_CODE.search(word.text))
    if part.program == "ps" and _shows_environments(part):
        yield " ".join(part.argv)
    if part.program == "git":
        yield from _of_git(item, place)
    for _, value in part.env:
        if _KEY_NAMES.search(value.text):
            yield value.text


def reads_content(part: SimpleCommand) -> bool:
    """Is this a program that shows or copies what is in its files?"""
    data = command_data()
    rule = data.read_only.get(part.program)
    shows = rule is not None and rule.reads and part.program not in data.named("metadata_readers")
    return shows or part.program in data.named("file_readers") or data.interpreter(part.program) is not None


def _read_words(part: SimpleCommand) -> Iterator[Word]:
    yield from read_by(part)
    if part.program == "dd":
        for word in part.args:
            if word.text.startswith("if="):
                yield Word(word.text[3:], word.dynamic, word.glob, True)


def _named(word: Word, item: PlacedPart, place: Place, bindings: Bindings) -> tuple[str, ...]:
    key = (word, item.cwd)
    if key not in place.key_names:
        place.key_names[key] = tuple(_looked_up(word, item, place, bindings))
    return place.key_names[key]


def _looked_up(word: Word, item: PlacedPart, place: Place, bindings: Bindings) -> Iterator[str]:
    for form in known_forms(word, bindings):
        if form.dynamic and _KEY_NAMES.search(form.text):
            yield form.text
        for path in expand(form, item.cwd, place):
            if place.holds_keys(path) or (item.part.program in _COPIERS and _is_key_folder(path, place)):
                yield str(path)


def _is_key_folder(path: Path, place: Place) -> bool:
    """A folder of keys, or one that holds the home folder with all of them."""
    return place.holds_keys(path / "x") or place.home.is_relative_to(path)


def known_forms(word: Word, bindings: Bindings) -> tuple[Word, ...]:
    """The word with variables of the line filled in and braces expanded; itself when there are none."""
    if not word.dynamic:
        return (word,)
    names = tuple(dict.fromkeys(found[1] or found[2] for found in _VARIABLE.finditer(word.text)))
    choices = [[value for bound, value in bindings if bound == name and not value.dynamic] for name in names]
    known = [(name, values) for name, values in zip(names, choices, strict=True) if values]
    forms: list[Word] = []
    for values in product(*(values for _, values in known)):
        filled = {name: value.text for (name, _), value in zip(known, values, strict=True)}
        text = _VARIABLE.sub(lambda found, filled=filled: filled.get(found[1] or found[2], found[0]), word.text)
        for plain in _braces_expanded(text):
            dynamic = "$" in plain or "`" in plain or "<(" in plain
            glob = word.glob or any(value.glob for value in values)
            forms.append(Word(plain, dynamic, glob, word.quoted and not known))
        if len(forms) >= _MOST_FORMS:
            break
    return tuple(forms)


def _braces_expanded(text: str) -> list[str]:
    waiting, done = [text], list[str]()
    while waiting and len(done) + len(waiting) < _MOST_FORMS:
        current = waiting.pop()
        found = _BRACES.search(current)
        if found is None or current[found.start() - 1 : found.start()] == "$":
            done.append(current)
        else:
            waiting += [current[: found.start()] + piece + current[found.end() :] for piece in found[1].split(",")]
    return done + waiting


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"


def _shows_environments(part: SimpleCommand) -> bool:
    """`ps e`, `ps auxe`, `ps -E`, `ps -o environ`: the variables of other processes, keys among them."""
    args = iter(part.args)
    for word in args:
        text = word.text
        if "environ" in text or text == "-E":
            return True
        if text.startswith("--"):
            if "=" not in text and text not in ("--forest", "--headers", "--no-headers", "--help", "--version"):
                next(args, None)
        elif word.dynamic:
            if not re.fullmatch(r"\$[$!]|\$\{?\w*pid\w*\}?|\$\(pgrep .*\)", text, re.IGNORECASE):
                return True
        else:
            letters = text.removeprefix("-")
            valued = next((index for index, letter in enumerate(letters) if letter in _valued(text)), None)
            if not text.startswith("-") and letters.isalpha() and "e" in letters[:valued]:
                return True
            if valued is not None and valued == len(letters) - 1:
                value = next(args, None)
                if value is not None and "environ" in value.text:
                    return True
    return False


def _valued(text: str) -> frozenset[str]:
    # Without the dash `u`, `s`, `g` and `T` are formats and filters of their own.
    return _PS_VALUED if text.startswith("-") else frozenset("oOkptUq")


def _of_git(item: PlacedPart, place: Place) -> Iterator[str]:
    """`git show HEAD:.env` and its like; also for files that are in the history only."""
    argv = item.part.argv
    at = next((index for index, text in enumerate(argv) if text in _GIT_CONTENT | _GIT_PATCHES), None)
    if at is None:
        return
    after = argv[at + 1 :]
    if argv[at] in _GIT_PATCHES and not any(text.startswith(_PATCH_OPTIONS) for text in after):
        return
    base = item.cwd or place.workdir
    for text in after:
        if text.startswith((":!", ":^", "--exclude")) or (text.startswith("-") and not text.startswith("-L")):
            continue
        name = text.rsplit(":", 1)[-1]
        if any(place.holds_keys(base / form) for form in (name, name.replace("*", "").replace("?", "")) if form):
            yield text
