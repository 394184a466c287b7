"""Every recorded Messages stream gives the right message. That it does so however it is cut: `test_splits.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from reactagent_tui.core.errors import ProviderError, RateLimitError, ServerError, StreamCutError
from reactagent_tui.core.llm.anthropic_events import MessageState
from reactagent_tui.core.llm.anthropic_payload import to_payload
from reactagent_tui.core.llm.anthropic_usage import UsageCounts
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest
from reactagent_tui.core.messages import AssistantMessage, StopReason, ThinkingPart, ToolResult, UserMessage
from reactagent_tui.core.usage import Usage
from tests.wire.replaying import ANTHROPIC
from tests.wire.validators_anthropic import anthropic_complaints

PROVIDER, MODEL = ANTHROPIC.provider, ANTHROPIC.model
LS = {"command": "ls"}
INFO = ModelInfo(PROVIDER, MODEL, "anthropic", 200_000)
USED = Usage(input=25, output=2)
Sealed = tuple[str, str | None, str | None]


@dataclass(frozen=True)
class Expected:
    text: str = ""
    thinking: tuple[Sealed, ...] = ()
    """(text, signature, redacted) of every thinking part."""
    calls: tuple[tuple[str, str, dict[str, Any] | None], ...] = ()
    stop: StopReason = "stop"
    usage: Usage | None = USED
    error: type[ProviderError] | None = None
    said: str = ""
    request_id: str | None = None


def failed(error: type[ProviderError], said: str, text: str = "", **more: Any) -> Expected:
    usage = more.pop("usage", Usage(input=25, output=1))
    return Expected(text, stop="error", error=error, said=said, usage=usage, **more)


def called(*calls: tuple[str, str, dict[str, Any] | None], output: int = 2, **more: Any) -> Expected:
    return Expected(calls=calls, stop="tool_calls", usage=more.pop("usage", Usage(input=25, output=output)), **more)


def used(output: int) -> Usage:
    return Usage(input=25, output=output)


EXPECTED: dict[str, Expected] = {
    "thinking_text_two_calls": called(
        ("toolu_01A", "read_file", {"path": "a.txt"}),
        ("toolu_01B", "read_file", {"path": "b.txt"}),
        text="Let me look.",
        thinking=(("I should look at both files.", "EqQBCgIYAhIM+sig/one==", None),),
        usage=Usage(input=472, cache_read=1000, output=89, reasoning=20),
    ),
    "thinking_omitted": Expected("Done.", (("", "EosnCkYICxIMMDYx+omitted=", None),), usage=used(40)),
    "usage_twice": Expected("ab", usage=Usage(input=20, cache_read=50, cache_write=30, output=15)),
    "cache_one_hour": Expected(
        "ok", usage=Usage(input=3, cache_read=1200, cache_write=100, cache_write_1h=300, output=4)
    ),
    "usage_missing": Expected("free", usage=None),
    "overloaded_in_text": failed(RateLimitError, "Overloaded", "Half an ans", request_id="req_011over"),
    "error_first": failed(RateLimitError, "per-minute rate limit", usage=None),
    "error_text": failed(ServerError, "upstream connect error"),
    "error_without_event": failed(ServerError, "Internal server error", "x"),
    "redacted_thinking": called(
        ("toolu_R", "shell", LS),
        thinking=(
            ("First.", "SIG1", None),
            ("", None, "EmwKAhgBEgy3va3pzix/LafPsn4a=="),
            ("Then.", "SIG2", None),
        ),
        output=30,
    ),
    "interleaved_thinking": called(
        ("toolu_I", "shell", {"command": "pwd"}),
        text="I look.",
        thinking=(("one", "S1", None), ("two", "S2", None)),
        output=30,
    ),
    "no_argument_call": called(("toolu_N", "list_jobs", {}), output=9),
    "input_in_start": called(("toolu_W", "shell", {"command": "ls", "n": 1}), output=9),
    "max_tokens_in_call": Expected(
        "Writing.", calls=(("toolu_M", "write_file", None),), stop="length", usage=used(4096)
    ),
    "window_exceeded": Expected("as far as", stop="length", usage=used(5)),
    "stop_sequence": Expected("up to here", usage=used(3)),
    "refusal": Expected("I can\n\nThis request was declined.", stop="refusal", usage=used(3)),
    "refusal_bare": Expected("", stop="refusal", usage=used(1)),
    "no_message_stop": Expected("fine"),
    "no_stop_reason": Expected("fine", usage=used(1)),
    "cut_in_text": failed(StreamCutError, "ended before", "The answer is forty"),
    "cut_before_signature": failed(StreamCutError, "ended before", thinking=(("let me", None, None),)),
    "cut_in_input": failed(StreamCutError, "ended before", "I run."),
    "overlapping_blocks": called(
        ("toolu_O", "shell", LS), text="Looking.", thinking=(("plan it", "OSIG", None),), output=8
    ),
    "blocks_never_stopped": called(("toolu_S", "shell", LS), text="yes", thinking=(("hm", "NS", None),), output=8),
    "blocks_never_started": Expected("bare text"),
    "unknown_blocks": Expected("cited"),
    "unsigned_thinking": called(
        ("call_00_abc", "shell", LS),
        thinking=(("no seal", None, None),),
        usage=Usage(input=30, cache_read=70, output=11),
    ),
    "pause_turn_end": Expected(" the answer.", usage=Usage(input=75, output=9)),
    "empty_text_block": called(("toolu_E", "shell", LS), text="\n\n"),
    "emoji_cjk": Expected("修复方法 你好世界 🌍! \u2028\u0085B"),
    "emoji_crlf_bom": Expected("修复方法 你好世界 🌍! \u2028\u0085B"),
    "surrogates_split": Expected("a🌍!", usage=used(1)),
    "no_event_names": Expected("plain"),
    "no_types_in_data": Expected("named"),
    "done_marker": Expected("done"),
}
ELSEWHERE = {"json_body", "json_body_error", "json_body_other", "html_body", "empty_body", "pause_turn"}
"""Documents and pauses: read through the provider, in `tests/unit/llm/test_anthropic_provider.py`."""


def sealed(message: AssistantMessage) -> tuple[Sealed, ...]:
    return tuple((p.text, p.signature, p.redacted) for p in message.parts if isinstance(p, ThinkingPart))


def test_every_stream_has_its_expectation() -> None:
    assert {path.stem for path in ANTHROPIC.folder.glob("*.sse")} == EXPECTED.keys() | ELSEWHERE


@pytest.mark.parametrize("name", EXPECTED)
def test_whole(name: str) -> None:
    expected, got = EXPECTED[name], ANTHROPIC.replay([ANTHROPIC.read(name)])
    message = got.message
    assert message.text == expected.text
    assert sealed(message) == expected.thinking
    assert message.stop_reason == expected.stop
    assert message.usage == expected.usage
    calls = tuple(
        (call.id, call.name, None if call.arguments is None else dict(call.arguments)) for call in message.tool_calls
    )
    assert calls == expected.calls
    assert type(got.error) is (expected.error or type(None))
    if got.error is not None:
        assert expected.said in got.error.message
        assert got.error.retryable
        assert got.error.request_id == expected.request_id


@pytest.mark.parametrize("name", [name for name, expected in EXPECTED.items() if expected.stop == "tool_calls"])
def test_the_next_request_of_the_loop(name: str) -> None:
    """Signed blocks go back exactly as they came, in their order, before the calls; nothing else does."""
    message = ANTHROPIC.replay([ANTHROPIC.read(name)]).message
    results = tuple(ToolResult(call.id, call.name, "done", is_error=True) for call in message.tool_calls)
    request = ModelRequest(MODEL, "You help.", (UserMessage("go"), message, *results))
    body = to_payload(request, INFO)
    issued = [(text, signature) for text, signature, _ in sealed(message) if signature]
    assert anthropic_complaints(body, issued) == []
    sent = [
        (block.get("thinking", ""), block.get("signature"), block.get("data"))
        for block in body["messages"][1]["content"]
        if block["type"] in ("thinking", "redacted_thinking")
    ]
    assert sent == [part for part in sealed(message) if part[1] or part[2]]
    assert [block["is_error"] for block in body["messages"][2]["content"]] == [True] * len(results)


def test_writes_without_a_breakdown_belong_to_the_cache_that_was_asked_for() -> None:
    counts = {"input_tokens": 1, "cache_creation_input_tokens": 9, "output_tokens": 1}
    assert UsageCounts(writes_1h=True).take(counts) == Usage(input=1, cache_write_1h=9, output=1)
    assert UsageCounts().take(counts) == Usage(input=1, cache_write=9, output=1)


def test_a_paused_reply_can_be_gone_on_with() -> None:
    state = MessageState()
    message = ANTHROPIC.replay([ANTHROPIC.read("pause_turn")], state).message
    assert state.paused
    assert message.text == "Half"
    assert [block["type"] for block in state.blocks.raw()] == [
        "thinking",
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]
    assert state.blocks.raw()[0] == {"type": "thinking", "thinking": "search", "signature": "PSIG"}
    assert state.blocks.raw()[1]["input"] == {"query": "textual"}
    assert state.blocks.raw()[2]["content"][0]["encrypted_content"] == "ENC"


def test_a_pause_with_an_open_call_is_a_call() -> None:
    state = MessageState()
    data = ANTHROPIC.read("no_argument_call").replace(b'"stop_reason":"tool_use"', b'"stop_reason":"pause_turn"')
    assert ANTHROPIC.replay([data], state).message.stop_reason == "tool_calls"
    assert not state.paused
