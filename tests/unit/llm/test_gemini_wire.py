"""Addresses, body and thinking of the Gemini API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec, WireRules
from reactagent_tui.core.llm.gemini import gemini_urls, to_payload
from reactagent_tui.core.llm.gemini_payload import USUAL, function_name, thinking_config
from reactagent_tui.core.messages import Attachment, UserMessage

INFO = ModelInfo("gemini", "gemini-2.5-flash", "gemini", 1_000_000)
HI = (UserMessage("hi"),)
CALL = "models/m:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(
    ("base", "urls"),
    [
        ("https://h.com/v1beta", [f"https://h.com/v1beta/{CALL}"]),
        ("https://h.com/v1beta/", [f"https://h.com/v1beta/{CALL}"]),
        ("https://h.com/v1beta/openai/", [f"https://h.com/v1beta/{CALL}"]),
        ("https://h.com/v1beta/models", [f"https://h.com/v1beta/{CALL}"]),
        ("h.com", [f"https://h.com/v1beta/{CALL}", f"https://h.com/{CALL}"]),
        ("http://h/proxy", [f"http://h/proxy/v1beta/{CALL}", f"http://h/proxy/{CALL}"]),
        ("https://me:pw@h.com/v1", [f"https://h.com/v1/{CALL}"]),
        ("https://h.com/v1/publishers/google", [f"https://h.com/v1/publishers/google/{CALL}"]),
        ("https://h.com/v1?x=1&alt=json", ["https://h.com/v1/models/m:streamGenerateContent?x=1&alt=sse"]),
        (
            "https://h.com/v1beta/models/other:generateContent?alt=sse",
            ["https://h.com/v1beta/models/other:streamGenerateContent?alt=sse"],
        ),
        ("http://[bad", ["http://[bad"]),
    ],
)
def test_addresses(base: str, urls: list[str]) -> None:
    assert list(gemini_urls(base, "m")) == urls


def test_a_model_that_is_a_path() -> None:
    assert gemini_urls("h/v1", "tunedModels/my one") == (
        "https://h/v1/tunedModels/my%20one:streamGenerateContent?alt=sse",
    )


def test_the_body() -> None:
    request = ModelRequest(
        INFO.name,
        "Be brief.",
        HI,
        (
            ToolSpec("shell", "runs", {"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]}),
            ToolSpec("now", "the time", {"type": "object", "properties": {}}),
        ),
        "required",
        100,
        0.5,
        ("END",),
        {"generationConfig": {"topK": 3, "stopSequences": None}, "safetySettings": []},
    )
    assert to_payload(request, INFO) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "shell",
                        "description": "runs",
                        "parameters": {"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]},
                    },
                    {"name": "now", "description": "the time"},
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "generationConfig": {
            "maxOutputTokens": 100,
            "temperature": 0.5,
            "thinkingConfig": {"includeThoughts": True},
            "topK": 3,
        },
        "safetySettings": [],
    }
    rules = WireRules(supports_tools=False, unsupported=("temperature", "stop"))
    plain = to_payload(replace(request, extra={}), replace(INFO, rules=rules))
    assert "tools" not in plain
    assert "toolConfig" not in plain
    assert set(plain["generationConfig"]) == {"maxOutputTokens", "thinkingConfig"}
    none = to_payload(replace(request, tool_choice="none"), INFO)
    assert none["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}


def test_a_model_without_system_instruction() -> None:
    request = ModelRequest("gemma-3-27b-it", "Be brief.", HI)
    body = to_payload(request, INFO, form=replace(USUAL, system_in_contents=True))
    assert body == {"contents": [{"role": "user", "parts": [{"text": "Be brief."}, {"text": "hi"}]}]}


@pytest.mark.parametrize(
    ("model", "asks"),
    [
        ("gemini-2.5-pro", True),
        ("gemini-3-pro-preview", True),
        ("gemini-flash-latest", True),
        ("gemini-2.0-flash", False),
        ("gemini-1.5-pro", False),
        ("gemini-2.5-flash-image", False),
        ("gemma-3-27b-it", False),
    ],
)
def test_summaries_of_thinking_are_asked_of_models_that_think(model: str, asks: bool) -> None:
    body = to_payload(ModelRequest(model, "", HI), INFO)
    assert ("generationConfig" in body) is asks
    off = to_payload(ModelRequest(model, "", HI), INFO, form=replace(USUAL, thoughts=False))
    assert "generationConfig" not in off


@pytest.mark.parametrize(
    ("model", "wish", "config"),
    [
        ("gemini-2.5-flash", True, {"includeThoughts": True, "thinkingBudget": -1}),
        ("gemini-2.5-flash", False, {"includeThoughts": False, "thinkingBudget": 0}),
        ("gemini-2.5-pro", False, {"includeThoughts": False, "thinkingBudget": 128}),
        ("gemini-2.5-flash", "low", {"includeThoughts": True, "thinkingBudget": 1024}),
        ("gemini-2.5-flash", "max", {"includeThoughts": True, "thinkingBudget": 24576}),
        ("gemini-3-flash", True, {"includeThoughts": True}),
        ("gemini-3-flash", False, {"includeThoughts": False, "thinkingLevel": "minimal"}),
        ("gemini-3-pro-preview", False, {"includeThoughts": False, "thinkingLevel": "low"}),
        ("gemini-3-pro-preview", "medium", {"includeThoughts": True, "thinkingLevel": "high"}),
        ("gemini-3.1-pro", "medium", {"includeThoughts": True, "thinkingLevel": "medium"}),
        ("gemini-3-flash", "max", {"includeThoughts": True, "thinkingLevel": "high"}),
    ],
)
def test_the_switch_for_thinking(model: str, wish: bool | str, config: dict[str, Any]) -> None:
    extra = thinking_config(model, wish)
    assert extra == {"generationConfig": {"thinkingConfig": config}}
    body = to_payload(ModelRequest(model, "", HI, max_output=9, extra=extra), replace(INFO, extra=extra))
    assert body["generationConfig"] == {"maxOutputTokens": 9, "thinkingConfig": config}


def test_images_and_what_could_not_be_sent() -> None:
    message = UserMessage("look", (Attachment("a.png", "image/png"), Attachment("gone.png", "image/png")))
    only = UserMessage("", (Attachment("a.png", "image/png"),))
    images = {"a.png": "data:image/png;base64,iVBORw=="}
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}
    body = to_payload(ModelRequest(INFO.name, "", (message,)), INFO, images)
    text, sent = body["contents"][0]["parts"]
    assert sent == image
    assert text["text"].startswith("look\n[attachment gone.png was not sent")
    assert to_payload(ModelRequest(INFO.name, "", (only,)), INFO, images)["contents"][0]["parts"] == [image]


@pytest.mark.parametrize(
    ("name", "wire"),
    [("shell", "shell"), ("1st", "_1st"), ("日本", "__"), ("", "_"), ("a b", "a_b"), ("x" * 70, "x" * 64)],
)
def test_names(name: str, wire: str) -> None:
    assert function_name(name) == wire
