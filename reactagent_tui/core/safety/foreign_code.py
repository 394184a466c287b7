"""Code from elsewhere: which commands deliver it (downloads, decoders), and which run what they are given."""

from __future__ import annotations

import re

from reactagent_tui.core.safety.command_data import Interpreter, command_data
from reactagent_tui.core.safety.command_line import CommandLine, SimpleCommand
from reactagent_tui.core.safety.command_words import Word
from reactagent_tui.core.safety.wrappers import ANYTHING

_NETWORK_FILES = ("/dev/tcp/", "/dev/udp/")
_INPUT = re.compile(r"-|/dev/stdin|(?:/dev|/proc/(?:self|thread-self|\$\$))/fd/\d+")
_UNKNOWN = re.compile(r"\$(?:\w+|[@*#]|\{[^{}]*\})")
_RUNS_TEXT = re.compile(
    r"(?<!\.)\b(?:exec|eval|execfile|system|passthru|shell_exec|proc_open|assert|loadstring|dofile|instance_eval|iex)\b"
    r"|\.(?:system|popen|exec[lv]\w*|spawn\w*|eval|instance_eval)\b|(?<![.\w])(?:compile|load)\s*\("
    r"|\b(?:popen|subprocess|child_process|runpy|pty|vm|Function|Invoke-Expression|__import__)\b|\bqx\b|\|\s*\""
)
"""In code that reads its input: it may run that input. `json.load`, `re.compile` and `regex.exec` do not."""

_BACKQUOTES_RUN = ("perl", "ruby", "php")
_EVALUATORS = ("eval", "source", ".")
_ROOT_SHELLS = ("sudo", "doas", "su")
_SPREADERS = ("xargs", "parallel")


def delivered_by(part: SimpleCommand) -> str:
    """Name of the program when this part fetches from the network or decodes, else empty."""
    data, argv = command_data(), part.argv
    if _network_input(part):
        return _network_input(part)
    if part.program in ("busybox", "toybox"):
        argv = argv[1:]
    if not argv:
        return ""
    name = argv[0].rsplit("/", 1)[-1]
    if name in data.named("fetchers") or _is_network((name, *argv[1:])):
        return name
    if any(text.startswith(_NETWORK_FILES) for text in argv[1:]):
        return name
    options = data.decoders.get(name)
    if options is not None and (not options or any(_decodes(text, options) for text in argv[1:])):
        return name
    fetches = any("://" in text for text in argv[1:]) and data.interpreter(name) is not None
    return name if fetches else ""


def foreign_code(line: CommandLine) -> tuple[str, ...]:
    """Names of the downloads and decoders whose output this line would run."""
    given = [(part.foreign or _network_input(part), part) for part in line.parts]
    found = [name for name, part in given if name and runs_what_it_is_given(part)]
    if line.functions and not found:
        # What a function reads and prints is not followed: a source and a taker on the line are enough.
        sources = [name for part in line.parts if (name := delivered_by(part))]
        if sources and any(runs_what_it_is_given(part) for part in line.parts if part.words):
            found = sources[:1]
    return tuple(dict.fromkeys(found))


def runs_what_it_is_given(part: SimpleCommand) -> bool:
    """Would this part, given unknown input (or arguments that are not known), run it as code?"""
    if not part.words:
        return False
    if part.words[0].dynamic:
        return True
    name, data = part.program, command_data()
    if _spreads_into_shell(part):
        return True
    if name in _EVALUATORS:
        return any(_unknown(word) or _INPUT.fullmatch(word.text) for word in part.args)
    if name in ("make", "gmake", "crontab"):
        return any(word.text in ("-", "-f-") for word in part.args)
    if name in data.named("runs_input"):
        return True
    rule = data.interpreter(name)
    if rule is not None:
        return _takes_program(part.args, rule, name)
    if name not in data.named("passes_on"):
        return False
    inner = any(data.interpreter(word.text.rsplit("/", 1)[-1]) for word in part.args)
    return inner or name in _ROOT_SHELLS


def _network_input(part: SimpleCommand) -> str:
    texts = (redirect.target.text for redirect in part.redirects)
    return next((text for text in texts if text.startswith(_NETWORK_FILES)), "")


def _is_network(argv: tuple[str, ...]) -> bool:
    network = command_data().named("network")
    return any(" ".join(argv[:count]) in network for count in (1, 2, 3))


def _decodes(text: str, options: frozenset[str]) -> bool:
    if text in options:
        return True
    if text.startswith("--"):
        return len(text) > 3 and any(option.startswith(text) for option in options)
    letters = {option[1] for option in options if len(option) == 2}
    return text.startswith("-") and len(text) <= 4 and bool(letters & set(text[1:]))


def _spreads_into_shell(part: SimpleCommand) -> bool:
    """`xargs sh -c …`: its input becomes arguments of a script."""
    for index, wrapper in enumerate(part.wrappers):
        if wrapper in _SPREADERS:
            shells = (command_data().interpreter(name) for name in part.wrappers[index + 1 :])
            return any(shell is not None for shell in shells)
    return False


def _takes_program(args: tuple[Word, ...], rule: Interpreter, name: str) -> bool:
    """Does an interpreter with these arguments run its input, or code that is not known?"""
    index = 0
    while index < len(args):
        word = args[index]
        text = word.text
        if text in rule.stdin:
            return True
        if text in rule.skip:
            index += 1
            continue
        kind, value = _option(text, rule)
        following = args[index + 1] if index + 1 < len(args) else ANYTHING
        match kind:
            case "code":
                return _runs_text(Word(value, word.dynamic) if value else following, name)
            case "given":
                return _INPUT.fullmatch(value or following.text) is not None
            case "valued":
                index += 1 if value else 2
            case "flag":
                index += 1
            case _:
                if rule.code_first:
                    return _runs_text(word, name)
                return _INPUT.fullmatch(text) is not None or _unknown(word)
    return True


def _option(text: str, rule: Interpreter) -> tuple[str, str]:
    """What an argument is (code, given, valued, flag, or empty for an operand) and the value attached to it."""
    for kind, options in (("code", rule.code), ("given", rule.given), ("valued", rule.valued)):
        if text in options:
            return kind, ""
    if text[:1] not in "-+" or len(text) < 2:
        return "", ""
    if text.startswith("--"):
        option, _, value = text.partition("=")
        return ("code" if option in rule.code and value else "flag"), value
    for index, letter in enumerate(text[1:], 1):
        for kind, options in (("code", rule.code), ("given", rule.given), ("valued", rule.valued)):
            if f"-{letter}" in options:
                return kind, text[index + 1 :]
    return "flag", ""


def _runs_text(code: Word, name: str) -> bool:
    if _unknown(code) or _INPUT.fullmatch(code.text) or _RUNS_TEXT.search(code.text):
        return True
    return name.startswith(_BACKQUOTES_RUN) and "`" in code.text


def _unknown(word: Word) -> bool:
    """Is the word wholly, or in a substitution, what only running would tell?"""
    if word == ANYTHING:
        return True
    substituted = any(start in word.text for start in ("$(", "`", "<("))
    return word.dynamic and (substituted or _UNKNOWN.fullmatch(word.text) is not None)
