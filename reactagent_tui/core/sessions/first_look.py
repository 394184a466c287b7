"""The end of a session from the end of its file: shown before the program behind the screen is there. Reads only."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.messages import Message, ToolResult, UserMessage
from reactagent_tui.core.sessions.records import BadLine, decode
from reactagent_tui.core.sessions.store import read_session
from reactagent_tui.core.sessions.whereabouts import file_of, newest_files

log = logging.getLogger(__name__)

TAIL = 96 * 1024
"""Bytes that are read."""


@dataclass(frozen=True, slots=True)
class FirstLook:
    """The newest messages of a session, the last ones of its history as it will be loaded."""

    title: str
    messages: tuple[Message, ...]


def first_look(root: Path, wanted: str, workdir: Path) -> FirstLook | None:
    """The session with this id, "" for the folder's newest. None: only loading it whole can tell. Never raises."""
    path = file_of(root, wanted, workdir) if wanted else next(iter(newest_files(root, workdir)), None)
    if path is None:
        return None
    try:
        with path.open("rb") as stream:
            head = stream.readline()
            begin = stream.tell()
            size = stream.seek(0, 2)
            stream.seek(max(begin, size - TAIL))
            data = stream.read(TAIL)
        whole = size - TAIL <= begin
        tail = data if whole else data.partition(b"\n")[2]
        if not whole and _tells_of_earlier(tail):
            return None
        file = read_session(path, head + tail)
    except (OSError, StorageError) as error:
        log.debug("no first look at %s: %s", path, error)
        return None
    messages = file.messages if whole else file.messages[_beginning(file.messages) :]
    return FirstLook(file.header.title, tuple(messages)) if messages else None


def _tells_of_earlier(tail: bytes) -> bool:
    """Is there a record that counts messages which stand before the tail?"""
    return any(not isinstance(record, BadLine) and record.type == "rewind" for record in decode(tail))


def _beginning(messages: list[Message]) -> int:
    """The first message that begins a turn, else the first one that belongs to none before it."""
    for i, message in enumerate(messages):
        if isinstance(message, UserMessage) and message.origin == "user":
            return i
    return next((i for i, message in enumerate(messages) if not isinstance(message, ToolResult)), len(messages))
