"""May a call run? Allow, ask or deny, from the mode, the rules, the user's grants and what the call touches.

Order: deny rules, plan mode, the hard list, ask rules, what the user granted and allow rules, the mode. Rules of the
configuration arrive here as lists of text; grants are kept by `grants.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.reporter import GrantScope
from reactagent_tui.core.safety.access import (
    MODES,
    PLAN_TEXT,
    Access,
    Allow,
    Ask,
    Decision,
    Deny,
    Mode,
    call_key,
)
from reactagent_tui.core.safety.grants import Grants
from reactagent_tui.core.safety.judgement import Situation, judge
from reactagent_tui.core.safety.rules import Rule, parse_rule

__all__ = ["MODES", "PLAN_TEXT", "Access", "Allow", "Ask", "Decision", "Deny", "Mode", "Permissions", "call_key"]


class Permissions:
    """The rules of one session: mode and grants. See spec/03.

    `deny`, `ask` and `allow` are rule texts; a text that is no rule raises ValueError. `readable` are folders outside
    the workspace that are free to read (logs of this session, skills).
    """

    def __init__(
        self,
        mode: Mode = "ask",
        workspace_roots: tuple[Path, ...] = (),
        *,
        deny: Iterable[str] = (),
        ask: Iterable[str] = (),
        allow: Iterable[str] = (),
        readable: tuple[Path, ...] = (),
        home: Path | None = None,
        grants: Grants | None = None,
    ) -> None:
        self.mode: Mode = mode
        self.workspace_roots = tuple(Path(os.path.realpath(root)) for root in workspace_roots)
        self.set_readable(readable)
        self.home = Path(os.path.realpath(home or Path.home()))
        self._own_config = Path(os.path.realpath(user_paths().config))
        self.grants = grants or Grants()
        self.set_rules(deny=deny, ask=ask, allow=allow)

    def set_rules(self, *, deny: Iterable[str] = (), ask: Iterable[str] = (), allow: Iterable[str] = ()) -> None:
        """Other rules of the configuration from now on. Raises ValueError for a text that is no rule."""
        self._deny = tuple(parse_rule(text) for text in deny)
        self._ask = tuple(parse_rule(text) for text in ask)
        self._allow = tuple(parse_rule(text) for text in allow)

    def set_readable(self, folders: Iterable[Path]) -> None:
        """Folders outside the workspace that are free to read from now on."""
        self.readable = tuple(Path(os.path.realpath(folder)) for folder in folders)

    @property
    def configured(self) -> tuple[tuple[Literal["deny", "ask", "allow"], str], ...]:
        """Rules of the configuration in the order they are checked."""
        lists: tuple[tuple[Literal["deny", "ask", "allow"], tuple[Rule, ...]], ...] = (
            ("deny", self._deny),
            ("ask", self._ask),
            ("allow", self._allow),
        )
        return tuple((kind, rule.text) for kind, rules in lists for rule in rules)

    def decide(self, access: Access, *, reads_only: bool) -> Decision:
        """May this call run now? Pure but for looking at the file system."""
        return judge(self._situation(self.grants), access, reads_only=reads_only)

    def decide_for(self, grants: Grants, access: Access, *, reads_only: bool) -> Decision:
        """The same for an agent with grants of its own."""
        return judge(self._situation(grants), access, reads_only=reads_only)

    def grant(self, access: Access, pattern: str | None, scope: GrantScope = "session") -> None:
        """The user said yes for longer: to this exact call in this session, or to all that `pattern` covers.

        Raises ValueError when `pattern` is no rule, StorageError when it cannot be kept (it holds for this session
        then). The hard list is asked about all the same.
        """
        if pattern is None:
            self.grants.add_call(call_key(access), _shown_call(access))
        else:
            self.grants.add(pattern, scope)

    def _situation(self, grants: Grants) -> Situation:
        return Situation(
            mode=self.mode,
            roots=self.workspace_roots,
            readable=self.readable,
            home=self.home,
            own_config=self._own_config,
            deny=self._deny,
            ask=self._ask,
            allow=self._allow,
            granted=grants.rules,
            granted_calls=grants.calls,
        )


def _shown_call(access: Access) -> str:
    """The call as a list shows it."""
    paths = (str(path) for path in (*access.writes, *access.reads))
    return f"{access.tool}: {access.command or access.subject or ', '.join(paths)}".removesuffix(": ")
