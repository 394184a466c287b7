"""usage.db: what is written comes back, once per call, whatever else uses the file."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from reactagent_tui.core.cost import usage_db
from reactagent_tui.core.cost.booking import Booking
from reactagent_tui.core.cost.ledger import LedgerRow
from reactagent_tui.core.cost.pricing import Price
from reactagent_tui.core.cost.usage_db import BrokenDatabaseError, UsageDb
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.money import Money
from reactagent_tui.core.usage import Usage

NOON = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)
ROW = LedgerRow(
    call_id="m1",
    session_id="s1",
    turn=2,
    step=3,
    agent=("探险", "reader"),
    cause="retry",
    provider="work",
    model="model \ud800",
    usage=Usage(1, 2, 3, 4, 50, 6, Decimal("0.10")),
    price=Price(*(Decimal(n) for n in range(6)), "CNY", "genai-prices", "2026-09-20"),
    cost=Money(Decimal("0.1000000000000000000000000001"), "reported", "CNY"),
    started=NOON,
    sent_estimate=9,
    first_token=NOON + timedelta(milliseconds=5),
    ended=NOON + timedelta(seconds=1),
    interrupted=True,
    failed=True,
)
BOOKING = Booking(ROW, "/src/shop", "review")


def at(moment: datetime, call: str = "m1", **changes: object) -> Booking:
    return Booking(replace(ROW, call_id=call, started=moment, **changes))  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "usage.db"


def test_a_call_comes_back_as_it_was(path: Path) -> None:
    db = UsageDb.open(path)
    db.write([BOOKING])
    (found,) = db.bookings()
    assert found == replace(BOOKING, row=replace(ROW, model="model ?"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    db.close()


def test_a_reported_cost_of_nothing_stays_reported(path: Path) -> None:
    db = UsageDb.open(path)
    db.write([Booking(replace(ROW, model="m", usage=Usage(1, cost_usd=Decimal(0)), price=None))])
    assert [b.row.usage.cost_usd for b in db.bookings()] == [Decimal(0)]


def test_writing_again_corrects_and_filling_only_completes(path: Path) -> None:
    db = UsageDb.open(path)
    running = replace(BOOKING, row=replace(ROW, model="m", ended=None, interrupted=False))
    done = replace(BOOKING, row=replace(ROW, model="m", usage=Usage(7, output=8)))
    db.write([running])
    db.fill([replace(done, project="/other", skill="")])
    assert list(db.bookings()) == [done]
    db.fill([running, at(NOON + timedelta(1), "m2")])
    assert [b.row.usage for b in db.bookings()] == [done.row.usage, ROW.usage]
    db.write([replace(done, row=replace(done.row, usage=Usage(9)))])
    assert [b.row.usage.input for b in db.bookings()] == [9, 1]
    assert db.count() == 2


def test_a_span_of_time_includes_its_start_and_not_its_end(path: Path) -> None:
    db = UsageDb.open(path)
    tokyo = (NOON + timedelta(hours=2)).astimezone()
    db.write([at(NOON, "a"), at(NOON + timedelta(hours=1, microseconds=-1), "b"), at(tokyo, "c")])

    def calls(*limits: datetime | None) -> list[str]:
        return [b.row.call_id for b in db.bookings(*limits)]

    assert calls() == ["a", "b", "c"]
    assert calls(NOON, NOON + timedelta(hours=1)) == ["a", "b"]
    assert calls(NOON + timedelta(microseconds=1)) == ["b", "c"]
    assert calls(None, NOON + timedelta(hours=2)) == ["a", "b"]


def test_a_row_that_cannot_be_read_is_left_out(path: Path) -> None:
    db = UsageDb.open(path)
    db.write([at(NOON, name) for name in "abcd"])
    with sqlite3.connect(path) as other:
        other.execute("UPDATE calls SET rest = '[1' WHERE call = 'a'")
        other.execute("UPDATE calls SET cost = 'much' WHERE call = 'b'")
        other.execute("UPDATE calls SET started = 'then' WHERE call = 'c'")
    assert [b.row.call_id for b in db.bookings()] == ["d"]


def test_no_database_a_damaged_one_and_one_of_the_future(path: Path) -> None:
    with pytest.raises(StorageError):
        UsageDb.read(path)
    path.parent.mkdir()
    path.write_bytes(b"a letter to my aunt" * 500)
    for use in (UsageDb.open, UsageDb.read):
        with pytest.raises(BrokenDatabaseError, match=r"usage\.db"):
            use(path)
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 99")
    with pytest.raises(StorageError, match="newer version"):
        UsageDb.open(path)


def test_an_old_schema_is_brought_up_to_date_and_keeps_its_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = UsageDb.open(path)
    db.write([at(NOON)])
    db.close()
    added = ("ALTER TABLE calls ADD COLUMN mood TEXT NOT NULL DEFAULT 'good'",)
    monkeypatch.setattr(usage_db, "MIGRATIONS", (*usage_db.MIGRATIONS, added))
    db = UsageDb.open(path)
    assert len(list(db.bookings())) == 1
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT mood FROM calls").fetchall() == [("good",)]
        assert other.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_migration_that_fails_leaves_the_old_schema(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    UsageDb.open(path).close()
    broken = ("ALTER TABLE calls ADD COLUMN mood TEXT", "ALTER TABLE nowhere ADD COLUMN mood TEXT")
    monkeypatch.setattr(usage_db, "MIGRATIONS", (*usage_db.MIGRATIONS, broken))
    with pytest.raises(StorageError, match="nowhere"):
        UsageDb.open(path)
    with sqlite3.connect(path) as other:
        assert "mood" not in {row[1] for row in other.execute("PRAGMA table_info(calls)")}


WRITER = """
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from reactagent_tui.core.cost.booking import Booking
from reactagent_tui.core.cost.ledger import LedgerRow
from reactagent_tui.core.cost.usage_log import UsageLog
from reactagent_tui.core.money import Money
from reactagent_tui.core.usage import Usage
log = UsageLog(Path(sys.argv[1]), on_trouble=lambda text: sys.exit(text))
log.start()
for n in range(60):
    moment = datetime.now(UTC)
    for ended in (None, moment):
        row = LedgerRow(f"m{n}", sys.argv[2], 1, n, (), "step", "p", "m", Usage(1), None, Money(Decimal(1), "reported"),
                        moment, ended=ended)
        log.record(Booking(row))
log.close(60)
"""


def test_several_processes_write_at_once(path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("a", "b", "c")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    found = [b.row for b in UsageDb.read(path).bookings()]
    assert len(found) == len({(row.session_id, row.call_id) for row in found}) == 180
    assert all(row.ended is not None for row in found)
