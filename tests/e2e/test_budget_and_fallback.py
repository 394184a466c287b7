"""Money and failing models through the real program: the budget asks, the next model answers."""

from __future__ import annotations

import pytest

from tests.fakes.model_server import ModelServer, refuse, say, shell
from tests.fakes.program import Place

pytestmark = pytest.mark.e2e
PRICE = 'pricing:\n  "*": {input: 10, output: 500}\n'
"""A call of 1,200 and 20 tokens costs 2.2 cents."""
BUDGET = PRICE + "budget:\n  session: 0.04\n"
CHAIN = "fallback_models: [other]\nmodels:\n  other: {id: other-model}\n"


def test_the_screen_asks_at_the_step_boundary(place: Place, server: ModelServer) -> None:
    server.play(shell("echo one"), shell("echo two"), say("all done"))
    place.more_config = BUDGET
    with place.screen("--mode", "auto") as terminal:
        terminal.send("go\r")
        screen = terminal.wait("The budget is used up: $0.044 spent, $0.040 allowed", "1  $1.00 more", "4  stop here")
        assert "budget reached" in screen
        terminal.wait_bold("1-4")
        assert len(server.exchanges) == 2
        terminal.send("1")
        terminal.wait("all done", gone="4  stop here")
        terminal.send("/budget\r")
        terminal.wait("session", "$1.04")
    assert len(server.exchanges) == 3


def test_the_raised_budget_belongs_to_the_session(place: Place, server: ModelServer) -> None:
    server.play(say("one"), say("two"))
    place.more_config = PRICE
    with place.screen() as terminal:
        terminal.send("/budget 7\r")
        terminal.wait("session budget: $7.00")
        terminal.send("hello\r")
        terminal.wait("one")
    with place.screen("-c", shows="one") as terminal:
        terminal.send("/budget\r")
        terminal.wait("$7.00")


def test_without_a_screen_it_ends_with_3(place: Place, server: ModelServer) -> None:
    server.play(*(shell(f"echo {n}") for n in range(5)))
    place.more_config = BUDGET
    ended = place.run("--mode", "auto", "--output", "json", "-p", "go")
    assert ended.code == 3
    assert ended.result["subtype"] == "error_max_budget_usd"
    assert len(server.exchanges) == 2
    assert "$0.040" in ended.stderr


def test_one_key_takes_the_next_model(place: Place, server: ModelServer) -> None:
    server.play(refuse(402, "insufficient credit"), say("the other one"))
    place.more_config = CHAIN
    with place.screen() as terminal:
        terminal.send("go\r")
        terminal.wait("insufficient credit", "1  go on with other")
        terminal.wait_bold("1-3")
        terminal.send("1")
        terminal.wait("the other one", "going on with other")
    assert [exchange.body["model"] for exchange in server.exchanges] == ["fake-model", "other-model"]


def test_the_wait_between_two_tries_can_be_left(place: Place, server: ModelServer) -> None:
    server.play(refuse(429, "slow down, try again in 50s"), say("the other one"))
    place.more_config = CHAIN
    with place.screen() as terminal:
        terminal.send("go\r")
        terminal.wait("retry 1 of 3", "F6 other instead")
        terminal.send("\x1b[17~")
        terminal.wait("the other one")
    assert [exchange.body["model"] for exchange in server.exchanges] == ["fake-model", "other-model"]


def test_without_a_screen_the_chain_is_taken(place: Place, server: ModelServer) -> None:
    server.play(refuse(401, "bad key"), say("the other one"))
    place.more_config = CHAIN
    ended = place.run("-p", "go")
    assert (ended.code, ended.stdout) == (0, "the other one\n")
    assert "going on with other" in ended.stderr
