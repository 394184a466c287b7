"""`/compact` and `/uncompact` typed while something runs: they wait in the queue, in their place, and run as commands.

At a step boundary those go that stand before the first message for a later turn; the others go when it is their turn.
"""

from __future__ import annotations

from typing import Any, Protocol

from reactagent_tui.core.commands.registry import split_command
from reactagent_tui.core.message_queue import MessageQueue
from reactagent_tui.core.react.compacting import Compacting
from reactagent_tui.core.react.counting import WindowCounter
from reactagent_tui.core.react.room import Room
from reactagent_tui.core.sessions.store import SessionFile


class CommandedSession(Protocol):
    """A session, as far as queued commands use it."""

    file: SessionFile

    @property
    def counter(self) -> WindowCounter: ...
    def compact(self, focus: str = "", *, told: bool = False) -> Compacting: ...
    def notice(self, key: str, **params: Any) -> None: ...


async def between_steps(session: CommandedSession, queue: MessageQueue, room: Room, step: int) -> None:
    """What waits for a step boundary. A stop cancels it; what it had begun is over then."""
    for line in queue.take_commands():
        name, focus = split_command(line) or ("", "")
        if name == "compact":
            room.tell_outcome(await room.compact(focus, step, asked=True))
        elif name == "uncompact":
            room.tell(take_back(session))


def begin(session: CommandedSession, queue: MessageQueue) -> bool:
    """The oldest that waits, with nothing running. False: it is no command."""
    line = queue.next_command()
    if line is None:
        return False
    name, focus = split_command(line) or ("", "")
    if name == "compact":
        session.compact(focus, told=True)
    elif name == "uncompact":
        session.notice(take_back(session))
    return True


def take_back(session: CommandedSession) -> str:
    """Take the newest compaction or trim back; the locale key that says so."""
    mark = session.file.unmark()
    session.counter.no_gain = 0
    return "uncompact.nothing" if mark is None else f"uncompact.{mark.kind}_done"
