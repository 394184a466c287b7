"""Every recorded stream gives the right message. That it does so however it is cut: `test_splits.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from reactagent_tui.core.errors import (
    ContextOverflowError,
    ProviderError,
    RateLimitError,
    ServerError,
    StreamCutError,
)
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, WireRules
from reactagent_tui.core.llm.openai_payload import to_payload
from reactagent_tui.core.messages import StopReason, ThinkingPart, ToolResult, UserMessage
from reactagent_tui.core.usage import Usage
from tests.wire.replaying import CHAT, FOLDER
from tests.wire.validators import deepseek_complaints, openai_complaints

LS = {"command": "ls"}


@dataclass(frozen=True)
class Expected:
    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, str, dict[str, Any] | None], ...] = ()
    stop: StopReason = "stop"
    usage: Usage | None = None
    error: type[ProviderError] | None = None
    said: str = ""
    retryable: bool = True
    fields: tuple[str | None, ...] = field(default=())


def failed(error: type[ProviderError], said: str, text: str = "", *, retryable: bool = True, **more: Any) -> Expected:
    return Expected(text, stop="error", error=error, said=said, retryable=retryable, **more)


def called(*calls: tuple[str, str, dict[str, Any] | None], **more: Any) -> Expected:
    return Expected(calls=calls, stop=more.pop("stop", "tool_calls"), **more)


EXPECTED: dict[str, Expected] = {
    "openai_text": Expected("Hello", usage=Usage(input=200, cache_read=800, output=50, reasoning=40)),
    "parallel_by_index": called(
        ("call_a", "read_file", {"path": "a"}),
        ("call_b", "read_file", {"path": "b"}),
        usage=Usage(input=12, output=2),
    ),
    "all_index_zero": called(
        ("c1", "shell", {"command": "one"}), ("c2", "shell", {"command": "two"}), ("c3", "read_file", {"path": "a"})
    ),
    "no_index_gemini": called(
        ("g1", "shell", {"command": "echo one"}),
        ("g2", "shell", {"command": "echo two"}),
        ("g3", "read_file", {"path": "a.txt"}),
    ),
    "index_null_then_continued": called(("n1", "shell", LS)),
    "id_on_every_fragment": called(("r1", "shell", LS)),
    "id_empty_later_qwen": called(("q1", "shell", LS), ("q2", "shell", {"command": "pwd"})),
    "arguments_object": called(("o1", "shell", {"command": "ls", "n": 1})),
    "arguments_null_then_text": called(("v1", "shell", LS)),
    "arguments_encoded_twice": called(("t1", "shell", LS)),
    "arguments_broken_s1": called(("s1", "shell", None)),
    "arguments_sent_again": called(("a1", "shell", LS)),
    "length_in_arguments": called(("c1", "write_file", None), stop="length", usage=Usage(input=50, output=4096)),
    "deepseek_thinking_call": called(
        ("call_00_x", "shell", {"command": "pwd"}),
        text="I will look.",
        thinking="need the cwd",
        fields=("reasoning_content",),
        usage=Usage(input=36, cache_read=64, output=20),
    ),
    "reasoning_in_two_fields": Expected("ok", "same text", fields=("reasoning_content",)),
    "think_tags_split": Expected("ANSWER if a < b and x<things", "secret", fields=("think",)),
    "think_orphan_closer": Expected("answer", "plan without opener", fields=("think",)),
    "think_unclosed": Expected("", "never closed <thinner"),
    "keepalives": Expected("AB"),
    "crlf_bom": Expected("one two"),
    "lone_cr": Expected("cr"),
    "no_done": Expected("fine"),
    "done_without_finish": Expected("The answer is forty"),
    "no_last_newline": Expected("end"),
    "cut_in_text": failed(StreamCutError, "ended before", "The answer is forty"),
    "cut_in_arguments": failed(StreamCutError, "ended before", "Let me."),
    "cut_in_json": failed(StreamCutError, "ended before", "The answer"),
    "done_then_more": Expected("over"),
    "error_first": failed(RateLimitError, "Worker local total request limit reached (33/32)"),
    "error_in_text": failed(ServerError, "Provider disconnected", "Working"),
    "error_event": failed(RateLimitError, "Overloaded", "a"),
    "error_event_text": failed(ServerError, "upstream went away"),
    "error_line_llamacpp": failed(ServerError, "the slot was lost"),
    "error_string": failed(RateLimitError, "overloaded"),
    "error_overflow": failed(ContextOverflowError, "exceeds the available context size", retryable=False),
    "choices_null": Expected("Hi", usage=Usage(input=12, output=2)),
    "usage_in_choice_moonshot": Expected("ok", usage=Usage(input=20, cache_read=10, output=4)),
    "usage_every_chunk": Expected("ab", usage=Usage(input=200, cache_read=800, output=50)),
    "reasoning_outside_output": Expected("z", usage=Usage(input=10, output=35, reasoning=30)),
    "emoji_cjk": Expected("修复方法 你好世界 🌍 👩‍💻 e\u0301🌍! \ufffdx"),
    "unicode_line_separators": Expected("A\u2028B\u0085C\u2029D\x0b\x0c\x1c\x1eE"),
    "openrouter_details": called(
        ("tool_1", "shell", LS),
        thinking="First then.",
        usage=Usage(input=20, output=9, cost_usd=Decimal("0.00123")),
    ),
    "openrouter_finish_error": failed(ServerError, "finish_reason 'error'", "part"),
    "openrouter_details_then_error": failed(
        ServerError, "Provider returned error: upstream disconnected", "I will", thinking="Look first."
    ),
    "openrouter_native_finish": failed(ServerError, "of the model itself 'MALFORMED_FUNCTION_CALL'"),
    "choices_null_only": failed(StreamCutError, "before anything came"),
    "finish_with_words_google": failed(ServerError, "MALFORMED_FUNCTION_CALL", usage=Usage(input=30)),
    "finish_content_filter_google": Expected("Mix the", stop="content_filter"),
    "finish_sensitive_glm": Expected("The thing is", stop="content_filter", usage=Usage(input=9, output=3)),
    "finish_network_error_glm": failed(ServerError, "network_error", thinking="hm"),
    "finish_no_resource_deepseek": failed(ServerError, "insufficient_system_resource", "Half"),
    "finish_window_glm": Expected("as far as", stop="length"),
    "thoughts_in_content_google": called(
        ("made_1", "shell", LS),
        text="I look.",
        thinking="I need the list. So ls.",
        usage=Usage(input=30, output=9),
    ),
    "obfuscated_openai": Expected("Hi", usage=Usage(input=5, output=1)),
    "ollama_one_chunk_call": called(("call_9", "shell", LS)),
    "llamacpp_progress_timings": Expected("hi", usage=Usage(input=800, cache_read=200, output=7)),
    "finish_tool_calls_without_calls": Expected("", "So the answer is 42."),
    "duplicate_ids": called(("same", "shell", {"command": "one"}), ("made_1", "shell", {"command": "two"})),
    "no_ids_and_gaps": called(("made_1", "shell", {"command": "one"}), ("made_2", "shell", {"command": "two"})),
    "legacy_function_call": called(("made_1", "shell", LS)),
    "content_parts_mistral": Expected("yes", "hm"),
    "refusal": Expected("I cannot.", stop="refusal"),
}
DOCUMENTS = {"json_body", "json_body_error", "html_body", "empty_body"}
"""Answers that are no stream: read through the provider, in `tests/unit/llm/test_openai_provider.py`."""


def test_every_stream_has_its_expectation() -> None:
    assert {path.stem for path in FOLDER.glob("*.sse")} == EXPECTED.keys() | DOCUMENTS


@pytest.mark.parametrize("name", EXPECTED)
def test_whole(name: str) -> None:
    expected, got = EXPECTED[name], CHAT.replay([CHAT.read(name)])
    message = got.message
    assert message.text == expected.text
    assert message.thinking == expected.thinking
    assert message.stop_reason == expected.stop
    assert message.usage == expected.usage
    calls = tuple((call.id, call.name, call.arguments and dict(call.arguments)) for call in message.tool_calls)
    assert calls == expected.calls
    if expected.fields:
        assert tuple(part.field for part in message.parts if isinstance(part, ThinkingPart)) == expected.fields
    assert type(got.error) is (expected.error or type(None))
    if got.error is not None:
        assert expected.said in got.error.message
        assert got.error.retryable is expected.retryable


@pytest.mark.parametrize("name", [name for name, expected in EXPECTED.items() if expected.stop == "tool_calls"])
def test_the_next_request_is_one_that_strict_servers_accept(name: str) -> None:
    message = CHAT.replay([CHAT.read(name)]).message
    results = tuple(ToolResult(call.id, call.name, "done") for call in message.tool_calls)
    request = ModelRequest("m", "You help.", (UserMessage("go"), message, *results))
    plain = ModelInfo("p", "m", "openai-chat", 8_000)
    assert openai_complaints(to_payload(request, plain)) == []
    rules = WireRules(reasoning_replay="tool_turns", reasoning_field="reasoning_content")
    thinking = ModelInfo("p", "m", "openai-chat", 8_000, rules=rules)
    body = to_payload(request, thinking)
    assert deepseek_complaints(body) == []
    assert body["messages"][2]["reasoning_content"] == message.thinking


def test_the_validators_notice_what_is_wrong() -> None:
    """A validator that accepts everything would make the tests above worthless."""
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}}
    messages = [
        {"role": "user", "content": "x"},
        {"role": "system", "content": "late"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": [{"type": "text", "text": "x"}], "tool_calls": [call, call]},
        {"role": "user", "content": "y"},
        {"role": "tool", "tool_call_id": "zzz", "content": "r"},
    ]
    said = "\n".join(deepseek_complaints({"messages": messages}))
    wanted = ("not first", "empty assistant", "array", "repeated id", "not the text", "no result", "unknown id")
    for words in (*wanted, "must be passed back"):
        assert words in said


def test_gemini_signature_goes_back_on_its_call() -> None:
    message = CHAT.replay([CHAT.read("no_index_gemini")]).message
    results = tuple(ToolResult(call.id, call.name, "done") for call in message.tool_calls)
    request = ModelRequest("m", "", (UserMessage("go"), message, *results))
    body = to_payload(request, ModelInfo("p", "m", "openai-chat", 8_000))
    assert body["messages"][1]["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "EjQKMgSIG1"}}
    elsewhere = to_payload(request, ModelInfo("other", "n", "openai-chat", 8_000))
    assert "extra_content" in body["messages"][1]["tool_calls"][0]
    assert "extra_content" not in str(to_payload(ModelRequest("n", "", request.messages), _other()))
    assert elsewhere["messages"][1]["tool_calls"][0]["id"] == "g1"


def test_a_signature_that_came_after_its_call_goes_back_on_it() -> None:
    message = CHAT.replay([CHAT.read("thoughts_in_content_google")]).message
    assert [dict(call.extra) for call in message.tool_calls] == [
        {"extra_content": {"google": {"thought_signature": "c2lnLWFmdGVy"}}}
    ]


def _other() -> ModelInfo:
    return ModelInfo("other", "n", "openai-chat", 8_000)


def test_openrouter_details_go_back_merged_and_unmodified() -> None:
    message = CHAT.replay([CHAT.read("openrouter_details")]).message
    rules = WireRules(reasoning_replay="always")
    results = tuple(ToolResult(call.id, call.name, "done") for call in message.tool_calls)
    request = ModelRequest("m", "", (UserMessage("go"), message, *results))
    sent = to_payload(request, ModelInfo("p", "m", "openai-chat", 8_000, rules=rules))["messages"][1]
    assert sent["reasoning_details"] == [
        {
            "type": "reasoning.text",
            "text": "First then.",
            "index": 0,
            "format": "anthropic-claude-v1",
            "signature": "SIG",
        },
        {"type": "reasoning.encrypted", "data": "BLOB", "id": "tool_1", "index": 1},
    ]
    assert "reasoning" not in sent
