"""B08: the context is full and even a summary does not fit. Through the real program, headless and on the screen."""

from __future__ import annotations

import json

import pytest

from tests.fakes.model_server import DONE, ModelServer, Reply, event, refuse, say, shell
from tests.fakes.program import Place

pytestmark = pytest.mark.e2e

WINDOW = "models:\n  fake-model: {{context_window: 8000{}}}\n"
FLOOD = "yes 'a line that fills the window' | head -c 200000"
OPENAI = refuse(
    400,
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8600 in the messages, "
    "400 in the completion).",
    code="context_length_exceeded",
)
ANSWER_TOO_LONG = refuse(
    400,
    "This model's maximum context length is 8192 tokens. However, you requested 13000 tokens (5000 in the messages, "
    "8000 in the completion).",
    code="context_length_exceeded",
)
ANTHROPIC = refuse(400, "prompt is too long: 214676 tokens > 200000 maximum")
NO_ROOM = Reply((event({"content": ""}, "model_context_window_exceeded"), DONE))
FULL = {"openai": OPENAI, "anthropic": ANTHROPIC, "in-the-stream": NO_ROOM}


def test_an_output_larger_than_the_window(place: Place, server: ModelServer) -> None:
    """The output goes to disk, its note to the model, and no summary is paid for."""
    place.more_config = WINDOW.replace("8000", "12000").format("")
    server.play(shell(FLOOD), say("read in pieces"))
    ended = place.run("--mode", "auto", "-p", "go")
    assert (ended.code, ended.stdout) == (0, "read in pieces\n")
    assert len(server.exchanges) == 2
    assert len(json.dumps(server.wait(2).body)) < 12_000 * 4
    assert place.run("-c", "--mode", "auto", "-p", "hi").stdout == "OK-TURN-3\n"


@pytest.mark.parametrize("name", FULL)
def test_the_run_goes_on_after_an_overflow(place: Place, server: ModelServer, name: str) -> None:
    server.play(shell("seq 2000"), say("counted"), *(say(f"answer {n}") for n in range(4)))
    assert place.run("--mode", "auto", "-p", "count").code == 0
    for n in range(4):
        assert place.run("-c", "--mode", "auto", "-p", f"prompt {n}").code == 0
    before = len(server.exchanges)
    server.play(FULL[name], say("it fits"))
    ended = place.run("-c", "--mode", "auto", "-p", "go on")
    assert (ended.code, ended.stdout) == (0, "it fits\n")
    assert len(server.exchanges) == before + 2
    refused, sent = server.wait(before + 1), server.wait(before + 2)
    assert len(json.dumps(sent.body)) < len(json.dumps(refused.body))
    assert "taken out to make room" in sent.tool_texts[0]
    assert "context length" not in json.dumps(sent.body)
    again = place.run("-c", "--mode", "auto", "-p", "and on").stdout
    assert again == f"OK-TURN-{before + 3}\n"
    last = server.wait(before + 3)
    assert last.messages[: len(sent.messages)] == sent.messages, "on resume what was taken out stays out"


def test_only_the_room_for_the_answer_is_lowered(place: Place, server: ModelServer) -> None:
    place.more_config = WINDOW.format(", max_output: 8000")
    server.play(ANSWER_TOO_LONG, say("shorter"))
    assert place.run("--mode", "auto", "-p", "go").stdout == "shorter\n"
    first, second = server.exchanges
    assert second.messages == first.messages
    assert second.body["max_tokens"] == 8192 - 5000 < first.body["max_tokens"]


def test_no_way_out_is_explained_and_the_session_lives(place: Place, server: ModelServer) -> None:
    """Each refusal once, no error text in the history, three ways named; the next turn works."""
    with place.screen("--mode", "auto") as terminal:
        server.play(shell("seq 2000"), say("counted"))
        terminal.send("count\r")
        terminal.wait("counted")
        server.play(ANTHROPIC, ANTHROPIC)
        terminal.send("go on\r")
        terminal.wait("leave older turns (1) out", "2  stop here")
        terminal.wait_bold("1-2")
        terminal.send("2")
        screen = terminal.wait("Nothing is lost", "/new", gone="stop here")
        assert "/model" in screen
        assert "/compact" in screen
        count = len(server.exchanges)
        assert count == 4
        terminal.send("hi\r")
        terminal.wait(f"OK-TURN-{count + 1}")
    body = json.dumps(server.wait(count + 1).body)
    assert "prompt is too long" not in body
    assert place.run("-c", "--mode", "auto", "-p", "again").stdout == f"OK-TURN-{count + 2}\n"


def test_compact_on_the_screen_and_back(place: Place, server: ModelServer) -> None:
    """The summary request is bounded by the window, ESC leaves all as it was, /uncompact brings all back."""
    place.more_config = WINDOW.format("")
    server.play(*(say(f"answer {n} " + "word " * 400) for n in range(6)))
    with place.screen("--mode", "auto") as terminal:
        for n in range(6):
            terminal.send(f"prompt {n}\r")
            server.wait(n + 1).wait_over()
            terminal.wait("enter send")
        server.play(Reply(hang="after_headers"))
        terminal.send("/compact\r")
        server.wait(7)
        terminal.send("\x1b")
        terminal.wait("stopped; the conversation is as it was")
        server.play(say("## Goal\nkeep going"))
        terminal.send("/compact the port\r")
        terminal.wait("summarised: about")
        asked = server.wait(8)
        assert "the port" in asked.last_user
        assert len(json.dumps(asked.body)) < 8_000 * 5
        assert "tools" not in asked.body
        terminal.send("next\r")
        terminal.wait("OK-TURN-9")
        assert "keep going" in server.wait(9).messages[1]["content"]
        terminal.send("/uncompact\r")
        terminal.wait("the whole conversation is sent again")
        terminal.send("last\r")
        terminal.wait("OK-TURN-10")
    assert any(str(m["content"]).startswith("answer 0 ") for m in server.wait(10).messages)
    kinds = [record["type"] for record in place.records()]
    assert kinds.count("compaction") == 2
    causes = [r["row"]["cause"] for r in place.records() if r["type"] == "usage"]
    assert "compaction" in causes
