"""Server-sent events: bytes in, events out, in whatever pieces the network delivers them.

Own framing instead of httpx-sse: that one works on decoded text line by line (about three times the cost per
event), drops an event that the server did not end with a blank line, waits with a line that ends in CR until the
next read, and knows neither a byte order mark nor llama.cpp's bare `error:` line.
"""

from __future__ import annotations

from typing import NamedTuple

from reactagent_tui.core.errors import StreamCutError

MAX_LINE = 64 * 1024 * 1024
"""Bytes; a longer line is not a reply of a model."""
JSON_EVENT = "json"
"""Name of the one event of an answer that is a JSON document instead of a stream."""

_BOM = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """One event. A tuple, not a dataclass: ten thousand are made a second."""

    name: str
    """`event:` field, "" when absent; "error" for a bare `error: {…}` line."""
    data: str


class SseParser:
    """Incremental parser. Lines end at LF, CRLF or CR, in bytes: no other character splits one."""

    __slots__ = ("_after_cr", "_at_start", "_data", "_name", "_tail", "_tail_size", "comments")

    def __init__(self) -> None:
        self.comments = 0
        """Comment lines so far: signs of life without content."""
        self._tail: list[bytes] = []
        self._tail_size = 0
        self._after_cr = False
        self._at_start = True
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that are complete now. Raises StreamCutError for a line beyond MAX_LINE."""
        if self._after_cr or b"\r" in chunk:
            chunk = self._unify_line_ends(chunk)
        if b"\n" not in chunk:
            if chunk:
                self._keep(chunk)
            return []
        if self._tail:
            self._tail.append(chunk)
            chunk = b"".join(self._tail)
            self._tail.clear()
            self._tail_size = 0
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if rest:
            self._keep(rest)
        if self._at_start:
            self._at_start = False
            if lines[0].startswith(_BOM):
                lines[0] = lines[0][3:]
        return self._events(lines)

    def close(self) -> list[SseEvent]:
        """What the last read left behind: a server may end without a blank line, or without a line end."""
        if self._tail:
            return self.feed(b"\n\n")
        return self._events([b""])

    def _keep(self, rest: bytes) -> None:
        self._tail.append(rest)
        self._tail_size += len(rest)
        if self._tail_size > MAX_LINE:
            raise StreamCutError(f"the server sent a line of more than {MAX_LINE // 2**20} MB", retryable=False)

    def _unify_line_ends(self, chunk: bytes) -> bytes:
        """CRLF and CR become LF. A CR ends its line at once; an LF that follows in the next read is swallowed."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _events(self, lines: list[bytes]) -> list[SseEvent]:
        events: list[SseEvent] = []
        data = self._data
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[6:] if line.startswith(b" ", 5) else line[5:])
            elif not line:
                if data:
                    text = (data[0] if len(data) == 1 else b"\n".join(data)).decode("utf-8", "replace")
                    data.clear()
                    if text and not text.isspace():
                        events.append(SseEvent(self._name, text))
                self._name = ""
            else:
                self._other_line(line, events)
        return events

    def _other_line(self, line: bytes, events: list[SseEvent]) -> None:
        field, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        match field:
            case b"":
                self.comments += 1
            case b"event":
                self._name = text
            case b"error":
                events.append(SseEvent("error", text))
            case _:  # `id`, `retry`, `data` without a colon, and whatever else: no use for a model's reply
                pass
