"""memory.db: facts with their full-text indexes and vectors. SQLite; several processes may use it at once.

Not to be used on an event loop: a locked database waits up to `PATIENCE` seconds. One object belongs to one thread.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from reactagent_tui.core.database import migrate, transaction
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.memory.facts import Fact, Kind, says_the_same, tidy
from reactagent_tui.core.memory.words import pieces, tokens, wanted

PATIENCE = 3.0
"""Seconds that a locked database is waited for."""
_OPEN_ATTEMPTS = 8
_OPEN_PAUSE = 0.05
_NEAR = 20
"""Facts that are looked at for a near-duplicate."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE facts (
            id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL, kind TEXT NOT NULL, project TEXT NOT NULL,
            session TEXT NOT NULL, created TEXT NOT NULL, used TEXT NOT NULL, uses INTEGER NOT NULL
        )""",
        "CREATE INDEX facts_project ON facts (project)",
        "CREATE VIRTUAL TABLE parts USING fts5 (text, tokenize = 'trigram')",
        "CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'porter unicode61')",
        """CREATE TABLE vectors (
            fact INTEGER NOT NULL, model TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (fact, model)
        ) WITHOUT ROWID""",
        "CREATE TABLE revision (n INTEGER NOT NULL)",
        "INSERT INTO revision VALUES (0)",
        "CREATE TRIGGER vector_came AFTER INSERT ON vectors BEGIN UPDATE revision SET n = n + 1; END",
        "CREATE TRIGGER vector_went AFTER DELETE ON vectors BEGIN UPDATE revision SET n = n + 1; END",
    ),
)
"""Statements from one version of the schema to the next; `PRAGMA user_version` counts the steps that were done."""

_COLUMNS = "id, text, kind, project, session, created, used, uses"


@dataclass(frozen=True, slots=True)
class Saved:
    """What became of a fact that was saved."""

    fact: Fact
    merged: bool
    """It was known in nearly the same words: those of now are kept."""


class FactStore:
    """An open database. Every method raises StorageError when the database cannot be used."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, path: Path) -> FactStore:
        """Open for reading and writing; a new file is readable for its user only. Brings an old schema up to date."""
        with _faults(path):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            # Switching to WAL and creating the tables take locks that SQLite's own patience does not cover.
            for attempt in range(_OPEN_ATTEMPTS):
                connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
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

    # -- writing ----------------------------------------------------------------------------

    def save(self, text: str, kind: Kind, *, project: str = "", session: str = "") -> Saved:
        """Add a fact, or merge it into one that says the same. A fact that holds everywhere stays so."""
        text = tidy(text)
        with self._transaction() as connection:
            known = self._duplicate(text, project)
            if known is None:
                row = (text, kind, project, session, _now())
                cursor = connection.execute(
                    "INSERT INTO facts (text, kind, project, session, created, used, uses) VALUES (?,?,?,?,?,'',0)", row
                )
                fact_id = cursor.lastrowid or 0
                self._index(fact_id, text)
            else:
                fact_id = known.id
                place = project if known.project else ""
                connection.execute("UPDATE facts SET kind = ?, project = ? WHERE id = ?", (kind, place, fact_id))
                self._change(fact_id, text)
        return Saved(self._found(fact_id), known is not None)

    def edit(self, fact_id: int, text: str) -> Fact | None:
        """Give a fact other words; None: there is no such fact."""
        with self._transaction():
            if self.get(fact_id) is None:
                return None
            self._change(fact_id, tidy(text))
        return self.get(fact_id)

    def forget(self, fact_id: int) -> Fact | None:
        """Remove a fact and give it back; None: there is no such fact."""
        with self._transaction() as connection:
            fact = self.get(fact_id)
            if fact is not None:
                connection.execute("DELETE FROM facts WHERE id = ?", (fact_id,))
                self._unindex(fact_id)
        return fact

    def restore(self, fact: Fact) -> Fact:
        """Put a forgotten fact back as it was."""
        with self._transaction() as connection:
            row = (fact.id, fact.text, fact.kind, fact.project, fact.session, fact.created, fact.used, fact.uses)
            cursor = connection.execute("INSERT OR IGNORE INTO facts VALUES (?,?,?,?,?,?,?,?)", row)
            if cursor.rowcount:
                self._index(fact.id, fact.text)
        return fact

    def touch(self, fact_ids: Iterable[int]) -> None:
        """These facts were recalled now."""
        now = _now()
        with self._transaction() as connection:
            connection.executemany(
                "UPDATE facts SET uses = uses + 1, used = ? WHERE id = ?", [(now, fact_id) for fact_id in fact_ids]
            )

    def put_vectors(self, model: str, vectors: Iterable[tuple[int, str, bytes]]) -> None:
        """(fact, its text when it was encoded, float32 vector): kept if the fact still says that."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO vectors SELECT id, ?, ? FROM facts WHERE id = ? AND text = ?",
                [(model, vector, fact_id, text) for fact_id, text, vector in vectors],
            )

    # -- reading ----------------------------------------------------------------------------

    def get(self, fact_id: int) -> Fact | None:
        with _faults(self.path):
            row = self._connection.execute(f"SELECT {_COLUMNS} FROM facts WHERE id = ?", (fact_id,)).fetchone()
            return None if row is None else Fact(*row)

    def facts(self, project: str | None = None, *, limit: int = -1) -> list[Fact]:
        """Those that hold in this folder (None: all there are), the newest first."""
        with _faults(self.path):
            where, values = ("", ()) if project is None else ("WHERE project IN ('', ?)", (project,))
            rows = self._connection.execute(
                f"SELECT {_COLUMNS} FROM facts {where} ORDER BY id DESC LIMIT ?", (*values, limit)
            )
            return [Fact(*row) for row in rows]

    def some(self, fact_ids: Sequence[int]) -> dict[int, Fact]:
        """The facts with these ids."""
        with _faults(self.path):
            marks = ",".join("?" * len(fact_ids))
            rows = self._connection.execute(f"SELECT {_COLUMNS} FROM facts WHERE id IN ({marks})", tuple(fact_ids))
            return {row[0]: Fact(*row) for row in rows}

    def count(self) -> int:
        with _faults(self.path):
            return self._connection.execute("SELECT count(*) FROM facts").fetchone()[0]

    def by_words(self, query: str, project: str | None, limit: int) -> list[tuple[int, float]]:
        """(fact, score) for facts that hold words of the query, the best first; Chinese by pairs of characters."""
        return self._matching("words", wanted(query), project, limit)

    def by_parts(self, query: str, project: str | None, limit: int) -> list[tuple[int, float]]:
        """The same for parts of words (`config` in `reconfigure`) and Chinese runs of three characters."""
        return self._matching("parts", pieces(query), project, limit)

    def without_vector(self, model: str, limit: int) -> list[tuple[int, str]]:
        """Facts that have no vector of this model yet."""
        with _faults(self.path):
            return self._connection.execute(
                "SELECT id, text FROM facts WHERE NOT EXISTS "
                "(SELECT 1 FROM vectors WHERE fact = facts.id AND model = ?) LIMIT ?",
                (model, limit),
            ).fetchall()

    def vectors(self, model: str) -> tuple[list[int], list[str], list[bytes]]:
        """Facts, their projects and their vectors, side by side."""
        with _faults(self.path):
            rows = self._connection.execute(
                "SELECT fact, project, vector FROM vectors JOIN facts ON facts.id = fact WHERE model = ?", (model,)
            ).fetchall()
            return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]

    def drop_vectors(self, model: str, keep: int) -> None:
        """Forget the vectors of a model that have not `keep` bytes: it makes others now."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM vectors WHERE model = ? AND length(vector) <> ?", (model, keep))

    def revision(self) -> int:
        """Changes when a vector came or went, whoever wrote it."""
        with _faults(self.path):
            return self._connection.execute("SELECT n FROM revision").fetchone()[0]

    def close(self) -> None:
        with _faults(self.path):
            self._connection.close()

    # -- inside -----------------------------------------------------------------------------

    def _matching(self, table: str, terms: Sequence[str], project: str | None, limit: int) -> list[tuple[int, float]]:
        query = any_of(terms)
        if not query:
            return []
        where, values = ("", ()) if project is None else ("AND project IN ('', ?)", (project,))
        with _faults(self.path):
            rows = self._connection.execute(
                f"SELECT {table}.rowid, -bm25({table}) FROM {table} JOIN facts ON facts.id = {table}.rowid "
                f"WHERE {table} MATCH ? {where} ORDER BY bm25({table}) LIMIT ?",
                (query, *values, limit),
            )
            return [(row[0], row[1]) for row in rows]

    def _duplicate(self, text: str, project: str) -> Fact | None:
        """A fact of the same scope or a wider one; what is to hold everywhere takes in that of any folder."""
        found = [fact_id for fact_id, _ in self.by_words(text, project or None, _NEAR)]
        facts = self.some(found)
        exact = self._connection.execute(
            f"SELECT {_COLUMNS} FROM facts WHERE text = ? AND (project IN ('', ?) OR ? = '')", (text, project, project)
        ).fetchone()
        near = (facts[fact_id] for fact_id in found if fact_id in facts)
        return Fact(*exact) if exact else next((fact for fact in near if says_the_same(fact.text, text)), None)

    def _change(self, fact_id: int, text: str) -> None:
        (before,) = self._connection.execute("SELECT text FROM facts WHERE id = ?", (fact_id,)).fetchone()
        if before != text:
            self._connection.execute("UPDATE facts SET text = ? WHERE id = ?", (text, fact_id))
            self._unindex(fact_id)
            self._index(fact_id, text)

    def _index(self, fact_id: int, text: str) -> None:
        self._connection.execute("INSERT INTO parts (rowid, text) VALUES (?, ?)", (fact_id, text))
        self._connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (fact_id, " ".join(tokens(text))))

    def _unindex(self, fact_id: int) -> None:
        for table in ("parts", "words"):
            self._connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (fact_id,))
        self._connection.execute("DELETE FROM vectors WHERE fact = ?", (fact_id,))

    def _found(self, fact_id: int) -> Fact:
        fact = self.get(fact_id)
        if fact is None:
            raise StorageError(f"{self.path}: the fact was removed by another program")
        return fact

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with _faults(self.path), transaction(self._connection) as connection:
            yield connection


def any_of(terms: Iterable[str]) -> str:
    """An FTS5 query for any of these texts, each taken as it is; "" for none."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _is_locked(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


@contextmanager
def _faults(path: Path) -> Generator[None]:
    """What SQLite or the disk refuse, as a StorageError that names the file."""
    try:
        yield
    except (sqlite3.Error, OSError, OverflowError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        raise StorageError(f"{path}: {reason}") from error
