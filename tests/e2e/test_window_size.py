"""Any size at any time: while it streams, while it asks, down to 20x6 and back."""

from __future__ import annotations

import pytest

from tests.fakes.model_server import ModelServer, ask_tools, begin_to_say, say
from tests.fakes.program import Place

pytestmark = pytest.mark.e2e


def test_resize_while_it_streams(place: Place, server: ModelServer) -> None:
    server.play(say(" ".join(f"w{n}" for n in range(400)), gap=0.005), begin_to_say("the second answer"))
    with place.screen() as terminal:
        terminal.send("talk\r")
        terminal.wait("w5 ")
        for columns, rows in ((60, 16), (20, 6), (200, 50), (20, 6), (60, 16), (120, 40)):
            terminal.resize(columns, rows)
            terminal.wait(">")
        terminal.wait("w399", "enter send", "Context")
        terminal.send("more\r")
        terminal.wait("the second answer")
        terminal.resize(20, 6)
        terminal.send("\x1b")
        assert server.wait(2).wait_over().gone
        terminal.send("typed")
        terminal.wait("typed")
        terminal.resize(120, 40)
        terminal.wait("stopped", "> typed", "the second answer")


@pytest.mark.parametrize(("columns", "rows"), [(60, 16), (20, 6)])
def test_small_from_the_start(place: Place, server: ModelServer, columns: int, rows: int) -> None:
    server.play(ask_tools(("write_file", {"path": "a.txt", "content": "x\n" * 30})))
    with place.screen(shows=">", columns=columns, rows=rows) as terminal:
        terminal.send("write\r")
        terminal.wait_bold("y once" if columns > 30 else "y")
        terminal.send("y")
        terminal.wait("created 1")
        terminal.resize(120, 40)
        terminal.wait("OK-TURN-2", "Context")
    assert (place.work / "a.txt").exists()
