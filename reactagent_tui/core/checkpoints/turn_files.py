"""What a turn did to files, in the words of its RunEnded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reactagent_tui.core.checkpoints.diffs import FileChange
from reactagent_tui.core.checkpoints.rewinder import Outcome
from reactagent_tui.core.events import EndReason, RunEnded
from reactagent_tui.core.messages import UserMessage

PATIENCE, PATIENCE_AFTER_STOP = 0.5, 0.03
"""Seconds that the end of a turn waits for what it did to files; after a stop the prompt must be back at once."""
REMINDER = (
    "(The user took back file changes made in this conversation. Files that are as they were before: {n}. "
    "Read a file again before you rely on what is in it.)"
)


def patience(reason: EndReason) -> float:
    """Seconds that this end may wait."""
    return PATIENCE_AFTER_STOP if reason == "INTERRUPTED" else PATIENCE


def files_reminder(outcome: Outcome) -> UserMessage:
    """What the model is told when files went back and the conversation did not."""
    return UserMessage(REMINDER.format(n=outcome.restored), origin="reminder", shown="/rewind files")


def with_files(ended: RunEnded, files: Sequence[FileChange] | None) -> RunEnded:
    """The event with what was found on disk; None: not known yet, what the tools said stands."""
    if files is None:
        return ended
    return replace(
        ended,
        files_created=tuple(one.path for one in files if one.verb == "created"),
        files_changed=tuple(one.path for one in files if one.verb in ("changed", "renamed")),
        files_deleted=tuple(one.path for one in files if one.verb == "deleted"),
    )
