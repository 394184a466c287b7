"""The real program in a pseudo-terminal: it answers what a terminal answers, shows the screen, waits on conditions.

Nothing here waits for time to pass: every wait ends with the next output of the program that makes its condition true.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyte

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
"""Seconds until a test gives up: much more than a busy machine needs."""
KEPT = ("PATH", "HOME", "VIRTUAL_ENV", "PYTHONPATH")

_QUERIES: Sequence[tuple[re.Pattern[bytes], bytes]] = (
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[>0?c"), b"\x1b[>1;10;0c"),
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[5n"), b"\x1b[0n"),
    (re.compile(rb"\x1b\[\?u"), b"\x1b[?0u"),
    (re.compile(rb"\x1b\[\?2026\$p"), b"\x1b[?2026;2$y"),
    (re.compile(rb"\x1b\[\?((?!2026)\d+)\$p"), b"\x1b[?%s;0$y"),
    (re.compile(rb"\x1b\]10;\?(?:\x07|\x1b\\)"), b"\x1b]10;rgb:dddd/dddd/dddd\x1b\\"),
    (re.compile(rb"\x1b\]11;\?(?:\x07|\x1b\\)"), b"\x1b]11;rgb:1111/1111/1111\x1b\\"),
    (re.compile(rb"\x1b\[>0?q"), b"\x1bP>|xterm(390)\x1b\\"),
)
_UNKNOWN_TO_PYTE = re.compile(
    rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$[a-z]|\x1b\[[0-9;]*\$[a-z]|\x1bP.*?\x1b\\"
    rb"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;:]*:[0-9;:]*m|\x1b\[[0-9;]*[ ][a-zA-Z]|\x1b_.*?\x1b\\",
    re.S,
)
_UNFINISHED = re.compile(rb"\x1b(?:[\]P_][^\x07\x1b]*\x1b?|\[?[0-9;:?<>=$ ]*)\Z")


class _Screen(pyte.Screen):
    """pyte's screen, deaf to private modes and queries."""

    def select_graphic_rendition(self, *attrs: int, private: bool = False, **_: Any) -> None:
        if not private:
            super().select_graphic_rendition(*attrs)

    def report_device_status(self, *_: Any, **__: Any) -> None:
        pass

    def report_device_attributes(self, *_: Any, **__: Any) -> None:
        pass


class Terminal:
    """Context manager: a program with all its descriptors on a pseudo-terminal."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        columns: int = 120,
        rows: int = 40,
    ) -> None:
        self.argv, self.cwd, self.columns, self.rows = list(argv), cwd, columns, rows
        self.env = {key: value for key, value in os.environ.items() if key in KEPT}
        self.env |= {
            "REACTAGENT_DISCOVERY": "off",
            "REACTAGENT_DATE_AND_GIT": "off",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
        } | dict(env or {})
        self.output = b""
        self._fed = 0
        self._answered = 0
        self._screen = _Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._changed = threading.Condition()
        self._ended = False
        self._gone = threading.Event()
        self._gone_at = 0.0

    def __enter__(self) -> Terminal:
        self.master, self.slave = pty.openpty()
        self._set_size()
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            self.argv,
            cwd=self.cwd,
            env=self.env,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        threading.Thread(target=self._wait_for_end, daemon=True).start()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)
        os.close(self.slave)
        os.close(self.master)

    # -- what the program shows -------------------------------------------------------------

    def text(self) -> str:
        """The screen as lines, without blanks at their ends."""
        with self._changed:
            return self._text()

    def wait(self, *wanted: str, gone: str = "") -> str:
        """Until the screen shows every text of `wanted`, and `gone` no longer; returns the screen."""

        def shown() -> bool:
            text = self._text()
            return all(part in text for part in wanted) and not (gone and gone in text)

        return self.wait_until(shown, f"{wanted!r}" + (f" without {gone!r}" if gone else ""))

    def wait_until(self, true: Callable[[], bool], what: str) -> str:
        """Until `true()`, looked at after each output and at the program's end."""
        with self._changed:
            found = self._changed.wait_for(lambda: true() or self._ended, PATIENCE) and true()
            text = self._text()
        assert found, f"waited for {what}; the {'last ' if self._ended else ''}screen:\n{text}"
        return text

    def wait_output(self, data: bytes, start: int = 0) -> None:
        """Until the program wrote these bytes after position `start`."""
        with self._changed:
            found = self._changed.wait_for(lambda: data in self.output[start:], PATIENCE)
        assert found, f"{data!r} not in {self.output[start:][-2000:]!r}"

    def wait_found(self, pattern: str, count: int = 1) -> list[str]:
        """Until the screen shows `count` matches of a pattern (`^` and `$` are line ends); returns its groups."""
        found: list[str] = []

        def shown() -> bool:
            found[:] = re.findall(pattern, self._text(), re.M)
            return len(found) >= count

        self.wait_until(shown, f"{count} of {pattern!r}")
        return found

    def wait_bold(self, text: str) -> str:
        """Until the screen shows `text` with its first character bold: how the program marks a key that counts now."""
        return self.wait_until(lambda: self._is_bold(text), f"bold {text!r}")

    def wait_gone(self) -> float:
        """Until the process has ended; when that was (monotonic). `Popen.wait` with a limit looks every 50 ms only."""
        assert self._gone.wait(PATIENCE), "the program still runs"
        return self._gone_at

    def wait_exit(self) -> int:
        """Exit code; negative for a signal. All output has been read."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    @property
    def attributes(self) -> list[Any]:
        """What `stty` would tell."""
        return termios.tcgetattr(self.slave)

    # -- what the user does -----------------------------------------------------------------

    def send(self, keys: str | bytes) -> None:
        """Write keys as they are."""
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def press_until_gone(self, key: str, shown: str) -> None:
        """Press a key that the program ignores for a moment (a guard against haste) until `shown` has left."""
        for _ in range(int(PATIENCE / 0.2)):
            self.send(key)
            with self._changed:
                if self._changed.wait_for(lambda: shown not in self._text(), 0.2):
                    return
        raise AssertionError(f"{shown!r} stays:\n{self.text()}")

    def press_until_exit(self, key: str) -> None:
        """Press ctrl+c until the program has ended: Python loses one that comes just before it waits for a line."""
        for _ in range(int(PATIENCE)):
            self.send(key)
            if self._gone.wait(1.0):
                return
        raise AssertionError(f"{key!r} does not end it:\n{self.text()}")

    def paste(self, text: str) -> None:
        """A bracketed paste."""
        self.send(f"\x1b[200~{text}\x1b[201~")

    def resize(self, columns: int, rows: int) -> None:
        """Another window size; the kernel tells the program."""
        with self._changed:
            self._feed()
            self.columns, self.rows = columns, rows
            self._screen.resize(rows, columns)
            self._set_size()

    # -- inside -----------------------------------------------------------------------------

    def _set_size(self) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))

    def _wait_for_end(self) -> None:
        self.process.wait()
        self._gone_at = time.monotonic()
        self._gone.set()
        self._reader.join(PATIENCE)
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _read(self) -> None:
        while True:
            try:
                ready = select.select([self.master], [], [], 0.1)[0]
                if not ready:
                    if self.process.poll() is not None:
                        return
                    continue
                data = os.read(self.master, 1 << 16)
            except OSError:
                return
            with self._changed:
                self.output += data
                self._answer_queries()
                self._changed.notify_all()

    def _answer_queries(self) -> None:
        """Like a terminal: every query once, also one that arrived in two parts."""
        new = self.output[self._answered :]
        held = _UNFINISHED.search(new)
        new = new[: held.start()] if held else new
        self._answered += len(new)
        found: list[tuple[int, bytes]] = []
        for query, answer in _QUERIES:
            for match in query.finditer(new):
                found.append((match.start(), answer % match.group(1) if b"%s" in answer else answer))
        for _, answer in sorted(found):
            os.write(self.master, answer)

    def _is_bold(self, text: str) -> bool:
        for row, line in enumerate(self._text().split("\n")):
            column = line.find(text)
            if column >= 0 and self._screen.buffer[row][column].bold:
                return True
        return False

    def _feed(self) -> None:
        new = self.output[self._fed :]
        held = _UNFINISHED.search(new)
        new = new[: held.start()] if held else new
        self._fed += len(new)
        if new:
            self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", new))

    def _text(self) -> str:
        self._feed()
        return "\n".join(line.rstrip() for line in self._screen.display)


def reactagent(*args: str) -> list[str]:
    """The command line of this checkout's program."""
    return [sys.executable, "-m", "reactagent_tui", *args]
