"""Where a command's output goes while it runs: bounded memory, a log on disk, and the screen at a readable pace."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from reactagent_tui.core.tools.output_text import OutputDecoder, TerminalReducer, looks_binary, strip_sgr
from reactagent_tui.core.tools.truncate import MAX_BYTES, MAX_LINES, cut_line, cut_to_bytes, truncate

log = logging.getLogger(__name__)

HEAD_KEPT = 24_000
"""Characters kept in memory from the start, and as many from the end at least."""
TAIL_KEPT = 40_000
LOG_LIMIT = 200_000_000
"""Characters of one log on disk."""
BLOCK_CHARS = 64_000
"""Characters of the block that the screen opens."""

_SAMPLE = 8192
_LIVE_SECONDS = 0.05
_LIVE_CHARS = 12_000
"""At most this much per emission: an endless writer must not drown the screen."""
_PARTIAL_SECONDS = 0.25
_ROOM_FOR_NOTICE = 240


class CommandOutput:
    """Takes the bytes of one command. Give `live` text to the screen; ask for `model_text` and `shown` at the end."""

    def __init__(self, log_dir: Path, call_id: str, live: LiveOutput | None, encoding: str = "utf-8") -> None:
        self.log_path = _new_path(log_dir, call_id)
        self.total_bytes = 0
        """As the command wrote them."""
        self._live = live
        self._decoder = OutputDecoder(encoding)
        self._reducer = TerminalReducer()
        self._sample = bytearray()
        self._binary = False
        self._head: list[str] = []
        self._head_size = 0
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._styled_size = 0
        self._size = 0
        """Characters of reduced text without colours."""
        self._lines = 0
        self._open_line = False
        self._logs = False
        self._log: TextIO | None = None
        self._log_size = 0

    def feed(self, data: bytes) -> None:
        """More output."""
        self.total_bytes += len(data)
        if len(self._sample) < _SAMPLE:
            self._sample += data[: _SAMPLE - len(self._sample)]
            self._binary = looks_binary(bytes(self._sample))
        elif self._binary:
            return
        text = self._reducer.feed(self._decoder.feed(data))
        self._keep(text)
        if self._live is not None and not self._binary:
            self._live.add(text, self._reducer.peek)

    def finish(self) -> None:
        """No more output: what was held back comes out, the log is complete."""
        text = self._reducer.feed(self._decoder.feed(b"", final=True)) + self._reducer.finish()
        self._keep(text)
        if self._live is not None:
            if not self._binary:
                self._live.add(text, self._reducer.peek)
            self._live.close()
        self.close_log()

    def close_log(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    def go_on_as_job(self) -> None:
        """The result is given, the output goes on: nothing to the screen any more, everything to the log."""
        text = self._reducer.feed(self._decoder.feed(b"")) + self._reducer.finish()
        self._keep(text)
        if self._live is not None:
            if not self._binary:
                self._live.add(text, self._reducer.peek)
            self._live.close()
            self._live = None
        if not self._logs and not self._binary:
            self._logs = True
            self._write_log(strip_sgr("".join((*self._head, *self._tail))))

    def log_end(self) -> int:
        """Bytes in the log, all of them readable by now."""
        try:
            if self._log is not None:
                self._log.flush()
            return self.log_path.stat().st_size
        except OSError:
            return 0

    @property
    def log_is_full(self) -> bool:
        """The log takes no more: it reached its limit, or the disk did."""
        return self._log_size >= LOG_LIMIT

    def newest(self, characters: int) -> str:
        """The last of the output, colours kept, with the line that is not finished yet."""
        if self._binary:
            return self._binary_note()
        pieces = [self._reducer.peek()]
        missing = characters - len(pieces[0])
        for piece in (*reversed(self._tail), *reversed(self._head)):
            if missing <= 0:
                break
            pieces.append(piece)
            missing -= len(piece)
        return "".join(reversed(pieces))[-characters:]

    @property
    def unfinished(self) -> str:
        """The line that has no end yet."""
        return "" if self._binary else self._reducer.peek()

    @property
    def lines(self) -> int:
        return self._lines + self._open_line

    @property
    def is_empty(self) -> bool:
        return self.total_bytes == 0

    @property
    def is_binary(self) -> bool:
        return self._binary

    def all_in_memory(self) -> bool:
        """Nothing between head and tail was let go."""
        return self._head_size + self._tail_size >= self._styled_size

    def shown(self) -> str:
        """What the screen shows when the row is opened: colours kept."""
        if self._binary:
            return self._binary_note()
        head, tail = "".join(self._head), "".join(self._tail)
        if self.all_in_memory():
            text = head + tail
            if len(text) <= BLOCK_CHARS:
                return text
            return f"{text[:HEAD_KEPT]}\x1b[0m\n⋯\n{text[HEAD_KEPT - BLOCK_CHARS :]}"
        return f"{head}\x1b[0m\n⋯\n{tail}"

    def model_text(self, max_bytes: int = MAX_BYTES) -> str:
        """What the model reads: at most `max_bytes`, head and tail, with the path of the log when anything is cut."""
        if self._binary:
            return self._binary_note()
        head, tail = strip_sgr("".join(self._head)), strip_sgr("".join(self._tail))
        if not self.all_in_memory():
            return self._cut_between(head, tail, max_bytes)
        cut = truncate(head + tail, max_bytes=max_bytes, full_path=str(self.log_path))
        if cut.was_cut and not self._logs:
            self._logs = True
            self._write_log(head + tail)
            self.close_log()
        return cut.text

    def _binary_note(self) -> str:
        return f"[binary output, {self.total_bytes:,} bytes; redirect it to a file to keep it]"

    def _keep(self, text: str) -> None:
        if not text or self._binary:
            return
        self._styled_size += len(text)
        newlines = text.count("\n")
        self._lines += newlines
        self._open_line = not text.endswith("\n")
        plain = strip_sgr(text)
        self._size += len(plain)
        if self._logs:
            self._write_log(plain)
        elif self._size > MAX_BYTES:
            self._logs = True
            self._write_log(strip_sgr("".join((*self._head, *self._tail))) + plain)
        room = HEAD_KEPT - self._head_size
        if room > 0:
            self._head.append(text[:room])
            self._head_size += min(room, len(text))
            text = text[room:]
        if text:
            self._keep_tail(text[-TAIL_KEPT:])

    def _keep_tail(self, text: str) -> None:
        self._tail.append(text)
        self._tail_size += len(text)
        while self._tail_size - len(self._tail[0]) >= TAIL_KEPT:
            self._tail_size -= len(self._tail.popleft())

    def _write_log(self, plain: str) -> None:
        if self._log_size >= LOG_LIMIT:
            return
        try:
            if self._log is None:
                self.log_path.parent.mkdir(parents=True, exist_ok=True)
                self._log = self.log_path.open("a", encoding="utf-8", errors="replace", newline="\n")
            self._log.write(plain[: LOG_LIMIT - self._log_size])
            self._log_size += len(plain)
            if self._log_size >= LOG_LIMIT:
                self._log.write("\n[the log ends here: it reached its size limit]\n")
                self.close_log()
        except OSError as error:  # a full disk must not stop the command or lose its result
            log.warning("cannot write %s: %s", self.log_path, error)
            self._log, self._log_size = None, LOG_LIMIT

    def _cut_between(self, head: str, tail: str, max_bytes: int) -> str:
        room = max(0, max_bytes - _ROOM_FOR_NOTICE - len(str(self.log_path).encode()))
        first = whole_lines(head, room * 3 // 5)
        last = whole_lines(tail, room * 2 // 5, from_end=True)
        left_out = max(0, self.lines - first.count("\n") - last.count("\n"))
        notice = (
            f"[… {left_out:,} lines left out here; {self.lines:,} lines, {self.total_bytes:,} bytes in all;"
            f" all of it is in {self.log_path} …]"
        )
        return f"{first}{'' if first.endswith(chr(10)) else chr(10)}{notice}\n{last}"


def _new_path(log_dir: Path, call_id: str) -> Path:
    """A log file of this call's own: models repeat call ids."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[:80] or "call"
    path = log_dir / f"{name}.log"
    number = 2
    while path.exists():
        path = log_dir / f"{name}-{number}.log"
        number += 1
    return path


def whole_lines(text: str, room: int, *, from_end: bool = False) -> str:
    """Lines from the start (or end) of `text` that fit into `room` bytes, long ones shortened."""
    lines = text.split("\n")
    if from_end:
        lines = lines[::-1]
    taken: list[str] = []
    for line in lines[: MAX_LINES // 2]:
        shown = cut_line(line, max(16, min(2000, room // 2)))
        size = len(shown.encode("utf-8", "surrogatepass")) + 1
        if size > room:
            break
        taken.append(shown)
        room -= size
    if not taken:
        return cut_to_bytes(text, room, keep_end=from_end)
    return "\n".join(taken[::-1] if from_end else taken)


class LiveOutput:
    """Passes text to the screen at most twenty times a second, and an unfinished line when it stands still.

    A line that was shown unfinished and changed is sent again after a carriage return, as a terminal would see it.
    """

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._loop = asyncio.get_running_loop()
        self._waiting: list[str] = []
        self._size = 0
        self._partial = ""
        """The unfinished line as the screen has it."""
        self._peek: Callable[[], str] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._partial_timer: asyncio.TimerHandle | None = None
        self._quiet_until = 0.0

    def add(self, text: str, peek: Callable[[], str]) -> None:
        """Finished text, and how to see the line after it."""
        self._peek = peek
        if text:
            self._waiting.append(text)
            self._size += len(text)
            if self._size > 4 * _LIVE_CHARS:
                self._waiting = [self._newest()]
                self._size = len(self._waiting[0])
        if text and self._timer is None:
            self._timer = self._loop.call_at(max(self._quiet_until, self._loop.time()), self._send)
        if self._partial_timer is None:
            self._partial_timer = self._loop.call_later(_PARTIAL_SECONDS, self._send_partial)

    def close(self) -> None:
        """Send what waits; nothing comes later."""
        for timer in (self._timer, self._partial_timer):
            if timer is not None:
                timer.cancel()
        if self._waiting:
            self._send()
        self._timer = self._partial_timer = None

    def _newest(self) -> str:
        text = "".join(self._waiting)
        if len(text) <= _LIVE_CHARS:
            return text
        cut = text[-_LIVE_CHARS:]
        return "⋯\n" + cut[cut.find("\n") + 1 :]

    def _send(self) -> None:
        self._timer = None
        self._quiet_until = self._loop.time() + _LIVE_SECONDS
        text = self._newest()
        self._waiting, self._size = [], 0
        if self._partial:
            same = text.startswith(self._partial)
            text = text[len(self._partial) :] if same else "\r" + text
            self._partial = ""
        self._emit(text)

    def _send_partial(self) -> None:
        self._partial_timer = None
        if self._waiting or self._peek is None:
            return
        line = self._peek()[:_LIVE_CHARS]
        if not line or line == self._partial:
            return
        grew = line.startswith(self._partial)
        self._emit(line[len(self._partial) :] if grew else "\r" + line)
        self._partial = line
