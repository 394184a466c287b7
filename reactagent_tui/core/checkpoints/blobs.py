"""File contents by their hash: compressed, written once, never changed. Blocking; safe for several processes.

Layout: `<root>/blobs/<2 hex>/<38 hex>`, files 0600, folders 0700. A name is only given to a whole blob, and what
is read is checked against its name: damage is noticed, never restored.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from reactagent_tui.core.checkpoints.entries import Entry, has_real_parent, special, unstored
from reactagent_tui.core.errors import StorageError

CHUNK = 1 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_CAREFUL = _FLAGS | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Stopped(Exception):
    """Nobody waits for this work any more."""


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class BlobStore:
    """The contents kept for one workspace."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "blobs"

    def place(self, digest: str) -> Path:
        """Where a blob lies."""
        return self.folder / digest[:2] / digest[2:]

    def has(self, digest: str) -> bool:
        return self.place(digest).is_file()

    def put(self, data: bytes) -> str:
        """Keep bytes; returns their digest. Raises OSError."""
        digest = digest_of(data)
        if not self.has(digest):
            with self._new(digest) as file:
                file.write(zlib.compress(data, 1))
        return digest

    def put_file(self, fd: int, stopped: Callable[[], bool] = _never) -> str | None:
        """Keep the content of an open file; None when it changed while it was read. Raises OSError, Stopped."""
        before = os.fstat(fd)
        if before.st_size < CHUNK:
            data = _read_all(fd)
            return self.put(data) if _same(before, os.fstat(fd), len(data)) else None
        digest, size = _hashed(fd, stopped)
        if not _same(before, os.fstat(fd), size):
            return None
        if not self.has(digest):
            os.lseek(fd, 0, os.SEEK_SET)
            again = hashlib.blake2b(digest_size=20)
            with self._new(digest) as file:
                packer = zlib.compressobj(1)
                for chunk in _chunks(fd, stopped):
                    again.update(chunk)
                    file.write(packer.compress(chunk))
                file.write(packer.flush())
                if again.hexdigest() != digest:
                    raise _ChangedMeanwhileError
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes of a blob. Raises StorageError when they are gone or damaged."""
        try:
            data = zlib.decompress(self.place(digest).read_bytes())
        except (OSError, zlib.error) as error:
            raise StorageError(f"the kept content {digest[:12]} cannot be read: {error}") from error
        if digest_of(data) != digest:
            raise StorageError(f"the kept content {digest[:12]} is damaged")
        return data

    def all(self) -> Iterator[tuple[str, os.stat_result]]:
        """Every blob with its status."""
        for folder in _listed(self.folder):
            if len(folder.name) == 2:
                for entry in _listed(Path(folder.path)):
                    with contextlib.suppress(OSError):
                        yield folder.name + entry.name, entry.stat(follow_symlinks=False)

    def size(self) -> int:
        """Bytes on disk."""
        return sum(status.st_size for _, status in self.all())

    @contextlib.contextmanager
    def _new(self, digest: str) -> Generator[BinaryIO]:
        place = self.place(digest)
        for folder in (self.root, self.folder, place.parent):
            folder.mkdir(parents=folder == self.root, exist_ok=True, mode=0o700)
        temp = place.parent / f".{secrets.token_hex(6)}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        try:
            with os.fdopen(os.open(temp, flags, 0o600), "wb") as file:
                yield file
            os.replace(temp, place)
        finally:
            with contextlib.suppress(OSError):
                temp.unlink()


class _ChangedMeanwhileError(OSError):
    """The file was written between two readings."""


def look(path: str, store: BlobStore | None = None, stopped: Callable[[], bool] = _never) -> Entry | None:
    """What stands at a path now; with a store its content is kept there. Never follows a link. Raises Stopped.

    None also when a link lies on the way: then nothing stands at this path.
    """
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    if not has_real_parent(path):
        return None
    return entry_at(path, status, store, stopped)


def entry_at(
    path: str, status: os.stat_result, store: BlobStore | None, stopped: Callable[[], bool] = _never
) -> Entry | None:
    """`look` for a path whose status is known."""
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        return Entry("dir", stat.S_IMODE(mode))
    try:
        if stat.S_ISLNK(mode):
            target = os.fsencode(os.readlink(path))
            digest = digest_of(target) if store is None else store.put(target)
            return Entry("link", 0, digest, len(target))
        if stat.S_ISREG(mode):
            return _file_entry(path, store, stopped)
    except FileNotFoundError:
        return None
    except OSError:
        return unstored(status) if stat.S_ISREG(mode) else special(status)
    return special(status)


def _file_entry(path: str, store: BlobStore | None, stopped: Callable[[], bool]) -> Entry:
    fd = os.open(path, _CAREFUL)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return special(status)
        if store is None:
            digest, _ = _hashed(fd, stopped)
        else:
            found = store.put_file(fd, stopped)
            if found is None:
                os.lseek(fd, 0, os.SEEK_SET)
                found = store.put_file(fd, stopped)
            if found is None:
                return unstored(os.fstat(fd))
            digest = found
        return Entry("file", stat.S_IMODE(status.st_mode), digest, os.fstat(fd).st_size)
    finally:
        os.close(fd)


def digest_of(data: bytes) -> str:
    """The name of these bytes."""
    return hashlib.blake2b(data, digest_size=20).hexdigest()


def _hashed(fd: int, stopped: Callable[[], bool]) -> tuple[str, int]:
    hasher, size = hashlib.blake2b(digest_size=20), 0
    for chunk in _chunks(fd, stopped):
        hasher.update(chunk)
        size += len(chunk)
    return hasher.hexdigest(), size


def _chunks(fd: int, stopped: Callable[[], bool]) -> Iterator[bytes]:
    while chunk := os.read(fd, CHUNK):
        if stopped():
            raise Stopped
        yield chunk


def _read_all(fd: int) -> bytes:
    return b"".join(_chunks(fd, _never))


def _same(before: os.stat_result, after: os.stat_result, size: int) -> bool:
    return (before.st_size, before.st_mtime_ns) == (size, after.st_mtime_ns)


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
