"""Addresses, keys and the request body."""

from __future__ import annotations

from typing import Any

import pytest

from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec, WireRules
from reactagent_tui.core.llm.openai_chat import chat_urls, clean_key, to_payload
from reactagent_tui.core.llm.presets import PRESETS
from reactagent_tui.core.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall, ToolResult, UserMessage


def info(**rules: Any) -> ModelInfo:
    return ModelInfo("p", "m", "openai-chat", 8_000, rules=WireRules(**rules))


@pytest.mark.parametrize(
    ("base", "urls"),
    [
        ("http://h", ["http://h/v1/chat/completions", "http://h/chat/completions"]),
        ("http://h/v1/", ["http://h/v1/chat/completions"]),
        ("http://h/v1/chat/completions", ["http://h/v1/chat/completions"]),
        ("h.com/v1", ["https://h.com/v1/chat/completions"]),
        ("localhost:8080/v1", ["http://localhost:8080/v1/chat/completions"]),
        (
            "192.168.1.5:11434",
            ["http://192.168.1.5:11434/v1/chat/completions", "http://192.168.1.5:11434/chat/completions"],
        ),
        ("http://[::1]:8080", ["http://[::1]:8080/v1/chat/completions", "http://[::1]:8080/chat/completions"]),
        ("https://g.com/v1beta/openai/", ["https://g.com/v1beta/openai/chat/completions"]),
        ("https://z.ai/api/paas/v4", ["https://z.ai/api/paas/v4/chat/completions"]),
        ("https://o.ai/api", ["https://o.ai/api/chat/completions", "https://o.ai/api/v1/chat/completions"]),
        ("https://a.com/v1?api-version=2", ["https://a.com/v1/chat/completions?api-version=2"]),
    ],
)
def test_addresses(base: str, urls: list[str]) -> None:
    assert list(chat_urls(base)) == urls


@pytest.mark.parametrize("base", ["http://[bad", "[bad", "", "::::"])
def test_a_useless_address_shows_when_it_is_used(base: str) -> None:
    assert chat_urls(base)


@pytest.mark.parametrize("key", ["sk-1", " sk-1\n", '"sk-1"', "'sk-1'", "Bearer sk-1", '"bearer  sk-1" '])
def test_keys(key: str) -> None:
    assert clean_key(key) == "sk-1"


THOUGHT = AssistantMessage(
    (ThinkingPart("hm", "reasoning"), TextPart("Look."), ToolCall("c1", "f", '{"a": 1}', {"a": 1}, {"x": 1})), "p", "m"
)
TALK = ModelRequest(
    "m",
    "S",
    (
        UserMessage("one"),
        UserMessage("two"),
        THOUGHT,
        ToolResult("c1", "f", "r"),
        AssistantMessage((ThinkingPart("plain", "reasoning"), TextPart("Done.")), "p", "m"),
        AssistantMessage((ThinkingPart("only"),), "p", "m"),
        UserMessage("three"),
    ),
    tools=(ToolSpec("f", "does f", {"type": "object", "properties": {}}),),
)


def sent(request: ModelRequest, **rules: Any) -> list[dict[str, Any]]:
    return to_payload(request, info(**rules))["messages"]


def test_messages() -> None:
    assert sent(TALK) == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "one\n\ntwo"},
        {
            "role": "assistant",
            "content": "Look.",
            "tool_calls": [
                {"x": 1, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "three"},
    ]
    assert [message["content"] for message in sent(TALK, merge_users=False)[1:3]] == ["one", "two"]
    assert sent(TALK, system_role="developer")[0]["role"] == "developer"


def test_reasoning_goes_back_by_policy_in_the_field_it_came_in() -> None:
    def fields(**rules: Any) -> list[str | None]:
        return [message.get("reasoning") for message in sent(TALK, **rules) if message["role"] == "assistant"]

    assert fields() == [None, None]
    assert fields(reasoning_replay="tool_turns") == ["hm", None]
    assert fields(reasoning_replay="always") == ["hm", "plain"]
    renamed = sent(TALK, reasoning_replay="always", reasoning_field="reasoning_content")
    assert renamed[2]["reasoning_content"] == "hm"
    assert "reasoning" not in renamed[2]


def test_reasoning_of_another_model_stays_but_the_field_is_there() -> None:
    foreign = AssistantMessage(THOUGHT.parts, "q", "other")
    message = sent(ModelRequest("m", "", (UserMessage("x"), foreign)), reasoning_replay="tool_turns")[1]
    assert message["reasoning_content"] == ""
    assert "x" not in message["tool_calls"][0]


def test_inline_thinking_goes_back_inline() -> None:
    message = AssistantMessage((ThinkingPart("hm", "think"), TextPart("yes")), "p", "m")
    wire = sent(ModelRequest("m", "", (UserMessage("x"), message)), reasoning_replay="always")
    assert wire[1] == {"role": "assistant", "content": "<think>hm</think>\n\nyes"}
    assert sent(ModelRequest("m", "", (UserMessage("x"), message)))[1]["content"] == "yes"


@pytest.mark.parametrize(("rule", "content"), [("null", None), ("empty", ""), ("omit", "absent")])
def test_content_of_a_message_with_only_calls(rule: str, content: str | None) -> None:
    message = AssistantMessage((ToolCall("c", "f", "not json", None),), "p", "m")
    wire = sent(ModelRequest("m", "", (UserMessage("x"), message)), empty_content=rule)[1]
    assert wire.get("content", "absent") == content
    assert wire["tool_calls"][0]["function"]["arguments"] == "{}"


def test_llamacpp_is_asked_how_far_it_has_read() -> None:
    request = ModelRequest("m", "", (UserMessage("x"),))
    assert to_payload(request, info(prompt_progress=True))["return_progress"] is True
    assert "return_progress" not in to_payload(request, info())
    assert [preset.name for preset in PRESETS if preset.rules.prompt_progress] == ["llamacpp"]


def test_parameters() -> None:
    request = ModelRequest(
        "m",
        "",
        (UserMessage("x"),),
        TALK.tools,
        "none",
        100,
        0.5,
        ("END",),
        {"top_k": 3, "stream_options": None, "model": "override"},
    )
    body = to_payload(request, info(max_tokens_field="max_completion_tokens", tool_stream=True, unsupported=("stop",)))
    assert list(body) == [
        "model",
        "messages",
        "stream",
        "tools",
        "tool_choice",
        "tool_stream",
        "max_completion_tokens",
        "temperature",
        "top_k",
    ]
    assert body["model"] == "override"
    assert body["tools"] == [
        {
            "type": "function",
            "function": {"name": "f", "description": "does f", "parameters": {"type": "object", "properties": {}}},
        }
    ]
    assert "tools" not in to_payload(request, info(supports_tools=False))
    assert "tool_choice" not in to_payload(request, info(supports_tools=False))
