"""Finding the session to go on with, and branching off one: `-c`, `-r`, `--fork`, `/fork`.

A fork takes the messages along and no model call: what they cost stays with the session that paid for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.messages import Message, UserMessage, message_to_record
from reactagent_tui.core.sessions.fork_past import copy_agents, events_to_keep
from reactagent_tui.core.sessions.index import Found, SessionIndex
from reactagent_tui.core.sessions.presence import opened_by
from reactagent_tui.core.sessions.store import NoSessionError, SessionFile, SessionStore

FORK_MARK = " (fork)"
PATIENCE = 20.0
"""Seconds that the text of a session is searched for."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """The session to go on with."""

    file: SessionFile
    open_elsewhere: bool = False
    """It is open in another process: this is a fork of it."""


def resume(
    store: SessionStore, index: SessionIndex, wanted: str, workdir: Path, *, fork: bool = False
) -> Resumed | None:
    """The session named by id, title or any text in it; "" is the newest of the folder, None when there is none.

    One that another process has open is forked: a file has one writer. Raises StorageError.
    """
    file = find(store, index, wanted, workdir) if wanted else store.latest(workdir)
    if file is None:
        return None
    owner = opened_by(file.folder)
    elsewhere = owner is not None and owner.is_elsewhere
    return Resumed(fork_session(store, file) if fork or elsewhere else file, elsewhere and not fork)


def find(store: SessionStore, index: SessionIndex, wanted: str, workdir: Path) -> SessionFile:
    """By id or title; else by text, the folder's own sessions first. Raises StorageError: none, or more than one."""
    try:
        return store.find(wanted, workdir)
    except NoSessionError:
        index.update()
        for folder in (workdir, None):
            found = index.search(wanted, folder, seconds=PATIENCE)
            if len(found.hits) == 1 and found.whole:
                return store.load(found.hits[0].session.path)
            if found.hits:
                names = ", ".join(f"{hit.session.facts.id} ({hit.session.facts.shown[:40]})" for hit in found.hits[:5])
                where = "in more than one session" if len(found.hits) > 1 else "in this session, and maybe in others"
                raise StorageError(f"{wanted!r} is {where}: {names}{_searched(found)}") from None
            if not found.whole:
                raise NoSessionError(f"no session with {wanted!r} so far{_searched(found)}") from None
        raise


def _searched(found: Found) -> str:
    return "" if found.whole else f"; searched the newest {found.looked} of {found.sessions}, the id would be exact"


def fork_session(store: SessionStore, file: SessionFile, keep: int | None = None) -> SessionFile:
    """A new session with the first `keep` messages of this one, or all. Raises StorageError."""
    messages = file.messages[:keep]
    header = file.header
    fork = store.create(Path(header.workdir), model=header.model, mode=header.mode, parent=header.id)
    fork.append("fork", {"parent": header.id, "messages": len(messages)})
    fork.append_all(messages)
    for mark in file.marks.stack:
        if mark.upto <= len(messages):  # what the model does not see any more it does not see in the copy either
            fork.mark(mark)
    saved = store.load(file.path)  # an open session does not hold its own events
    whole = len(messages) == len(file.messages)
    for event in events_to_keep(saved.events, saved.event_places, None if whole else len(messages)):
        fork.append("event", event)
        fork.events.append(event)
        fork.event_places.append(len(messages))
    copy_agents(file.folder, fork.folder, messages)
    if header.title:
        fork.set_title(header.title.removesuffix(FORK_MARK) + FORK_MARK)
    fork.sync()
    return fork


def turn_starts(messages: Sequence[Message]) -> list[int]:
    """Where the user's turns begin."""
    return [
        i
        for i, message in enumerate(messages)
        if isinstance(message, UserMessage) and message.origin in ("user", "skill", "follow_up")
    ]


def messages_of_turns(messages: Sequence[Message], turns: int) -> int | None:
    """How many messages the first turns take (a negative number leaves out so many at the end); None: no such turn."""
    starts = turn_starts(messages)
    wanted = turns if turns > 0 else len(starts) + turns
    if turns == 0 or not 0 < wanted <= len(starts):
        return None
    return starts[wanted] if wanted < len(starts) else len(messages)


def record_of(file: SessionFile) -> dict[str, Any]:
    """The session as one JSON document: header, live history, model calls."""
    header = {name: getattr(file.header, name) for name in type(file.header).__slots__}
    return {
        "schema": "reactagent-session/1",
        **header,
        "messages": [message_to_record(message) for message in file.messages],
        "usage": [dict(row) for row in file.usage_rows],
    }


def messages_through_prompt(messages: Sequence[Message], number: int) -> int:
    """How many messages there are up to the end of the turn that holds the user's prompt of this number (from 0)."""
    shown = -1
    for i, message in enumerate(messages):
        if isinstance(message, UserMessage) and message.origin in ("user", "steer", "follow_up", "skill"):
            shown += 1
        if shown == number:
            return next((start for start in turn_starts(messages) if start > i), len(messages))
    return len(messages)
