"""What the program's SQLite files have in common: a schema that grows step by step, and writes as one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress


def migrate(connection: sqlite3.Connection, migrations: Sequence[Sequence[str]]) -> None:
    """Bring the schema up to date; of several processes at once one does it.

    `PRAGMA user_version` counts the steps that were done. Raises sqlite3.Error, also for a file of a newer version.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == len(migrations):
        return
    connection.execute("BEGIN EXCLUSIVE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > len(migrations):
            raise sqlite3.NotSupportedError(f"written by a newer version (schema {version})")
        for statements in migrations[version:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[sqlite3.Connection]:
    """All of it or nothing. Raises sqlite3.Error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
