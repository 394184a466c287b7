"""Back to an earlier prompt and forward again, through the real program."""

from __future__ import annotations

import pytest

from tests.fakes.model_server import ModelServer, ask_tools, say, shell
from tests.fakes.program import Place, eventually

pytestmark = pytest.mark.e2e
WRITE = ask_tools(("write_file", {"path": "a.txt", "content": "first line\nsecond line\n"}))
FORWARD = ("--mode", "auto")


def test_esc_esc_goes_back_and_redo_forward(place: Place, server: ModelServer) -> None:
    (place.work / "old.txt").write_text("kept\nas it was\n")
    server.play(WRITE, say("written"), shell("rm old.txt; echo made > made.txt; echo more >> a.txt"), say("shelled"))
    with place.screen(*FORWARD) as terminal:
        terminal.send("write a file\r")
        terminal.wait("written", "created 1")
        terminal.send("use the shell\r")
        terminal.wait("shelled", "created 1 · changed 1 · deleted 1")
        assert not (place.work / "old.txt").exists()
        terminal.send("\x1b")
        terminal.wait("esc again goes back")
        terminal.send("\x1b")
        screen = terminal.wait("Back to before", "as it was", "tab files and conversation")
        assert "2  use the shell" in screen
        assert "+2 −0 in 1 file" in screen
        terminal.send("write")
        terminal.wait("1/2", "a.txt")
        terminal.send("\r")
        terminal.wait("/redo takes this back", gone="Back to before")
        assert not (place.work / "a.txt").exists()
        assert not (place.work / "made.txt").exists()
        assert (place.work / "old.txt").read_text() == "kept\nas it was\n"
        terminal.wait("> write a file")
        terminal.send("\x15/redo\r")
        terminal.wait("the conversation is whole again")
        assert (place.work / "a.txt").read_text() == "first line\nsecond line\nmore\n"
        assert not (place.work / "old.txt").exists()
        terminal.send("and now?\r")
        terminal.wait("OK-TURN-5")
    texts = [m["content"] for m in server.wait(5).messages if m["role"] == "user"]
    assert texts == ["write a file", "use the shell", "and now?"]


def test_own_edit_is_asked_about(place: Place, server: ModelServer) -> None:
    server.play(WRITE, say("written"))
    with place.screen(*FORWARD) as terminal:
        terminal.send("write a file\r")
        terminal.wait("written", "created 1")
        (place.work / "a.txt").write_text("my own words\n")
        terminal.send("/rewind 1 files\r")
        terminal.wait("changed since, not by the agent: a.txt", "keep mine")
        terminal.send("\x1b")
        terminal.wait("Cancelled: nothing was touched", gone="keep mine")
        terminal.send("/rewind 1 files\r")
        terminal.wait_bold("1-3")
        terminal.send("1")
        terminal.wait("Nothing to restore", "kept as you made them: a.txt")
        assert (place.work / "a.txt").read_text() == "my own words\n"
        terminal.send("/rewind 1 files\r")
        terminal.wait_bold("1-3")
        terminal.send("2")
        terminal.wait("1 file is as it was")
        assert not (place.work / "a.txt").exists()
        terminal.send("/redo\r")
        eventually((place.work / "a.txt").exists, "the user's words came back")
        assert (place.work / "a.txt").read_text() == "my own words\n"


def test_headless_diff_rewind_and_redo(place: Place, server: ModelServer) -> None:
    (place.work / "b.txt").write_text("one\ntwo\n")
    server.play(WRITE, say("written"), shell("sed -i s/two/three/ b.txt; rm a.txt"), say("done"))
    assert place.run(*FORWARD, "-p", "write a file").code == 0
    assert place.run(*FORWARD, "-c", "-p", "now the shell").code == 0
    last = place.run("-c", "-p", "/diff").stdout
    assert "+1 −3 in 2 files" in last
    assert "-two\n+three" in last
    assert "+1 −1 in 1 file" in place.run("-c", "-p", "/diff 1").stdout
    listed = place.run("-c", "-p", "/rewind").stdout
    assert "1  write a file" in listed
    assert "+1 −3 in 2 files" in listed
    (place.work / "b.txt").write_text("mine\n")
    asked = place.run("-c", "-p", "/rewind 2 files")
    assert (asked.code, (place.work / "b.txt").read_text()) == (1, "mine\n")
    (place.work / "b.txt").write_text("one\nthree\n")
    back = place.run("-c", "-p", "/rewind 2")
    assert back.code == 0, back
    assert (place.work / "b.txt").read_text() == "one\ntwo\n"
    assert (place.work / "a.txt").read_text() == "first line\nsecond line\n"
    assert place.run("-c", "-p", "/redo").code == 0
    assert (place.work / "b.txt").read_text() == "one\nthree\n"
    assert not (place.work / "a.txt").exists()
    server.play(say("fine"))
    assert place.run("-c", "-p", "and?").stdout == "fine\n"
    texts = [m["content"] for m in server.wait(5).messages if m["role"] == "user"]
    assert texts == ["write a file", "now the shell", "and?"]
