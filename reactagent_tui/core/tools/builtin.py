"""The built-in tools that need nothing of a session but its context."""

from __future__ import annotations

from reactagent_tui.core.tools.base import Tool
from reactagent_tui.core.tools.places import PathLocks


def builtin_tools(*, locks: PathLocks | None = None) -> list[Tool]:
    """Shell and file tools, made anew. Give the same `locks` to every list that may write the same files."""
    from reactagent_tui.core.tools.edit_file import EditFile
    from reactagent_tui.core.tools.glob import Glob
    from reactagent_tui.core.tools.grep import Grep
    from reactagent_tui.core.tools.list_dir import ListDir
    from reactagent_tui.core.tools.read_file import ReadFile
    from reactagent_tui.core.tools.shell import RunShellCommand
    from reactagent_tui.core.tools.write_file import WriteFile

    locks = locks or PathLocks()
    return [
        RunShellCommand(),
        ReadFile(),
        WriteFile(locks),
        EditFile(locks),
        Grep(),
        Glob(),
        ListDir(),
    ]
