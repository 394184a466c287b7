"""Restores the terminal when this process dies without a chance to: SIGKILL, segmentation fault, out of memory.

A tiny `sh` blocks on a pipe whose other end only this process holds. End of file without the word "ok" means the
process is gone: the shell switches off what the screen had switched on and puts back the line settings saved at the
start. Costs one process start (about 2 ms) and nothing while it waits.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from types import TracebackType

RESET_SEQUENCES = (
    "[?2026l"  # synchronised output
    "[?2004l"  # bracketed paste
    "[?1000l[?1002l[?1003l[?1006l[?1015l[?1016l"  # mouse
    "[?2048l[?1004l"  # in-band resize, focus reports
    "[<u"  # kitty keyboard
    "[?1049l[?25h[?7h[0m"  # alternate screen, cursor, line wrap, colours
)

_SCRIPT = """
trap '' HUP INT TERM QUIT TTOU TTIN TSTP
read -r word
[ "$word" = ok ] && exit 0
printf "$1"
[ -n "$2" ] && stty "$2" <&1 2>/dev/null
[ -n "$3" ] && printf '%s\\r\\n' "$3"
"""


def saved_line_settings(fd: int) -> str:
    """The terminal's line settings in the form `stty` reads back; "" if they cannot be read."""
    if sys.platform == "linux":
        import termios

        try:
            iflag, oflag, cflag, lflag, _, _, characters = termios.tcgetattr(fd)
        except termios.error:
            return ""
        codes = [code[0] if isinstance(code, bytes) else code for code in characters]
        return ":".join(f"{value:x}" for value in (iflag, oflag, cflag, lflag, *codes))
    try:
        done = subprocess.run(["stty", "-g"], stdin=fd, capture_output=True, text=True, check=False, timeout=2)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


class TtyGuard:
    """Context manager around the screen's life. Does nothing without a terminal on both sides, or without `sh`."""

    def __init__(self, message: str = "", *, input_fd: int = 0, output_fd: int = 2) -> None:
        self._message = message
        self._input_fd = input_fd
        self._output_fd = output_fd
        self._child: subprocess.Popen[bytes] | None = None
        self._pipe = -1

    @property
    def watching(self) -> bool:
        """Whether the shell stands by."""
        return self._child is not None

    def __enter__(self) -> TtyGuard:
        if sys.platform == "win32" or not (os.isatty(self._input_fd) and os.isatty(self._output_fd)):
            return self
        with contextlib.suppress(OSError):
            self._start(saved_line_settings(self._input_fd))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child is None:
            return
        with contextlib.suppress(OSError):
            os.write(self._pipe, b"ok\n")
        os.close(self._pipe)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(1)
        self._child = None

    def _start(self, settings: str) -> None:
        reader, writer = os.pipe()
        reset = RESET_SEQUENCES.replace("[", "\\033[")
        try:
            self._child = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, "reactagent-tty-guard", reset, settings, self._message],
                stdin=reader,
                stdout=self._output_fd,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        except OSError:
            os.close(writer)
            raise
        finally:
            os.close(reader)
        self._pipe = writer
