"""What chat-completions servers refuse in the field, and what is sent instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from reactagent_tui.core.errors import BadRequestError
from reactagent_tui.core.llm.base import Endpoint, ModelInfo, ModelRequest, ToolSpec, WireRules
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.openai_adapt import adapted
from reactagent_tui.core.llm.openai_chat import OpenAIChatProvider
from reactagent_tui.core.llm.openai_payload import SEEN, to_payload
from reactagent_tui.core.messages import (
    AssistantMessage,
    Attachment,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.unit.llm.provider_kit import collect, text_of
from tests.unit.llm.scripted_server import Call, serving
from tests.wire.validators import openai_complaints

TOOL = ToolSpec("shell", "Run.", {"type": "object", "properties": {"command": {}}})
HISTORY = ModelRequest(
    "m",
    "You help.",
    (
        UserMessage("go", (Attachment("a.png", "image/png"),)),
        AssistantMessage((ThinkingPart("hm", "reasoning_content"), ToolCall("c1", "shell", "{}", {})), "p", "m"),
        ToolResult("c1", "shell", "done"),
        UserMessage("and now?"),
    ),
    (TOOL,),
    max_output=50_000,
    temperature=0.2,
)
INFO = ModelInfo("p", "m", "openai-chat", 8_000)


def info(**rules: Any) -> ModelInfo:
    return replace(INFO, rules=WireRules(**rules))


SAID: list[tuple[str, ModelInfo, Mapping[str, object]]] = [
    ("Unknown parameter: 'stream_options'", INFO, {"usage_in_stream": False}),
    (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        INFO,
        {"max_tokens_field": "max_completion_tokens"},
    ),
    (
        "Unrecognized request argument supplied: max_completion_tokens",
        info(max_tokens_field="max_completion_tokens"),
        {"max_tokens_field": "max_tokens"},
    ),
    (
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) is supported.",
        INFO,
        {"unsupported": ("temperature",)},
    ),
    ("invalid temperature: only 1 is allowed for this model", INFO, {"unsupported": ("temperature",)}),
    (
        "parallel_tool_calls: Extra inputs are not permitted",
        info(parallel_calls=True),
        {"unsupported": ("parallel_tool_calls",)},
    ),
    (
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        INFO,
        {"system_role": "user"},
    ),
    ("System role not supported", INFO, {"system_role": "user"}),
    ("Developer instruction is not enabled for models/gemma-3-27b-it", INFO, {"system_role": "user"}),
    (
        "'developer' is not one of ['system', 'assistant', 'user', 'tool'] - 'messages.0.role' invalid: role developer"
        " is not supported",
        info(system_role="developer"),
        {"system_role": "system"},
    ),
    ("Unexpected role 'user' after role 'tool'", INFO, {"assistant_after_tool": True}),
    (
        "Conversation roles must alternate user/assistant/user/assistant/...",
        info(merge_users=False),
        {"merge_users": True, "assistant_after_tool": True},
    ),
    (
        "After the optional system message, conversation roles must alternate user/assistant/...",
        INFO,
        {"assistant_after_tool": True},
    ),
    (
        "messages[0]: unknown variant `image_url`, expected `text` at line 1 column 9",
        INFO,
        {"supports_images": False},
    ),
    ("This model does not support image input", INFO, {"supports_images": False}),
    ("image input is not supported - hint: you may need to provide the mmproj", INFO, {"supports_images": False}),
    (
        "Failed to deserialize: messages[0].content: invalid type: sequence, expected a string",
        INFO,
        {"supports_images": False},
    ),
    (
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
        INFO,
        {"reasoning_replay": "tool_turns"},
    ),
    (
        "The reasoning_content in the thinking mode must be passed back to the API.",
        info(reasoning_replay="tool_turns"),
        {"reasoning_replay": "always"},
    ),
    (
        "messages[1]: reasoning_content is not supported",
        info(reasoning_replay="tool_turns"),
        {"reasoning_replay": "never"},
    ),
]


@pytest.mark.parametrize(("said", "model", "learned"), SAID, ids=[said[:40] for said, _, _ in SAID])
def test_what_a_refusal_teaches(said: str, model: ModelInfo, learned: Mapping[str, Any]) -> None:
    request = HISTORY
    if learned.get("reasoning_replay") == "always":  # a turn without calls shows the difference
        answer = AssistantMessage((ThinkingPart("so", "reasoning_content"), TextPart("ok")), "p", "m")
        request = replace(HISTORY, messages=(*HISTORY.messages, answer, UserMessage("more")))
    changed = adapted(said, request, model)
    assert changed is not None
    assert changed[1].rules == replace(model.rules, **learned)
    assert changed[0] == request
    assert adapted(said, *changed) is None  # said again: there is nothing left to change


@pytest.mark.parametrize(
    ("said", "most"),
    [
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192),
        ("max_tokens is too large: 50000. This model supports at most 16384 completion tokens, whereas", 16_384),
        ("`max_completion_tokens` must be less than or equal to `32768`", 32_768),
    ],
)
def test_the_highest_limit_is_taken_from_what_is_said(said: str, most: int) -> None:
    changed = adapted(said, HISTORY, INFO)
    assert changed is not None
    assert (changed[0].max_output, changed[1].max_output) == (most, most)
    assert changed[1].rules == INFO.rules
    assert adapted(said, *changed) is None


def test_a_forced_call_becomes_a_free_one() -> None:
    forced = replace(HISTORY, tool_choice="required")
    changed = adapted("tool_choice 'required' is incompatible with thinking enabled", forced, INFO)
    assert changed == (replace(forced, tool_choice="auto"), INFO)


@pytest.mark.parametrize(
    "said",
    [
        "Invalid schema for function 'shell'",
        "This model's maximum context length is 8192 tokens",
        "tool_call_id not found",
        "the image is too large",
        "Incorrect role information",
    ],
)
def test_other_refusals_change_nothing(said: str) -> None:
    assert adapted(said, HISTORY, INFO) is None


def messages(model: ModelInfo, request: ModelRequest = HISTORY) -> list[dict[str, Any]]:
    body = to_payload(request, model)
    assert openai_complaints(body) == []
    return body["messages"]


def test_a_model_without_a_system_message_hears_it_from_the_user() -> None:
    first = messages(info(system_role="user", merge_users=False))[0]
    assert (first["role"], first["content"].partition("\n\n")[0]) == ("user", "You help.")


def test_the_assistant_speaks_between_a_result_and_the_user() -> None:
    sent = messages(info(assistant_after_tool=True))
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert sent[4]["content"] == SEEN


@pytest.mark.parametrize("thinking", [{"type": "enabled", "clear_thinking": False}, {"keep": "all"}])
def test_reasoning_that_the_server_keeps_goes_back_whole(thinking: Mapping[str, Any]) -> None:
    answer = AssistantMessage((ThinkingPart("so", "reasoning_content"), TextPart("ok")), "p", "m")
    request = replace(HISTORY, messages=(*HISTORY.messages, answer, UserMessage("more")))
    rules = WireRules(reasoning_replay="tool_turns", reasoning_field="reasoning_content")
    keeping = replace(INFO, rules=rules, extra={"thinking": thinking})
    assert [m.get("reasoning_content") for m in messages(keeping, request) if m["role"] == "assistant"] == ["hm", "so"]
    assert "reasoning_content" not in messages(replace(keeping, extra={}), request)[5]


def test_parallel_calls_are_asked_for_only_with_tools() -> None:
    model = info(parallel_calls=True)
    assert to_payload(HISTORY, model)["parallel_tool_calls"] is True
    assert "parallel_tool_calls" not in to_payload(replace(HISTORY, tools=()), model)
    assert "parallel_tool_calls" not in to_payload(HISTORY, INFO)


def test_every_property_has_a_type_where_that_is_wanted() -> None:
    schema = {
        "properties": {
            "any": {"description": "x"},
            "choice": {"enum": ["a", "b"]},
            "count": {"default": 3},
            "flag": {"const": True},
            "list": {"items": {}},
            "either": {"anyOf": [{"type": "string"}, {"enum": [1]}]},
            "ref": {"$ref": "#/$defs/inner"},
            "map": {"additionalProperties": {"description": "y"}},
        },
        "$defs": {"inner": {"properties": {"deep": {}}}},
    }
    tool = replace(TOOL, parameters=schema)
    before = repr(schema)
    sent = to_payload(replace(HISTORY, tools=(tool,)), info(typed_schemas=True))["tools"][0]["function"]["parameters"]
    kinds = {name: each.get("type") for name, each in sent["properties"].items()}
    assert kinds == {
        "any": "string",
        "choice": "string",
        "count": "integer",
        "flag": "boolean",
        "list": "array",
        "either": None,
        "ref": None,
        "map": "object",
    }
    assert sent["type"] == "object"
    assert sent["properties"]["either"]["anyOf"][1]["type"] == "integer"
    assert sent["properties"]["list"]["items"]["type"] == "string"
    assert sent["properties"]["map"]["additionalProperties"]["type"] == "string"
    assert sent["$defs"]["inner"] == {"properties": {"deep": {"type": "string"}}, "type": "object"}
    assert repr(schema) == before
    assert to_payload(replace(HISTORY, tools=(tool,)), INFO)["tools"][0]["function"]["parameters"] is schema


async def test_several_refusals_in_a_row_are_learned_for_good(pool: HttpPool) -> None:
    async def picky(call: Call) -> None:
        for key, said in (
            ("stream_options", "Unknown field: stream_options"),
            ("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
            ("temperature", "Unsupported value: 'temperature' does not support 0.2 with this model"),
        ):
            if key in call.body:
                await call.refuse("400 Bad Request", f'{{"error":{{"message":"{said}"}}}}')
                return
        await call.reply("ok")

    async with serving(picky) as server:
        provider = OpenAIChatProvider(INFO, Endpoint(f"{server.base}/v1"), pool)
        assert text_of(await collect(provider, HISTORY)) == "ok"
        assert len(server.calls) == 4
        assert text_of(await collect(provider, HISTORY)) == "ok"
        assert len(server.calls) == 5


async def test_a_template_that_refuses_with_a_500(pool: HttpPool) -> None:
    async def strict(call: Call) -> None:
        if call.body["messages"][0]["role"] == "system":
            said = "Jinja Exception: System role not supported"
            await call.refuse("500 Internal Server Error", f'{{"error":{{"message":"{said}"}}}}')
        else:
            await call.reply("ok")

    async with serving(strict) as server:
        assert text_of(await collect(OpenAIChatProvider(INFO, Endpoint(f"{server.base}/v1"), pool), HISTORY)) == "ok"


async def test_a_server_that_refuses_everything_is_not_asked_for_ever(pool: HttpPool) -> None:
    said = (
        "stream_options, max_completion_tokens, temperature, system role not supported, roles must alternate, image_url"
    )

    async def refuses(call: Call) -> None:
        await call.refuse("400 Bad Request", f'{{"error":{{"message":"unsupported: {said} not supported"}}}}')

    async with serving(refuses) as server:
        with pytest.raises(BadRequestError):
            await collect(OpenAIChatProvider(INFO, Endpoint(f"{server.base}/v1"), pool), HISTORY)
    assert len(server.calls) <= 7
