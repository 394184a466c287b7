"""What is asked about in every mode and never granted for longer: things that cannot be undone, and keys.

Each finding is a risk line: a locale key, then a tab and the value of its parameter `{value}` where it has one.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator

from reactagent_tui.core.safety.command_data import command_data
from reactagent_tui.core.safety.command_line import CommandLine, SimpleCommand
from reactagent_tui.core.safety.command_paths import (
    PlacedPart,
    expand,
    placed,
    resolve,
    written_by,
)
from reactagent_tui.core.safety.command_words import Word
from reactagent_tui.core.safety.deletions import deletions, passed_on_deletions
from reactagent_tui.core.safety.foreign_code import foreign_code
from reactagent_tui.core.safety.key_reads import Bindings, key_reads, known_forms
from reactagent_tui.core.safety.key_sweeps import Sweeps
from reactagent_tui.core.safety.place import Place
from reactagent_tui.core.safety.stored_code import stored_code

_FORCE = ("-f", "--force", "--mirror")


def dangers(line: CommandLine, place: Place) -> tuple[str, ...]:
    """Every hard-list finding of a command line, without repeats."""
    found: dict[str, None] = {}
    if line.is_fork_bomb:
        found["risk.fork_bomb"] = None
    if line.has_hidden_characters:
        found["risk.hidden"] = None
    for name in (*foreign_code(line), *stored_code(line)):
        found[f"risk.pipe_to_shell\t{name}"] = None
    items = placed(line, place)
    for risk in passed_on_deletions(items, place):
        found[risk] = None
    sweeps = Sweeps(items, place)
    # Names of key files first: of very many values only some are tried.
    bindings = sorted(set(line.bindings), key=lambda bound: not place.holds_keys(place.workdir / bound[1].text))
    for item in items:
        for risk in _of_part(item, place, bindings):
            found[risk] = None
        for name in (*key_reads(item, place, bindings), *sweeps.aimed(item)):
            found[f"risk.key_file\t{name}"] = None
    return tuple(found)


def _of_part(item: PlacedPart, place: Place, bindings: Bindings) -> Iterator[str]:
    part = item.part
    name = part.name.rsplit("/", 1)[-1]
    yield from deletions(item, place)
    yield from _mounts(item, place)
    yield from _devices(part, name)
    yield from _force_push(part)
    for word in written_by(part):
        paths = (path for form in known_forms(word, bindings) for path in expand(form, item.cwd, place))
        outside = next((path for path in paths if not place.contains(path)), None)
        if outside is not None:
            yield f"risk.outside\t{outside}"


def _devices(part: SimpleCommand, name: str) -> Iterator[str]:
    data = command_data()
    if data.matches("disk_tools", name):
        yield f"risk.disk\t{name}"
    words = " ".join(part.argv[:2]) if part.words else ""
    if name in data.named("power") or words in data.named("power_subcommands"):
        yield f"risk.power\t{words or name}"
    if _kills_everything(part, name):
        yield "risk.kill_all"
    for word in written_by(part):
        if word.text.startswith("/dev/") and not word.text.startswith("/dev/shm/") and _is_device(word.text):
            yield f"risk.disk\t{word.text}"


def _kills_everything(part: SimpleCommand, name: str) -> bool:
    if name == "kill":
        return part.argv[-1:] == ("-1",) and len(part.argv) > 2
    options = any(text in ("-u", "--uid", "--user", "-U", "--euid") for text in part.argv)
    patterns = [text for text in part.argv[1:] if not text.startswith("-")]
    return name == "killall5" or (name in ("pkill", "killall") and options and len(patterns) <= 1)


def _mounts(item: PlacedPart, place: Place) -> Iterator[str]:
    """A container that may write to folders outside the workspace."""
    part = item.part
    if part.program not in ("docker", "podman", "nerdctl"):
        return
    for index, word in enumerate(part.args):
        text = word.text
        if text in ("-v", "--volume") and index + 1 < len(part.args):
            text = f"--volume={part.args[index + 1].text}"
        if not text.startswith("--volume=") or text.endswith(":ro"):
            continue
        source = text.removeprefix("--volume=").split(":", 1)[0]
        if source.startswith(("/", ".", "~", "$")):
            path = resolve(Word(source, word.dynamic or "$" in source), item.cwd, place)
            if path is not None and not place.contains(path):
                yield f"risk.outside\t{path}"


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
