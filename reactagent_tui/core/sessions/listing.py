"""The list of sessions from the files themselves, made fast by what the index knows of unchanged ones."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.messages import Message, UserMessage, message_from_record
from reactagent_tui.core.paths import folder_slug
from reactagent_tui.core.sessions.index import IndexedSession, SessionIndex, session_files
from reactagent_tui.core.sessions.index_text import Facts, fold
from reactagent_tui.core.sessions.records import BadLine, decode

HEAD = 8_192
TAIL = 16_384
PREVIEW_TAIL = 65_536
UNKNOWN = -1
"""Messages of a file of which only the ends were read."""


def list_sessions(index: SessionIndex, workdir: Path | None = None) -> list[IndexedSession]:
    """Sessions of a folder or of all: unfinished ones first, then newest first. Needs no index; never raises."""
    try:
        known = {str(item.path): item for item in index.list(workdir)}
    except StorageError:
        known = {}
    slug = None if workdir is None else folder_slug(workdir)
    found: list[IndexedSession] = []
    for path, stat in session_files(index.root, slug):
        item = known.get(str(path))
        if item is None or (item.size, item.modified) != (stat.st_size, stat.st_mtime_ns / 1e9):
            facts = _facts_of_ends(path, stat.st_size)
            item = None if facts is None else IndexedSession(path, stat.st_mtime_ns / 1e9, stat.st_size, facts)
        if item is not None:
            found.append(item)
    return sorted(found, key=lambda item: (not item.facts.unfinished, -item.modified))


def _facts_of_ends(path: Path, size: int) -> Facts | None:
    """None: no session file, or gone."""
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD)
            facts, _ = fold(Facts(), head[: head.rfind(b"\n") + 1])
            if not facts.id:
                facts, _ = fold(Facts(), head + stream.readline())
            if size > HEAD:
                stream.seek(max(size - TAIL, head.rfind(b"\n") + 1))
                facts, _ = fold(facts, stream.read())
    except OSError:
        return None
    if not facts.id:
        return None
    if size <= HEAD + TAIL:
        return facts
    return replace(facts, messages=UNKNOWN)


def last_messages(path: Path, count: int = 6) -> list[Message]:
    """The end of a session, for a preview. Reads only the end of the file; [] when it cannot be read."""
    try:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            stream.seek(max(size - PREVIEW_TAIL, 0))
            data = stream.read()
    except OSError:
        return []
    found: list[Message] = []
    for record in decode(data):
        if isinstance(record, BadLine) or record.type != "message":
            continue
        try:
            message = message_from_record(record.data["message"])
        except (KeyError, TypeError, ValueError):
            continue
        if not isinstance(message, UserMessage) or message.origin != "reminder":
            found.append(message)
    return found[-count:]
