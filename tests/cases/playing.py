"""The wire cases: streams as real servers send them, with the variants each is known in."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.fakes.model_server import DONE, Exchange, Reply, event, stream_file

DATA = Path(__file__).parent / "data"


def case(name: str) -> Reply:
    """The stream of a case."""
    return stream_file(DATA / f"{name}.sse")


def with_line(reply: Reply, old: bytes, new: bytes) -> Reply:
    """The same stream with a part of it spelled in another way."""
    pieces = tuple(piece.replace(old, new) for piece in reply.pieces)
    assert pieces != reply.pieces, old
    return replace(reply, pieces=pieces)


def content(text: str, *, one_by_one: bool = False) -> Reply:
    """One content string, whole or a character for each chunk."""
    parts = list(text) if one_by_one else [text]
    return Reply((*(event({"content": part}) for part in parts), event({}, "stop"), DONE))


@dataclass(frozen=True, slots=True)
class Wire:
    """A case: what the server plays, what the user reads, and what the next request must hold."""

    reply: Reply
    shows: str = ""
    """Stands in the answer or on the screen after the first turn."""
    fails: bool = False
    """The first turn ends with an error (exit code 1)."""
    steps: int = 1
    """Requests of the first turn."""
    check: Callable[[Exchange], None] = lambda _exchange: None
    """Looks at the first request that carries the case's reply."""
    hides: str = ""
    """Must not be shown as the answer."""


def tool_texts(*starts: str) -> Callable[[Exchange], None]:
    """The results in call order begin like this."""

    def check(exchange: Exchange) -> None:
        texts = exchange.tool_texts
        assert len(texts) == len(starts), texts
        for text, start in zip(texts, starts, strict=True):
            assert text.startswith(start), text

    return check


def reasoning_back(exchange: Exchange) -> None:
    message = next(m for m in exchange.messages if m["role"] == "assistant")
    assert message["reasoning_content"] == "need the cwd"
    assert message["content"] == "I will look."


def not_run(exchange: Exchange) -> None:
    """The cut call has a result that says so, and valid arguments."""
    call = next(m for m in exchange.messages if m.get("tool_calls"))["tool_calls"][0]
    assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert "Not run" in exchange.tool_texts[0]


def said(text: str) -> Callable[[Exchange], None]:
    """The history holds exactly this answer."""

    def check(exchange: Exchange) -> None:
        answers = [m["content"] for m in exchange.messages if m["role"] == "assistant"]
        assert answers[0] == text

    return check


_B09 = case("B09")
_B30 = case("B30")
_ECHOES = tool_texts("one", "two", "")
_ONE_CHUNK = json.loads(_B09.pieces[0][6:])
for _piece in _B09.pieces[1:3]:
    _ONE_CHUNK["choices"][0]["delta"]["tool_calls"] += json.loads(_piece[6:])["choices"][0]["delta"]["tool_calls"]
_ONE_CHUNK["choices"][0]["finish_reason"] = "tool_calls"

CASES: dict[str, Wire] = {
    "B04": Wire(case("B04"), "OK-TURN-2", steps=2, check=reasoning_back),
    "B09": Wire(_B09, "OK-TURN-2", steps=2, check=_ECHOES),
    "B09-null": Wire(
        with_line(_B09, b'"tool_calls":[{"id"', b'"tool_calls":[{"index":null,"id"'),
        "OK-TURN-2",
        steps=2,
        check=_ECHOES,
    ),
    "B09-one-chunk": Wire(
        Reply((b"data: " + json.dumps(_ONE_CHUNK).encode() + b"\n\n", DONE)), "OK-TURN-2", steps=2, check=_ECHOES
    ),
    "B09-first-indexed": Wire(
        with_line(_B09, b'[{"id":"g1"', b'[{"index":0,"id":"g1"'), "OK-TURN-2", steps=2, check=_ECHOES
    ),
    "B23": Wire(case("B23"), "Hi", check=said("Hi")),
    "B24": Wire(case("B24"), "Provider disconnected", fails=True),
    "B24-event": Wire(
        Reply(
            (
                event({"content": "Working"}),
                b'event: error\ndata: {"type":"error","error":{"type":"invalid_request_error","message":"Bad luck"}}'
                b"\n\n",
            )
        ),
        "Bad luck",
        fails=True,
    ),
    "B24-llama": Wire(
        Reply((event({"content": "Working"}), b'error: {"code":500,"message":"slot was lost"}\n\n')),
        "slot was lost",
        fails=True,
    ),
    "B25": Wire(case("B25"), "AB", check=said("AB")),
    "B26-close": Wire(case("B26"), "The answer is forty", fails=True),
    "B26-reset": Wire(case("B26").then_reset(), "The answer is forty", fails=True),
    "B26-done": Wire(Reply((*case("B26").pieces, DONE)), "The answer is forty", check=said("The answer is forty")),
    "B26-stop": Wire(
        Reply((*case("B26").pieces, event({}, "stop"))), "The answer is forty", check=said("The answer is forty")
    ),
    "B26-in-arguments": Wire(Reply((event({"content": "I write."}), _B30.pieces[0])), "I write.", fails=True),
    "B26-in-json": Wire(Reply((*case("B26").pieces, b'data: {"choices":[{"ind')), "The answer is forty", fails=True),
    "B30": Wire(_B30, "OK-TURN-2", steps=2, check=not_run),
    "B30-tool-calls": Wire(
        with_line(_B30, b'"finish_reason":"length"', b'"finish_reason":"tool_calls"'),
        "OK-TURN-2",
        steps=2,
        check=lambda exchange: None,
    ),
    "B32": Wire(case("B32"), "OK-TURN-2", steps=2),
    "B33": Wire(
        case("B33"),
        "ANSWER if a < b and x<things",
        hides="secret",
        check=said("ANSWER if a < b and x<things"),
    ),
    "B33-orphan": Wire(content("plan without opener</think>answer"), "answer", hides="plan without"),
    "B33-chars": Wire(content("Hello <think>plan</think>world", one_by_one=True), "world"),
    "B33-unclosed": Wire(content("<think>never closed"), "OK-TURN-2", steps=2, hides="never closed"),
    "B39-cut-1": Wire(case("B39").cut(1), "修复方法 你好世界", check=said("修复方法 你好世界 🌍 👩\u200d💻 e\u0301")),
    "B39-cut-3": Wire(case("B39").cut(3), "修复方法 你好世界", check=said("修复方法 你好世界 🌍 👩\u200d💻 e\u0301")),
    "B39-surrogates": Wire(
        Reply(
            (
                b'data: {"choices":[{"index":0,"delta":{"content":"globe \\ud83c"}}]}\n\n',
                b'data: {"choices":[{"index":0,"delta":{"content":"\\udf0d!"},"finish_reason":"stop"}]}\n\n',
                DONE,
            )
        ),
        "globe",
        check=said("globe 🌍!"),
    ),
    "B39-lone": Wire(
        Reply(
            (b'data: {"choices":[{"index":0,"delta":{"content":"lone \\ud83c."},"finish_reason":"stop"}]}\n\n', DONE)
        ),
        "lone",
    ),
    "B40": Wire(case("B40"), "A", check=said("A\u2028B\u0085C\u2029D")),
}
