"""What a call touches, and the three answers to whether it may run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Mode = Literal["ask", "edits", "plan", "auto"]
MODES: tuple[Mode, ...] = ("ask", "edits", "plan", "auto")


@dataclass(frozen=True, slots=True)
class Access:
    """What one call touches."""

    tool: str
    command: str | None = None
    """A shell command line; decides on its own parts."""
    workdir: Path | None = None
    reads: tuple[Path, ...] = ()
    """Real paths."""
    writes: tuple[Path, ...] = ()
    network: bool = False
    memory: bool = False
    """Changes what later sessions are told."""
    subject: str = ""
    """The key argument of a tool that touches no file (a URL), or what a command gets on its stdin: a session grant
    covers exactly this."""


@dataclass(frozen=True, slots=True)
class Allow:
    """Runs without a question; `rule` says why (for "which rule allowed this")."""

    rule: str


@dataclass(frozen=True, slots=True)
class Ask:
    """The user decides."""

    reason: str
    """Locale key: asks.writes, asks.command, asks.outside, asks.dangerous, asks.unparsable, asks.network, asks.memory,
    asks.tool, asks.rule."""
    pattern: str | None = None
    """The rule to offer for "allow like this"; editable."""
    risk: tuple[str, ...] = ()
    """Lines of what it would do: each a locale key, then a tab and its `{value}` where it has one."""
    dangerous: bool = False
    """On the hard list: only this once, and denied where nobody can be asked."""
    new: tuple[str, ...] = ()
    """Parts of a command line that nothing allows yet; empty when these are all."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Never; `text` tells the model what is allowed instead."""

    text: str


Decision = Allow | Ask | Deny

PLAN_TEXT = (
    "Plan mode: nothing may be changed, so this was not run. Allowed now: reading files (read_file, grep, glob, "
    "list_dir) and commands that only read, such as `git log`, `git diff`, `ls` or `rg`. Say what you would do as a "
    "numbered plan; the user accepts it before anything is changed."
)


def call_key(access: Access) -> tuple[str, ...]:
    """What an exact grant covers: this tool with this command, these files or this subject."""
    if access.command is not None:
        given = (access.subject,) if access.subject else ()
        return (access.tool, access.command, str(access.workdir or ""), *given)
    return (access.tool, access.subject, *(str(path) for path in (*access.writes, *access.reads)))
