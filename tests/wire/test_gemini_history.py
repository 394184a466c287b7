"""Histories of other providers, other models and broken turns: the next request is one that Gemini accepts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec
from reactagent_tui.core.llm.exchange import encode_body
from reactagent_tui.core.llm.gemini_payload import NO_SIGNATURE, USUAL, to_payload
from reactagent_tui.core.messages import (
    AssistantMessage,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from reactagent_tui.core.sessions.window import repair
from tests.wire.validators_gemini import gemini_complaints

INFO = ModelInfo("gemini", "gemini-3-flash", "gemini", 1_000_000)
LS = {"command": "ls"}


def sent(*history: Message, info: ModelInfo = INFO, **more: Any) -> dict[str, Any]:
    return to_payload(ModelRequest(info.name, "S", repair(history, info), **more), info)


ANTHROPIC = (
    UserMessage("list"),
    AssistantMessage(
        (
            ThinkingPart("hm", "thinking", "EqQBCg=="),
            ThinkingPart("", redacted="blob"),
            TextPart("Both."),
            ToolCall("toolu_1", "shell", "{}", LS),
            ToolCall("toolu_2", "read_file", "{}", {"path": "a"}),
        ),
        "anthropic",
        "claude-sonnet-4-5",
        "tool_calls",
    ),
    ToolResult("toolu_2", "read_file", "text"),
    ToolResult("toolu_1", "shell", "no such", is_error=True, status="failed"),
)
KIMI = (
    UserMessage("list"),
    AssistantMessage(
        (ThinkingPart("hm", "reasoning_content"), ToolCall("functions.shell:0", "shell", "{}", LS, {"x": 1})),
        "moonshot",
        "kimi-k2.6",
        "tool_calls",
    ),
    ToolResult("functions.shell:0", "shell", "a.txt"),
    AssistantMessage((TextPart("a.txt"),), "moonshot", "kimi-k2.6", "stop"),
)
COMPATIBLE = (  # Gemini itself, over its OpenAI-compatible endpoint
    UserMessage("list"),
    AssistantMessage(
        (ToolCall("g1", "shell", "{}", LS, {"extra_content": {"google": {"thought_signature": "EjQKMg"}}}),),
        "gemini-compatible",
        "gemini-3-flash",
        "tool_calls",
    ),
    ToolResult("g1", "shell", "a.txt"),
)
BROKEN = (
    UserMessage("list"),
    AssistantMessage((ThinkingPart("I sh", "thought"), TextPart("Let me")), "gemini", "gemini-3-flash", "interrupted"),
    UserMessage("go on"),
    AssistantMessage(
        (ToolCall("a", "shell", '{"comm', None), ToolCall("a", "", "[1]", None)), "gemini", "gemini-3-flash", "length"
    ),
    ToolResult("a", "shell", "not run", is_error=True, status="not_run"),
)
LOST = (ToolResult("x", "shell", "orphan"), AssistantMessage((TextPart("?"),), "p", "m"), UserMessage(" "))


@pytest.mark.parametrize("history", [ANTHROPIC, KIMI, COMPATIBLE, BROKEN, LOST, (*ANTHROPIC, *KIMI, *BROKEN)])
@pytest.mark.parametrize("more", [(), (UserMessage("and now?"),), (UserMessage("faster", origin="steer"),)])
def test_what_others_left_is_accepted(history: tuple[Message, ...], more: tuple[Message, ...]) -> None:
    assert gemini_complaints(sent(*history, *more)) == []


def test_a_foreign_step_in_full() -> None:
    assert sent(*ANTHROPIC)["contents"] == [
        {"role": "user", "parts": [{"text": "list"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Both."},
                {"functionCall": {"name": "shell", "args": LS}, "thoughtSignature": NO_SIGNATURE},
                {"functionCall": {"name": "read_file", "args": {"path": "a"}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "shell", "response": {"error": "no such"}}},
                {"functionResponse": {"name": "read_file", "response": {"output": "text"}}},
            ],
        },
    ]


def test_nothing_of_another_provider_goes_out() -> None:
    wire = encode_body(sent(*ANTHROPIC, *KIMI, *COMPATIBLE)).decode()
    for secret in ("EqQBCg==", "blob", "hm", "EjQKMg", "toolu_", "functions."):
        assert secret not in wire


def test_older_models_get_no_stand_in() -> None:
    old = replace(INFO, name="gemini-2.5-flash")
    assert NO_SIGNATURE not in encode_body(sent(*ANTHROPIC, info=old)).decode()
    request = ModelRequest(old.name, "", repair(ANTHROPIC, old))
    forced = to_payload(request, old, form=replace(USUAL, stand_in=True))
    assert gemini_complaints(forced) == []


SIGNED = (
    UserMessage("list"),
    AssistantMessage(
        (
            ThinkingPart("plan", "thought"),
            ToolCall("fn-1", "shell", "{}", LS, {"thoughtSignature": "c2ln", "id": "fn-1"}),
            ToolCall("made_1", "shell", "{}", LS),
        ),
        "gemini",
        "gemini-3-flash",
        "tool_calls",
    ),
    ToolResult("fn-1", "shell", "a"),
    ToolResult("made_1", "shell", "a"),
    AssistantMessage((TextPart("a"), TextPart("", "bGFzdA==")), "gemini", "gemini-3-flash", "stop"),
    UserMessage("thanks"),
)


def test_own_signatures_and_ids_go_back_where_they_came_from() -> None:
    contents = sent(*SIGNED)["contents"]
    assert contents[1]["parts"] == [
        {"functionCall": {"id": "fn-1", "name": "shell", "args": LS}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "shell", "args": LS}},
    ]
    assert [part["functionResponse"].get("id") for part in contents[2]["parts"]] == ["fn-1", None]
    assert contents[3]["parts"] == [{"text": "a"}, {"text": "", "thoughtSignature": "bGFzdA=="}]


def test_refused_signatures_stay_out() -> None:
    form = replace(USUAL, refused=frozenset({"c2ln", "bGFzdA=="}))
    contents = to_payload(ModelRequest(INFO.name, "", repair(SIGNED, INFO)), INFO, form=form)["contents"]
    assert contents[1]["parts"][0]["thoughtSignature"] == NO_SIGNATURE
    assert contents[3]["parts"] == [{"text": "a"}]


def test_a_longer_history_only_adds_bytes() -> None:
    """Prompt caches match prefixes: what was sent before is sent the same again."""
    tools = (ToolSpec("shell", "runs", {"type": "object", "properties": {"command": {"type": "string"}}}),)
    before = sent(*SIGNED[:4], tools=tools)
    after = sent(*SIGNED, tools=tools)
    assert list(before) == list(after) == ["systemInstruction", "tools", "contents", "generationConfig"]
    assert encode_body(before) == encode_body(sent(*SIGNED[:4], tools=tools))
    assert after["contents"][: len(before["contents"])] == before["contents"]
    assert after["tools"] == before["tools"]


texts = st.sampled_from(["", " ", "hello", "多"])
marks = st.sampled_from([None, "c2ln", "b3RoZXI="])
calls = st.builds(
    ToolCall,
    id=st.sampled_from(["", "a", "b", "functions.x:0", "x" * 60]),
    name=st.sampled_from(["", "shell", "1 bad näme", "y" * 80]),
    arguments_raw=st.sampled_from(["", "{}", '{"a', "[1]"]),
    arguments=st.sampled_from([None, {}, {"a": 1}]),
    extra=st.sampled_from([{}, {"thoughtSignature": "c2ln"}, {"id": "fn-1"}, {"extra_content": {}}]),
)
parts = st.one_of(
    st.builds(TextPart, texts, marks), st.builds(ThinkingPart, texts, st.just("thought"), signature=marks), calls
)
messages = st.one_of(
    st.builds(UserMessage, texts, origin=st.sampled_from(["user", "nudge", "steer"])),
    st.builds(
        AssistantMessage,
        st.lists(parts, max_size=4).map(tuple),
        provider=st.sampled_from(["gemini", "anthropic", ""]),
        model=st.sampled_from(["gemini-3-flash", "other"]),
        stop_reason=st.sampled_from(["stop", "tool_calls", "interrupted", "length"]),
    ),
    st.builds(ToolResult, st.sampled_from(["", "a", "b"]), st.just("shell"), texts),
)


@given(history=st.lists(messages, max_size=14), cut=st.integers(0, 14))
def test_any_history_cut_anywhere(history: list[Message], cut: int) -> None:
    assert gemini_complaints(sent(*history[:cut])) == []


def test_the_validator_notices_what_is_wrong() -> None:
    """A validator that accepts everything would make the tests above worthless."""
    function = {"name": "shell", "args": {}}
    body = {
        "contents": [
            {"role": "model", "parts": [{"functionCall": {"name": "1x", "args": "{}"}}]},
            {"role": "user", "parts": [{"text": ""}, {"functionResponse": {"name": "shell", "response": "x"}}]},
            {"role": "user", "parts": []},
            {"role": "model", "parts": [{"functionCall": function}, {"text": "a", "functionCall": function}]},
        ],
        "messages": [],
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": ["string"], "title": "x"}}]}],
    }
    said = "\n".join(gemini_complaints(body))
    for words in (
        "do not start with user",
        "end with model",
        "unknown field messages",
        "two user contents",
        "illegal name '1x'",
        "args are no object",
        "response is no object",
        "empty text",
        "no parts",
        "exactly one kind",
        "response to another call",
        "calls without a response",
        "missing a thought_signature",
        "no object with properties",
        "type ['string']",
        "unknown field title",
    ):
        assert words in said
