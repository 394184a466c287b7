"""Tokens and registrations on disk: one private file a server, known by its name and address.

A refresh token is often good for one use only. So whoever refreshes holds the file's lock and reads it again first:
another window may have done it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import re
import secrets
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from reactagent_tui.core.errors import StorageError

log = logging.getLogger(__name__)
FOLDER = "mcp-auth"
"""In the state folder."""
_MAX_BYTES = 1_000_000
_MARGIN = 10.0
"""Seconds before its end from which a token counts as expired."""
_LOOK = 0.05
_PATIENCE = 30.0
"""Seconds to wait for another process that refreshes."""


@dataclass(frozen=True, slots=True)
class StoredLogin:
    """What is known of a login; the parts are JSON objects of the protocol."""

    tokens: Mapping[str, Any] | None = None
    expires_at: float | None = None
    """Seconds since the epoch; None: the server did not say."""
    client: Mapping[str, Any] | None = None
    """What we are registered as."""
    issuer: Mapping[str, Any] | None = None
    """The authorisation server's description of itself."""
    resource: Mapping[str, Any] | None = None
    """The server's description of what its tokens are for."""

    @property
    def access_token(self) -> str:
        return self._token("access_token")

    @property
    def refresh_token(self) -> str:
        return self._token("refresh_token")

    def is_good(self, rejected: str | None = None) -> bool:
        """Is there a token that has not run out and is not the one that was rejected?"""
        return self.access_token not in ("", rejected) and (
            self.expires_at is None or time.time() < self.expires_at - _MARGIN
        )

    def _token(self, name: str) -> str:
        found = (self.tokens or {}).get(name)
        return found if isinstance(found, str) else ""


class LoginFile:
    """The file of one server."""

    def __init__(self, folder: Path, server: str, url: str) -> None:
        digest = hashlib.sha256(f"{server}\0{url}".encode()).hexdigest()[:16]
        slug = re.sub(r"[^A-Za-z0-9]+", "-", server).strip("-").lower()[:40] or "server"
        self.path = folder / f"{slug}-{digest}.json"
        self._of = {"server": server, "url": url}

    def read(self) -> StoredLogin:
        """What is kept; nothing when there is no file or it cannot be read."""
        try:
            with self.path.open("rb") as file:
                raw = file.read(_MAX_BYTES + 1)
            data: object = json.loads(raw) if len(raw) <= _MAX_BYTES else None
        except FileNotFoundError:
            return StoredLogin()
        except (OSError, ValueError, RecursionError) as error:
            log.warning("%s cannot be read: %s", self.path.name, type(error).__name__)
            return StoredLogin()
        fields = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        if any(fields.get(name) != value for name, value in self._of.items()):
            return StoredLogin()
        expires = fields.get("expires_at")

        def part(name: str) -> Mapping[str, Any] | None:
            found = fields.get(name)
            return cast("Mapping[str, Any]", found) if isinstance(found, dict) else None

        return StoredLogin(
            tokens=part("tokens"),
            expires_at=float(expires) if isinstance(expires, (int, float)) else None,
            client=part("client"),
            issuer=part("issuer"),
            resource=part("resource"),
        )

    def write(self, login: StoredLogin) -> None:
        """Keep it. Raises StorageError."""
        data = self._of | {name: getattr(login, name) for name in login.__dataclass_fields__}
        temp = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.tmp")
        try:
            self._make_folder()
            fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                json.dump(data, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temp, self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temp.unlink()
            raise StorageError(f"{self.path} cannot be written: {error.strerror or error}") from error

    def remove(self) -> bool:
        """Forget tokens and registration. False: there were none. Raises StorageError."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StorageError(f"{self.path} cannot be removed: {error.strerror or error}") from error
        return True

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        """Hold the file against other processes. Where no lock can be had in time, nobody is kept out."""
        try:
            self._make_folder()
            fd = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            log.warning("no lock for %s: %s", self.path.name, error.strerror or error)
            yield
            return
        try:
            until = time.monotonic() + _PATIENCE
            while not _locked(fd) and time.monotonic() < until:  # noqa: ASYNC110 - another process holds it
                await asyncio.sleep(_LOOK)
            yield
        finally:
            os.close(fd)  # the lock goes with it

    def _make_folder(self) -> None:
        folder = self.path.parent
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)


def _locked(fd: int) -> bool:
    """False: another one holds it."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - other platform: the file itself is replaced as a whole
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True
