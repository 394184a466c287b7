"""The tools of one agent by name: a stable list for the model, a forgiving look-up for what it calls."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping

from reactagent_tui.core.llm.base import ToolSpec
from reactagent_tui.core.tools.base import Tool, spec_of

log = logging.getLogger(__name__)

_PREFIX = re.compile(r"^(?:functions?|default_api|tools?|multi_tool_use)\s*[.:/]\s*", re.IGNORECASE)
_SUFFIX = re.compile(r"(?:\(\)|:\d+)$")
_NEAR = 0.5

ALIASES: Mapping[str, str] = {
    "readskill": "skill_view",
    "viewskill": "skill_view",
    "skill": "skill_view",
    "listskills": "skills_list",
    "bash": "run_shell_command",
    "shell": "run_shell_command",
    "sh": "run_shell_command",
    "terminal": "run_shell_command",
    "runcommand": "run_shell_command",
    "runshell": "run_shell_command",
    "execcommand": "run_shell_command",
    "executecommand": "run_shell_command",
    "runterminalcmd": "run_shell_command",
    "bashoutput": "job_output",
    "taskoutput": "job_output",
    "killshell": "job_kill",
    "killbash": "job_kill",
    "taskstop": "job_kill",
    "read": "read_file",
    "cat": "read_file",
    "viewfile": "read_file",
    "openfile": "read_file",
    "write": "write_file",
    "createfile": "write_file",
    "edit": "edit_file",
    "strreplace": "edit_file",
    "searchreplace": "edit_file",
    "replaceinfile": "edit_file",
    "ls": "list_dir",
    "listdirectory": "list_dir",
    "listfiles": "list_dir",
    "rg": "grep",
    "search": "grep",
    "searchfiles": "grep",
    "grepsearch": "grep",
    "findfiles": "glob",
    "globsearch": "glob",
    "fetch": "web_fetch",
    "webfetch": "web_fetch",
    "todowrite": "todo_write",
    "askuserquestion": "ask_user",
    "task": "spawn_subagent",
    "agent": "spawn_subagent",
    "subagent": "spawn_subagent",
    "multiedit": "edit_file",
}
"""Names that models know from elsewhere, without case and separators -> tool name."""


class Toolkit:
    """Tools by name. Never changes: additions and restrictions give a new one."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                log.warning("two tools are named %s; the later one is used", tool.name)
            self._tools[tool.name] = tool
        self._squashed: dict[str, list[str]] = {}
        for name in self._tools:
            self._squashed.setdefault(_squash(name), []).append(name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools[name] for name in self.names)

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    @property
    def names(self) -> list[str]:
        """Own tools as given, then those of servers by name, because servers connect in any order."""
        return sorted(self._tools, key=lambda name: (1, name) if name.startswith("mcp__") else (0, ""))

    def specs(self) -> list[ToolSpec]:
        """The tools as the model sees them, in an order that only changes with the tools (prompt caches)."""
        return [spec_of(tool) for tool in self]

    def find(self, name: str) -> Tool | None:
        """The tool that a model means by `name`; None when there is none or more than one."""
        if name in self._tools:
            return self._tools[name]
        bare = _SUFFIX.sub("", _PREFIX.sub("", name.strip())).strip()
        if bare in self._tools:
            return self._tools[bare]
        squashed = _squash(bare)
        candidates = self._squashed.get(squashed, [])
        if candidates:
            return self._tools[candidates[0]] if len(candidates) == 1 else None
        return self._tools.get(ALIASES.get(squashed, ""))

    def nearest(self, name: str) -> str | None:
        """The tool name most like an unknown one."""
        bare = _squash(_PREFIX.sub("", name))
        near = difflib.get_close_matches(bare, list(self._squashed), n=1, cutoff=_NEAR)
        return self._squashed[near[0]][0] if near else None

    def restricted(self, names: Iterable[str]) -> Toolkit:
        """Only the tools of these names (as `find` understands them), in this kit's order; unknown ones are dropped."""
        wanted = {tool.name for tool in map(self.find, names) if tool is not None}
        return Toolkit(tool for name, tool in self._tools.items() if name in wanted)

    def extended(self, tools: Iterable[Tool]) -> Toolkit:
        """This kit with more tools."""
        return Toolkit([*self._tools.values(), *tools])


def _squash(name: str) -> str:
    return re.sub(r"[\s_\-]+", "", name).casefold()
