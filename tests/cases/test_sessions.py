"""B01 B57 B59 B90: sessions after a crash, what was queued, the list, leaving and coming back."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from reactagent_tui.core.sessions.listing import HEAD, TAIL
from tests.fakes.long_session import write_session
from tests.fakes.model_server import ModelServer, ask_tools, say, shell
from tests.fakes.program import Ended, Place, wait_gone
from tests.fakes.terminal import KEPT, reactagent

pytestmark = pytest.mark.e2e
PATIENCE = 60


def command(place: Place, *args: str) -> Ended:
    """A sub-command to its end; it takes no --config."""
    env = {key: value for key, value in os.environ.items() if key in KEPT} | {"LANG": "C.UTF-8"} | place.env
    done = subprocess.run(
        reactagent(*args), cwd=place.work, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


STATE = ".local/state/reactagent/sessions"


def test_b01_killed_while_the_question_is_open(place: Place, server: ModelServer) -> None:
    """kill -9 with an open approval: the resumed history has a result for the call, and nothing ran."""
    server.play(ask_tools(("write_file", {"path": "new.txt", "content": "x"}), text="I write."), say("WELL-DONE"))
    with place.screen() as terminal:
        terminal.send("go\r")
        terminal.wait("asks: writes a file")
        terminal.process.kill()
        terminal.wait_exit()
    with place.screen("-c", shows="I write.") as terminal:
        terminal.send("hi\r")
        terminal.wait("WELL-DONE")
    request = server.wait(2)
    assert len(request.tool_texts) == 1
    assert not (place.work / "new.txt").exists()
    roles = [message["role"] for message in request.messages]
    assert roles[-3:] == ["assistant", "tool", "user"], roles


def test_b57_the_queue_outlives_stop_and_kill(place: Place, server: ModelServer) -> None:
    """Three messages during a run; ESC stops first; Up takes the last back; a kill loses none of the others."""
    server.play(shell("sleep 60"), say("ALL-DONE"))
    with place.screen("--mode", "auto") as terminal:
        terminal.send("go\r")
        terminal.wait_found(r"sleep 60 .*\d s")
        for text in ("alpha one", "beta two", "gamma three"):
            terminal.send(f"{text}\r")
            terminal.wait(text)
        terminal.send("\x1b")
        screen = terminal.wait("stopped")
        for text in ("alpha one", "beta two", "gamma three"):
            assert text in screen
        terminal.send("\x1b[A")
        terminal.wait("> gamma three")
        terminal.process.kill()
        terminal.wait_exit()
    with place.screen("-c", shows="alpha one") as terminal:
        screen = terminal.wait("beta two")
        assert screen.index("alpha one") < screen.index("beta two")
        terminal.send("\x03\r")  # the draft that was kept goes, then Enter sends what waits
        terminal.wait("ALL-DONE")
    sent = json.dumps(server.wait(2).messages)
    assert "alpha one" in sent
    assert sent.count("gamma three") == 0


def test_b57_a_queued_compact_is_seen_taken_back_and_run_as_a_command(place: Place, server: ModelServer) -> None:
    server.play(shell("sleep 60"))
    with place.screen("--mode", "auto") as terminal:
        terminal.send("go\r")
        terminal.wait_found(r"sleep 60 .*\d s")
        terminal.send("/compact the port\r")
        terminal.wait_found(r"queued +/compact the port")
        terminal.send("\x1b[A")
        terminal.wait("> /compact the port")
        terminal.send("\r")
        terminal.wait_found(r"queued +/compact the port")
        terminal.send("\x1b")
        screen = terminal.wait("stopped")
        assert "/compact the port" in screen
        terminal.send("\r")
        terminal.wait("there is nothing before the last messages")
    assert len(server.exchanges) == 1, "it is no message to the model"


def test_b59_a_large_list_reads_only_the_ends(place: Place) -> None:
    """An 80 MB file, one with a torn end, one that is unfinished, and foreign things: all listed, unfinished first."""
    root = place.home / STATE
    large = write_session(root, place.work, 40, number=1, title="the large one")
    data = large.read_bytes()
    with large.open("wb") as stream:
        stream.write(data[: data.index(b"\n", HEAD) + 1])
        stream.seek(80_000_000)
        stream.write(b"\n" + data)
    torn = write_session(root, place.work, 10, number=2, title="the torn one")
    with torn.open("ab") as stream:
        stream.write(b'{"v":1,"seq":99,"type":"message","message":{"role":"user","te')
    cut = write_session(root, place.work, 10, number=3, title="the unfinished one")
    with cut.open("ab") as stream:
        stream.write(b'{"v":1,"seq":99,"ts":"","type":"message","message":{"role":"user","text":"go on"}}\n')
    for path in (large, torn, cut):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    (cut.parent.parent / "junk").mkdir()
    (cut.parent.parent / "junk" / "session.jsonl").write_text("no session")
    with place.screen() as terminal:
        terminal.send("/sessions\r")
        screen = terminal.wait("the large one", "the torn one", "the unfinished one")
        assert screen.index("the unfinished one") < screen.index("the torn one")
    assert HEAD + TAIL < 100_000


def test_b90_leaving_stops_everything_and_coming_back_starts_nothing(place: Place, server: ModelServer) -> None:
    server.play(shell("echo $$ > pid; exec sleep 60"), say("AGAIN"))
    with place.screen("--mode", "auto") as terminal:
        terminal.send("go\r")
        terminal.wait_found(r"sleep 60 .*\d s")
        pid = int((place.work / "pid").read_text())
        terminal.send("\x11")
        terminal.wait_exit()
    wait_gone(pid)
    with place.screen("-c", shows="go") as terminal:
        terminal.send("draft")
        terminal.wait("> draft")
        assert len(server.exchanges) == 1, "resuming asked the model by itself"
        terminal.send("\r")
        terminal.wait("AGAIN")


def test_sessions_on_the_command_line(place: Place, server: ModelServer) -> None:
    server.play(say("the needle is here"), say("on"))
    assert place.run("-p", "find it").code == 0
    listed = json.loads(command(place, "sessions", "list", "--json").stdout)
    assert [one["prompt"] for one in listed] == ["find it"]
    assert json.loads(command(place, "sessions", "list", "--json", "--search", "needle").stdout)[0]["snippet"]
    shown = command(place, "sessions", "show", "needle")
    assert "the needle is here" in shown.stdout
    page = command(place, "sessions", "export", "needle", "--format", "html", "--to", "-").stdout
    assert page.startswith("<!doctype html>")
    assert "the needle is here" in page
    assert place.run("-p", "-r", "needle", "--fork", "more").code == 0
    listed = json.loads(command(place, "sessions", "list", "--json").stdout)
    assert sorted(bool(one["parent"]) for one in listed) == [False, True]
    assert command(place, "sessions", "delete", listed[0]["id"]).code == 2
    assert command(place, "sessions", "delete", listed[0]["id"], "--yes").code == 0
    assert len(json.loads(command(place, "sessions", "list", "--json").stdout)) == 1


def test_a_second_process_gets_a_fork_and_a_hint(place: Place, server: ModelServer) -> None:
    server.play(say("FIRST"), say("SECOND"))
    with place.screen() as one:
        one.send("go\r")
        one.wait("FIRST")
        with place.screen("-c", shows="fork of it") as other:
            other.wait("--sandbox worktree")
            other.send("more\r")
            other.wait("SECOND")
    first, second = (Path(path) for path in place.session_files())
    assert "SECOND" not in first.read_text()
    assert "FIRST" in second.read_text()
