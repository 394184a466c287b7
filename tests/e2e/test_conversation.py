"""Answer, approve, deny, queue, draft: what a user does first, through the real program."""

from __future__ import annotations

import os

import pytest

from tests.fakes.model_server import ModelServer, ask_tools, begin_to_say, say, shell
from tests.fakes.program import PROMPT, Place, eventually
from tests.fakes.terminal import Terminal, reactagent

pytestmark = pytest.mark.e2e
WRITE = ask_tools(("write_file", {"path": "a.txt", "content": "first line\nsecond line\n"}))


def test_answer_and_second_turn(place: Place, server: ModelServer) -> None:
    server.play(say("The answer is **forty-two**."))
    with place.screen() as terminal:
        terminal.send("what is it?\r")
        terminal.wait("The answer is forty-two.", "1.2k")
        terminal.send("sure?\r")
        terminal.wait("OK-TURN-2")
    roles = [message["role"] for message in server.wait(2).messages]
    assert roles == ["system", "user", "assistant", "user"]
    assert server.wait(1).headers["authorization"] == "Bearer sk-planted-key"


def test_first_task_from_the_command_line(place: Place, server: ModelServer) -> None:
    with place.screen("do", "it") as terminal:
        terminal.wait("OK-TURN-1")
    assert server.wait(1).last_user == "do it"


def test_approve_a_write(place: Place, server: ModelServer) -> None:
    server.play(WRITE)
    with place.screen() as terminal:
        terminal.send("write\r")
        screen = terminal.wait_bold("y once")
        assert "+ first line" in screen
        assert not (place.work / "a.txt").exists()
        terminal.send("y")
        terminal.wait("OK-TURN-2", gone="y once")
    assert (place.work / "a.txt").read_text() == "first line\nsecond line\n"


def test_deny_with_a_comment(place: Place, server: ModelServer) -> None:
    server.play(WRITE)
    with place.screen() as terminal:
        terminal.send("write\r")
        terminal.wait_bold("y once")
        terminal.send("\t")
        terminal.wait("no, because:")
        terminal.send("use b.txt")
        terminal.wait("use b.txt")
        terminal.press_until_gone("\r", "no, because:")
        terminal.wait("OK-TURN-2")
    assert "use b.txt" in server.wait(2).tool_texts[0]
    assert not (place.work / "a.txt").exists()


def test_plain_no_goes_on_with_the_run(place: Place, server: ModelServer) -> None:
    server.play(shell("touch made"))
    with place.screen() as terminal:
        terminal.send("go\r")
        terminal.wait_bold("y once")
        terminal.send("n")
        terminal.wait("OK-TURN-2")
    assert not (place.work / "made").exists()


def test_keys_typed_while_the_question_opens_stay_in_the_draft(place: Place, server: ModelServer) -> None:
    server.play(shell("touch made"))
    with place.screen() as terminal:
        terminal.send("go\r")
        terminal.wait("y once")
        terminal.send("yes y a s n ")
        terminal.wait("> yes y a s n", "needs your answer")
        assert not (place.work / "made").exists()
        terminal.wait_bold("y once")
        terminal.send("y")
        terminal.wait("OK-TURN-2", "> yes y a s n")
    assert (place.work / "made").exists()


def test_enter_steers_and_tab_queues(place: Place, server: ModelServer) -> None:
    server.play(shell("read line < gate; echo got $line"), say("the steered answer"), say("the follow-up"))
    gate = place.work / "gate"
    os.mkfifo(gate)
    with place.screen("--mode", "auto") as terminal:
        terminal.send("start\r")
        terminal.wait("esc stop", "read line")
        terminal.send("look at b\r")
        terminal.wait("next", "look at b")
        terminal.send("and then c\t")
        terminal.wait("queued", "and then c")
        gate.write_text("gate-was-opened\n")
        terminal.wait("the steered answer", "the follow-up")
    second, third = server.wait(2), server.wait(3)
    assert second.last_user == "look at b"
    assert "got gate-was-opened" in second.tool_texts[0]
    assert third.last_user == "and then c"


def test_taking_a_queued_message_back(place: Place, server: ModelServer) -> None:
    server.play(begin_to_say("thinking aloud"))
    with place.screen() as terminal:
        terminal.send("start\r")
        terminal.wait("thinking aloud")
        terminal.send("not this one\t")
        terminal.wait("queued")
        terminal.send("\x1b[A")
        terminal.wait("> not this one", gone="queued")
        terminal.send("\x1b")
        terminal.wait("stopped", "> not this one")
    assert len(server.exchanges) == 1


def test_type_ahead_is_not_lost(place: Place, server: ModelServer) -> None:
    with Terminal(reactagent("--config", str(place.config)), cwd=place.work) as terminal:
        terminal.send("typed early\r")
        terminal.wait("OK-TURN-1")
    assert server.wait(1).last_user == "typed early"


def test_draft_survives_leaving(place: Place) -> None:
    with place.screen() as terminal:
        terminal.send("half a thought")
        terminal.wait("> half a thought")
        terminal.send("\x11")
        assert terminal.wait_exit() == 0
    with place.screen(shows="> half a thought") as terminal:
        terminal.send("\x15")
        terminal.wait(PROMPT)


def test_draft_survives_a_kill(place: Place) -> None:
    with place.screen() as terminal:
        terminal.send("half a thought")
        terminal.wait("> half a thought")
        drafts = place.home / ".local/state/reactagent/history"
        eventually(lambda: any("half a thought" in f.read_text() for f in drafts.glob("*.draft.json")), "a draft")
        terminal.process.kill()
        terminal.wait_exit()
    with place.screen(shows="> half a thought"):
        pass
