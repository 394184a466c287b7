"""The index of all sessions: a SQLite file beside them that serves list and full-text search.

The session files stay the truth: a missing, old or damaged index is built again from them. Not for an event loop:
updating reads files, and a locked database is waited for. Any number of processes may use it at once.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.paths import Paths, folder_slug
from reactagent_tui.core.sessions.index_text import (
    Facts,
    Needle,
    chunks,
    fold,
    has_word,
    pairs,
    snippet,
    trigram_query,
    words_of,
)

VERSION = 1
PATIENCE = 5.0
"""Seconds that a locked database is waited for."""
SEARCH_TIME = 0.15
"""Seconds after which a search gives what it has found so far."""
TELL = 0.2
"""Seconds between two words about a search that goes on."""
BATCH = 4_000_000
"""Bytes of a file that are taken in with one transaction."""
_FACTS = tuple(Facts.__slots__)
_TABLES = f"""
CREATE TABLE files (
    number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, inode INTEGER NOT NULL, size INTEGER NOT NULL,
    done INTEGER NOT NULL, modified INTEGER NOT NULL, {", ".join(f"{name} NOT NULL" for name in _FACTS)});
CREATE TABLE chunks (number INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(
    body, content='chunks', content_rowid='number', tokenize='trigram', detail=none, columnsize=0);
CREATE VIRTUAL TABLE pairs USING fts5(body, content='', tokenize='ascii', detail=none, columnsize=0);
PRAGMA user_version = {VERSION};
"""
FILE_BITS = 24
"""A chunk's number is its file's number, shifted by so much, plus its place in the file: no other look-up is needed."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class IndexedSession:
    """One line of the list."""

    path: Path
    modified: float
    """Seconds since the epoch."""
    size: int
    facts: Facts


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A session in which every word of the query was found, with a line from it."""

    session: IndexedSession
    snippet: str


@dataclass(frozen=True, slots=True)
class Found:
    """The hits among the newest `looked` of `sessions` sessions, newest first: time may be up before all are seen."""

    hits: tuple[SearchHit, ...]
    looked: int
    sessions: int

    @property
    def whole(self) -> bool:
        """Every session was looked at."""
        return self.looked >= self.sessions


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a search may take, and who hears of it meanwhile."""

    until: float
    """By the monotonic clock."""
    stop: Callable[[], bool]
    tell: Callable[[Found], None]

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self.until or self.stop()


class SessionIndex:
    """The index of one state folder. Opens the database for each use and keeps nothing open."""

    def __init__(self, root: Path, path: Path) -> None:
        self.root = root
        self.path = path

    @classmethod
    def at(cls, paths: Paths) -> SessionIndex:
        return cls(paths.sessions, paths.state / "sessions.db")

    def update(
        self, stop: Callable[[], bool] = lambda: False, tell: Callable[[int, int], None] = lambda _done, _all: None
    ) -> int:
        """Take in what the session files gained; returns how many files were read. Raises StorageError.

        Only new lines are read. `stop` is asked between the pieces: what is missing comes with the next update.
        `tell` hears before each file how many are done, of how many.
        """
        return self._try(lambda db: self._update(db, stop, tell))

    def list(self, workdir: Path | None = None) -> list[IndexedSession]:
        """Sessions of a folder, or of all: unfinished ones first, then newest first. Raises StorageError."""
        return self._try(lambda db: self._list(db, workdir))

    def search(
        self,
        query: str,
        workdir: Path | None = None,
        *,
        seconds: float = SEARCH_TIME,
        stop: Callable[[], bool] = lambda: False,
        tell: Callable[[Found], None] = lambda _found: None,
    ) -> Found:
        """Sessions that hold every word of any text; an empty one finds all. Raises StorageError.

        After so many seconds, or when `stop` says so, it gives what it has; `tell` hears of that now and then.
        """
        words = words_of(query)
        patience = Patience(time.monotonic() + seconds, stop, tell)
        return self._try(lambda db: self._search(db, words, workdir, patience))

    # -- the database -----------------------------------------------------------------------

    def _try(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Do it; a damaged database is thrown away once and built anew."""
        try:
            try:
                with closing(self._open()) as db:
                    return act(db)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) and not _is_damaged(error):
                    raise
                self._throw_away()
                with closing(self._open()) as db:
                    self._update(db, lambda: False, lambda _done, _all: None)
                    return act(db)
        except (sqlite3.Error, OSError) as error:
            raise StorageError(f"{self.path}: {error}") from error

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        db = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        try:
            db.execute("PRAGMA page_size = 8192")
            _patiently(lambda: db.execute("PRAGMA journal_mode = WAL"))
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA cache_size = -16000")
            if db.execute("PRAGMA user_version").fetchone() != (VERSION,):
                self._make_tables(db)
        except BaseException:
            db.close()
            raise
        return db

    @staticmethod
    def _make_tables(db: sqlite3.Connection) -> None:
        with _transaction(db):
            if db.execute("PRAGMA user_version").fetchone() == (VERSION,):
                return  # another process was faster
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                raise sqlite3.DatabaseError("another version of the index")
            for statement in _TABLES.split(";"):
                if statement.strip():
                    db.execute(statement)

    def _throw_away(self) -> None:
        for ending in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(f"{self.path}{ending}")

    # -- updating ---------------------------------------------------------------------------

    def _update(self, db: sqlite3.Connection, stop: Callable[[], bool], tell: Callable[[int, int], None]) -> int:
        known = {row[0]: row[1:] for row in db.execute("SELECT path, inode, size, modified, done FROM files")}
        stale: list[Path] = []
        for path, stat in session_files(self.root):
            before = known.pop(str(path), None)
            if before is None or before[:3] != (stat.st_ino, stat.st_size, stat.st_mtime_ns):
                stale.append(path)
        for read, path in enumerate(stale):
            if stop():
                return read
            tell(read, len(stale))
            while self._take_in_patiently(db, path, stop) and not stop():
                pass
        for gone in known:
            if not Path(gone).exists():
                self._forget(db, gone)
        return len(stale)

    def _take_in_patiently(self, db: sqlite3.Connection, path: Path, stop: Callable[[], bool]) -> bool:
        """`_take_in`, however long another process holds the index to write into it."""
        while True:
            try:
                return self._take_in(db, path)
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or stop():
                    raise

    def _take_in(self, db: sqlite3.Connection, path: Path) -> bool:
        """Read one more piece of a file; True when there is more of it."""
        with _transaction(db):
            try:
                stream = path.open("rb")
            except OSError:
                return False
            with stream:
                stat = os.fstat(stream.fileno())
                number, done, facts = _known(db, path)
                inode = db.execute("SELECT inode, size, modified FROM files WHERE number = ?", (number,)).fetchone()
                replaced = inode is not None and (
                    inode[0] != stat.st_ino
                    or stat.st_size < done
                    or (inode[1] == stat.st_size and inode[2] != stat.st_mtime_ns)
                )
                if replaced:
                    _drop_texts(db, number)
                    done, facts = 0, Facts()
                stream.seek(done)
                data = stream.read(BATCH)
                while data and b"\n" not in data and (more := stream.read(BATCH)):
                    data += more
            end = data.rfind(b"\n") + 1
            facts, texts = fold(facts, data[:end])
            done += end
            more_left = done < stat.st_size and bool(end)
            size = stat.st_size if not more_left else done
            values = (str(path), stat.st_ino, size, done, stat.st_mtime_ns, *(getattr(facts, n) for n in _FACTS))
            names = ("path", "inode", "size", "done", "modified", *_FACTS)
            db.execute(
                f"INSERT INTO files ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) "
                f"ON CONFLICT (path) DO UPDATE SET {', '.join(f'{n} = excluded.{n}' for n in names[1:])}",
                values,
            )
            if not number:
                number = db.execute("SELECT number FROM files WHERE path = ?", (str(path),)).fetchone()[0]
            first, last = _rows(number)
            row = db.execute(
                "SELECT coalesce(max(number), ?) FROM chunks WHERE number BETWEEN ? AND ?", (first, first, last)
            ).fetchone()[0]
            for body in chunks(texts):
                row += 1
                db.execute("INSERT INTO chunks (number, body) VALUES (?, ?)", (row, body))
                db.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (row, body))
                db.execute("INSERT INTO pairs (rowid, body) VALUES (?, ?)", (row, pairs(body)))
        return more_left

    @staticmethod
    def _forget(db: sqlite3.Connection, path: str) -> None:
        with _transaction(db):
            row = db.execute("SELECT number FROM files WHERE path = ?", (path,)).fetchone()
            if row is not None:
                _drop_texts(db, row[0])
                db.execute("DELETE FROM files WHERE number = ?", row)

    # -- reading ----------------------------------------------------------------------------

    def _list(self, db: sqlite3.Connection, workdir: Path | None) -> list[IndexedSession]:
        found = list(self._sessions(db, workdir).values())
        return sorted(found, key=lambda item: (not item.facts.unfinished, -item.modified))

    def _sessions(self, db: sqlite3.Connection, workdir: Path | None) -> dict[int, IndexedSession]:
        """By number, newest first."""
        rows = db.execute(
            f"SELECT number, path, modified, size, {', '.join(_FACTS)} FROM files WHERE id != '' ORDER BY modified DESC"
        )
        slug = None if workdir is None else folder_slug(workdir)
        return {
            row[0]: IndexedSession(Path(row[1]), row[2] / 1e9, row[3], _facts(row[4:]))
            for row in rows
            if slug is None or Path(row[1]).parent.parent.name == slug
        }

    def _search(self, db: sqlite3.Connection, words: Sequence[str], workdir: Path | None, patience: Patience) -> Found:
        sessions = self._sessions(db, workdir)
        if not words:
            return Found(tuple(SearchHit(session, "") for session in sessions.values()), len(sessions), len(sessions))
        words = sorted(words, key=len, reverse=True)
        places = [_candidates(db, word, patience) if len(word) > 1 else None for word in words]
        hits: list[SearchHit] = []
        told = time.monotonic()
        for looked, (number, session) in enumerate(sessions.items()):
            if patience.is_over:
                return Found(tuple(hits), looked, len(sessions))
            rows = [_rows_of(db, number) if place is None else place.get(number, ()) for place in places]
            shown = _place_of(db, session, list(zip(words, rows, strict=True)), patience)
            if shown is None:
                return Found(tuple(hits), looked, len(sessions))
            if shown:
                hits.append(SearchHit(session, snippet(shown, words)))
            if time.monotonic() - told > TELL:
                told = time.monotonic()
                patience.tell(Found(tuple(hits), looked + 1, len(sessions)))
        return Found(tuple(hits), len(sessions), len(sessions))


def _place_of(
    db: sqlite3.Connection, session: IndexedSession, wanted: Sequence[tuple[str, Iterable[int]]], patience: Patience
) -> str | None:
    """The text where the longest word is found; "" when one of the words is nowhere, None when time was up."""
    first = ""
    for word, rows in wanted:
        needle = Needle(word)
        place = session.facts.shown if has_word(session.facts.shown, word) else ""
        for row in () if place else rows:
            if patience.is_over:
                return None
            body = db.execute("SELECT CAST(body AS BLOB) FROM chunks WHERE number = ?", (row,)).fetchone()
            if body is not None and needle.is_in(body[0]):
                place = body[0].decode()
                break
        if not place:
            return ""
        first = first or place
    return first


def _candidates(db: sqlite3.Connection, word: str, patience: Patience) -> dict[int, list[int]]:
    """The numbers of the chunks that may hold a word of two characters or more, by session."""
    table, query = ("pairs", pairs(word)) if len(word) == 2 else ("words", trigram_query(word))
    found: dict[int, list[int]] = {}
    db.set_progress_handler(lambda: patience.is_over, 20_000)
    try:
        for (row,) in db.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", (query,)):
            found.setdefault(row >> FILE_BITS, []).append(row)
    except sqlite3.OperationalError as error:
        if _is_damaged(error):
            raise
        # time was up, and the search stops at its first session
    finally:
        db.set_progress_handler(None, 0)
    return found


def _rows_of(db: sqlite3.Connection, file: int) -> Iterable[int]:
    query = "SELECT number FROM chunks WHERE number BETWEEN ? AND ? ORDER BY number DESC"
    return (row[0] for row in db.execute(query, _rows(file)))


def _rows(file: int) -> tuple[int, int]:
    """Between which numbers the chunks of a file lie."""
    return file << FILE_BITS, ((file + 1) << FILE_BITS) - 1


def _known(db: sqlite3.Connection, path: Path) -> tuple[int, int, Facts]:
    row = db.execute(f"SELECT number, done, {', '.join(_FACTS)} FROM files WHERE path = ?", (str(path),)).fetchone()
    return (0, 0, Facts()) if row is None else (row[0], row[1], _facts(row[2:]))


def _facts(values: Sequence[Any]) -> Facts:
    named: dict[str, Any] = dict(zip(_FACTS, values, strict=True))
    named.update(unfinished=bool(named["unfinished"]))
    return Facts(**named)


def _drop_texts(db: sqlite3.Connection, number: int) -> None:
    rows = _rows(number)
    for row, body in db.execute("SELECT number, body FROM chunks WHERE number BETWEEN ? AND ?", rows).fetchall():
        db.execute("INSERT INTO words (words, rowid, body) VALUES ('delete', ?, ?)", (row, body))
        db.execute("INSERT INTO pairs (pairs, rowid, body) VALUES ('delete', ?, ?)", (row, pairs(body)))
    db.execute("DELETE FROM chunks WHERE number BETWEEN ? AND ?", rows)


def session_files(root: Path, slug: str | None = None) -> list[tuple[Path, os.stat_result]]:
    """Every session file, or those of one folder, newest first."""
    found: list[tuple[Path, os.stat_result]] = []
    for folder in _folders(root) if slug is None else [str(root / slug)]:
        for entry in _folders(folder):
            path = f"{entry}/session.jsonl"
            with suppress(OSError):
                found.append((Path(path), os.stat(path)))
    return sorted(found, key=lambda item: item[1].st_mtime_ns, reverse=True)


def _folders(folder: str | Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _is_damaged(error: sqlite3.OperationalError) -> bool:
    text = str(error)
    return "malformed" in text or "no such table" in text or "no such column" in text or "vtable" in text


def _patiently(act: Callable[[], object]) -> None:
    """SQLite's own patience does not cover the switch to WAL."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            act()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return


@contextmanager
def _transaction(db: sqlite3.Connection) -> Generator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
