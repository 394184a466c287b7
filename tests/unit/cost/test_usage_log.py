"""Rows on their way to usage.db, and today's sum: over processes, over midnight, and when the database is no use."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from reactagent_tui.core.cost.booking import Booking
from reactagent_tui.core.cost.ledger import LedgerRow
from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.cost.usage_db import UsageDb
from reactagent_tui.core.cost.usage_log import UsageLog, day_bounds, local_day
from reactagent_tui.core.money import Money
from reactagent_tui.core.usage import Usage

NOON = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)
PATIENCE = 60.0


def booking(
    call: str, dollars: str | None = "1", *, session: str = "s1", moment: datetime = NOON, **values: object
) -> Booking:
    cost = Money(None, "unknown") if dollars is None else Money(Decimal(dollars), "reported")
    row = LedgerRow(
        call, session, 1, 1, (), "step", "p", "m", Usage(10), None, cost, moment, ended=moment + timedelta(seconds=1)
    )
    return Booking(replace(row, **values), "/src", "review")  # type: ignore[arg-type]


class Watched:
    """A log whose news can be waited for."""

    def __init__(self, path: Path, now: Callable[[], datetime] = lambda: NOON) -> None:
        self.troubles: list[str] = []
        self.known = threading.Event()
        self.log = UsageLog(path, on_trouble=self.troubles.append, on_today=self.known.set, now=now)
        self.log.start()
        assert self.known.wait(PATIENCE)

    def today(self, **values: str) -> Tally:
        tally = self.log.today(**values)
        assert tally is not None
        return tally


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "usage.db"


def stored(path: Path) -> list[Booking]:
    db = UsageDb.read(path)
    try:
        return list(db.bookings())
    finally:
        db.close()


def test_nothing_is_known_before_the_database_was_read(path: Path) -> None:
    log = UsageLog(path, now=lambda: NOON)
    log.record(booking("m1"))
    assert log.today() is None


def test_own_calls_count_at_once_and_are_on_disk_after_close(path: Path) -> None:
    watched = Watched(path)
    assert watched.today() == Tally()
    opened = booking("m1", "0.5", ended=None)
    watched.log.record(opened)
    assert watched.today().cost == Money(Decimal("0.5"), "reported")
    assert watched.today(without_open_of="s1").cost.amount == 0
    assert watched.today(without_open_of="s2").cost.amount == Decimal("0.5")
    closed = booking("m1", "2")
    watched.log.record(replace(closed, skill="later"))
    assert watched.today(without_open_of="s1").cost == Money(Decimal(2), "reported")
    watched.log.close()
    assert stored(path) == [closed]  # with the skill it was opened under
    assert watched.troubles == []


def test_other_processes_count_from_the_start_and_after_the_next_call(path: Path) -> None:
    one, other = Watched(path), Watched(path)
    one.log.record(booking("m1", "3"))
    one.log.close()
    other.known.clear()
    other.log.record(booking("m1", "4", session="s2"))
    assert other.known.wait(PATIENCE)
    assert other.today().cost.amount == 7
    assert other.today().calls == 2
    other.log.close()
    third = Watched(path)
    assert third.today().cost.amount == 7
    third.log.close()


def test_calls_of_yesterday_do_not_count_and_midnight_begins_anew(path: Path) -> None:
    now = [NOON]
    watched = Watched(path, lambda: now[0])
    watched.log.record(booking("m1", "1", moment=NOON - timedelta(days=1)))
    watched.log.record(booking("m2", "2"))
    assert watched.today().cost.amount == 2
    now[0] = NOON + timedelta(days=1)
    assert watched.today().cost.amount == 0
    watched.log.record(booking("m2", "3"))
    watched.log.record(booking("m3", "4", moment=now[0]))
    assert watched.today().cost.amount == 4
    watched.log.close()


def test_unknown_prices_estimates_and_currencies_stay_apart(path: Path) -> None:
    watched = Watched(path)
    watched.log.record(booking("m1", None))
    assert watched.today().cost == Money(None, "unknown")
    watched.log.record(booking("m2", "1", cost=Money(Decimal(1), "estimated"), estimated=True))
    watched.log.record(booking("m3", "1", cost=Money(Decimal(5), "reported", "CNY")))
    assert watched.today().cost == Money(Decimal(1), "unknown")
    assert [money.amount for money in watched.today().other_costs] == [5]
    watched.log.close()


def test_rows_of_earlier_processes_fill_gaps_and_are_no_calls_of_this_one(path: Path) -> None:
    watched = Watched(path)
    watched.known.clear()
    watched.log.fill([booking("m1", "8"), booking("m2", "1", moment=NOON - timedelta(days=3))])
    assert watched.known.wait(PATIENCE)
    assert watched.today().cost.amount == 8
    watched.log.close()
    assert len(stored(path)) == 2


@pytest.mark.parametrize("kind", ["damaged", "folder", "no folder"])
def test_a_database_that_is_no_use_is_told_once_and_own_calls_still_count(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "usage.db"
    match kind:
        case "damaged":
            path.write_bytes(b"no database" * 1000)
        case "folder":
            path.mkdir()
        case _:
            (tmp_path / "file").write_text("")
            path = tmp_path / "file" / "usage.db"
    watched = Watched(path)
    watched.log.record(booking("m1", "2"))
    watched.log.record(booking("m2", "3"))
    watched.log.close()
    assert watched.today().cost.amount == 5
    (text,) = watched.troubles
    assert str(path) in text


def test_rows_wait_for_a_locked_database(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactagent_tui.core.cost.usage_db.PATIENCE", 0.0)
    told = threading.Event()
    watched = Watched(path)
    watched.log._on_trouble = lambda text: (watched.troubles.append(text), told.set())  # type: ignore[assignment]
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    watched.log.record(booking("m1"))
    assert told.wait(PATIENCE)
    other.execute("COMMIT")
    watched.log.record(booking("m2"))
    watched.log.close()
    assert [b.row.call_id for b in stored(path)] == ["m1", "m2"]
    assert len(watched.troubles) == 1


def test_a_day_begins_at_local_midnight() -> None:
    first, following = day_bounds(local_day(NOON))
    assert local_day(first) == local_day(following - timedelta(microseconds=1)) == local_day(NOON)
    assert local_day(first - timedelta(microseconds=1)) != local_day(NOON)
