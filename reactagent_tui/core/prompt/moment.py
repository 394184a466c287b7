"""What changes from turn to turn: the date, the time and the state of git. One line for the newest turn.

It never goes into the system prompt, so that what providers cached stays good.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from reactagent_tui.core.messages import Message, UserMessage
from reactagent_tui.core.prompt.git_place import branch_of, changes_in

HEAD = "[now: "
PATIENCE = 1.0
"""Seconds that git may take; without its answer the line names the branch alone."""
_LONGEST_BRANCH = 80


def local_now() -> datetime:
    """The time where the program runs, with its zone."""
    return datetime.now().astimezone()


async def moment_line(folder: Path) -> str:
    """The line for a session in `folder`. Never raises; takes a second at most."""
    branch = changes = None
    try:
        async with asyncio.timeout(PATIENCE):
            branch = await asyncio.to_thread(branch_of, folder)
            changes = None if branch is None else await changes_in(folder)
    except TimeoutError:
        pass
    return describe(local_now(), branch, changes)


def describe(now: datetime, branch: str | None, changes: int | None) -> str:
    """`[now: Tuesday 2026-12-01 14:05 +0100; git branch main, 3 changed files]`."""
    text = now.strftime("%A %Y-%m-%d %H:%M %z").strip()
    if branch is not None:
        name = "".join(c if c.isprintable() and c not in "[]" else "?" for c in branch)[:_LONGEST_BRANCH]
        text += f"; git branch {name}"
        if changes is not None:
            text += ", no changed files" if not changes else f", {changes} changed file{'s' if changes > 1 else ''}"
    return f"{HEAD}{text}]"


def is_moment(message: Message) -> bool:
    """Is this message such a line?"""
    return isinstance(message, UserMessage) and message.origin == "reminder" and message.text.startswith(HEAD)


def untold(line: str, shown: Sequence[Message]) -> bool:
    """Does the last line that the model sees say something else?"""
    last = next((message for message in reversed(shown) if is_moment(message)), None)
    return last is None or last.text != line
