"""The real program with models that have no tool calls: written actions run, a refusal falls back to text."""

from __future__ import annotations

import pytest

from tests.fakes.model_server import ModelServer, begin_to_say, refuse, say
from tests.fakes.program import Place

pytestmark = pytest.mark.e2e

ACTION = "Thought: I look.\nAction: run_shell_command\nAction Input: echo hi"


def test_text(place: Place, server: ModelServer) -> None:
    place.more_config = "protocol: text\n"
    made_up = f"{ACTION}\nObservation: lies and"
    server.play(begin_to_say(made_up), say("Thought: seen\nFinal Answer: done:\n\n- hi"))
    ended = place.run("--mode", "auto", "-p", "go")
    assert (ended.code, ended.stdout) == (0, "done:\n\n- hi\n")
    sent = server.wait(2).body["messages"]
    assert sent[-2]["content"].startswith("Thought: I look.\nAction: run_shell_command\nAction Input: {")
    assert sent[-1]["role"] == "user"
    assert sent[-1]["content"].startswith("Observation")
    assert "hi" in sent[-1]["content"]
    assert "lies" not in str(sent)
    assert "tools" not in server.exchanges[0].body
    assert server.exchanges[0].body["stop"][0] == "\nObservation:"


def test_json(place: Place, server: ModelServer) -> None:
    place.more_config = "protocol: json\n"
    server.play(
        say('{"thought": "I look.", "action": "run_shell_command", "action_input": {"command": "echo hi"}}'),
        say('{"thought": "seen", "final_answer": "done"}'),
    )
    ended = place.run("--mode", "auto", "-p", "go")
    assert (ended.code, ended.stdout) == (0, "done\n")
    assert server.exchanges[0].body["response_format"] == {"type": "json_object"}


def test_a_server_that_refuses_tools(place: Place, server: ModelServer) -> None:
    server.play(refuse(400, "fake does not support tools"), say(ACTION), say("Final Answer: done"))
    ended = place.run("--mode", "auto", "-p", "go")
    assert (ended.code, ended.stdout) == (0, "done\n")
    assert ["tools" in exchange.body for exchange in server.exchanges] == [True, False, False]


def test_thoughts_and_answer_on_the_screen_without_labels(place: Place, server: ModelServer) -> None:
    place.more_config = "protocol: text\n"
    server.play(say(ACTION), say("Thought: enough\nFinal Answer: it says BONJOUR"))
    with place.screen("--mode", "auto") as terminal:
        terminal.send("go\r")
        screen = terminal.wait("it says BONJOUR")
        assert "Final Answer" not in screen
        assert "Action Input" not in screen
        assert "echo hi" in screen
