"""Lines of a session file: encoding and tolerant decoding. Pure.

One JSON object a line, `{"v":1,"seq":n,"ts":"…Z","type":…}` plus the type's own keys. Lines end at b"\\n" only:
`str.splitlines` would cut at U+2028 inside a message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

RecordType = Literal["header", "message", "partial", "usage", "event", "compaction", "fork", "title", "rewind"]
RECORD_TYPES = frozenset({"header", "message", "partial", "usage", "event", "compaction", "fork", "title", "rewind"})
VERSION = 1
_HEAD = ("v", "seq", "ts", "type")


@dataclass(frozen=True, slots=True)
class Record:
    """One line."""

    type: RecordType
    seq: int
    ts: str
    """UTC, ISO 8601 with milliseconds."""
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that was skipped: torn by a crash, or not ours."""

    number: int
    reason: str


def encode(record: Record) -> bytes:
    """The line with its newline. Lone surrogates survive as JSON escapes."""
    head = {"v": VERSION, "seq": record.seq, "ts": record.ts, "type": record.type}
    text = json.dumps(head | dict(record.data), ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(head | dict(record.data), separators=(",", ":")).encode() + b"\n"


def decode(data: bytes) -> Iterator[Record | BadLine]:
    """Every line of a file, good or bad; never raises."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        yield _decode_line(number, line)


def _decode_line(number: int, line: bytes) -> Record | BadLine:
    try:
        value: Any = json.loads(line.decode("utf-8", "surrogatepass"))  # from bytes it guesses the encoding, slowly
    except (ValueError, RecursionError):
        return BadLine(number, "not JSON (torn by a crash?)")
    if not isinstance(value, dict):
        return BadLine(number, "not a session record")
    record = cast("dict[str, Any]", value)
    kind, version, seq = record.get("type"), record.get("v", VERSION), record.get("seq", 0)
    if not (isinstance(kind, str) and kind in RECORD_TYPES and isinstance(version, int) and isinstance(seq, int)):
        return BadLine(number, "not a session record")
    if version > VERSION:
        return BadLine(number, f"written by a newer version (v{version})")
    ts = str(record.get("ts") or "")
    for key in _HEAD:
        record.pop(key, None)
    return Record(cast("RecordType", kind), seq, ts, record)
