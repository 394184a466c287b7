"""What is asked about in every mode and never granted for longer: things that cannot be undone, and keys.

Each finding is a risk line: a locale key, then a tab and the value of its parameter `{value}` where it has one.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from reactagent_tui.core.safety.command_data import command_data
from reactagent_tui.core.safety.command_line import CommandLine, SimpleCommand
from reactagent_tui.core.safety.command_paths import (
    PlacedPart,
    expand,
    find_roots,
    operands_of,
    placed,
    resolve,
    written_by,
)
from reactagent_tui.core.safety.command_words import Word
from reactagent_tui.core.safety.foreign_code import foreign_code
from reactagent_tui.core.safety.key_reads import key_reads
from reactagent_tui.core.safety.key_sweeps import Sweeps
from reactagent_tui.core.safety.place import Place
from reactagent_tui.core.safety.wrappers import ANYTHING

_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|[@*]|\{[^{}]*\})")
_TOP = 2
"""Parts of `/usr`: a folder of the system itself."""

_FORCE = ("-f", "--force", "--mirror")


def dangers(line: CommandLine, place: Place) -> tuple[str, ...]:
    """Every hard-list finding of a command line, without repeats."""
    found: dict[str, None] = {}
    if line.is_fork_bomb:
        found["risk.fork_bomb"] = None
    if line.has_hidden_characters:
        found["risk.hidden"] = None
    for name in foreign_code(line):
        found[f"risk.pipe_to_shell\t{name}"] = None
    items = placed(line, place)
    sweeps = Sweeps(items, place)
    # Names of key files first: of very many values only some are tried.
    bindings = sorted(set(line.bindings), key=lambda bound: not place.holds_keys(place.workdir / bound[1].text))
    for item in items:
        for risk in _of_part(item, place):
            found[risk] = None
        for name in (*key_reads(item, place, bindings), *sweeps.aimed(item)):
            found[f"risk.key_file\t{name}"] = None
    return tuple(found)


def _of_part(item: PlacedPart, place: Place) -> Iterator[str]:
    part = item.part
    name = part.name.rsplit("/", 1)[-1]
    yield from _deletions(item, place)
    yield from _devices(part, name)
    yield from _force_push(part)
    for word in written_by(part):
        for path in expand(word, item.cwd, place):
            if not place.contains(path):
                yield f"risk.outside\t{path}"
                break


def _deletions(item: PlacedPart, place: Place) -> Iterator[str]:
    part = item.part
    name = part.name.rsplit("/", 1)[-1]
    if name == "find" and any(word.text == "-delete" for word in part.args):
        narrowed = any(word.text in ("-name", "-iname", "-path", "-regex", "-wholename") for word in part.args)
        targets: tuple[Word, ...] = () if narrowed else tuple(find_roots(part))
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


def _devices(part: SimpleCommand, name: str) -> Iterator[str]:
    data = command_data()
    if data.matches("disk_tools", name):
        yield f"risk.disk\t{name}"
    words = " ".join(part.argv[:2]) if part.words else ""
    if name in data.named("power") or words in data.named("power_subcommands"):
        yield f"risk.power\t{words or name}"
    if name == "kill" and part.argv[-1:] == ("-1",) and len(part.argv) > 2:
        yield "risk.kill_all"
    for word in written_by(part):
        if word.text.startswith("/dev/") and not word.text.startswith("/dev/shm/") and _is_device(word.text):
            yield f"risk.disk\t{word.text}"


def _is_device(text: str) -> bool:
    try:
        mode = os.stat(text).st_mode
    except OSError:
        return True  # a device that is not there now is one all the same
    return stat.S_ISBLK(mode) or stat.S_ISCHR(mode)


def _force_push(part: SimpleCommand) -> Iterator[str]:
    argv = part.argv
    if part.name.rsplit("/", 1)[-1] != "git" or "push" not in argv:
        return
    after = argv[argv.index("push") + 1 :]
    options = [text for text in after if text.startswith("-")]
    refs = [text for text in after if not text.startswith("-")][1:]
    forced = any(
        text in _FORCE or text.startswith("--force") or re.fullmatch(r"-[a-z]*f[a-z]*", text) for text in options
    )
    deletes = "--delete" in options or "-d" in options
    for ref in refs:
        target = ref.lstrip("+").rsplit(":", 1)[-1].removeprefix("refs/heads/")
        harms = forced or deletes or ref.startswith(("+", ":"))
        if harms and (target in command_data().named("default_branches") or target == "HEAD" or "$" in target):
            yield f"risk.force_push\t{target}"
    if not refs and (forced or deletes):
        yield "risk.force_push\t?"
