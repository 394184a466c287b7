"""May a call run? Allow, ask or deny, from the mode, the rules, the user's grants and what the call touches.

Order: deny rules, plan mode, the hard list, ask rules, grants of this session and allow rules, the mode. Where rules
come from (the four scopes of the configuration) is decided elsewhere; they arrive here as evaluated lists of text.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from reactagent_tui.core.paths import user_paths
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
    ) -> None:
        self.mode: Mode = mode
        self.workspace_roots = tuple(Path(os.path.realpath(root)) for root in workspace_roots)
        self.readable = tuple(Path(os.path.realpath(folder)) for folder in readable)
        self.home = Path(os.path.realpath(home or Path.home()))
        self._own_config = Path(os.path.realpath(user_paths().config))
        self._deny = tuple(parse_rule(text) for text in deny)
        self._ask = tuple(parse_rule(text) for text in ask)
        self._allow = tuple(parse_rule(text) for text in allow)
        self._granted_rules: list[Rule] = []
        self._granted_calls: set[tuple[str, ...]] = set()

    @property
    def granted(self) -> tuple[str, ...]:
        """Rules the user granted for this session, in order."""
        return tuple(rule.text for rule in self._granted_rules)

    def decide(self, access: Access, *, reads_only: bool) -> Decision:
        """May this call run now? Pure but for looking at the file system."""
        return judge(self._situation(), access, reads_only=reads_only)

    def grant(self, access: Access, pattern: str | None) -> None:
        """The user said yes for this session: to this exact call, or to all that `pattern` covers.

        Raises ValueError when `pattern` is no rule. The hard list is asked about all the same.
        """
        if pattern is None:
            self._granted_calls.add(call_key(access))
        elif (rule := parse_rule(pattern)) not in self._granted_rules:
            self._granted_rules.append(rule)

    def revoke_all(self) -> None:
        """Forget every grant of this session."""
        self._granted_rules.clear()
        self._granted_calls.clear()

    def _situation(self) -> Situation:
        return Situation(
            mode=self.mode,
            roots=self.workspace_roots,
            readable=self.readable,
            home=self.home,
            own_config=self._own_config,
            deny=self._deny,
            ask=self._ask,
            allow=self._allow,
            granted=tuple(self._granted_rules),
            granted_calls=frozenset(self._granted_calls),
        )
