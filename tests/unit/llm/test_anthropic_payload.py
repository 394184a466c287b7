"""The body of a Messages request: limits, thinking by generation, cache marks, files, tools."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from reactagent_tui.core.llm.anthropic_adapt import adapted
from reactagent_tui.core.llm.anthropic_models import traits_of
from reactagent_tui.core.llm.anthropic_payload import to_payload
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec, WireRules
from reactagent_tui.core.messages import (
    AssistantMessage,
    Attachment,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.wire.validators_anthropic import anthropic_complaints

SONNET, OPUS = "claude-sonnet-4-5", "claude-opus-4-7"
TOOL = ToolSpec("shell", "Run.", {"type": "object", "properties": {}})
HI = (UserMessage("hi"),)
MARK = {"type": "ephemeral"}


def info_of(model: str = SONNET, **more: Any) -> ModelInfo:
    return ModelInfo("anthropic", model, "anthropic", more.pop("window", 200_000), **more)


def body_of(model: str = SONNET, extra: dict[str, Any] | None = None, **request: Any) -> dict[str, Any]:
    info = info_of(model, extra=extra or {})
    body = to_payload(ModelRequest(model, request.pop("system", ""), request.pop("messages", HI), **request), info)
    assert anthropic_complaints(body) == []
    return body


def test_a_whole_request_byte_for_byte() -> None:
    body = body_of(system="Be brief.", tools=(TOOL,), max_output=99, temperature=0.5, stop=("END", " "))
    assert json.dumps(body) == json.dumps(
        {
            "model": SONNET,
            "max_tokens": 99,
            "temperature": 0.5,
            "stop_sequences": ["END"],
            "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
            "tools": [
                {
                    "name": "shell",
                    "description": "Run.",
                    "input_schema": {"type": "object", "properties": {}},
                    "cache_control": MARK,
                }
            ],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": MARK}]}],
            "stream": True,
        }
    )


@pytest.mark.parametrize(
    ("model", "window", "most"),
    [
        ("claude-3-haiku-20240307", 200_000, 4_096),
        ("claude-3-5-sonnet-20241022", 200_000, 8_192),
        ("claude-3-7-sonnet-20250219", 200_000, 64_000),
        ("claude-opus-4-20250514", 200_000, 32_000),
        ("claude-opus-4-1", 200_000, 32_000),
        ("anthropic/claude-sonnet-4.5", 200_000, 64_000),
        ("claude-sonnet-4@20250514", 200_000, 64_000),
        ("claude-next", 200_000, 64_000),
        ("kimi-k2", 200_000, 16_384),
        (SONNET, 8_000, 4_000),
    ],
)
def test_the_limit_of_a_reply_is_always_there(model: str, window: int, most: int) -> None:
    assert to_payload(ModelRequest(model, "", HI), info_of(model, window=window))["max_tokens"] == most


def test_the_configured_limit_holds() -> None:
    info = info_of(max_output=5_000)
    assert to_payload(ModelRequest(SONNET, "", HI), info)["max_tokens"] == 5_000
    assert to_payload(ModelRequest(SONNET, "", HI, max_output=9_000), info)["max_tokens"] == 5_000
    assert to_payload(ModelRequest(SONNET, "", HI, max_output=100), info)["max_tokens"] == 100


ADAPTIVE = {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("model", "wish", "thinking", "effort"),
    [
        (SONNET, None, None, None),
        (SONNET, True, {"type": "enabled", "budget_tokens": 12_000}, None),
        (SONNET, "low", {"type": "enabled", "budget_tokens": 4_096}, None),
        (SONNET, False, None, None),
        ("claude-3-5-haiku-latest", "high", None, None),
        ("claude-opus-4-6", True, ADAPTIVE, None),
        (OPUS, "max", ADAPTIVE, "max"),
        (OPUS, None, None, None),
        (OPUS, False, None, None),
        ("claude-opus-4-8", False, {"type": "disabled"}, None),
        ("claude-sonnet-5", "low", ADAPTIVE, "low"),
        ("claude-fable-5", None, ADAPTIVE, None),
        ("claude-mythos-preview", False, None, None),
        ("claude-next", True, ADAPTIVE, None),
        (SONNET, {"type": "enabled", "budget_tokens": 2_000}, {"type": "enabled", "budget_tokens": 2_000}, None),
    ],
)
def test_thinking_by_generation(model: str, wish: Any, thinking: Any, effort: str | None) -> None:
    body = body_of(model, {"thinking": wish})
    assert body.get("thinking") == thinking
    assert body.get("output_config") == (None if effort is None else {"effort": effort})


def test_a_budget_leaves_room_for_the_answer() -> None:
    assert body_of(extra={"thinking": "max"}, max_output=8_000)["thinking"]["budget_tokens"] == 8_000 - 1_024
    assert "thinking" not in body_of(extra={"thinking": "max"}, max_output=1_500)


def test_what_goes_not_with_thinking() -> None:
    body = body_of(extra={"thinking": True, "top_k": 5}, temperature=0.2, tools=(TOOL,), tool_choice="required")
    assert not {"temperature", "top_k", "tool_choice"} & body.keys()
    assert body_of(OPUS, {"thinking": True}, tools=(TOOL,), tool_choice="required")["tool_choice"] == {"type": "any"}


def test_sampling_is_gone_with_opus_4_7() -> None:
    assert "temperature" not in body_of(OPUS, {"top_p": 0.5}, temperature=0.2)
    assert body_of(SONNET, temperature=0.2)["temperature"] == 0.2
    assert not traits_of("claude-sonnet-5").sampling


def test_an_effort_keeps_the_users_other_output_settings() -> None:
    body = body_of(OPUS, {"thinking": "low", "output_config": {"format": {"type": "json_schema"}}})
    assert body["output_config"] == {"format": {"type": "json_schema"}, "effort": "low"}


def marks_of(body: dict[str, Any]) -> list[Any]:
    blocks = [*body.get("tools", ()), *body.get("system", ())]
    blocks += [block for message in body["messages"] for block in message["content"]]
    return [block["cache_control"] for block in blocks if "cache_control" in block]


def test_cache_marks() -> None:
    assert marks_of(body_of(system="s", tools=(TOOL,))) == [MARK] * 3
    assert marks_of(body_of(extra={"cache": "1h"}, system="s")) == [{"type": "ephemeral", "ttl": "1h"}] * 2
    assert marks_of(body_of(extra={"cache": False}, system="s")) == []
    automatic = body_of(extra={"cache_control": MARK}, system="s")
    assert (marks_of(automatic), automatic["cache_control"]) == ([], MARK)


def test_thinking_carries_no_mark() -> None:
    reply = AssistantMessage((TextPart("a"), ThinkingPart("t", "thinking", "S")), "anthropic", SONNET, "stop")
    text, thinking = to_payload(ModelRequest(SONNET, "", (*HI, reply)), info_of())["messages"][1]["content"]
    assert text["cache_control"] == MARK
    assert thinking == {"type": "thinking", "thinking": "t", "signature": "S"}


def test_only_the_author_sees_its_thinking() -> None:
    reply = AssistantMessage((ThinkingPart("t", "thinking", "S"), TextPart("a")), "anthropic", OPUS, "stop")
    messages = (*HI, reply, UserMessage("b"))
    assert len(body_of(OPUS, messages=messages)["messages"][1]["content"]) == 2
    assert body_of(SONNET, messages=messages)["messages"][1]["content"] == [{"type": "text", "text": "a"}]


def test_marks_never_reach_the_callers_data() -> None:
    server_tool = {"type": "web_search_20250305", "name": "web_search"}
    body = body_of(extra={"tools": [server_tool]}, tools=(TOOL,))
    assert [tool["name"] for tool in body["tools"]] == ["shell", "web_search"]
    assert body["tools"][1]["cache_control"] == MARK
    assert "cache_control" not in server_tool


def test_the_bytes_before_the_new_message_stay_the_same() -> None:
    """Only marks move: without them the old request is a prefix of the new one."""

    def plain(body: dict[str, Any]) -> str:
        return json.dumps(
            [body["system"], body["tools"], [block for m in body["messages"] for block in m["content"]]]
        ).replace(', "cache_control": {"type": "ephemeral"}', "")

    reply = AssistantMessage((ThinkingPart("t", "thinking", "S"), TextPart("a")), "anthropic", SONNET, "stop")
    first = plain(body_of(system="s", tools=(TOOL,)))
    second = plain(body_of(system="s", tools=(TOOL,), messages=(*HI, reply, UserMessage("b"))))
    assert second.startswith(first[:-2])


def test_images_and_documents() -> None:
    files = tuple(
        Attachment(path, kind)
        for path, kind in [
            ("a.png", "image/png"),
            ("b.pdf", "application/pdf"),
            ("c.tiff", "image/tiff"),
            ("d.png", "image/png"),
        ]
    )
    urls = {
        "a.png": "data:image/png;base64,QQ==",
        "b.pdf": "data:application/pdf;base64,Qg==",
        "c.tiff": "data:x;base64,Qw==",
    }
    body = to_payload(ModelRequest(SONNET, "", (UserMessage("look", files),)), info_of(), urls)
    assert anthropic_complaints(body) == []
    image, document, text = body["messages"][0]["content"]
    assert image["source"] == {"type": "base64", "media_type": "image/png", "data": "QQ=="}
    assert (document["type"], document["source"]["data"]) == ("document", "Qg==")
    assert "c.tiff was not sent" in text["text"]
    assert "d.png was not sent" in text["text"]


def test_results_come_first_and_say_that_they_failed() -> None:
    calls = (ToolCall("a", "shell", "{}", {}), ToolCall("b", "shell", "{}", {}))
    messages = (
        *HI,
        AssistantMessage(calls, "anthropic", SONNET, "tool_calls"),
        ToolResult("a", "shell", "", is_error=True),
        ToolResult("b", "shell", "ok"),
        UserMessage("and hurry"),
    )
    body = body_of(messages=messages, tools=(TOOL,))
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "(no output)", "is_error": True},
        {"type": "tool_result", "tool_use_id": "b", "content": "ok"},
        {"type": "text", "text": "and hurry", "cache_control": MARK},
    ]


def test_calls_in_the_history_bring_their_tools() -> None:
    """A summary or a title is asked for without tools; the API wants them beside the calls."""
    messages = (
        *HI,
        AssistantMessage((ToolCall("a", "shell", "{}", {}),), "anthropic", SONNET, "tool_calls"),
        ToolResult("a", "shell", "ok"),
    )
    body = body_of(messages=messages)
    assert [tool["name"] for tool in body["tools"]] == ["shell"]
    assert body["tool_choice"] == {"type": "none"}


def test_schemas_are_plain_objects() -> None:
    odd = ToolSpec("odd", "", {"anyOf": [{"required": ["a"]}], "properties": {"a": {"anyOf": [{"type": "string"}]}}})
    schema = body_of(tools=(odd,))["tools"][0]["input_schema"]
    assert schema == {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}}


# What a refusal teaches

ASK = ModelRequest(SONNET, "", HI, (TOOL,))


def after(said: str, request: ModelRequest = ASK, **info: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The bodies before and after a refusal; None when nothing can be changed."""
    model = info_of(request.model, **info)
    changed = adapted(said, request, model)
    return None if changed is None else (to_payload(request, model), to_payload(*changed))


def test_a_smaller_limit_is_learned() -> None:
    bodies = after("max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-x")
    assert bodies is not None
    assert (bodies[0]["max_tokens"], bodies[1]["max_tokens"]) == (64_000, 8_192)


def test_a_full_window_shortens_the_reply_until_there_is_no_room() -> None:
    said = "input length and `max_tokens` exceed context limit: 188240 + 64000 > 200000, decrease input length"
    bodies = after(said)
    assert bodies is not None
    assert bodies[1]["max_tokens"] == 11_760
    assert after(said.replace("188240", "199990")) is None


def test_the_other_style_of_thinking() -> None:
    said = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config'
    bodies = after(said, extra={"thinking": "high"})
    assert bodies is not None
    assert bodies[1]["thinking"] == ADAPTIVE
    assert bodies[1]["output_config"] == {"effort": "high"}
    back = after("adaptive thinking is not supported on this model", replace(ASK, model=OPUS), extra={"thinking": True})
    assert back is not None
    assert back[1]["thinking"]["type"] == "enabled"
    gone = after(said, extra={"thinking": "high", "thinking_style": "enabled"})
    assert gone is not None
    assert "thinking" not in gone[1]
    assert after(said) is None  # it was not asked for: nothing to change


def test_thinking_without_a_switch() -> None:
    said = 'thinking.type "disabled" is not supported for this model'
    bodies = after(said, replace(ASK, model="claude-opus-4-8"), extra={"thinking": False})
    assert bodies is not None
    assert bodies[0]["thinking"] == {"type": "disabled"}
    assert "thinking" not in bodies[1]


def test_parameters_that_are_not_taken_any_more() -> None:
    bodies = after("`temperature` is deprecated for this model.", replace(ASK, temperature=0.5))
    assert bodies is not None
    assert ("temperature" in bodies[0], "temperature" in bodies[1]) == (True, False)
    assert after("`temperature` is deprecated", rules=WireRules(unsupported=("temperature",))) is None
    cache = after("tools.0.cache_control: Extra inputs are not permitted")
    assert cache is not None
    assert (len(marks_of(cache[0])), len(marks_of(cache[1]))) == (2, 0)


SIGNED = ModelRequest(
    SONNET,
    "",
    (
        *HI,
        AssistantMessage(
            (ThinkingPart("t", "thinking", "SIG"), ToolCall("a", "shell", "{}", {})), "anthropic", SONNET, "tool_calls"
        ),
        ToolResult("a", "shell", "ok"),
    ),
    (TOOL,),
)


@pytest.mark.parametrize(
    "said",
    [
        "messages.1.content.0: `thinking` blocks in the latest assistant message cannot be modified.",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ],
)
def test_thinking_that_another_account_signed_is_left_out(said: str) -> None:
    bodies = after(said, SIGNED)
    assert bodies is not None
    assert "SIG" in json.dumps(bodies[0])
    assert "SIG" not in json.dumps(bodies[1])
    assert after(said) is None


def test_other_refusals_change_nothing() -> None:
    assert after("messages: at least one message is required", SIGNED) is None
    assert after("Output blocked by content filtering policy", SIGNED, extra={"thinking": True}) is None
