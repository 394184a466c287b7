"""Each wire case through the real program, headless and on the screen: it is shown right and the next turn is valid.

What the parser makes of these streams at every byte split is tested in `tests/wire`.
"""

from __future__ import annotations

import pytest

from tests.cases.playing import CASES, Wire
from tests.fakes.model_server import ModelServer
from tests.fakes.program import Place

pytestmark = pytest.mark.e2e


def prepare(place: Place, server: ModelServer, name: str) -> Wire:
    wire = CASES[name]
    if name == "B04":
        server.reasoning_required = True
        place.more_config = "provider: deepseek\n"
    (place.work / "a.txt").write_text("content of a\n")
    server.play(wire.reply)
    return wire


def last_turn(server: ModelServer, wire: Wire, place: Place) -> str:
    """What the server says to the user's second message."""
    assert len(server.exchanges) == wire.steps
    assert not (place.work / "big.py").exists()
    return f"OK-TURN-{wire.steps + 1}"


@pytest.mark.parametrize("name", CASES)
def test_headless(place: Place, server: ModelServer, name: str) -> None:
    wire = prepare(place, server, name)
    ended = place.run("--mode", "auto", "-p", "go")
    assert ended.code == (1 if wire.fails else 0), ended
    if wire.fails:
        assert ended.stdout == ""
        assert ended.stderr.startswith("reactagent: ")
    else:
        assert wire.shows in ended.stdout
    assert not wire.hides or wire.hides not in ended.stdout
    assert "Traceback" not in ended.stderr
    answer = last_turn(server, wire, place)
    assert place.run("-c", "--mode", "auto", "-p", "hi").stdout == f"{answer}\n"
    wire.check(server.wait(2))
    place.records()


@pytest.mark.parametrize("name", CASES)
def test_screen(place: Place, server: ModelServer, name: str) -> None:
    wire = prepare(place, server, name)
    with place.screen("--mode", "auto") as terminal:
        terminal.send("go\r")
        screen = terminal.wait(wire.shows)
        assert not wire.hides or wire.hides not in screen
        server.wait(wire.steps).wait_over()
        terminal.wait("enter send")
        answer = last_turn(server, wire, place)
        terminal.send("hi\r")
        terminal.wait(answer)
    wire.check(server.wait(2))


def test_a_server_that_nobody_knows_teaches_its_rule(place: Place) -> None:
    """B04 without a preset: the 400 that asks for the thinking is answered with it, once, and remembered."""
    with ModelServer(CASES["B04"].reply, CASES["B04"].reply, reasoning_required=True) as strict:
        place.server = strict
        with place.screen("--mode", "auto") as terminal:
            terminal.send("go\r")
            terminal.wait("OK-TURN-3")
            assert len(strict.complaints) == 1
        CASES["B04"].check(strict.wait(3))
