"""The request after any reply, from any provider, is one that the Responses API accepts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, WireRules
from reactagent_tui.core.llm.exchange import encode_body
from reactagent_tui.core.llm.openai_payload import to_payload as to_chat_payload
from reactagent_tui.core.llm.responses_payload import to_payload
from reactagent_tui.core.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserMessage,
    message_from_record,
    message_to_record,
)
from reactagent_tui.core.sessions.window import repair
from tests.wire.replaying import CHAT, RESPONSES
from tests.wire.test_replay import EXPECTED as CHAT_EXPECTED
from tests.wire.test_responses_replay import STREAMS
from tests.wire.validators import deepseek_complaints
from tests.wire.validators_responses import responses_complaints

INFO = ModelInfo("p", "m", "openai-responses", 8_000)


def next_request(*messages: Message, info: ModelInfo = INFO) -> dict[str, Any]:
    """What is sent after these, through the session file and the repair."""
    kept = tuple(message_from_record(json.loads(json.dumps(message_to_record(message)))) for message in messages)
    return to_payload(ModelRequest(info.name, "You help.", repair(kept, info)), info)


def answered(message: AssistantMessage) -> tuple[Message, ...]:
    return UserMessage("go"), message, *(ToolResult(call.id, call.name, "done") for call in message.tool_calls)


def kinds(body: dict[str, Any]) -> list[str]:
    return [item.get("role") or item["type"] for item in body["input"]]


@pytest.mark.parametrize("name", STREAMS)
def test_after_every_reply_of_this_api(name: str) -> None:
    message = RESPONSES.replay([RESPONSES.read(name)]).message
    assert responses_complaints(next_request(*answered(message))) == []
    interrupted = replace(message, stop_reason="interrupted", parts=message.parts[:2])
    assert responses_complaints(next_request(UserMessage("go"), interrupted, UserMessage("go on"))) == []


@pytest.mark.parametrize("name", CHAT_EXPECTED)
def test_after_every_reply_of_chat_completions(name: str) -> None:
    message = CHAT.replay([CHAT.read(name)]).message
    for provider in ("p", "other"):  # also the same server, asked over its other API before
        body = next_request(*answered(replace(message, provider=provider)))
        assert responses_complaints(body) == []
        assert "reasoning" not in kinds(body)


@pytest.mark.parametrize("name", STREAMS)
def test_this_api_left_for_chat_completions(name: str) -> None:
    message = RESPONSES.replay([RESPONSES.read(name)]).message
    rules = WireRules(reasoning_replay="tool_turns", reasoning_field="reasoning_content")
    other = ModelInfo("deepseek", "d", "openai-chat", 8_000, rules=rules)
    body = to_chat_payload(ModelRequest("d", "", repair(answered(message), other)), other)
    assert deepseek_complaints(body) == []
    assert "gAAA" not in json.dumps(body)


def test_reasoning_goes_back_unmodified_before_what_it_led_to() -> None:
    body = next_request(*answered(RESPONSES.replay([RESPONSES.read("reasoning_then_parallel_calls")]).message))
    assert body["input"][1:] == [
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "**Looking**"}, {"type": "summary_text", "text": "Then run."}],
            "encrypted_content": "gAAA_whole",
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I will look."}],
            "phase": "commentary",
        },
        {"type": "function_call", "call_id": "call_a", "name": "read_file", "arguments": '{"path": "a"}'},
        {"type": "function_call", "call_id": "call_b", "name": "shell", "arguments": '{"command": "ls"}'},
        {"type": "function_call_output", "call_id": "call_a", "output": "done"},
        {"type": "function_call_output", "call_id": "call_b", "output": "done"},
    ]


def test_each_reasoning_item_stays_before_its_call() -> None:
    body = next_request(*answered(RESPONSES.replay([RESPONSES.read("reasoning_between_calls")]).message))
    assert kinds(body)[1:5] == ["reasoning", "function_call"] * 2
    assert [item.get("encrypted_content") for item in body["input"][1:4:2]] == ["gAAA_1", "gAAA_2"]


def test_reasoning_of_an_open_model_goes_back_with_its_id() -> None:
    body = next_request(*answered(RESPONSES.replay([RESPONSES.read("open_weights_reasoning_text")]).message))
    assert body["input"][1] == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "the user wants ls"}],
    }


def test_two_messages_go_back_as_two_without_the_gap_between_them() -> None:
    body = next_request(*answered(RESPONSES.replay([RESPONSES.read("two_messages_with_phases")]).message))
    sent = [(item["content"][0]["text"], item["phase"]) for item in body["input"] if item["role"] == "assistant"]
    assert sent == [("Looking at it.", "commentary"), ("It is 42.", "final_answer")]


def test_another_model_sees_neither_reasoning_nor_phases() -> None:
    message = RESPONSES.replay([RESPONSES.read("reasoning_then_parallel_calls")]).message
    body = next_request(*answered(message), info=replace(INFO, name="n"))
    assert kinds(body) == ["user", "assistant", *["function_call"] * 2, *["function_call_output"] * 2]
    assert "phase" not in body["input"][1]
    unrepaired = to_payload(ModelRequest("n", "", answered(message)), replace(INFO, name="n"))
    assert "gAAA" not in json.dumps(unrepaired)


def test_reasoning_that_led_to_nothing_is_not_sent() -> None:
    thinking = RESPONSES.replay([RESPONSES.read("reasoning_between_calls")]).message.parts[0]
    cut = AssistantMessage((TextPart("said"), thinking), "p", "m", "length")
    assert kinds(next_request(UserMessage("go"), cut, UserMessage("go on"))) == ["user", "assistant", "user"]


def test_the_beginning_of_a_conversation_never_changes_a_byte() -> None:
    history = list(answered(RESPONSES.replay([RESPONSES.read("reasoning_then_parallel_calls")]).message))
    before = encode_body(next_request(*history))
    again = encode_body(next_request(*history))
    longer = encode_body(next_request(*history, *answered(RESPONSES.replay([RESPONSES.read("text")]).message)))
    assert again == before
    end = before.index(b'],"store"')
    assert longer[:end] == before[:end]


# Any history


def signature_of(number: int) -> str:
    return json.dumps({"type": "reasoning", "summary": [], "encrypted_content": f"gAAA{number}"})


SIGNATURES = (
    st.none()
    | st.sampled_from(["EqQBCgIYAhIM", "phase:commentary", "{}", "[1", "null"])
    | st.integers(0, 9).map(signature_of)
)
FIELDS = st.sampled_from([None, "reasoning", "reasoning_content", "thinking", "think"])
IDS = st.sampled_from(["", "c1", "call_2", "toolu_01AbC", "functions.shell:0", "x" * 70, "same", "same"])
CALLS = st.builds(
    lambda call_id, raw: ToolCall(call_id, "shell", *raw, extra={"extra_content": {"google": 1}} if raw[1] else {}),
    IDS,
    st.sampled_from([('{"a":1}', {"a": 1}), ("{", None), ("", {})]),
)
PARTS: st.SearchStrategy[AssistantPart] = st.one_of(
    st.builds(TextPart, st.sampled_from(["", "  ", "text", "\n\nmore"]), SIGNATURES),
    st.builds(ThinkingPart, st.sampled_from(["", "hm"]), FIELDS, SIGNATURES, st.sampled_from([None, "data"])),
    CALLS,
)
STOPS: st.SearchStrategy[StopReason] = st.sampled_from(
    ["stop", "tool_calls", "length", "interrupted", "lost", "cut", "refusal"]
)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, st.sampled_from(["", "hi"])),
    st.builds(
        AssistantMessage,
        st.lists(PARTS, max_size=5).map(tuple),
        st.sampled_from(["p", "anthropic", "gemini"]),
        st.sampled_from(["m", "n"]),
        STOPS,
    ),
    st.builds(ToolResult, IDS, st.just("shell"), st.sampled_from(["", "done"])),
)


@given(st.lists(MESSAGES, max_size=9))
def test_any_history_is_accepted_after_the_repair(messages: list[Message]) -> None:
    body = to_payload(ModelRequest("m", "", repair(messages, INFO)), INFO)
    assert responses_complaints(body) == []


def test_the_validator_notices_what_is_wrong() -> None:
    """A validator that accepts everything would make the tests above worthless."""
    user = {"type": "message", "role": "user", "content": [{"type": "output_text", "text": "x"}]}
    call = {"type": "function_call", "call_id": "a", "name": "", "arguments": "{"}
    body = {
        "messages": [],
        "tools": [{"type": "function", "function": {}}],
        "input": [
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "g"},
            user,
            {"type": "message", "id": "msg_1"},
            {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "/a.png"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": " "}]},
            call,
            call,
            {"type": "message", "role": "user", "content": []},
            {"type": "function_call_output", "call_id": "zzz", "output": None},
            {"type": "item_reference"},
        ],
    }
    said = "\n".join(responses_complaints(body))
    wanted = (
        "unknown parameter 'messages'",
        "must stream and must not store",
        "no name at the top",
        "strict is on",
        "does not start with a user message",
        "missing required field summary",
        "'rs_1' not found",
        "'msg_1' not found",
        "required following item",
        "cannot hold 'output_text'",
        "not an image address",
        "empty part",
        "empty message",
        "call without a name",
        "not the text of an object",
        "repeated call_id",
        "no tool output found",
        "no tool call found",
        "output is no text",
        "unknown type 'item_reference'",
    )
    assert [words for words in wanted if words not in said] == []
