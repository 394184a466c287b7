"""The conversations of a session's agents, from `agents/<run id>.jsonl` in its folder: records as in the session file.

A header record is optional; its `title` is the agent's name, `parent` the run that called it, and a key
`parent_call_id` beside them the call. Bad lines are skipped, as everywhere in a session.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from reactagent_tui.core.messages import Message, UserMessage, message_from_record
from reactagent_tui.core.sessions.records import Record, decode

FOLDER = "agents"
MOST_FILES = 200
_RUN_ID = re.compile(r"[\w.-]{1,80}")
_TASK = 400


@dataclass(frozen=True, slots=True)
class AgentFile:
    """One agent of an earlier program, without its messages."""

    run_id: str
    name: str
    task: str
    parent_run_id: str | None = None
    parent_call_id: str | None = None


def list_agents(folder: Path) -> list[AgentFile]:
    """The newest agents of a session, oldest first; none when there is no folder or it cannot be read."""
    try:
        paths = sorted((folder / FOLDER).glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    except OSError:
        return []
    return [found for path in paths[-MOST_FILES:] if (found := _head(path)) is not None]


def read_agent(folder: Path, run_id: str) -> Sequence[Message]:
    """Everything an agent said and did; nothing when it has no file that can be read."""
    if not _RUN_ID.fullmatch(run_id):
        return ()
    try:
        data = (folder / FOLDER / f"{run_id}.jsonl").read_bytes()
    except OSError:
        return ()
    return [message for record in decode(data) if (message := _message(record)) is not None]


def _head(path: Path) -> AgentFile | None:
    try:
        with path.open("rb") as stream:
            data = stream.read(65_536)
    except OSError:
        return None
    header: Mapping[str, Any] = {}
    task = ""
    for record in decode(data):
        if isinstance(record, Record) and record.type == "header" and isinstance(record.data.get("header"), dict):
            header = cast("Mapping[str, Any]", record.data["header"])
        message = _message(record)
        if isinstance(message, UserMessage):
            task = message.text
            break
    call = header.get("parent_call_id")
    parent = header.get("parent")
    return AgentFile(
        path.stem,
        str(header.get("title") or ""),
        task[:_TASK],
        parent if isinstance(parent, str) else None,
        call if isinstance(call, str) else None,
    )


def _message(record: object) -> Message | None:
    if not isinstance(record, Record) or record.type != "message":
        return None
    try:
        return message_from_record(record.data["message"])
    except (KeyError, TypeError, ValueError):
        return None
