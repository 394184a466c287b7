"""Model calls as session files hold them: the last record of each, with project and skill; rebuilding is idempotent."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from reactagent_tui.core.cost.booking import Booking
from reactagent_tui.core.cost.ledger import LedgerRow
from reactagent_tui.core.cost.usage_db import UsageDb
from reactagent_tui.core.messages import AssistantMessage, Message, ToolCall, UserMessage
from reactagent_tui.core.money import Money
from reactagent_tui.core.sessions.store import SessionFile, SessionStore
from reactagent_tui.core.sessions.usage_rows import rebuild, session_bookings, skill_of
from reactagent_tui.core.usage import Usage

NOON = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)
CALLED = UserMessage("…", origin="skill", shown="/review the diff")
READ = AssistantMessage((ToolCall("t1", "skill_view", "{}", {"name": "hello"}),))


def opened(call: str) -> LedgerRow:
    cost = Money(Decimal(1), "estimated")
    return LedgerRow(call, "s1", 1, 1, (), "step", "p", "m", Usage(10), None, cost, NOON, estimated=True)


def closed(call: str) -> LedgerRow:
    cost = Money(Decimal(2), "reported")
    return replace(
        opened(call), usage=Usage(11, output=4), cost=cost, estimated=False, ended=NOON + timedelta(seconds=1)
    )


def keep(file: SessionFile, *items: Message | LedgerRow) -> None:
    for item in items:
        if isinstance(item, LedgerRow):
            file.append("usage", {"row": item.to_record()})
        else:
            file.append_message(item)


def test_the_skill_at_work_is_the_one_called_or_read_last_in_this_turn() -> None:
    hello = UserMessage("hello")
    assert skill_of([]) == skill_of([hello]) == skill_of([CALLED, READ, hello]) == ""
    assert skill_of([hello, CALLED]) == "review"
    assert skill_of([CALLED, UserMessage("faster", origin="steer")]) == "review"
    assert skill_of([CALLED, READ]) == skill_of([hello, READ, AssistantMessage(())]) == "hello"


def test_bookings_of_a_file(tmp_path: Path) -> None:
    file = SessionStore(tmp_path).create(Path("/src/shop"), model="m", mode="ask")
    keep(file, UserMessage("hi"), opened("m1"), closed("m1"), CALLED, opened("m2"), READ, closed("m2"), opened("m3"))
    file.append("usage", {"row": {"call_id": "m4"}})
    file.close()
    with file.path.open("ab") as stream:
        stream.write(b'{"torn')
    assert session_bookings(file.path) == [
        Booking(closed("m1"), "/src/shop", ""),
        Booking(closed("m2"), "/src/shop", "review"),
        Booking(opened("m3"), "/src/shop", "hello"),
    ]


def test_rebuilding_adds_what_is_missing_and_repairs_what_is_old(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    store = SessionStore(root)
    file = store.create(Path("/src/shop"), model="m", mode="ask")
    keep(file, UserMessage("hi"), opened("m1"), closed("m1"), opened("m2"), opened("m3"))
    file.close()
    (root / "x" / "y").mkdir(parents=True)
    (root / "x" / "y" / "session.jsonl").mkdir()
    db = UsageDb.open(tmp_path / "usage.db")
    db.write([Booking(opened("m1"), "/src/shop"), Booking(closed("m3"), "/src/shop")])
    for _ in range(2):
        assert rebuild(db, root) == 3
        crashed = replace(opened("m2"), ended=NOON, interrupted=True)
        assert [b.row for b in db.bookings()] == [closed("m1"), crashed, closed("m3")]
