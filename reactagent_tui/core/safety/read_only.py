"""Does a command only read? By name and arguments, from the lists in `data/commands.json`."""

from __future__ import annotations

import re
from functools import lru_cache

from reactagent_tui.core.safety.command_data import CommandData, ReadOnlyRule, command_data
from reactagent_tui.core.safety.command_line import CommandLine, SimpleCommand
from reactagent_tui.core.safety.command_parts import parse_command
from reactagent_tui.core.safety.command_words import Word
from reactagent_tui.core.safety.wrappers import ANYTHING

_SED_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/I?)"
_SED_PRINT = rf"(?:{_SED_ADDRESS}(?:,\+?{_SED_ADDRESS})?\s*!?\s*)?(?:[pdq=]|q\d+)"
_SED_SUBSTITUTE = r"(?:[\d,$]*\s*)s([/|#,:@!])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiI0-9]*"
_SED_STATEMENT = re.compile(rf"\s*(?:{_SED_PRINT}|{_SED_SUBSTITUTE})\s*(?:[;\n]|$)")
_AWK_DOES_MORE = re.compile(r"system|getline|ENVIRON|\||>|@|/dev/|/inet/")
_RUNS_OTHERS = frozenset(("sudo", "doas"))
_SH_FAMILY = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "busybox"))


@lru_cache(maxsize=256)
def is_read_only(command: str) -> bool:
    """Does the whole line only read? False when that is not certain."""
    return line_only_reads(parse_command(command))


def line_only_reads(line: CommandLine) -> bool:
    """Every part only reads and nothing is written to a file."""
    return not line.unparsable and all(part_only_reads(part, line.functions) for part in line.parts)


def part_only_reads(part: SimpleCommand, functions: frozenset[str] = frozenset()) -> bool:
    """This part changes nothing: no file, no process, no network, nothing left running."""
    data = command_data()
    if part.in_background or _RUNS_OTHERS.intersection(part.wrappers):
        return False
    if not all(data.is_safe_env(name) for name, _ in part.env):
        return False
    if any(redirect.writes and not is_sink(redirect.target, data) for redirect in part.redirects):
        return False
    if not part.words or (part.name in functions and not part.args):
        return True
    name = part.name.removeprefix("/usr/bin/").removeprefix("/bin/")
    if name in data.version_only and _asks_version(part.args):
        return True
    subcommands = data.subcommands.get(name)
    if subcommands is not None:
        return _subcommand_reads(part, data)
    rule = data.read_only.get(name)
    return rule is not None and _fits(part.args, rule, part, data)


def is_sink(target: Word, data: CommandData) -> bool:
    """A target that is no file: `/dev/null` and the like."""
    return not target.dynamic and data.matches("sinks", target.text)


def subcommand_words(part: SimpleCommand, data: CommandData) -> tuple[str, tuple[Word, ...]] | None:
    """(`git log`, its arguments) for a command with subcommands; None when they cannot be told."""
    entry = data.subcommands[part.name.rsplit("/", 1)[-1]]
    args = part.args
    while args and args[0].text.startswith("-") and not args[0].dynamic:
        if args[0].text in entry.valued:
            args = args[2:]
        elif args[0].text in entry.flags:
            args = args[1:]
        else:
            return None
    for count in (2, 1):
        words = args[:count]
        if len(words) == count and not any(word.dynamic for word in words):
            name = " ".join(word.text for word in words)
            if name in entry.commands:
                return name, args[count:]
    return None


def _subcommand_reads(part: SimpleCommand, data: CommandData) -> bool:
    entry = data.subcommands[part.name.rsplit("/", 1)[-1]]
    if part.args and all(word.text in entry.flags and word.text.startswith("--v") for word in part.args):
        return True
    found = subcommand_words(part, data)
    return found is not None and _fits(found[1], entry.commands[found[0]], part, data)


def _asks_version(args: tuple[Word, ...]) -> bool:
    return len(args) == 1 and args[0].text in ("--version", "-V", "-v", "version", "-version", "--help", "-h")


def _fits(args: tuple[Word, ...], rule: ReadOnlyRule, part: SimpleCommand, data: CommandData) -> bool:
    texts = [word.text for word in args]
    if rule.only is not None and any(text not in rule.only for text in texts):
        return False
    if rule.need and not any(text.split("=", 1)[0] in rule.need for text in texts):
        return False
    if rule.deny or rule.exact:
        doubtful = {"first": args[:1], "fixed": ()}.get(rule.options, args)
        if any(_could_be_option(word, part, data) for word in doubtful):
            return False
    if any(text in rule.exact for text in texts) or any(_denied(text, rule.deny) for text in texts):
        return False
    operands = [text for text in texts if not text.startswith("-") or text == "-"]
    if rule.operands is not None and len(operands) > rule.operands:
        return False
    if rule.prefix_only and not all(text.startswith(rule.prefix_only) for text in operands):
        return False
    if rule.needs_operand and not (operands or part.env or (part.name == "set" and args)):
        return False
    if rule.deny_text and any(re.search(rule.deny_text, text) for text in texts):
        return False
    if rule.names and not all(data.is_safe_env(text) for text in operands):
        return False
    return not rule.script or _script_only_reads(rule.script, args, data)


def _denied(text: str, options: tuple[str, ...]) -> bool:
    if not text.startswith("-") or text == "-":
        return False
    if text.startswith("--"):
        name = text.split("=", 1)[0]
        # GNU programs accept any unambiguous beginning of a long option.
        return any(option == name or (len(name) > 3 and option.startswith(name)) for option in options)
    return any(len(option) == 2 and option[1] in text[1:] for option in options)


def _could_be_option(word: Word, part: SimpleCommand, data: CommandData) -> bool:
    """Could an unknown value turn out to be an option that does more?"""
    if word == ANYTHING:
        return not ("find" in part.wrappers or part.piped_from in data.named("listing"))
    return word.dynamic


def _script_only_reads(kind: str, args: tuple[Word, ...], data: CommandData) -> bool:
    scripts = _scripts(args, data.valued_options.get(kind, frozenset()) - {"-e"}, kind == "sed")
    if not scripts or any(script.dynamic for script in scripts):
        return False
    if kind == "awk":
        return not any(_AWK_DOES_MORE.search(script.text) for script in scripts)
    return all(_sed_only_reads(script.text) for script in scripts)


def _scripts(args: tuple[Word, ...], valued: frozenset[str], by_option: bool) -> list[Word]:
    """The scripts among the arguments: after `-e`, else the first operand. Empty when that is not certain."""
    given: list[Word] = []
    operands: list[Word] = []
    rest = iter(args)
    for word in rest:
        text = word.text
        if text in valued:
            next(rest, None)
        elif by_option and (text == "--expression" or (text[:1] == "-" and text[:2] != "--" and text.endswith("e"))):
            given.append(next(rest, Word("", dynamic=True)))
        elif by_option and (text.startswith("--e") or (text[:1] == "-" and text[:2] != "--" and "e" in text)):
            return []
        elif not text.startswith("-"):
            operands.append(word)
    return given or operands[:1]


def _sed_only_reads(script: str) -> bool:
    at = 0
    while at < len(script):
        found = _SED_STATEMENT.match(script, at)
        if found is None or found.end() == at:
            return False
        at = found.end()
    return bool(script.strip())


def is_shell(name: str) -> bool:
    """A program that runs what it reads as commands."""
    return name.rsplit("/", 1)[-1] in _SH_FAMILY
