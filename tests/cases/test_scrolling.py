"""B03: the view follows only at the end; one who reads above is left alone, also when the turn ends."""

from __future__ import annotations

import threading

import pytest

from tests.fakes.model_server import ModelServer, Reply, event, finished
from tests.fakes.program import Place

pytestmark = pytest.mark.e2e


def body(screen: str) -> list[str]:
    """Numbered lines on the screen."""
    return [word for line in screen.splitlines() for word in line.split()[:1] if word.startswith("line-")]


def test_reading_above_while_it_streams(place: Place, server: ModelServer) -> None:
    more = threading.Event()
    lines = tuple(event({"content": f"line-{n:03}\n\n"}) for n in range(200))
    server.play(Reply((*lines, *finished()), gate=more, gate_at=100))
    with place.screen() as terminal:
        terminal.send("count\r")
        terminal.wait("line-099")
        for _ in range(3):
            page = body(terminal.text())
            terminal.send("\x1b[5~")
            terminal.wait_until(lambda page=page: body(terminal.text()) not in ([], page), "another page")
        terminal.send("draft")
        before = body(terminal.wait("> draft", gone="line-099"))
        assert before
        more.set()
        server.wait(1).wait_over()
        screen = terminal.wait("enter send", "↓")
        assert body(screen) == before
        terminal.send("\x1b[1;5F")
        terminal.wait("line-199", gone="↓")
