"""A program in a real pseudo-terminal: write bytes, wait for its trace or its output, look at the terminal's state."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0


class PtySession:
    """Context manager: `python script` with all three descriptors on a pseudo-terminal and a trace file."""

    def __init__(self, script: Path, folder: Path, env: dict[str, str] | None = None) -> None:
        self.trace_file = folder / "trace.jsonl"
        self._script = script
        self._env = env or {}
        self.output = b""
        self._closing = False
        self._lock = threading.Condition()

    def __enter__(self) -> PtySession:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        env = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG")}
        env |= {"TERM": "xterm-256color", "TRACE": str(self.trace_file), "PYTHONPATH": str(ROOT)} | self._env
        self.process = subprocess.Popen(
            [sys.executable, str(self._script)],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=env,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.slave)
        self._reader.join(2)
        os.close(self.master)

    def hang_up(self) -> None:
        """Close the terminal's own side, as a closed window does."""
        self._closing = True
        self._reader.join(2)
        os.close(self.master)
        self.master = os.open(os.devnull, os.O_RDONLY)

    def _read(self) -> None:
        while not self._closing:
            try:
                if not select.select([self.master], [], [], 0.2)[0]:
                    if self.process.poll() is not None:
                        return
                    continue
                data = os.read(self.master, 65536)
            except OSError:
                return
            with self._lock:
                self.output += data
                self._lock.notify_all()

    def write(self, data: bytes) -> float:
        """Write in one go; returns the time."""
        at = time.monotonic()
        os.write(self.master, data)
        return at

    def rows(self) -> list[dict[str, Any]]:
        if not self.trace_file.exists():
            return []
        return [json.loads(line) for line in self.trace_file.read_text().split("\n")[:-1]]  # the last may be half

    def wait(self, event: str, count: int = 1, **fields: Any) -> dict[str, Any]:
        """The `count`-th row of the trace with this event and these fields."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = [row for row in self.rows() if row["event"] == event and fields.items() <= row.items()]
            if len(found) >= count:
                return found[count - 1]
            if self.process.poll() is not None and not found:
                time.sleep(0.05)
            time.sleep(0.003)
        raise AssertionError(f"no {event} {fields}: {self.rows()[-5:]}\n{self.output[-2000:]!r}")

    def wait_output(self, text: bytes, start: int = 0) -> None:
        with self._lock:
            seen = self._lock.wait_for(lambda: text in self.output[start:], PATIENCE)
        assert seen, f"{text!r} not in {self.output[-2000:]!r}"

    def attributes(self) -> list[Any]:
        return termios.tcgetattr(self.slave)

    def wait_restored(self) -> None:
        """Until the line settings are those from before."""
        end = time.monotonic() + PATIENCE
        while self.attributes() != self.before and time.monotonic() < end:
            time.sleep(0.003)
        assert self.attributes() == self.before
