"""The body of a Responses call: parameters, reasoning options, images."""

from __future__ import annotations

from typing import Any

import pytest

from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec, WireRules
from reactagent_tui.core.llm.catalog import thinking_body
from reactagent_tui.core.llm.responses_payload import item_signature, to_payload
from reactagent_tui.core.messages import AssistantMessage, Attachment, Message, ToolCall, UserMessage
from tests.wire.validators_responses import responses_complaints

TOOLS = (ToolSpec("f", "does f", {"type": "object", "properties": {}}),)


def info(extra: dict[str, Any] | None = None, **rules: Any) -> ModelInfo:
    return ModelInfo("p", "m", "openai-responses", 8_000, rules=WireRules(**rules), extra=extra or {})


def body_of(*messages: Message, extra: dict[str, Any] | None = None, **rules: Any) -> dict[str, Any]:
    return to_payload(ModelRequest("m", "", messages or (UserMessage("x"),)), info(extra, **rules))


def test_all_parameters_in_a_stable_order() -> None:
    request = ModelRequest("m", "Help.", (UserMessage("x"),), TOOLS, "required", 100, 0.5, ("END",), {"top_p": 0.9})
    body = to_payload(request, info())
    assert body == {
        "model": "m",
        "instructions": "Help.",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}],
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
        "tools": [
            {
                "type": "function",
                "name": "f",
                "description": "does f",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            }
        ],
        "tool_choice": "required",
        "max_output_tokens": 100,
        "temperature": 0.5,
        "top_p": 0.9,
        "reasoning": {"summary": "auto"},
    }
    assert list(body) == list(to_payload(request, info()))
    assert responses_complaints(body) == []


def test_what_a_model_does_not_take_is_left_out() -> None:
    request = ModelRequest("m", "", (UserMessage("x"),), TOOLS, "none", temperature=0.5)
    unsupported = ("temperature", "include", "reasoning")
    assert list(to_payload(request, info(unsupported=unsupported, supports_tools=False))) == [
        "model",
        "input",
        "store",
        "stream",
    ]


def test_a_limit_below_the_least_one_is_raised_to_it() -> None:
    assert to_payload(ModelRequest("m", "", (UserMessage("x"),), max_output=5), info())["max_output_tokens"] == 16


REASONING: list[tuple[dict[str, Any], tuple[str, ...], object]] = [
    ({}, (), {"summary": "auto"}),
    ({}, ("reasoning.summary",), None),
    ({"reasoning_effort": "high"}, (), {"effort": "high", "summary": "auto"}),
    ({"reasoning_effort": "high"}, ("reasoning.summary",), {"effort": "high"}),
    ({"reasoning_effort": "none"}, (), {"effort": "none"}),
    ({"reasoning": {"effort": "low", "summary": "detailed"}}, (), {"effort": "low", "summary": "detailed"}),
    ({"reasoning": {"effort": "xhigh"}, "reasoning_effort": "low"}, (), {"effort": "xhigh", "summary": "auto"}),
    ({"reasoning": {"summary": None}}, (), None),
    ({"reasoning": None}, (), None),
]


@pytest.mark.parametrize(("extra", "unsupported", "expected"), REASONING)
def test_reasoning_options(extra: dict[str, Any], unsupported: tuple[str, ...], expected: object) -> None:
    body = body_of(extra=extra, unsupported=unsupported)
    assert body.get("reasoning") == expected
    assert "reasoning_effort" not in body


@pytest.mark.parametrize(("wish", "effort"), [(True, "medium"), (False, "none"), ("low", "low"), ("max", "high")])
def test_the_thinking_switch_of_the_config(wish: Any, effort: str) -> None:
    assert body_of(extra=thinking_body("effort", wish))["reasoning"]["effort"] == effort


def test_names_of_chat_completions_in_the_config_still_work() -> None:
    body = body_of(extra={"max_completion_tokens": 77, "verbosity": "low", "text": {"format": {"type": "text"}}})
    assert (body["max_output_tokens"], body["text"]) == (77, {"verbosity": "low", "format": {"type": "text"}})
    assert responses_complaints(body) == []
    assert body_of(extra={"max_tokens": 5, "max_output_tokens": 50})["max_output_tokens"] == 50


def test_images_and_those_that_cannot_be_sent() -> None:
    message = UserMessage("look", (Attachment("/d/a.png", "image/png"), Attachment("/d/gone.png", "image/png")))
    images = {"/d/a.png": "data:image/png;base64,iVBORw=="}
    text, image = to_payload(ModelRequest("m", "", (message,)), info(), images)["input"][0]["content"]
    assert image == {"type": "input_image", "image_url": images["/d/a.png"], "detail": "auto"}
    assert text["text"].startswith("look\n[attachment gone.png was not sent")
    wordless = UserMessage("", (Attachment("/d/a.png", "image/png"),))
    body = to_payload(ModelRequest("m", "", (wordless,)), info(), images)
    assert body["input"][0]["content"] == [image]


def test_a_call_keeps_its_extra_keys_only_for_the_model_that_wrote_it() -> None:
    call = ToolCall("c", "f", "not json", None, extra={"namespace": "n"})
    own, other = (
        body_of(UserMessage("x"), AssistantMessage((call,), "p", model))["input"][1] for model in ("m", "another")
    )
    assert own == {"namespace": "n", **other}
    assert other == {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}


@pytest.mark.parametrize(
    "item",
    [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "only a summary"}]},
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAA", "status": "incomplete"},
        {"type": "reasoning", "encrypted_content": None, "content": []},
    ],
)
def test_reasoning_items_that_hold_nothing_to_send_back(item: dict[str, Any]) -> None:
    assert item_signature(item) is None


def test_a_broken_emoji_in_a_summary_can_be_stored() -> None:
    signature = item_signature(
        {"summary": [{"type": "summary_text", "text": "\ud83c\udf0d \ud83c"}], "encrypted_content": "g"}
    )
    assert signature is not None
    assert "🌍 \ufffd" in signature
