"""One hint by kind of error at the end of a failed call's result: what to do instead. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from reactagent_tui.core.tools.base import ToolOutcome

HINT = "Hint: "
_LOOKED_AT = 4000
"""Characters at the end of an output in which the reason is looked for."""

_BY_KIND: Mapping[str, str] = {  # kinds whose texts end with the way out anyway are not here
    "not_found": "look with list_dir or glob for what is there before you try another name.",
    "not_a_file": "use list_dir for a folder, and a command with a limit for a device or pipe.",
    "no_match": "read_file the place again and copy old_text from there, without the line numbers.",
    "no_change": "the file is already as you want it, or old_text is not what you meant; read_file shows which.",
    "permission": "do not force it: work on a copy elsewhere, or tell the user which permission is missing.",
    "write_failed": "nothing was lost; free space or another folder is for the user to decide.",
    "too_large": "work on a part of it: grep, head, tail or sed in a command.",
    "binary": "a command that knows the format (file, strings, unzip -l, pdftotext) can tell more.",
    "encoding": "use characters that the encoding has, or ask the user whether to convert the file.",
    "past_end": "read without offset, or from a line that exists.",
    "network": "try once more; if it fails again, tell the user instead of trying other addresses.",
    "http_status": "check the address; do not guess others one after the other.",
    "no_answer": "decide yourself what is most sensible, say what you assumed, and go on.",
}
_BY_OUTPUT: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.MULTILINE), hint)
    for pattern, hint in (
        (
            r"command not found|: not found$|is not recognized as an internal",
            "the program is not installed or not on PATH: check with `command -v`, or use another one.",
        ),
        (
            r"ModuleNotFoundError|No module named|Cannot find module|cannot find package",
            "a package is missing: look how the project installs its own (venv, lock file) before you install it.",
        ),
        (
            r"syntax error|SyntaxError|unexpected EOF|unterminated quot|unexpected token|unmatched",
            "mind quotes and special characters: write a longer script to a file first, then run that.",
        ),
        (
            r"Permission denied|Operation not permitted|EACCES",
            "do not force it: work where you may write, or tell the user which permission is missing.",
        ),
        (
            r"No space left on device|Disk quota exceeded",
            "the disk is full: tell the user; remove only what you made yourself.",
        ),
        (
            r"No such file or directory|cannot access|does not exist|ENOENT",
            "look with list_dir or glob for what is there before you try another name.",
        ),
        (
            r"Address already in use|EADDRINUSE",
            "something uses that port already: take another one, or find the job you started earlier.",
        ),
        (
            r"Could not resolve host|Temporary failure in name resolution|Network is unreachable|Connection refused",
            "there may be no network, or nothing listens there: check that before you repeat it.",
        ),
    )
)


def hint_for(outcome: ToolOutcome) -> str | None:
    """The one hint for a failed outcome; None when it succeeded, or its text says already what to do."""
    if not outcome.is_error:
        return None
    if outcome.error_kind == "exit_code":
        tail = outcome.text[-_LOOKED_AT:]
        return next((hint for pattern, hint in _BY_OUTPUT if pattern.search(tail)), None)
    return _BY_KIND.get(outcome.error_kind)


def with_hint(outcome: ToolOutcome) -> ToolOutcome:
    """The outcome with its hint as the last line of the model's text."""
    hint = hint_for(outcome)
    return outcome if hint is None else replace(outcome, text=f"{outcome.text.rstrip()}\n{HINT}{hint}")
