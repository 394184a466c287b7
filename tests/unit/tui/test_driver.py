"""The driver at its byte level, in a real pseudo-terminal, and its parts alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.drivers.linux_driver import LinuxDriver

from reactagent_tui.tui.compat import DriverOptions, choose_driver
from reactagent_tui.tui.driver import (
    ESCAPE_DELAY,
    SSH_ESCAPE_DELAY,
    TerminalDriver,
    TerminalFile,
    WakingEvent,
    default_escape_delay,
)
from reactagent_tui.tui.esc_gate import EscGate
from tests.fakes.pty_session import ROOT, PtySession

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Unix terminals")
APP = ROOT / "tests" / "fakes" / "prompt_app.py"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PtySession]:
    folder = tmp_path_factory.mktemp("driver")
    with PtySession(APP, folder, {"STDERR_LOG": str(folder / "stderr.log")}) as session:
        session.wait("ready")
        yield session


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"q\x7fw\r", "w"),
        (b"junk\x15XY\r", "XY"),
        (b"abc\x1b[D\x1b[DZ\r", "aZbc"),
        (b"\x01one\x05 two\x01zero \r", "zero one two"),
        (b"first\x1b\rsecond\r", "first\nsecond"),
        (b"third\nfourth\r", "third\nfourth"),
        (b"fifth\x1b[27;2;13~sixth\r", "fifth\nsixth"),
        (b"back\\\rslash\x1b[27u\r", "back\nslash"),
        ("你好\r".encode(), "你好"),
        (b"bad\xff\xfe bytes\r", "bad bytes"),
        (b"\x1b[97;1:3u\x1b[<NaN;NaN;NaNMnoise\r", "noise"),
        (b"\x1b[200~pasted\r\nlines\r\x1b[201~\r", "pasted\nlines\n"),
        (b"\x1b[200~a\x1b[201~\rb\r\x1b[201~\r", "a\nb\n"),
    ],
)
def test_bytes_in_one_write_are_done_in_order(session: PtySession, data: bytes, text: str) -> None:
    session.write(data)
    session.wait("submitted", text=text)


def test_a_large_paste_is_folded_and_sent_whole(session: PtySession) -> None:
    body = b"\x1b[200~" + b"0123456789\r\n" * 20_000 + b"\x1b[201~"
    done = 0
    while done < len(body):
        done += os.write(session.master, body[done : done + 4096])
    session.wait("empty", empty=False)
    session.wait_output(b"prompt.chip_lines")
    session.write(b"\r")
    row = session.wait("submitted", text="0123456789\n" * 20_000)
    assert row["shown"] == "<prompt.chip_lines {'lines': '20,000'}>"


def test_a_lone_escape_stops_the_run_in_the_input_thread_and_travels_on(session: PtySession) -> None:
    session.write(b"target RUN\r")
    session.wait("done", text="target RUN")
    session.write(b"\x1b")
    session.wait("interrupt")
    session.wait("escape", used=True)
    unused = len([row for row in session.rows() if row["event"] == "escape" and not row["used"]])
    session.write(b"target SCREEN\r")
    session.wait("done", text="target SCREEN")
    before = len([row for row in session.rows() if row["event"] == "interrupt"])
    session.write(b"\x1b")
    session.wait("escape", count=unused + 1, used=False)
    assert len([row for row in session.rows() if row["event"] == "interrupt"]) == before


def test_an_escape_right_behind_a_key_that_can_open_something_is_left_to_the_screen(session: PtySession) -> None:
    before = len([row for row in session.rows() if row["event"] == "done" and row["text"] == "target RUN"])
    session.write(b"target RUN\r")
    session.wait("done", count=before + 1, text="target RUN")
    seen = len([row for row in session.rows() if row["event"] == "escape"])
    met = len([row for row in session.rows() if row["event"] == "met"])
    fifo = session.trace_file.with_name("hold")
    os.mkfifo(fifo)
    session.write(f"hold {fifo}\r".encode())
    session.wait("submitted", text=f"hold {fifo}")
    session.write(b"\x10\x1b[27u")  # ctrl+p and escape, before the screen hears of either
    assert session.wait("met", count=met + 1)["used"] is False
    fifo.write_bytes(b"go on")
    assert session.wait("escape", count=seen + 1)["used"] is False
    session.write(b"\x1b[27u")
    assert session.wait("escape", count=seen + 2)["used"] is True


def test_what_a_library_writes_to_stderr_goes_to_the_log(session: PtySession) -> None:
    start = len(session.output)
    session.write(b"stderr LIBRARYNOISE\r")
    session.wait("done", text="stderr LIBRARYNOISE")
    session.write(b"after\r")
    session.wait("done", text="after")
    log = session.trace_file.with_name("stderr.log")
    assert log.read_text() == "LIBRARYNOISE"
    assert session.output[start:].count(b"LIBRARYNOISE") <= 2  # only as typed in the prompt


def test_the_driver_is_chosen_only_in_place_of_the_stock_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from textual.drivers.headless_driver import HeadlessDriver

    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    gate = EscGate()
    chosen = choose_driver(LinuxDriver, DriverOptions(gate))
    assert issubclass(chosen, TerminalDriver)
    assert chosen.options.esc_gate is gate
    assert choose_driver(HeadlessDriver, DriverOptions(gate)) is HeadlessDriver
    monkeypatch.setenv("TEXTUAL_DRIVER", "textual.drivers.web_driver:WebDriver")
    assert choose_driver(LinuxDriver, DriverOptions(gate)) is LinuxDriver


def test_escape_waits_longer_under_ssh() -> None:
    assert default_escape_delay({}) == ESCAPE_DELAY == 0.008
    assert default_escape_delay({"SSH_TTY": "/dev/pts/1"}) == SSH_ESCAPE_DELAY == 0.025
    assert default_escape_delay({"SSH_CONNECTION": "1 2 3 4"}) == SSH_ESCAPE_DELAY


def test_waking_event_is_readable_exactly_while_set() -> None:
    import select

    event = WakingEvent()
    for _ in range(3):
        assert not select.select([event], [], [], 0)[0]
        event.set()
        event.set()
        assert event.is_set()
        assert select.select([event], [], [], 0)[0]
        event.clear()
        assert not event.is_set()


def test_terminal_file_survives_a_closed_terminal_and_odd_characters(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    file = TerminalFile(writer)
    file.write("é\ud800!")
    file.flush()
    assert os.read(reader, 100).decode() == "é?!"
    os.close(reader)
    file.write("into the void")
    file.flush()
    os.close(writer)


def test_terminal_file_waits_for_a_full_non_blocking_terminal() -> None:
    import threading

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    file = TerminalFile(writer)
    text = "x" * 300_000
    thread = threading.Thread(target=lambda: (file.write(text), file.flush()))
    thread.start()
    received = b""
    while len(received) < len(text):
        received += os.read(reader, 65536)
    thread.join()
    assert received.decode() == text
    os.close(reader)
    os.close(writer)
