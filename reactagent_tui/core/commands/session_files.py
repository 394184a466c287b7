"""`/fork` and `/export`."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path

from reactagent_tui.core.commands.registry import Command, CommandResult, Host
from reactagent_tui.core.display import TextBlock
from reactagent_tui.core.errors import ReactAgentError
from reactagent_tui.core.log import Redactor
from reactagent_tui.core.sessions.export import FORMATS, Format, export
from reactagent_tui.core.sessions.forking import messages_of_turns
from reactagent_tui.core.sessions.store import SessionFile

FORK_USAGE = "[n]"
EXPORT_USAGE = "[md|html|json] [path]"


def session_file_commands() -> list[Command]:
    return [
        Command("fork", fork, FORK_USAGE, headless=False),
        Command("export", write_export, EXPORT_USAGE),
    ]


async def fork(host: Host, arguments: str) -> CommandResult:
    """A new session with this one's history: all of it, its first n turns, or (`#n`) its first n messages."""
    keep, text = None, arguments.strip()
    if text:
        number = text.removeprefix("#")
        if not number.removeprefix("-").isdecimal():
            return _problem(host.t("fork.usage"))
        keep = int(number) if text.startswith("#") else messages_of_turns(host.messages, int(number))
        if keep is None or not 0 < keep <= len(host.messages):
            return _problem(host.t("fork.no_turn", n=text))
    if not host.messages:
        return _problem(host.t("fork.empty"))
    try:
        await host.fork_session(keep)
    except ReactAgentError as error:
        return _problem(str(error))
    return CommandResult((TextBlock(host.t("fork.done"), "ok"),))


async def write_export(host: Host, arguments: str) -> CommandResult:
    """Write the whole session into a file."""
    try:
        words = shlex.split(arguments)
    except ValueError as error:
        return _problem(str(error))
    named: list[Format] = [name for name in FORMATS if words and words[0] == name]
    if named:
        words.pop(0)
    by_ending: list[Format] = [name for name in FORMATS if words and words[0].endswith(f".{name}")]
    wanted: Format = (*named, *by_ending, *FORMATS)[0]
    if len(words) > 1:
        return _problem(host.t("export.usage"))
    file = host.file
    text = await asyncio.to_thread(export, file, wanted, host.t, redactor().text)
    path = _below(host.workdir, words[0]) if words else free_path(host.workdir, file, wanted)
    try:
        await asyncio.to_thread(write_new, path, text)
    except FileExistsError:
        return _problem(host.t("export.exists", path=str(path)))
    except OSError as error:
        return _problem(f"{path}: {error.strerror or error}")
    return CommandResult((TextBlock(host.t("export.done", path=str(path)), "ok"),))


def redactor() -> Redactor:
    """Hides what the logs hide."""
    return Redactor([value for name, value in os.environ.items() if name.endswith(("_API_KEY", "_TOKEN", "_SECRET"))])


def _below(folder: Path, name: str) -> Path:
    return folder / Path(name).expanduser()


def free_path(folder: Path, file: SessionFile, wanted: Format) -> Path:
    """A name that nothing has yet."""
    path = folder / f"session-{file.id}.{wanted}"
    number = 2
    while path.exists():
        path = folder / f"session-{file.id}-{number}.{wanted}"
        number += 1
    return path


def write_new(path: Path, text: str) -> None:
    """A file that only its user can read. Raises FileExistsError rather than write over one, and OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(text.encode("utf-8", "replace"))


def _problem(text: str) -> CommandResult:
    return CommandResult((TextBlock(text, "error"),), level="error")
