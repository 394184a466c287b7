"""How many tokens going on with a session would send, from the end of its file. Reads, never writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from reactagent_tui.core.llm.tokens import estimate_message
from reactagent_tui.core.messages import message_from_record
from reactagent_tui.core.sessions.records import BadLine, Record, decode

_TAIL = 256 * 1024
"""Bytes that are looked at; the row of the last model call stands near the end."""


def resume_size(path: Path) -> int | None:
    """Tokens of the history: the last reported prompt and what came after it; None when that is not known.

    A file that fits into the tail is summed up from its messages when no call was reported.
    """
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(size - _TAIL, 0))
            data = stream.read(_TAIL)
    except OSError:
        return None
    whole = size <= _TAIL
    records = decode(data if whole else data.partition(b"\n")[2])
    return _fold((record for record in records if not isinstance(record, BadLine)), 0 if whole else None)


def _fold(records: Iterable[Record], size: int | None) -> int | None:
    replies = 0
    for record in records:
        match record.type:
            case "usage":
                counted = _counted(record.data.get("row"))
                if counted is not None:
                    size, replies = counted, 1  # the reply of this call is in the count; its message follows
            case "message":
                tokens = _message_tokens(record.data)
                if replies and _is_reply(record.data):
                    replies = 0
                elif size is not None:
                    size += tokens
            case "compaction" | "rewind":
                size = None
            case "header" | "partial" | "event" | "fork" | "title":
                pass
    return size


def _counted(row: object) -> int | None:
    """Prompt and answer of a call of the main agent that ended and was reported; None for any other row."""
    if not isinstance(row, dict):
        return None
    record = cast("Mapping[str, Any]", row)
    usage: object = record.get("usage")
    if record.get("ended") is None or record.get("agent") or record.get("estimated") or not isinstance(usage, dict):
        return None
    if record.get("cause") not in ("step", "retry"):
        return None
    counts = cast("Mapping[str, object]", usage)
    names = ("input", "cache_read", "cache_write", "cache_write_1h", "output")
    total = sum(count for name in names if isinstance(count := counts.get(name, 0), int))
    reasoning = counts.get("reasoning", 0)
    return max(total - (reasoning if isinstance(reasoning, int) else 0), 0) or None


def _is_reply(data: Mapping[str, Any]) -> bool:
    message: object = data.get("message")
    return isinstance(message, dict) and cast("Mapping[str, object]", message).get("role") == "assistant"


def _message_tokens(data: Mapping[str, Any]) -> int:
    try:
        return estimate_message(message_from_record(data["message"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        return 0
