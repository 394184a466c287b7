"""The terminal: Textual's Unix driver with our parser, ESC at once, a guarded stderr, and signals that clean up.

Input runs in its own thread and sleeps until a byte, a deadline of the parser, or the end wakes it: no idle tick.
Drawing goes to a duplicate of the terminal's file descriptor, so that whatever a library writes to fd 2 lands in a log
instead of on the screen.
"""

from __future__ import annotations

import asyncio
import codecs
import io
import logging
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from reactagent_tui.tui.compat import DriverOptions, run_after_key
from reactagent_tui.tui.esc_gate import can_open
from reactagent_tui.tui.terminal_parser import TerminalParser

if TYPE_CHECKING:
    from textual.app import App

log = logging.getLogger(__name__)

ESCAPE_DELAY = 0.008
"""Seconds a lone ESC waits for the rest of a sequence on a local terminal."""
SSH_ESCAPE_DELAY = 0.025
READ_SIZE = 1 << 16
LATE_INPUT = 0.02
"""Seconds of silence after which no answer of the terminal is on its way any more."""
FLUSH_SIZE = 1 << 16

EXIT_SIGNALS = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGINT")


def default_escape_delay(env: Mapping[str, str]) -> float:
    """Seconds to wait behind a lone ESC: longer under SSH, which may cut a sequence in two."""
    return SSH_ESCAPE_DELAY if env.get("SSH_CONNECTION") or env.get("SSH_TTY") else ESCAPE_DELAY


class WakingEvent(Event):
    """An event that also makes a pipe readable, so that a thread can wait for it and for input at once."""

    def __init__(self) -> None:
        super().__init__()
        self._reader, self._writer = os.pipe()

    def fileno(self) -> int:
        """The readable end."""
        return self._reader

    def set(self) -> None:
        """Set, and wake the waiting thread."""
        if not self.is_set():
            super().set()
            os.write(self._writer, b"x")

    def clear(self) -> None:
        """Unset, and empty the pipe."""
        if self.is_set():
            os.read(self._reader, 16)
        super().clear()

    def __del__(self) -> None:
        os.close(self._reader)
        os.close(self._writer)


class TerminalFile(io.TextIOBase):
    """Text into a terminal's descriptor. A terminal that went away swallows it; one that is full is waited for."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd
        self._chunks: list[str] = []
        self._size = 0

    def fileno(self) -> int:
        """The descriptor drawn to."""
        return self._fd

    def isatty(self) -> bool:
        """Whether the descriptor is a terminal."""
        return os.isatty(self._fd)

    def write(self, text: str, /) -> int:
        """Keep `text` for the next flush."""
        self._chunks.append(text)
        self._size += len(text)
        if self._size > FLUSH_SIZE:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Write all that was kept; characters that UTF-8 cannot carry become `?`."""
        data = memoryview("".join(self._chunks).encode("utf-8", "replace"))
        self._chunks.clear()
        self._size = 0
        while data:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:  # someone set O_NONBLOCK on the shared terminal
                select.select([], [self._fd], [], 1.0)
            except OSError as error:
                log.debug("the terminal takes no output: %s", error)
                return


class TerminalDriver(LinuxDriver):
    """See the module; made by `driver_with`, which binds `options`."""

    options: ClassVar[DriverOptions]

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self.exit_event = WakingEvent()
        self._screen_fd: int | None = None
        self._guarded = False
        self._active = False

    # -- the screen's file and fd 2 -------------------------------------------------------------------------------

    def start_application_mode(self) -> None:
        """Take the terminal: its own file to draw on, fd 2 into the log, raw mode, input thread."""
        if self._screen_fd is None:
            self._screen_fd = _terminal_output()
            if self._screen_fd is not None:
                self._file = TerminalFile(self._screen_fd)
        self._guard_stderr()
        self._active = True
        super().start_application_mode()

    def resume_application_mode(self) -> None:
        """Take the terminal again; after a stop from outside (`kill -STOP`) everything is set anew."""
        if self._active:
            self._must_signal_resume = True
            self.suspend_application_mode()
        super().resume_application_mode()
        self._loop.call_soon_threadsafe(lambda: self._app.refresh(layout=True))  # the alternate screen came back blank

    def stop_application_mode(self) -> None:
        """Give the terminal back."""
        if self._mouse_pixels:
            self.write("\x1b[?1016l")
        super().stop_application_mode()
        self._active = False

    def close(self) -> None:
        """Write what is left, then give fd 2 back."""
        super().close()
        self._release_stderr()

    def _guard_stderr(self) -> None:
        path = self.options.stderr_log
        if self._guarded or path is None or self._screen_fd is None or not os.isatty(2):
            return
        try:
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            log.warning("stderr stays on the screen: %s: %s", path, error)
            return
        _flush_stderr()
        os.dup2(fd, 2)
        os.close(fd)
        self._guarded = True

    def _release_stderr(self) -> None:
        if self._guarded and self._screen_fd is not None:
            _flush_stderr()
            os.dup2(self._screen_fd, 2)
            self._guarded = False

    # -- input ----------------------------------------------------------------------------------------------------

    def run_input_thread(self) -> None:
        """Read and dispatch until told to stop. No byte sequence ends it; only a terminal that is gone does."""
        delay = self.options.escape_delay
        parser = TerminalParser(escape_delay=default_escape_delay(os.environ) if delay is None else delay)
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        sources: list[int] = [self.fileno, self.exit_event.fileno()]  # type: ignore[attr-defined]
        while not self.exit_event.is_set():
            ready, _, _ = select.select(sources, [], [], parser.wait())
            if self.fileno in ready:
                data = self._read()
                if data == b"":
                    sources.remove(self.fileno)
                    self._input_ended()
                    continue
                self._dispatch(parser.feed(decode(data or b"")))
            self._dispatch(parser.tick())
        self._swallow_late_input()

    def _read(self) -> bytes | None:
        """What has arrived; b"" when the input has ended, None when there is nothing after all."""
        try:
            return os.read(self.fileno, READ_SIZE)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _input_ended(self) -> None:
        if self.input_tty:  # the terminal was closed under us
            self._loop.call_soon_threadsafe(_exit_with, self._app, 128 + signal.SIGHUP)

    def _swallow_late_input(self) -> None:
        while select.select([self.fileno], [], [], LATE_INPUT)[0]:
            if not self._read():
                return

    def _dispatch(self, found: list[Message]) -> None:
        for message in found:
            try:
                self.process_message(message)
            except Exception:  # one bad event must not end all input
                log.exception("an input event was lost")

    def process_message(self, message: Message) -> None:
        """Send an event to the app; an ESC that means stop acts here, before the UI loop sees it."""
        gate = self.options.esc_gate
        if isinstance(message, events.Key) and message.key == "escape":
            try:
                gate.escape(message)
            except Exception:  # the key must travel on whatever the interrupt does
                log.exception("the interrupt failed")
        if not (isinstance(message, events.Event) and can_open(message)):
            super().process_message(message)
            return
        token = gate.forwarded()
        super().process_message(message)
        done = run_after_key(self._app, lambda: gate.handled(token), mouse=isinstance(message, events.MouseEvent))
        self.send_message(done.set_sender(self._app))  # type: ignore[arg-type]


def driver_with(options: DriverOptions) -> type[TerminalDriver]:
    """A driver class bound to `options`, for `App.get_driver_class`."""
    return type("TerminalDriver", (TerminalDriver,), {"options": options})


def _flush_stderr() -> None:
    if sys.__stderr__ is not None:
        sys.__stderr__.flush()


def _terminal_output() -> int | None:
    """A private descriptor to draw on: stderr, stdout or the controlling terminal; None without a terminal."""
    for fd in (2, 1):
        if os.isatty(fd):
            return os.dup(fd)
    try:
        return os.open("/dev/tty", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return None


def install_signal_handlers(app: App[Any], before_exit: Callable[[int], None] | None = None) -> None:
    """On TERM, HUP, QUIT, INT: call `before_exit(signal)`, then leave the app with 128 + signal. A second one kills.

    Call on the UI loop's thread once it runs (`on_mount`). The terminal is restored by the driver on the way out.
    """
    loop = asyncio.get_running_loop()

    def leave(number: int) -> None:
        for other in numbers:
            loop.remove_signal_handler(other)
        if before_exit is not None:
            before_exit(number)
        _exit_with(app, 128 + number)

    numbers = [getattr(signal, name) for name in EXIT_SIGNALS]
    for number in numbers:
        loop.add_signal_handler(number, leave, number)


def _exit_with(app: App[Any], code: int) -> None:
    app.exit(return_code=code)
