"""Model calls as the session files hold them: what usage.db is rebuilt from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reactagent_tui.core.cost.booking import Booking
from reactagent_tui.core.cost.ledger import LedgerRow
from reactagent_tui.core.messages import AssistantMessage, Message, UserMessage, message_from_record
from reactagent_tui.core.sessions.records import BadLine, Record, decode

if TYPE_CHECKING:
    from reactagent_tui.core.cost.usage_db import UsageDb

_READS_A_SKILL = ("skill_view", "read_skill")


def skill_of(messages: Sequence[Message]) -> str:
    """The skill at work after these messages: the one the user called in this turn, or that the model read last."""
    first = len(messages) - 1
    while first > 0 and not _begins_turn(messages[first]):
        first -= 1
    skill = ""
    for message in messages[max(first, 0) :]:
        skill = _skill_after(skill, message)
    return skill


def session_bookings(path: Path) -> list[Booking]:
    """Every model call of a session file in the order of their opening, the last record of each. Raises OSError.

    Lines that cannot be read are left out.
    """
    calls: dict[tuple[str, str], Booking] = {}
    project = skill = ""
    for record in decode(path.read_bytes()):
        if isinstance(record, BadLine):
            continue
        try:
            match record.type:
                case "header":
                    project = project or str(record.data["header"]["workdir"])
                case "message":
                    skill = _skill_after(skill, message_from_record(record.data["message"]))
                case "usage":
                    booking = Booking(_row(record), project, skill)
                    if before := calls.get(booking.key):
                        booking = Booking(booking.row, before.project, before.skill)
                    calls[booking.key] = booking
                case _:
                    pass
        except (KeyError, TypeError, ValueError, ArithmeticError):
            continue
    return list(calls.values())


def stored_bookings(root: Path) -> Iterator[list[Booking]]:
    """The calls of every session below the folder of all sessions, file by file; an unreadable file is left out."""
    for path in sorted(root.glob("*/*/session.jsonl")):
        try:
            yield session_bookings(path)
        except OSError:
            continue


def rebuild(db: UsageDb, root: Path) -> int:
    """Bring the database in line with the session files; returns how many calls they hold. Raises StorageError.

    A call that never ended in its file (a crash, or it runs now) is booked as the estimate it was opened with, unless
    the database knows its end.
    """
    calls = 0
    for bookings in stored_bookings(root):
        calls += len(bookings)
        db.write(booking for booking in bookings if booking.row.ended is not None)
        db.fill(replace(b, row=b.row.ended_anyhow()) for b in bookings if b.row.ended is None)
    return calls


def _row(record: Record) -> LedgerRow:
    row: Any = record.data["row"]
    return LedgerRow.from_record(row)


def _begins_turn(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.origin in ("user", "skill")


def _skill_after(skill: str, message: Message) -> str:
    match message:
        case UserMessage(origin="user"):
            return ""
        case UserMessage(origin="skill", shown=shown):
            return (shown or "").removeprefix("/").partition(" ")[0]
        case AssistantMessage():
            for call in message.tool_calls:
                name = (call.arguments or {}).get("name")
                if call.name in _READS_A_SKILL and isinstance(name, str):
                    skill = name
            return skill
        case _:
            return skill
