"""B01 B02 B06 B07 B50 B51 B53: what shell commands do to an agent, through the real program.

The tools alone, with every variant, are tested in `tests/unit/tools` (`test_shell.py`, `test_process.py`,
`test_output_text.py`, `test_truncate.py`).
"""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from tests.cases.playing import case
from tests.fakes.model_server import ModelServer, shell
from tests.fakes.program import Place, eventually, wait_gone

pytestmark = pytest.mark.e2e


def test_b01_killed_between_call_and_result(place: Place, server: ModelServer) -> None:
    """kill -9 while the first of three calls runs: the resumed history has a result for each."""
    server.play(case("B01"))
    with place.screen("--mode", "auto") as terminal:
        terminal.send("go\r")
        terminal.wait_found(r"sleep 30 .*\d s")
        terminal.process.kill()
        terminal.wait_exit()
    with place.screen("-c", shows="Let me look.") as terminal:
        terminal.send("hi\r")
        terminal.wait("OK-TURN-2")
    ids = [m["tool_call_id"] for m in server.wait(2).messages if m["role"] == "tool"]
    assert ids == ["call_a", "call_b", "call_c"]


def test_b01_interrupted_between_call_and_result(place: Place, server: ModelServer) -> None:
    server.play(case("B01"))
    with place.screen("--mode", "auto") as terminal:
        terminal.send("go\r")
        terminal.wait_found(r"sleep 30 .*\d s")
        terminal.send("\x1b")
        terminal.wait("stopped")
        terminal.send("hi\r")
        terminal.wait("OK-TURN-2")
    ids = [m["tool_call_id"] for m in server.wait(2).messages if m["role"] == "tool"]
    assert ids == ["call_a", "call_b", "call_c"]


STUBBORN = (
    "echo $$ > pid; exec sleep 60",
    "echo $$ > pid; trap '' INT TERM; sleep 60",
    "(sleep 300; sleep 300) & echo $! > pid; sleep 60",
    "setsid sleep 60 & echo $! > pid; sleep 60",
)


def test_b02_esc_ends_every_kind_of_command(place: Place, server: ModelServer) -> None:
    pid_file = place.work / "pid"
    with place.screen("--mode", "auto") as terminal:
        for command in STUBBORN:
            pid_file.unlink(missing_ok=True)
            server.play(shell(command))
            terminal.send("run\r")
            eventually(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"), command)
            pid = int(pid_file.read_text())
            terminal.send("\x1b")
            wait_gone(pid)
            terminal.wait("enter send")
            terminal.send("x\r")
            terminal.wait(f"OK-TURN-{len(server.exchanges) + (server.exchanges[-1].last_user[-1] != 'x')}")


def test_b06_a_holder_of_the_pipe_is_not_waited_for(place: Place, server: ModelServer) -> None:
    server.play(shell("sleep 600 & echo started"), shell("setsid sleep 600 & echo detached"))
    ended = place.run("--mode", "auto", "-p", "go")
    assert ended.stdout == "OK-TURN-3\n"
    first, second = server.wait(3).tool_texts
    assert first.startswith("started")
    assert second.startswith("detached")
    pids = [int(pid) for text in (first, second) for pid in re.findall(r"\b(\d{2,})\b", text)]
    assert pids, (first, second)
    try:
        for pid in pids:
            wait_gone(pid)
    finally:
        for pid in pids:
            if os.path.exists(f"/proc/{pid}"):
                os.kill(pid, signal.SIGKILL)


def test_b06_a_headless_end_ends_jobs_and_says_so(place: Place, server: ModelServer) -> None:
    server.play(shell("echo $$ > pid; exec sleep 600", run_in_background=True))
    ended = place.run("--mode", "auto", "-p", "go")
    assert ended.stdout == "OK-TURN-2\n"
    assert "job j1 ends now: echo $$ > pid; exec sleep 600 (--keep-jobs lets it run on)" in ended.stderr
    wait_gone(int((place.work / "pid").read_text()))


def test_b06_a_headless_job_is_kept_when_asked_for(place: Place, server: ModelServer) -> None:
    command = "echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done; echo late; : > done; exec sleep 600"
    server.play(shell(command, run_in_background=True))
    ended = place.run("--mode", "auto", "--keep-jobs", "-p", "go")
    assert "job j1 runs on: echo" in ended.stderr
    pid = int((place.work / "pid").read_text())
    try:
        (place.work / "go").touch()
        eventually((place.work / "done").exists, "the kept job works on")
        (log,) = re.findall(r"its output is in (\S+)", ended.stderr)
        eventually(lambda: Path(log).read_text() == "late\n", "its output is in the log")
        for _ in range(2):  # looking at it does not end it
            assert place.run("-c", "-p", "/jobs").stdout.splitlines()[1].split()[:2] == ["j1", "running"]
    finally:
        os.kill(pid, signal.SIGKILL)


def test_b07_b53_nothing_waits_for_input(place: Place, server: ModelServer) -> None:
    commands = (
        "cat; echo cat-ended",
        "read x; echo got:$x",
        "python3 -c \"open('/dev/tty').read()\"",
        "git init -q . && git -c user.name=a -c user.email=a@b commit --allow-empty",
    )
    server.play(*(shell(command) for command in commands))
    with place.screen("--mode", "auto") as terminal:
        terminal.send("go\r")
        terminal.wait("OK-TURN-5")
        terminal.send("typing still works")
        terminal.wait("> typing still works")
    cat, read, tty, _git = server.wait(5).tool_texts
    assert cat.startswith("cat-ended")
    assert read.startswith("got:")
    assert "/dev/tty" in tty


def test_b50_huge_output(place: Place, server: ModelServer) -> None:
    """The model gets head and tail and where the rest is; the request stays small."""
    server.play(shell("seq 1 2000000", timeout=60), shell("head -c 3000000 /dev/zero | tr '\\0' a"))
    ended = place.run("--mode", "auto", "-p", "go")
    assert ended.stdout == "OK-TURN-3\n"
    numbers, line = server.wait(3).tool_texts
    assert numbers.startswith("1\n2\n")
    assert "2000000" in numbers
    assert len(json.dumps(server.wait(3).body)) < 200_000
    assert len(line) < 60_000
    files = [path for path in (place.home / ".local/state/reactagent").rglob("*") if path.stat().st_size > 10_000_000]
    assert len(files) == 1
    assert str(files[0]) in numbers or files[0].name in numbers


def test_b51_binary_output(place: Place, server: ModelServer) -> None:
    commands = (r"printf '\xf0'", r"printf 'head\xff\xfetail\n'", r"printf '\0\0\0'", "head -c 5000 /bin/ls")
    server.play(*(shell(command) for command in commands))
    ended = place.run("--mode", "auto", "-p", "go")
    assert ended.stdout == "OK-TURN-5\n"
    raw = json.dumps(server.wait(5).body, ensure_ascii=False)
    assert "\\u0000" not in raw
    assert "head" in server.wait(5).tool_texts[1]
    place.records()
