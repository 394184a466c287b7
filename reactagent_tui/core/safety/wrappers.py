"""Programs that run another command line: what they would run, by their own option rules."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reactagent_tui.core.safety.command_words import Word

Command = tuple[tuple[Word, ...], tuple[tuple[str, Word], ...]]
"""Words, and assignments before them."""

ANYTHING = Word("…", dynamic=True)
"""Stands for arguments that are only known when it runs (`xargs`, `find -exec {}`)."""

_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash"))
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_FIND_EXEC = ("-exec", "-execdir", "-ok", "-okdir")


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """What a wrapper would run."""

    name: str
    commands: tuple[Command, ...] = ()
    scripts: tuple[str, ...] = ()
    """Texts that a shell would parse again."""
    keep: bool = False
    """The wrapper is a part of its own as well."""
    uncertain: bool = False
    """Its arguments are not understood, or hold what only running would tell."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """How to find the inner command: options that take a value, options without, words before the command."""

    valued: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    operands: int = 0
    assignments: bool = False
    appends: bool = False
    """Adds arguments of its own (xargs)."""
    keep: bool = False
    """Does something of its own as well: it is asked about by its own name too."""


def _options(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RULES: dict[str, _Rule] = {
    "timeout": _Rule(
        _options("-k --kill-after -s --signal"), _options("--preserve-status --foreground -v --verbose"), operands=1
    ),
    "time": _Rule(flags=_options("-p")),
    "nice": _Rule(_options("-n --adjustment")),
    "nohup": _Rule(),
    "stdbuf": _Rule(_options("-i -o -e --input --output --error")),
    "setsid": _Rule(flags=_options("-c -f -w --ctty --fork --wait")),
    "ionice": _Rule(_options("-c -n --class --classdata"), _options("-t --ignore")),
    "command": _Rule(flags=_options("-p")),
    "builtin": _Rule(),
    "exec": _Rule(_options("-a"), _options("-c -l")),
    "env": _Rule(_options("-u --unset -C --chdir"), _options("-i - --ignore-environment -0"), assignments=True),
    "sudo": _Rule(
        _options("-u --user -g --group -h --host -p --prompt -C -D --chdir -R -T"),
        _options("-n --non-interactive -E --preserve-env -H --set-home -S --stdin -k -b -A"),
        assignments=True,
    ),
    "doas": _Rule(_options("-u -C"), _options("-n")),
    "xargs": _Rule(
        _options("-n --max-args -I -P --max-procs -L -l --max-lines -d --delimiter -a --arg-file -s --max-chars -E"),
        _options("-0 --null -r --no-run-if-empty -t --verbose -x --exit -p -i --replace"),
        appends=True,
    ),
    "busybox": _Rule(keep=True),
    "toybox": _Rule(keep=True),
    "chronic": _Rule(flags=_options("-e -v"), keep=True),
    "chroot": _Rule(operands=1, keep=True),
    "flock": _Rule(
        _options("-w --timeout -E --conflict-exit-code"), _options("-n -s -x -o -F -u"), operands=1, keep=True
    ),
    "ltrace": _Rule(_options("-e -o -p -s"), _options("-f -c -t -T"), keep=True),
    "strace": _Rule(_options("-e -o -p -s -P -u -E"), _options("-f -c -t -T -v -y -q"), keep=True),
    "taskset": _Rule(flags=_options("-c --cpu-list -a"), operands=1, keep=True),
    "unbuffer": _Rule(flags=_options("-p"), keep=True),
}
_SCRIPT_OPTIONS: dict[str, tuple[str, ...]] = {
    "su": ("-c", "--command"),
    "runuser": ("-c", "--command"),
    "script": ("-c", "--command"),
    "flock": ("-c", "--command"),
}
"""Programs that give the value of an option to a shell."""
_WATCH_VALUED = ("-n", "--interval")


def unwrap(words: tuple[Word, ...]) -> Unwrapped | None:
    """What the command runs besides itself, or None when it is no wrapper."""
    if not words or words[0].dynamic:
        return None
    name = words[0].text.removeprefix("/usr").removeprefix("/bin/")
    if name in _SHELLS:
        return _shell(name, words)
    if name == "find":
        return _find(words)
    if (scripted := _scripted(name, words)) is not None:
        return scripted
    if name == "command" and len(words) > 1 and words[1].text in ("-v", "-V"):
        return None
    rule = _RULES.get(name)
    if rule is None or len(words) == 1:
        return None
    return _by_rule(name, rule, words)


def _by_rule(name: str, rule: _Rule, words: tuple[Word, ...]) -> Unwrapped:
    env: list[tuple[str, Word]] = []
    index, operands = 1, rule.operands
    while index < len(words):
        text = words[index].text
        if words[index].dynamic and operands == 0:
            return Unwrapped(name, keep=True, uncertain=True)
        assignment = _ASSIGNMENT.fullmatch(text) if rule.assignments else None
        if text == "--":
            index += 1
            break
        if (text.startswith("-") and len(text) > 1) or text in rule.flags:
            step = _option_width(text, rule, name)
            if step == 0:
                return Unwrapped(name, keep=True, uncertain=True)
            index += step
        elif assignment is not None:
            env.append((assignment[1], Word(assignment[2], quoted=True)))
            index += 1
        elif operands > 0:
            operands -= 1
            index += 1
        else:
            break
    inner = words[index:]
    if not inner:
        # `env` alone prints, `xargs` alone echoes, `timeout 5` alone fails: judge it by its own name.
        return Unwrapped(name, keep=True)
    if rule.appends:
        mark = _replaced(words[1:index])
        filled = tuple(ANYTHING if mark and mark in word.text else word for word in inner)
        inner = filled if mark else (*filled, ANYTHING)
    return Unwrapped(name, commands=((inner, tuple(env)),), keep=rule.keep)


def _replaced(options: tuple[Word, ...]) -> str:
    """The text that `xargs` puts its input in the place of, empty when it adds it at the end."""
    for index, word in enumerate(options):
        if word.text == "-I" and index + 1 < len(options):
            return options[index + 1].text
        if word.text.startswith("-I"):
            return word.text[2:]
        if word.text == "--replace" or word.text.startswith("-i"):
            return word.text[2:] if word.text.startswith("-i") and len(word.text) > 2 else "{}"
        if word.text.startswith("--replace="):
            return word.text.partition("=")[2] or "{}"
    return ""


def _option_width(text: str, rule: _Rule, name: str) -> int:
    """Words an option takes, 0 when it is unknown."""
    if text in rule.flags:
        return 1
    if text in rule.valued:
        return 2
    if text.startswith("--"):
        return 1 if text.split("=", 1)[0] in rule.valued | rule.flags and "=" in text else 0
    if text[:2] in rule.valued:
        return 1
    if name == "nice" and text[1:].isdigit():
        return 1
    return 1 if all(f"-{letter}" in rule.flags for letter in text[1:]) else 0


def _scripted(name: str, words: tuple[Word, ...]) -> Unwrapped | None:
    """`trap 'text' EXIT`, `su -c 'text'`, `watch words`: what a shell reads later, and the program itself."""
    script: Word | None = None
    if name == "trap":
        script = next((word for word in words[1:] if not word.text.startswith("-")), None)
    elif name == "watch":
        script = _watched(words[1:])
    for index, word in enumerate(words[1:-1], 1):
        if word.text in _SCRIPT_OPTIONS.get(name, ()):
            script = words[index + 1]
    if script is None:
        return None
    if script.dynamic:
        return Unwrapped(name, keep=True, uncertain=True)
    return Unwrapped(name, scripts=(script.text,), keep=True)


def _watched(args: tuple[Word, ...]) -> Word | None:
    while args and args[0].text.startswith("-"):
        args = args[2:] if args[0].text in _WATCH_VALUED else args[1:]
    return Word(" ".join(word.text for word in args), any(word.dynamic for word in args)) if args else None


def _shell(name: str, words: tuple[Word, ...]) -> Unwrapped | None:
    index = 1
    runs_a_file = False
    while index < len(words) and words[index].text.startswith(("-", "+")) and not words[index].dynamic:
        text = words[index].text
        if text.startswith("--"):
            runs_a_file = runs_a_file or text in ("--rcfile", "--init-file")
            index += 2 if text in ("--rcfile", "--init-file") else 1
            continue
        if "c" in text[1:] and text[0] == "-":
            rest = words[index + 1 :]
            while rest and rest[0].text.startswith(("-", "+")):
                rest = rest[1:]
            if not rest or rest[0].dynamic:
                return Unwrapped(name, keep=True, uncertain=True)
            return Unwrapped(name, scripts=(rest[0].text,), keep=runs_a_file)
        index += 2 if text in ("-o", "+o", "-O", "+O") else 1
    return None


def _find(words: tuple[Word, ...]) -> Unwrapped | None:
    commands: list[Command] = []
    index = 1
    while index < len(words):
        if words[index].text in _FIND_EXEC:
            end = index + 1
            while (
                end < len(words)
                and words[end].text != ";"
                and not (words[end].text == "+" and words[end - 1].text == "{}")
            ):
                end += 1
            inner = tuple(ANYTHING if "{}" in word.text else word for word in words[index + 1 : end])
            commands.append((inner, ()))
            index = end
        index += 1
    return Unwrapped("find", commands=tuple(commands), keep=True) if commands else None
