"""What a command line would do, in one line each, from its parts: for `w` in the approval dialog. No model is asked.

A risk line is a locale key, then a tab and the value of its parameter `{value}` where it has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reactagent_tui.core.safety.command_data import CommandData, command_data
from reactagent_tui.core.safety.command_line import CommandLine, SimpleCommand
from reactagent_tui.core.safety.command_paths import written_by
from reactagent_tui.core.safety.read_only import is_shell, is_sink, part_only_reads

_DELETERS = frozenset(("rm", "rmdir", "unlink", "shred"))
_LONGEST = 120


def risks_of(line: CommandLine) -> tuple[str, ...]:
    """Everything worth knowing before saying yes, in the order of the parts, without repeats."""
    data = command_data()
    found: dict[str, None] = {}
    for part in line.parts:
        for risk in _of_part(part, line, data):
            found[risk[:_LONGEST]] = None
    return tuple(found)


def _of_part(part: SimpleCommand, line: CommandLine, data: CommandData) -> Iterator[str]:
    name = part.name.rsplit("/", 1)[-1]
    if "sudo" in part.wrappers or "doas" in part.wrappers:
        yield f"risk.root\t{name}"
    for redirect in part.redirects:
        if redirect.writes and not is_sink(redirect.target, data):
            yield f"{'risk.appends' if '>>' in redirect.operator else 'risk.overwrites'}\t{redirect.target.text}"
    for variable, _ in part.env:
        if not data.is_safe_env(variable):
            yield f"risk.env\t{variable}"
    if part.in_background:
        yield f"risk.background\t{name}"
    program = replace(part, redirects=(), in_background=False)
    if part.words and not part_only_reads(program, line.functions):
        yield from _of_program(program, name, data)


def _of_program(part: SimpleCommand, name: str, data: CommandData) -> Iterator[str]:
    command = " ".join(part.argv[:2])
    if name in _DELETERS or (name == "find" and "-delete" in part.argv):
        for word in written_by(part):
            yield f"risk.deletes\t{word.text}"
        if name in _DELETERS and not written_by(part):
            yield f"risk.deletes\t{'…' if part.args else ''}"
    elif is_shell(name) and part.piped_from:
        yield f"risk.pipe_to_shell\t{part.piped_from}"
    elif any(" ".join((name, *part.argv[1:count])) in data.named("network") for count in (1, 2, 3)):
        yield f"risk.network\t{command}"
    elif name in data.named("interpreters"):
        yield f"risk.code\t{name}"
    elif written_by(part):
        for word in written_by(part):
            yield f"risk.writes\t{word.text}"
    else:
        yield f"risk.runs\t{command}"
