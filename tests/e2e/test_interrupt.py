"""ESC wherever something may be going: it stops, nothing lives on, and the next message works."""

from __future__ import annotations

import pytest

from tests.fakes.model_server import ModelServer, ask_tools, begin_to_say, say, shell, silent, silent_stream
from tests.fakes.program import Place, wait_gone
from tests.fakes.terminal import Terminal

pytestmark = pytest.mark.e2e
ESC = "\x1b"


def test_everywhere_in_one_session(place: Place, server: ModelServer) -> None:
    """In the text, before the first byte, after the headers, and the next message each time."""
    server.play(begin_to_say("one two three"), say("fine again"), silent(), say("still fine"), silent_stream())
    with place.screen() as terminal:
        terminal.send("talk\r")
        terminal.wait("one two three")
        terminal.send(ESC)
        terminal.wait("stopped", "ctrl+s resumes")
        assert server.wait(1).wait_over().gone
        terminal.send("go on\r")
        terminal.wait("fine again")
        assert "one two three" in str(server.wait(2).messages[2]["content"])

        terminal.send("hang\r")
        server.wait(3)
        terminal.wait("esc stop")
        terminal.send(ESC)
        assert server.wait(3).wait_over().gone
        terminal.wait("enter send")
        terminal.send("and now\r")
        terminal.wait("still fine")

        terminal.send("again\r")
        server.wait(5)
        terminal.wait("esc stop")
        terminal.send(ESC)
        assert server.wait(5).wait_over().gone
        terminal.wait("enter send")
        terminal.send("last\r")
        terminal.wait("OK-TURN-6")


def test_a_running_command_dies(place: Place, server: ModelServer) -> None:
    server.play(
        shell("echo ready:$$; sleep 60 & wait"),
        say("after the command"),
        shell("trap '' TERM INT; echo ready:$$; while :; do sleep 1; done"),
    )
    with place.screen("--mode", "auto") as terminal:
        first = run_command(terminal, 1)
        terminal.send(ESC)
        terminal.wait("1 call ended")
        wait_gone(first)
        terminal.send("next\r")
        terminal.wait("after the command")
        stubborn = run_command(terminal, 2)
        terminal.send(ESC)
        wait_gone(stubborn)
        terminal.wait("enter send")
        terminal.send("then\r")
        terminal.wait("OK-TURN-4")
    assert "interrupted by the user" in server.wait(2).tool_texts[0]


def run_command(terminal: Terminal, number: int) -> int:
    """Start the turn; the process id that the `number`-th command of the session wrote."""
    terminal.send("run\r")
    return int(terminal.wait_found(r"^ +ready:(\d+)", number)[-1])


def test_in_the_dialog(place: Place, server: ModelServer) -> None:
    """ESC says no to this call and to those behind it, and every call has its result in the next request."""
    server.play(
        ask_tools(
            ("run_shell_command", {"command": "touch one"}),
            ("run_shell_command", {"command": "touch two"}),
            ("list_dir", {"path": "."}),
        )
    )
    with place.screen() as terminal:
        terminal.send("go\r")
        terminal.wait("needs your answer", "y once")
        terminal.send(ESC)
        terminal.wait("stopped", "3 calls skipped", gone="y once")
        terminal.send("hi\r")
        terminal.wait("OK-TURN-2")
    assert len(server.wait(2).tool_texts) == 3
    assert not any(place.work.iterdir())


def test_while_arguments_stream(place: Place, server: ModelServer) -> None:
    """A call whose arguments never came to their end is not run and not sent back."""
    whole = ask_tools(("write_file", {"path": "a.txt", "content": "x" * 400}), text="I write it.")
    half = type(whole)(whole.pieces[: len(whole.pieces) // 2]).then_hang()
    server.play(half)
    with place.screen("--mode", "auto") as terminal:
        terminal.send("go\r")
        terminal.wait("I write it.")
        terminal.send(ESC)
        terminal.wait("stopped")
        terminal.send("hi\r")
        terminal.wait("OK-TURN-2")
    assert not (place.work / "a.txt").exists()


def test_ctrl_c_ladder(place: Place, server: ModelServer) -> None:
    """It clears the draft, then stops the run, then asks to quit, then quits."""
    server.play(begin_to_say("one two three"))
    with place.screen() as terminal:
        terminal.send("talk\r")
        terminal.wait("one two three")
        terminal.send("draft")
        terminal.wait("> draft")
        terminal.send("\x03")
        terminal.wait("draft cleared", gone="> draft")
        assert not server.wait(1).gone
        terminal.send("\x03")
        terminal.wait("stopped")
        assert server.wait(1).wait_over().gone
        terminal.send("\x03")
        terminal.wait("ctrl+c again quits")
        terminal.send("\x03")
        assert terminal.wait_exit() == 0
    assert b"reactagent -r" in terminal.output[-300:]


def test_resume_where_it_stopped(place: Place, server: ModelServer) -> None:
    server.play(begin_to_say("one two three"))
    with place.screen() as terminal:
        terminal.send("talk\r")
        terminal.wait("one two three")
        terminal.send(ESC)
        terminal.wait("ctrl+s resumes")
        terminal.send("\x13")
        terminal.wait("OK-TURN-2")


def test_held_back_by_a_rate_limit(place: Place, server: ModelServer) -> None:
    """The second call waits for its minute: a countdown is shown, ESC ends it, and the server never saw it."""
    place.more_config = "models:\n  fake-model:\n    rate_limit: {requests_per_minute: 1}\n"
    with place.screen() as terminal:
        terminal.send("first\r")
        terminal.wait("OK-TURN-1")
        terminal.wait("enter send")
        terminal.send("second\r")
        terminal.wait("keeping your rate limit", "goes on in")
        terminal.send(ESC)
        terminal.wait("stopped", gone="keeping your rate limit")
    assert len(server.exchanges) == 1
