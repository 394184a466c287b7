"""What a hook is, and which calls it is for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from reactagent_tui.core.config.schema import HookSettings
from reactagent_tui.core.safety.rules import ALIASES

HookEvent: TypeAlias = Literal["PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "Notification"]
HookSource: TypeAlias = Literal["user", "project"]

EVENTS: tuple[HookEvent, ...] = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "Notification")


@dataclass(frozen=True, slots=True)
class Hook:
    """One command for one event."""

    event: HookEvent
    matcher: str
    """A regular expression over the whole tool name (Notification: over its kind); empty or `*`: all."""
    command: str
    timeout: float
    """Seconds."""
    source: HookSource

    def is_for(self, subject: str) -> bool:
        """Does the matcher cover this tool or kind? Claude Code's names (`Bash`, `Edit`) stand for ours."""
        if self.matcher in ("", "*"):
            return True
        names = [subject, *(alias for alias, tools in ALIASES.items() if subject in tools)]
        return any(re.fullmatch(self.matcher, name) for name in names)


def hooks_of(settings: HookSettings, source: HookSource) -> tuple[Hook, ...]:
    """The hooks of one configuration, in its order."""
    return tuple(_hooks_of(settings, source))


def _hooks_of(settings: HookSettings, source: HookSource) -> Iterator[Hook]:
    for event in EVENTS:
        for group in getattr(settings, event):
            for hook in group.hooks:
                yield Hook(event, group.matcher, hook.command, hook.timeout, source)
