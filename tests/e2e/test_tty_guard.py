"""The terminal after the program: exit, exception, signals, SIGKILL, suspension. In a real pseudo-terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reactagent_tui.tui.tty_guard import TtyGuard, saved_line_settings
from tests.fakes.pty_session import PATIENCE, ROOT, PtySession

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform == "win32", reason="Unix terminals")]

APP = ROOT / "tests" / "fakes" / "prompt_app.py"
SWITCHED_OFF = (b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1006l", b"\x1b[?1015l", b"\x1b[?2004l", b"\x1b[?1004l")
RAW = b"\x1b[?2004h"
"""Written when the terminal passes keys on as they are; a moment before, the other screen shows and Enter is a \\n."""
SHOWN_AGAIN = (b"\x1b[<u", b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?7h")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[PtySession]:
    with PtySession(APP, tmp_path, {"STDERR_LOG": str(tmp_path / "stderr.log")}) as session:
        session.wait("ready")
        assert session.attributes() != session.before
        yield session


def assert_restored(session: PtySession) -> None:
    session.wait_restored()
    for sequence in (*SWITCHED_OFF, *SHOWN_AGAIN):
        session.wait_output(sequence)


def test_exit(session: PtySession) -> None:
    session.write(b"exit\r")
    assert session.wait("end")["code"] == 0
    assert session.process.wait(PATIENCE) == 0
    assert_restored(session)
    assert b"terminal restored" not in session.output


def test_exception(session: PtySession) -> None:
    session.write(b"raise\r")
    assert session.wait("end")["code"] == 1
    assert session.process.wait(PATIENCE) == 1
    assert_restored(session)
    session.wait_output(b"on purpose")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131), (signal.SIGINT, 130)],
)
def test_signal(session: PtySession, number: signal.Signals, code: int) -> None:
    session.process.send_signal(number)
    assert session.wait("end")["code"] == code
    assert session.process.wait(PATIENCE) == code
    assert_restored(session)


def test_kill(session: PtySession) -> None:
    start = len(session.output)
    session.process.kill()
    assert session.process.wait(PATIENCE) == -signal.SIGKILL
    session.wait_output(b"terminal restored", start)
    assert_restored(session)


def test_abort(session: PtySession) -> None:
    start = len(session.output)
    session.write(b"die\r")
    assert session.process.wait(PATIENCE) == -signal.SIGABRT
    session.wait_output(b"terminal restored", start)
    assert_restored(session)


def test_suspend_and_return(session: PtySession) -> None:
    session.write(b"\x1a")
    wait_for_state(session.process.pid, "T")
    session.wait_restored()
    start = len(session.output)
    session.process.send_signal(signal.SIGCONT)
    session.wait_output(RAW, start)
    session.wait_output(b"ask", start)
    session.write(b"back\r")
    session.wait("submitted", text="back")


def test_stopped_from_outside_and_continued(session: PtySession) -> None:
    session.process.send_signal(signal.SIGSTOP)
    wait_for_state(session.process.pid, "T")
    start = len(session.output)
    session.process.send_signal(signal.SIGCONT)
    session.wait_output(RAW, start)
    session.write(b"one\r")
    session.wait("submitted", text="one")
    session.write(b"exit\r")
    assert session.wait("end")["code"] == 0
    session.wait_restored()


def wait_for_state(pid: int, state: str) -> None:
    if not Path(f"/proc/{pid}/stat").exists():
        pytest.skip("needs /proc")
    end = time.monotonic() + PATIENCE
    while Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != state:
        assert time.monotonic() < end
        time.sleep(0.003)


def test_terminal_that_goes_away_ends_the_program(tmp_path: Path) -> None:
    with PtySession(APP, tmp_path) as session:
        session.wait("ready")
        os.close(session.slave)
        session.slave = os.open(os.devnull, os.O_RDONLY)
        session.hang_up()
        assert session.process.wait(PATIENCE) == 129


def test_saved_settings_are_what_stty_reads_back() -> None:
    master, slave = os.openpty()
    try:
        ours = saved_line_settings(slave)
        assert subprocess.run(["stty", ours], stdin=slave, check=False).returncode == 0
        stty = subprocess.run(["stty", "-g"], stdin=slave, capture_output=True, text=True, check=True)
        assert stty.stdout.strip() == saved_line_settings(slave) == ours
    finally:
        os.close(master)
        os.close(slave)


def test_no_terminal_no_guard() -> None:
    with open(os.devnull) as nothing, TtyGuard(input_fd=nothing.fileno(), output_fd=nothing.fileno()) as guard:
        assert not guard.watching


def test_guard_leaves_nothing_behind() -> None:
    master, slave = os.openpty()
    try:
        with TtyGuard("gone", input_fd=slave, output_fd=slave) as guard:
            assert guard.watching
        assert not guard.watching
        os.set_blocking(master, False)
        with pytest.raises(BlockingIOError):
            os.read(master, 100)
    finally:
        os.close(master)
        os.close(slave)
