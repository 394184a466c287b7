"""Code from elsewhere in two steps on one line: a download or decoded text goes to a file, and the file is run."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from reactagent_tui.core.safety.command_data import command_data
from reactagent_tui.core.safety.command_line import CommandLine, SimpleCommand
from reactagent_tui.core.safety.command_paths import written_by
from reactagent_tui.core.safety.foreign_code import delivered_by

_EVALUATORS = ("source", ".")
_BUILDERS = ("make", "gmake", "crontab", "at", "batch")


def stored_code(line: CommandLine) -> tuple[str, ...]:
    """Names of the files that this line both fetches (or decodes) and runs."""
    stored: set[str] = set()
    found: list[str] = []
    for part in line.parts:
        found += [name for name in _run_by(part) if _bare(name) in stored]
        if part.foreign or delivered_by(part):
            stored.update(_stored_by(part))
    return tuple(dict.fromkeys(found))


def _stored_by(part: SimpleCommand) -> Iterator[str]:
    for word in written_by(part):
        yield _bare(word.text)
    if part.program not in ("curl", "wget"):
        return
    for index, word in enumerate(part.args):
        text = word.text
        if "://" in text:
            yield _bare(urlsplit(text).path)
        elif text[:1] == "-" and text[:2] != "--" and text[-1:] in "oO" and index + 1 < len(part.args):
            yield _bare(part.args[index + 1].text)  # `-fsSLo x.sh`, `-qO x.sh`
        elif text.startswith(("--output=", "--output-document=")):
            yield _bare(text.partition("=")[2])


def _run_by(part: SimpleCommand) -> Iterator[str]:
    """Files that this part may run: itself, and what an interpreter is given."""
    if "/" in part.name:
        yield part.name
    if part.program in (*_EVALUATORS, *_BUILDERS) or command_data().interpreter(part.program) is not None:
        # the program is what stands first; what follows are its arguments
        yield from (word.text for word in [word for word in part.args if word.text[:1] != "-"][:1])


def _bare(text: str) -> str:
    return text.rstrip("/").rsplit("/", 1)[-1]
