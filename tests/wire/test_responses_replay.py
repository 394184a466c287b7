"""Every recorded Responses stream gives the right message. That it does so however it is cut: `test_splits.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from reactagent_tui.core.errors import (
    BadRequestError,
    ContextOverflowError,
    ProviderError,
    QuotaError,
    RateLimitError,
    ServerError,
    StreamCutError,
)
from reactagent_tui.core.messages import StopReason, TextPart, ThinkingPart, ToolCall
from reactagent_tui.core.usage import Usage
from tests.wire.replaying import RESPONSES

LS = {"command": "ls"}
Call = tuple[str, str, dict[str, Any] | None]
ONE_LS: tuple[Call, ...] = (("call_1", "shell", LS),)


@dataclass(frozen=True)
class Expected:
    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    stop: StopReason = "stop"
    usage: Usage | None = None
    error: type[ProviderError] | None = None
    said: str = ""
    retryable: bool = True


def failed(
    error: type[ProviderError], said: str, text: str = "", *, retryable: bool = True, usage: Usage | None = None
) -> Expected:
    return Expected(text, stop="error", error=error, said=said, retryable=retryable, usage=usage)


def called(*calls: Call, **more: Any) -> Expected:
    return Expected(calls=calls, stop=more.pop("stop", "tool_calls"), **more)


EXPECTED: dict[str, Expected] = {
    "text": Expected("Hello", usage=Usage(input=200, cache_read=800, output=50, reasoning=40)),
    "reasoning_then_parallel_calls": called(
        ("call_a", "read_file", {"path": "a"}),
        ("call_b", "shell", LS),
        text="I will look.",
        thinking="**Looking**\n\nThen run.",
        usage=Usage(input=150, cache_read=100, cache_write=50, output=30, reasoning=12),
    ),
    "reasoning_between_calls": called(("call_1", "shell", {"command": "1"}), ("call_2", "shell", {"command": "2"})),
    "open_weights_reasoning_text": called(*ONE_LS, thinking="the user wants ls", usage=Usage(input=9, output=4)),
    "items_without_deltas": called(*ONE_LS, text="Whole.", thinking="Said only at\n\nthe end."),
    "only_the_closing_event": called(
        *ONE_LS, text="All at once.", thinking="Thought.", usage=Usage(input=10, output=5, reasoning=1)
    ),
    "call_only_in_the_closing_event": called(*ONE_LS, text="Calling."),
    "item_never_done": Expected("never marked done"),
    "all_index_zero": called(
        ("call_1", "shell", {"command": "one"}),
        ("call_2", "shell", {"command": "two"}),
        text="Both.",
        thinking="hm",
    ),
    "new_id_every_event": called(*ONE_LS, text="One text."),
    "bare_deltas": Expected("bare deltas"),
    "arguments_object_and_no_call_id": called(("fc_1", "shell", LS)),
    "refusal": Expected("I cannot.", stop="refusal"),
    "two_messages_with_phases": Expected("Looking at it.\n\nIt is 42."),
    "incomplete_length_in_arguments": called(
        ("call_1", "write_file", None), stop="length", usage=Usage(input=50, output=4096)
    ),
    "incomplete_content_filter": Expected("Some", stop="content_filter"),
    "incomplete_in_reasoning": Expected(stop="length", usage=Usage(input=20, output=99, reasoning=99)),
    "failed_in_text": failed(
        ServerError, "The model stumbled", "part <thi", usage=Usage(input=50, cache_read=20, output=3)
    ),
    "failed_rate_limit": failed(RateLimitError, "try again in 11.054s"),
    "failed_invalid_prompt": failed(BadRequestError, "Invalid prompt: flagged", retryable=False),
    "failed_image": failed(BadRequestError, "That is no picture", retryable=False),
    "failed_without_error": failed(ServerError, "the reply ended as failed"),
    "error_overflow": failed(ContextOverflowError, "exceeds the context window", retryable=False),
    "error_flat_in_text": failed(RateLimitError, "currently overloaded", "part <thi"),
    "error_quota": failed(QuotaError, "exceeded your current quota", retryable=False),
    "error_without_type": failed(ServerError, "upstream request failed"),
    "error_text": failed(ServerError, "upstream went away"),
    "cut_in_text": failed(StreamCutError, "ended before", "The answer is"),
    "cut_before_the_closing_event": failed(StreamCutError, "ended before", "Let me."),
    "cut_in_json": failed(StreamCutError, "ended before", "The answer"),
    "done_without_closing_event": Expected("fine"),
    "more_after_the_end": Expected("over"),
    "emoji_cjk": Expected("修复方法 你好世界 🌍 A\u2028B\u0085C 🌍!"),
    "think_tags": Expected("answer", "secret"),
}
DOCUMENTS = {"json_body", "json_body_error", "html_body"}
"""Answers that are no stream: read through the provider, in `tests/unit/llm/test_responses_provider.py`."""
STREAMS = sorted(EXPECTED)


def test_every_stream_has_its_expectation() -> None:
    assert {path.stem for path in RESPONSES.folder.glob("*.sse")} == set(STREAMS) | DOCUMENTS


@pytest.mark.parametrize("name", STREAMS)
def test_whole(name: str) -> None:
    expected, got = EXPECTED[name], RESPONSES.replay([RESPONSES.read(name)])
    message = got.message
    assert message.text == expected.text
    assert message.thinking == expected.thinking
    assert message.stop_reason == expected.stop
    assert message.usage == expected.usage
    assert (
        tuple((call.id, call.name, call.arguments and dict(call.arguments)) for call in message.tool_calls)
        == expected.calls
    )
    assert type(got.error) is (expected.error or type(None))
    if got.error is not None:
        assert expected.said in got.error.message
        assert got.error.retryable is expected.retryable


def test_the_wait_that_a_failure_names() -> None:
    error = RESPONSES.replay([RESPONSES.read("failed_rate_limit")]).error
    assert error is not None
    assert error.retry_after == 11.054


def test_parts_keep_their_order_and_each_reasoning_its_own_item() -> None:
    parts = RESPONSES.replay([RESPONSES.read("reasoning_between_calls")]).message.parts
    assert [type(part) for part in parts] == [ThinkingPart, ToolCall, ThinkingPart, ToolCall]
    signatures = [part.signature for part in parts if isinstance(part, ThinkingPart)]
    assert ["gAAA_1" in str(signatures[0]), "gAAA_2" in str(signatures[1])] == [True, True]


def test_the_encrypted_content_is_that_of_the_finished_item() -> None:
    parts = RESPONSES.replay([RESPONSES.read("reasoning_then_parallel_calls")]).message.parts
    thinking, text, phase, first, second = parts
    assert isinstance(thinking, ThinkingPart)
    assert "gAAA_whole" in str(thinking.signature)
    assert "gAAA_half" not in str(thinking.signature)
    assert (text, phase) == (TextPart("I will look."), TextPart("", "phase:commentary"))
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)


def test_reasoning_that_was_cut_off_has_nothing_to_send_back() -> None:
    assert RESPONSES.replay([RESPONSES.read("incomplete_in_reasoning")]).message.parts == ()
