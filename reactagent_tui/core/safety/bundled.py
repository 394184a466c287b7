"""Programs of the skills that ship with this one: they only read, and run without a question."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from reactagent_tui.core.paths import data_dir
from reactagent_tui.core.safety.command_line import CommandLine

_ENTRY = "run.py"


def runs_bundled_skill(line: CommandLine, roots: tuple[Path, ...]) -> bool:
    """Is the whole line one plain call of a bundled skill's `run.py` with our own interpreter?

    Not where the session may write to the bundled folder: there the program may be another by now.
    """
    if line.unparsable or line.has_heredoc or len(line.parts) != 1:
        return False
    part = line.parts[0]
    plain = not (part.env or part.redirects or part.wrappers or part.piped_from or part.foreign or part.in_background)
    if not plain or part.is_substitution or len(part.words) < 2:
        return False
    if any(word.dynamic or word.glob for word in part.words) or part.name != sys.executable:
        return False
    return _is_bundled_entry(part.words[1].text, roots)


def _is_bundled_entry(text: str, roots: tuple[Path, ...]) -> bool:
    if not os.path.isabs(text) or "\0" in text:
        return False
    folder = Path(os.path.realpath(data_dir("skills")))
    real = Path(os.path.realpath(text))
    given = Path(os.path.normpath(text))
    if any(folder == root or folder.is_relative_to(root) for root in roots):
        return False
    if given.parent.parent not in (folder, data_dir("skills")):
        return False
    return real.name == _ENTRY and real.parent.parent == folder and real.is_file()
