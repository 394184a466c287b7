"""Every recorded Gemini stream gives the right message. That it does so however it is cut: `test_splits.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from reactagent_tui.core.errors import (
    AuthError,
    BadRequestError,
    ContextOverflowError,
    ProviderError,
    QuotaError,
    RateLimitError,
    ServerError,
    StreamCutError,
)
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, StreamDelta, StreamUsage
from reactagent_tui.core.llm.gemini_events import GeminiState, fold
from reactagent_tui.core.llm.gemini_payload import to_payload
from reactagent_tui.core.llm.sse import SseParser
from reactagent_tui.core.messages import StopReason, ToolResult, UserMessage
from reactagent_tui.core.sessions.window import repair
from reactagent_tui.core.usage import Usage
from tests.wire.replaying import GEMINI, Replayed
from tests.wire.validators_gemini import gemini_complaints

INFO = ModelInfo(GEMINI.provider, GEMINI.model, "gemini", 1_000_000)
LS = {"command": "ls"}


@dataclass(frozen=True)
class Expected:
    parts: list[dict[str, Any]]
    """The parts of the model's content in the next request."""
    stop: StopReason = "stop"
    usage: Usage | None = None
    thinking: str = ""
    error: type[ProviderError] | None = None
    said: str = ""
    retryable: bool = False


def failed(
    error: type[ProviderError], said: str, *parts: dict[str, Any], retryable: bool = False, **more: Any
) -> Expected:
    return Expected(list(parts), "error", error=error, said=said, retryable=retryable, **more)


def text(text: str, signature: str | None = None, **more: Any) -> dict[str, Any]:
    return {"text": text, **more} if signature is None else {"text": text, **more, "thoughtSignature": signature}


def call(name: str, args: dict[str, Any], signature: str | None = None, call_id: str | None = None) -> dict[str, Any]:
    function = {"name": name, "args": args}
    part: dict[str, Any] = {"functionCall": function if call_id is None else {"id": call_id, **function}}
    return part if signature is None else {**part, "thoughtSignature": signature}


STAND_IN = "skip_thought_signature_validator"
EXPECTED: dict[str, Expected] = {
    "text": Expected([text("Hello there")], usage=Usage(input=200, cache_read=800, output=50, reasoning=40)),
    "thoughts_then_text": Expected(
        [text("It is 42."), text("", "c2lnLWxhc3Q=")],
        thinking="**Plan**\n\nFirst look.",
        usage=Usage(input=12, output=25, reasoning=20),
    ),
    "signature_on_text": Expected(
        [text("one "), text("two", "c2lnLXR3bw=="), text(" three")], usage=Usage(input=5, output=3)
    ),
    "signature_on_thought": Expected(
        [text("b", "c2lnLWI=", thought=True), text("done")],
        thinking="a b c",
        usage=Usage(input=5, output=5, reasoning=2),
    ),
    "call_signed": Expected(
        [call("shell", LS, "c2lnLWNhbGw=")],
        "tool_calls",
        thinking="need the list",
        usage=Usage(input=30, output=19, reasoning=11),
    ),
    "parallel_calls": Expected(
        [text("Both."), call("shell", LS, "c2lnLTE="), call("shell", LS), call("read_file", {"path": "修.txt"})],
        "tool_calls",
        usage=Usage(input=30, output=20),
    ),
    "calls_with_ids": Expected(
        [
            call("shell", {"command": "one"}, "c2lnLTE=", "fn-1"),
            call("shell", {"command": "two"}, None, "fn-1"),
            call("shell", {"command": "three"}, None, "fn-2"),
        ],
        "tool_calls",
    ),
    "call_without_arguments": Expected([call("now", {}, STAND_IN), call("time", {})], "tool_calls"),
    "arguments_no_object": Expected([call("shell", {}, STAND_IN)], "tool_calls"),
    "signature_snake_case": Expected([call("shell", LS, "c2lnLXM=")], "tool_calls"),
    "malformed_call": failed(ServerError, "print(default_api.shell", retryable=True, usage=Usage(input=2595)),
    "malformed_after_text": failed(
        ServerError,
        "MALFORMED_FUNCTION_CALL",
        text("I will write it."),
        retryable=True,
        usage=Usage(input=25, output=9),
    ),
    "unexpected_tool_call": failed(
        ServerError, "UNEXPECTED_TOOL_CALL", retryable=True, usage=Usage(input=20, output=4)
    ),
    "empty_stop": failed(ServerError, "empty reply", retryable=True, usage=Usage(input=20)),
    "no_parts_stop": failed(ServerError, "empty reply", retryable=True, usage=Usage(input=20, output=7, reasoning=7)),
    "safety_at_once": failed(BadRequestError, "SAFETY (dangerous_content high)", usage=Usage(input=15)),
    "safety_after_text": Expected([text("Mix the ")], "content_filter", usage=Usage(input=15, output=3)),
    "recitation": failed(BadRequestError, "RECITATION", usage=Usage(input=15)),
    "prompt_blocked": failed(BadRequestError, "blocked the prompt: PROHIBITED_CONTENT", usage=Usage(input=9)),
    "max_tokens": Expected([text("A long st")], "length", usage=Usage(input=15, output=100)),
    "max_tokens_in_thoughts": Expected([], "length", thinking="hmm", usage=Usage(input=15, output=100, reasoning=100)),
    "unknown_finish": Expected([text("done?")], "unknown"),
    "error_first": failed(ServerError, "The model is overloaded", retryable=True),
    "error_in_text": failed(
        ServerError, "An internal error", text("half"), retryable=True, usage=Usage(input=5, output=1)
    ),
    "error_event": failed(RateLimitError, "Resource has been exhausted", text("half"), retryable=True),
    "error_overflow": failed(ContextOverflowError, "exceeds the maximum number of tokens"),
    "error_quota_minute": failed(RateLimitError, "exceeded your current quota", retryable=True),
    "error_quota_day": failed(QuotaError, "waiting does not help"),
    "error_key": failed(AuthError, "check the API key"),
    "cut_in_text": failed(
        StreamCutError, "ended before", text("The answer is forty"), retryable=True, usage=Usage(input=5, output=4)
    ),
    "cut_in_call": failed(StreamCutError, "ended before", text("Let me."), retryable=True),
    "cut_in_json": failed(StreamCutError, "ended before", text("The answer"), retryable=True),
    "stop_in_every_chunk": Expected([text("ab")], usage=Usage(input=5, output=2)),
    "usage_apart": Expected([text("ok")], usage=Usage(input=7, output=2)),
    "usage_thoughts_in_answer": Expected([text("ok")], usage=Usage(input=7, output=30, reasoning=20)),
    "usage_of_tools": Expected([text("ok")], usage=Usage(input=57, output=5, reasoning=3)),
    "done_marker": Expected([text("over")]),
    "pings": Expected([text("A")]),
    "code_execution": Expected([text("Run:\n```python\nprint(1)\n```\n\n```\n1\n\n```\n")]),
    "emoji_cjk": Expected([text("修复 🌍 e\u0301 👩‍💻\u2028🌍!\ufffdx")]),
    "crlf_bom": Expected([text("one two")]),
    "no_last_newline": Expected([text("end")]),
}


def test_every_stream_has_its_expectation() -> None:
    assert {path.stem for path in GEMINI.folder.glob("*.sse")} == EXPECTED.keys()


def request_after(got: Replayed) -> ModelRequest:
    results = tuple(ToolResult(made.id, made.name, "done") for made in got.message.tool_calls)
    history = (UserMessage("go"), got.message, *results, UserMessage("and now?"))
    return ModelRequest(INFO.name, "You help.", repair(history, INFO))


@pytest.mark.parametrize("name", EXPECTED)
def test_whole_and_back_in_the_next_request(name: str) -> None:
    expected, got = EXPECTED[name], GEMINI.replay([GEMINI.read(name)])
    body = to_payload(request_after(got), INFO)
    parts = [part for content in body["contents"] if content["role"] == "model" for part in content["parts"]]
    assert parts == expected.parts
    assert gemini_complaints(body) == []
    assert got.message.stop_reason == expected.stop
    assert got.message.usage == expected.usage
    assert got.message.thinking == expected.thinking
    assert type(got.error) is (expected.error or type(None))
    if got.error is not None:
        assert expected.said in got.error.message
        assert got.error.retryable is expected.retryable


@pytest.mark.parametrize("name", ["malformed_call", "unexpected_tool_call", "empty_stop"])
def test_the_second_try_is_the_last(name: str) -> None:
    state, deltas = GeminiState(may_retry=False), list[StreamDelta]()
    parser = SseParser()
    events = [*parser.feed(GEMINI.read(name)), *parser.close()]
    if name == "empty_stop":  # an empty reply is the loop's to judge then
        fold(events, state, deltas)
        assert state.verdict() is None
        return
    with pytest.raises(ServerError) as caught:
        fold(events, state, deltas)
    assert not caught.value.retryable


def test_usage_of_a_reply_that_fails_is_handed_out_first() -> None:
    state, deltas = GeminiState(), list[StreamDelta]()
    with pytest.raises(ServerError):
        fold(SseParser().feed(GEMINI.read("malformed_call")), state, deltas)
    assert deltas == [StreamUsage(Usage(input=2595))]


def test_the_key_appears_in_the_advice_and_the_delay_is_found() -> None:
    quota = GEMINI.replay([GEMINI.read("error_quota_minute")]).error
    assert quota is not None
    assert quota.retry_after == 17
    assert quota.status == 429
