"""Logs without secrets: a redactor, a JSON-lines log file, and the full record of a run for `--debug`.

Loggers are made here and handed to whoever writes; nothing is set up at import and the root logger is left alone.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import urllib.parse
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, cast

HIDDEN = "********"
_SHORTEST = 6
"""Characters; shorter "keys" (local servers take any word) would blot out ordinary text."""

# No pattern starts with a repetition: a log line may hold a megabyte without a single space.
_NAME = (
    r"(?:api[_-]?key|authorization|auth[_-]?token|access[_-]?token|refresh[_-]?token"
    r"|client[_-]?secret|secret[_-]?key|password|passwd|cookie)"
)
_SECRET_NAME = re.compile(rf"{_NAME}$", re.IGNORECASE)
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(bearer|basic)(\s{1,8})[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE | re.ASCII), rf"\1\2{HIDDEN}"),
    (
        re.compile(
            rf"""({_NAME}\\{{0,8}}["']?\s{{0,8}}[:=]\s{{0,8}}\\{{0,8}}["']?)"""
            r"""(?!bearer\s|basic\s|\*{8})[^\s"',;}\]&\\]+""",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"([?&](?:key|token|access_token|api_key|sig|signature)=)[^&\s\"'\\]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(r"(://)[^/@:\s\"'\\]{1,200}:[^/@\s\"'\\]{1,500}@"), rf"\1{HIDDEN}@"),
    (
        re.compile(
            r"\b(?:sk|gsk|xai|pk|rk|tgp|fw|nvapi|r8|csk)[-_][A-Za-z0-9_-]{12,}|\bAIza[A-Za-z0-9_-]{30,}"
            r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bhf_[A-Za-z0-9]{20,}|\bAKIA[A-Z0-9]{16}\b",
            re.ASCII,  # a Chinese letter before a key is no part of its word
        ),
        HIDDEN,
    ),
)
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Redactor:
    """Replaces keys: those it was told, in every spelling, and whatever looks like one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: list[str] = []
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """From now on this value never gets through."""
        secret = secret.strip()
        if len(secret) < _SHORTEST:
            return
        spellings = {secret, urllib.parse.quote(secret, safe=""), json.dumps(secret)[1:-1]}
        spellings |= {json.dumps(secret, ensure_ascii=False)[1:-1]}
        self._known = sorted({*self._known, *spellings}, key=len, reverse=True)

    def text(self, text: str) -> str:
        """The text without keys."""
        for known in self._known:
            text = text.replace(known, HIDDEN)
        for pattern, shown in _PATTERNS:
            text = pattern.sub(shown, text)
        return text

    def data(self, value: object) -> Any:
        """JSON-like data without keys: every string in it, and whatever stands under a key's name."""
        match value:
            case str():
                return self.text(value)
            case Mapping():
                items = cast("Mapping[object, object]", value).items()
                return {self.text(str(name)): self.named(str(name), inner) for name, inner in items}
            case list() | tuple() | set() | frozenset():
                return [self.data(inner) for inner in cast("Iterable[object]", value)]
            case None | bool() | int() | float():
                return value
            case _:
                return self.text(str(value))

    def named(self, name: str, value: object) -> Any:
        """The value that stands under a name, hidden altogether when the name is that of a key."""
        if _SECRET_NAME.search(name) and isinstance(value, str):
            return HIDDEN if value else ""
        return self.data(value)


class RedactingFilter(logging.Filter):
    """Takes keys out of a record before a handler writes it: message, arguments, extra fields, traceback."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        """Cleans the record in place; never drops one."""
        record.msg = self._redactor.text(_message(record))
        record.args = None
        if record.exc_info:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
            record.exc_info = None
        if record.exc_text:
            record.exc_text = self._redactor.text(record.exc_text)
        if record.stack_info:
            record.stack_info = self._redactor.text(record.stack_info)
        for name, value in tuple(record.__dict__.items()):
            if name not in _STANDARD:
                record.__dict__[name] = self._redactor.named(name, value)
        return True


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):  # wrong arguments for the format: the log must not fail because of it
        return f"{record.msg} {record.args}"


class JsonLines(logging.Formatter):
    """One JSON object per record: ts, level, logger, event, and the extra fields (session, turn, step, …)."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line: dict[str, Any] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line |= {name: value for name, value in record.__dict__.items() if name not in _STANDARD and name not in line}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        elif record.exc_text:
            line["error"] = record.exc_text
        return json.dumps(line, ensure_ascii=False, default=str).encode("utf-8", "replace").decode()


class _PrivateFile(RotatingFileHandler):
    """A rotating file that only its owner can read."""

    def _open(self) -> Any:
        return open(self.baseFilename, self.mode, encoding="utf-8", errors="replace", opener=_private)

    def handleError(self, record: logging.LogRecord) -> None:
        """A full disk costs the record; logging's own way is a traceback per record on stderr."""


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def open_log(
    path: Path, redactor: Redactor, *, level: str = "info", max_bytes: int = 5_000_000, backups: int = 3
) -> logging.Logger:
    """A logger of its own that writes JSON lines to `path`. Raises OSError when the folder cannot be made.

    The file opens with the first record. Close it with `close_log`.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
    logger = logging.Logger(f"reactagent.{path.stem}", level.upper())
    handler = _PrivateFile(path, maxBytes=max_bytes, backupCount=backups, delay=True)
    handler.addFilter(RedactingFilter(redactor))
    handler.setFormatter(JsonLines())
    logger.addHandler(handler)
    return logger


def close_log(logger: logging.Logger) -> None:
    """Flush and close what `open_log` opened."""
    for handler in tuple(logger.handlers):
        logger.removeHandler(handler)
        handler.close()


class DebugLog:
    """`--debug`: whole requests and responses, and one line per tool result. Without a logger it does nothing."""

    def __init__(self, logger: logging.Logger | None = None, *, session: str = "") -> None:
        self._logger = logger
        self._session = session

    @property
    def enabled(self) -> bool:
        """Is anybody listening? Spares the caller building a large record."""
        return self._logger is not None

    def request(self, *, turn: int, step: int, model: str, body: Mapping[str, Any], url: str = "") -> None:
        """A model call goes out: `body` with all messages and tools, untruncated."""
        self._write("request", turn, step, {"model": model, "url": url, "body": body})

    def response(self, *, turn: int, step: int, body: object, status: int | None = None, **figures: object) -> None:
        """A model call ended: what came, and figures such as `usage`, `seconds`, `stop_reason`, `error`."""
        self._write("response", turn, step, {"status": status, "body": body, **figures})

    def tool_result(self, *, turn: int, step: int, tool: str, call_id: str, status: str, **figures: object) -> None:
        """A call ended: `seconds`, `size`, a `summary`."""
        self._write("tool_result", turn, step, {"tool": tool, "call_id": call_id, "status": status, **figures})

    def _write(self, event: str, turn: int, step: int, fields: Mapping[str, object]) -> None:
        if self._logger is not None:
            place = {"session": self._session, "turn": turn, "step": step}
            shown = {name: value for name, value in fields.items() if value is not None and value != ""}
            taken = {f"{name}_" if name in _STANDARD else name: value for name, value in shown.items()}
            self._logger.info(event, extra=place | taken)


def open_debug_log(path: Path, redactor: Redactor, *, session: str = "") -> DebugLog:
    """The `--debug` log at `path` (`logs/agent.log` in the state folder unless the user says otherwise)."""
    return DebugLog(open_log(path, redactor, level="debug", max_bytes=50_000_000, backups=2), session=session)
