"""A paused turn outlives the program, and so does one that a kill cut off; neither begins again by itself."""

from __future__ import annotations

import pytest

from tests.fakes.model_server import ModelServer, say, shell
from tests.fakes.program import Place

pytestmark = pytest.mark.e2e


def test_pause_quit_and_go_on(place: Place, server: ModelServer) -> None:
    server.play(shell("echo began; while [ ! -e go ]; do sleep 0.05; done; echo over"), say("the end of it"))
    with place.screen("--mode", "auto") as terminal:
        terminal.send("work\r")
        terminal.wait("began")
        terminal.send("\x13")
        terminal.wait("pauses after step")
        (place.work / "go").touch()
        terminal.wait("paused after this step")
        terminal.send("\x11")
        assert terminal.process.wait(20) == 0
    with place.screen("--mode", "auto", "-c", shows="resume where I stopped") as terminal:
        assert len(server.exchanges) == 1, "nothing began by itself"
        terminal.send("\x13")
        terminal.wait("the end of it")
    assert "over" in server.wait(2).tool_texts[0]
    assert server.complaints == []


def test_a_kill_in_the_middle_of_a_command(place: Place, server: ModelServer) -> None:
    server.play(shell("echo began; sleep 60"), say("went on"))
    with place.screen("--mode", "auto") as terminal:
        terminal.send("work\r")
        terminal.wait("began")
        terminal.process.kill()
        terminal.process.wait(20)
    with place.screen("--mode", "auto", "-c", shows="resume where it stopped") as terminal:
        assert len(server.exchanges) == 1, "nothing began by itself"
        terminal.send("\x13")
        terminal.wait("went on")
    assert len(server.wait(2).tool_texts) == 1
    assert server.complaints == []
