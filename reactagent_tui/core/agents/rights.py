"""What a sub-agent may do: the rules and the mode of its caller, without what the user granted for the session.

A grant was an answer to another agent's question. What the user allows a sub-agent for the session holds for it alone;
what is allowed for the project or always is a rule like any other.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from reactagent_tui.core.react.executor import PermissionRules
from reactagent_tui.core.reporter import GrantScope
from reactagent_tui.core.safety.access import Access, Allow, Ask, Decision, Deny, call_key
from reactagent_tui.core.safety.grants import Grants
from reactagent_tui.core.safety.permissions import Permissions

PROTECTED = frozenset({".git", ".reactagent", ".envrc", ".mcp.json", ".pipeline.jsonl", ".pipeline.lock", ".archive"})


class AgentRights:
    """The rules of one sub-agent of a session."""

    def __init__(self, caller: Permissions) -> None:
        self._caller = caller
        self._own = Grants(caller.grants.files)

    def for_child(self) -> AgentRights:
        """Those of an agent of this agent."""
        return AgentRights(self._caller)

    def decide(self, access: Access, *, reads_only: bool) -> Decision:
        return self._caller.decide_for(self._own, access, reads_only=reads_only)

    def grant(self, access: Access, pattern: str | None, scope: GrantScope = "session") -> None:
        """Raises ValueError and StorageError as the caller's would."""
        if pattern is None:
            self._own.add_call(call_key(access), access.command or access.subject or access.tool)
        else:
            self._own.add(pattern, scope)


class RootedRights:
    """A few folders to read and write without a question, and nothing else at all."""

    def __init__(self, caller: PermissionRules, roots: Sequence[Path], read_only: Sequence[Path] = ()) -> None:
        self._caller = caller
        self._roots = tuple(Path(os.path.realpath(root)) for root in roots)
        closed = {Path(os.path.realpath(root)) for root in read_only}
        self._closed = tuple(closed)
        self._open = tuple(root for root in self._roots if root not in closed)

    def decide(self, access: Access, *, reads_only: bool) -> Decision:
        where = ", ".join(str(root) for root in self._roots)
        if access.command is not None or access.network:
            return Deny(f"This agent has no commands and no network. It may read and write files in {where}.")
        outside = [path for path in (*access.reads, *access.writes) if not self._contains(path)]
        if outside:
            return Deny(f"{outside[0]} is outside of what this agent may touch: {where}. Nothing was done.")
        if access.memory or not (access.reads or access.writes or reads_only):
            return Deny(f"{access.tool} is nothing this agent may do. It may read and write files in {where}.")
        closed = [path for path in access.writes if not self._is_open(path)]
        if closed:
            return Deny(f"{closed[0]} is there to be read only. Write into {', '.join(map(str, self._open))}.")
        if any(self._is_protected(path) for path in access.writes):
            return Deny(f"{access.writes[0]} holds what is run or believed later: this agent may not write it.")
        said = self._caller.decide(access, reads_only=reads_only)
        if isinstance(said, Deny):
            return said
        if isinstance(said, Ask) and any(line.startswith("risk.key_file") for line in said.risk):
            return Deny("That file holds keys: this agent may not touch it.")
        return Allow("the agent's own folders")

    def grant(self, access: Access, pattern: str | None, scope: GrantScope = "session") -> None:
        """Nobody is asked, so nothing is granted."""

    def _contains(self, path: Path) -> bool:
        return any(path == root or path.is_relative_to(root) for root in self._roots)

    def _is_open(self, path: Path) -> bool:
        """May it be written? The nearest of the folders it is in decides."""
        around = [root for root in (*self._open, *self._closed) if path == root or path.is_relative_to(root)]
        return bool(around) and max(around, key=lambda root: len(root.parts)) in self._open

    def _is_protected(self, path: Path) -> bool:
        return any(
            part.casefold() in PROTECTED
            for root in self._roots
            if path.is_relative_to(root)
            for part in path.relative_to(root).parts
        )


def rights_for(
    caller: PermissionRules, roots: Sequence[Path] | None, read_only: Sequence[Path] = ()
) -> PermissionRules:
    """Those of a new sub-agent of this caller."""
    if roots is not None:
        return RootedRights(caller, roots, read_only)
    match caller:
        case Permissions():
            return AgentRights(caller)
        case AgentRights():
            return caller.for_child()
        case _:
            return caller
