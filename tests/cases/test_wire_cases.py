"""Each wire case through the real program, headless and on the screen: it is shown right and the next turn is valid.

What the parser makes of these streams at every byte split is tested in `tests/wire`.
"""

from __future__ import annotations

import pytest

from tests.cases.playing import CASES, Wire, with_line
from tests.fakes.model_server import ModelServer, Reply
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
    with ModelServer(CASES["B04"].reply, reasoning_required=True) as strict:
        place.server = strict
        with place.screen("--mode", "auto") as terminal:
            terminal.send("go\r")
            terminal.wait("OK-TURN-3")
            assert len(strict.complaints) == 1
        CASES["B04"].check(strict.wait(3))


def test_ids_that_come_again_in_every_reply(place: Place, server: ModelServer) -> None:
    """A server that calls each call `call_0`: each has its row, its result, and an id of its own in the history."""
    first = Reply(tuple(p.replace(b"call_00_x", b"call_0") for p in CASES["B04"].reply.pieces))
    second = with_line(first, b"pwd", b"echo second")
    server.play(first, second)
    with place.screen("--mode", "auto") as terminal:
        terminal.send("go\r")
        screen = terminal.wait("OK-TURN-3")
        assert screen.count("● shell  pwd") == 2  # in the conversation and in the sidebar
        assert screen.count("● shell  echo second") == 2
    ids = [m["tool_call_id"] for m in server.wait(3).messages if m["role"] == "tool"]
    assert len(set(ids)) == 2
