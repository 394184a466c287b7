"""The built-in tools that need nothing of a session but its context."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from reactagent_tui.core.tools.base import Tool
from reactagent_tui.core.tools.places import PathLocks

if TYPE_CHECKING:
    from reactagent_tui.core.llm.http import HttpPool

POLLING = frozenset({"job_output"})
"""Tools that are called again and again with the same arguments, and rightly so."""


def builtin_tools(
    *,
    locks: PathLocks | None = None,
    shell_timeout: float | None = None,
    secrets: Iterable[str] | None = None,
    http: HttpPool | None = None,
    fetch_private: Sequence[str] = (),
) -> list[Tool]:
    """The tools, made anew. Give the same `locks` to every list that may write the same files."""
    from reactagent_tui.core.tools.ask_user import AskUser
    from reactagent_tui.core.tools.edit_file import EditFile
    from reactagent_tui.core.tools.glob import Glob
    from reactagent_tui.core.tools.grep import Grep
    from reactagent_tui.core.tools.job_tools import JobKill, JobOutput
    from reactagent_tui.core.tools.list_dir import ListDir
    from reactagent_tui.core.tools.read_file import ReadFile
    from reactagent_tui.core.tools.shell import RunShellCommand
    from reactagent_tui.core.tools.shell_env import PROVIDER_KEYS
    from reactagent_tui.core.tools.todo import TodoWrite
    from reactagent_tui.core.tools.web_fetch import WebFetch
    from reactagent_tui.core.tools.write_file import WriteFile

    locks = locks or PathLocks()
    return [
        RunShellCommand(
            secrets=PROVIDER_KEYS if secrets is None else secrets,
            default_timeout=10.0 if shell_timeout is None else shell_timeout,
        ),
        ReadFile(),
        WriteFile(locks),
        EditFile(locks),
        Grep(),
        Glob(),
        ListDir(),
        JobOutput(),
        JobKill(),
        WebFetch(http, fetch_private),
        TodoWrite(),
        AskUser(),
    ]
