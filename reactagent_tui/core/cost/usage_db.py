"""usage.db: one row per model call of every session and process. SQLite; the session files stay the truth.

A call is found by its session and its id, so writing it again (opened, completed, corrected) changes one row. Not to be
used on an event loop: a locked database waits up to `PATIENCE` seconds.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reactagent_tui.core.cost.booking import Booking
from reactagent_tui.core.cost.ledger import LedgerRow
from reactagent_tui.core.database import migrate, transaction
from reactagent_tui.core.errors import StorageError

PATIENCE = 2.0
"""Seconds that a locked database is waited for."""
_OPEN_ATTEMPTS = 8
_OPEN_PAUSE = 0.05
_TOKENS = ("input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning")
_PLAIN = ("turn", "step", "cause", "provider", "model", "cost", "currency", "state", "started", "ended")
_FLAGS = ("estimated", "interrupted", "failed")
_COLUMNS = ("session", "call", "project", "skill", "agent", *_PLAIN, *_FLAGS, *_TOKENS, "rest")

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE calls (
            session TEXT NOT NULL, call TEXT NOT NULL,
            project TEXT NOT NULL, skill TEXT NOT NULL, agent TEXT NOT NULL,
            turn INTEGER NOT NULL, step INTEGER NOT NULL, cause TEXT NOT NULL,
            provider TEXT NOT NULL, model TEXT NOT NULL,
            cost TEXT, currency TEXT NOT NULL, state TEXT NOT NULL,
            started TEXT NOT NULL, ended TEXT,
            estimated INTEGER NOT NULL, interrupted INTEGER NOT NULL, failed INTEGER NOT NULL,
            input INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL,
            cache_write_1h INTEGER NOT NULL, output INTEGER NOT NULL, reasoning INTEGER NOT NULL,
            rest TEXT NOT NULL,
            PRIMARY KEY (session, call)
        ) WITHOUT ROWID""",
        "CREATE INDEX calls_started ON calls (started)",
    ),
)
"""Statements from one version of the schema to the next; `PRAGMA user_version` counts the steps that were done."""

_UPDATES = [f"{name} = excluded.{name}" for name in _COLUMNS]
_INSERT = (
    f"INSERT INTO calls ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "
    "ON CONFLICT (session, call) DO "
)
_WRITE = f"{_INSERT}UPDATE SET {', '.join(_UPDATES[2:])}"
_FILL = f"{_INSERT}UPDATE SET {', '.join(_UPDATES[4:])} WHERE calls.ended IS NULL"
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM calls"


class BrokenDatabaseError(StorageError):
    """The file is no database, or a damaged one."""


class UsageDb:
    """An open database. Every method raises StorageError when the database cannot be used."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, path: Path) -> UsageDb:
        """Open for reading and writing; a new file is readable for its user only. Brings an old schema up to date."""
        with _faults(path):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            # Switching to WAL and creating the tables take locks that SQLite's own patience does not cover.
            for attempt in range(_OPEN_ATTEMPTS):
                connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
                try:
                    connection.execute("PRAGMA journal_mode = WAL")
                    connection.execute("PRAGMA synchronous = NORMAL")
                    migrate(connection, MIGRATIONS)
                    return cls(path, connection)
                except BaseException as error:
                    connection.close()
                    if not _is_locked(error) or attempt == _OPEN_ATTEMPTS - 1:
                        raise
                time.sleep(_OPEN_PAUSE)
            raise AssertionError("unreachable")

    @classmethod
    def read(cls, path: Path) -> UsageDb:
        """Open what is there, also in a folder that cannot be written. Raises StorageError when there is no file."""
        if not path.is_file():
            raise StorageError(f"{path}: no such file")
        try:
            return cls.open(path)
        except StorageError as trouble:
            for options in ("mode=ro", "immutable=1"):
                with suppress(sqlite3.Error):
                    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{options}", uri=True, timeout=PATIENCE)
                    if connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),):
                        return cls(path, connection)
                    connection.close()
            raise trouble from None

    def write(self, bookings: Iterable[Booking]) -> None:
        """Add calls, or bring them up to date."""
        self._put(_WRITE, bookings)

    def fill(self, bookings: Iterable[Booking]) -> None:
        """Add calls that are missing and complete those that never ended; a call that ended keeps what it holds."""
        self._put(_FILL, bookings)

    def bookings(self, since: datetime | None = None, until: datetime | None = None) -> Iterator[Booking]:
        """Every call that started in [since, until), oldest first. A row that cannot be read is left out."""
        with _faults(self.path):
            where, limits = _between(since, until)
            for values in self._connection.execute(f"{_SELECT}{where} ORDER BY started, session, call", limits):
                with suppress(KeyError, TypeError, ValueError, ArithmeticError):
                    yield _booking(values)

    def count(self) -> int:
        """How many calls there are."""
        with _faults(self.path):
            return self._connection.execute("SELECT count(*) FROM calls").fetchone()[0]

    def version(self) -> int:
        """Changes when another connection wrote."""
        with _faults(self.path):
            return self._connection.execute("PRAGMA data_version").fetchone()[0]

    def close(self) -> None:
        with _faults(self.path):
            self._connection.close()

    def _put(self, statement: str, bookings: Iterable[Booking]) -> None:
        values = [_values(booking) for booking in bookings]
        with _faults(self.path), transaction(self._connection) as connection:
            connection.executemany(statement, values)


def instant(moment: datetime) -> str:
    """UTC with microseconds, so that text sorts as time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _between(since: datetime | None, until: datetime | None) -> tuple[str, list[str]]:
    limits = [("started >= ?", since), ("started < ?", until)]
    given = [(text, instant(moment)) for text, moment in limits if moment is not None]
    where = f" WHERE {' AND '.join(text for text, _ in given)}" if given else ""
    return where, [moment for _, moment in given]


def _values(booking: Booking) -> Sequence[Any]:
    """The columns of one call. What has no column of its own (price, first token, …) goes to `rest`."""
    record = booking.row.to_record()
    usage: dict[str, Any] = record.pop("usage")
    values = {
        "session": record.pop("session_id"),
        "call": record.pop("call_id"),
        "project": booking.project,
        "skill": booking.skill,
        "agent": json.dumps(record.pop("agent"), ensure_ascii=False),
    }
    values |= {name: record.pop(name) for name in _PLAIN}
    values |= {name: int(record.pop(name)) for name in _FLAGS}
    values |= {name: usage.pop(name, 0) for name in _TOKENS}
    values["started"] = instant(booking.row.started)
    values["ended"] = None if booking.row.ended is None else instant(booking.row.ended)
    values["rest"] = json.dumps(record | {"usage": usage}, separators=(",", ":"))
    return [_storable(values[name]) for name in _COLUMNS]


def _storable(value: Any) -> Any:
    """Text without lone surrogates, which SQLite refuses."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def _booking(values: Sequence[Any]) -> Booking:
    found = dict(zip(_COLUMNS, values, strict=True))
    record: dict[str, Any] = json.loads(found["rest"])
    record["usage"] = record["usage"] | {name: found[name] for name in _TOKENS}
    record |= {name: found[name] for name in _PLAIN}
    record |= {name: bool(found[name]) for name in _FLAGS}
    record |= {"session_id": found["session"], "call_id": found["call"], "agent": json.loads(found["agent"])}
    return Booking(LedgerRow.from_record(record), found["project"], found["skill"])


def _is_locked(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


@contextmanager
def _faults(path: Path) -> Generator[None]:
    """What SQLite or the disk refuse, as a StorageError that names the file."""
    try:
        yield
    except (sqlite3.Error, OSError, OverflowError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        broken = getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
        raise (BrokenDatabaseError if broken else StorageError)(f"{path}: {reason}") from error
