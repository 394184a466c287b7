"""Marks for the cache on chat completions: for Anthropic and Gemini models at OpenRouter, where they may stand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from reactagent_tui.core.llm.base import Endpoint, ModelInfo, ModelRequest
from reactagent_tui.core.llm.catalog import preset_named, rules_for
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.openai_chat import OpenAIChatProvider
from reactagent_tui.core.llm.openai_payload import to_payload
from reactagent_tui.core.messages import (
    AssistantMessage,
    Attachment,
    Message,
    TextPart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.unit.llm.provider_kit import collect
from tests.unit.llm.scripted_server import Call, serving
from tests.wire.validators import openai_complaints, openrouter_complaints

CLAUDE, GEMINI, OTHER = "anthropic/claude-sonnet-4.5", "google/gemini-3-pro", "openai/gpt-5.2"
IMAGE = {"p.png": "data:image/png;base64,iVBORw=="}


def info_of(model: str) -> ModelInfo:
    preset = preset_named("openrouter")
    assert preset is not None
    return ModelInfo("openrouter", model, "openai-chat", 200_000, rules=rules_for(preset, model))


def history(steps: int) -> tuple[Message, ...]:
    """A finished turn, then one that has taken so many steps; every third step says something."""
    messages: list[Message] = [UserMessage("first"), AssistantMessage((TextPart("done"),))]
    messages.append(UserMessage("second", (Attachment("p.png", "image/png"),)))
    for step in range(steps):
        said = (TextPart(f"step {step}"),) if step % 3 == 0 else ()
        call = ToolCall(f"call_{step}", "look", "{}", {})
        messages += [AssistantMessage((*said, call)), ToolResult(call.id, "look", f"seen {step}")]
    return tuple(messages)


def body_of(model: str, steps: int = 4, **extra: Any) -> dict[str, Any]:
    request = ModelRequest(model, "You are exact.", history(steps), extra=extra)
    return to_payload(request, info_of(model), IMAGE)


def marked(body: Mapping[str, Any]) -> list[str]:
    """The texts that carry a mark."""
    contents = [m["content"] for m in body["messages"] if isinstance(m["content"], list)]
    return [part["text"] for content in contents for part in content if "cache_control" in part]


@pytest.mark.parametrize("steps", range(12))
@pytest.mark.parametrize("model", [CLAUDE, GEMINI])
def test_every_request_is_accepted(model: str, steps: int) -> None:
    assert openrouter_complaints(body_of(model, steps)) == []


def test_claude_moves_its_marks_gemini_marks_what_never_changes() -> None:
    assert marked(body_of(CLAUDE, 0)) == ["You are exact.", "first", "done", "second"]
    assert marked(body_of(CLAUDE, 2)) == ["You are exact.", "first", "second", "step 0"]
    assert marked(body_of(CLAUDE, 6)) == ["You are exact.", "first", "second", "step 3"]
    assert marked(body_of(GEMINI, 6)) == ["You are exact."]
    assert openai_complaints(body_of(OTHER)) == []
    assert "cache_control" not in str(body_of(OTHER))


def test_the_user_has_the_last_word() -> None:
    assert marked(body_of(CLAUDE, cache=False)) == []
    assert "cache" not in body_of(CLAUDE, cache=False)
    assert '"ttl": "1h"' in json.dumps(body_of(CLAUDE, cache="1h"))
    assert openrouter_complaints(body_of(CLAUDE, cache="1h")) == []


async def test_a_server_that_refuses_marks_gets_none() -> None:
    async def refuses(call: Call) -> None:
        if "cache_control" in str(call.body):
            await call.refuse("400 Bad Request", '{"error": {"message": "cache_control: extra inputs not permitted"}}')
        else:
            await call.reply("ok")

    pool = HttpPool()
    try:
        async with serving(refuses) as server:
            info = replace(info_of(CLAUDE), provider="gateway")
            provider = OpenAIChatProvider(info, Endpoint(server.base), pool)
            await collect(provider, ModelRequest(CLAUDE, "sys", (UserMessage("hi"),)))
            await collect(provider, ModelRequest(CLAUDE, "sys", (UserMessage("hi"),)))
        assert ["cache_control" in str(call.body) for call in server.calls] == [True, False, False]
    finally:
        await pool.aclose()
