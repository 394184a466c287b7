"""ESC at any event of any recorded answer: the next request is one that every provider accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from reactagent_tui.core.llm.anthropic_payload import to_payload as to_anthropic
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec, WireRules
from reactagent_tui.core.llm.gemini_payload import to_payload as to_gemini
from reactagent_tui.core.llm.openai_payload import to_payload as to_chat
from reactagent_tui.core.llm.presets import PRESETS
from reactagent_tui.core.llm.responses_payload import to_payload as to_responses
from reactagent_tui.core.messages import AssistantMessage, Message, ToolResult, UserMessage
from reactagent_tui.core.sessions.window import repair
from tests.wire.replaying import ANTHROPIC, GEMINI, bytes_of, format_of, is_document, recorded, replayed
from tests.wire.validators import deepseek_complaints, openai_complaints
from tests.wire.validators_anthropic import anthropic_complaints
from tests.wire.validators_gemini import gemini_complaints
from tests.wire.validators_responses import responses_complaints

_RULES = {preset.name: preset.rules for preset in PRESETS}
TOOLS = (ToolSpec("shell", "Run.", {"type": "object", "properties": {"command": {"type": "string"}}}),)


@dataclass(frozen=True, slots=True)
class Target:
    """Who gets the next request. `p`/`m` is who the recorded chat and Responses answers come from."""

    info: ModelInfo
    to_payload: Callable[[ModelRequest, ModelInfo], dict[str, Any]]
    complaints: Callable[[Mapping[str, Any]], list[str]]


def chat(provider: str, rules: WireRules, complaints: Callable[[Mapping[str, Any]], list[str]]) -> Target:
    return Target(ModelInfo(provider, "m", "openai-chat", 8_000, rules=rules), to_chat, complaints)


TARGETS = {
    "openai": chat("p", WireRules(), openai_complaints),
    "deepseek": chat("p", _RULES["deepseek"], deepseek_complaints),
    "mistral": chat("mistral", _RULES["mistral"], openai_complaints),
    "responses": Target(ModelInfo("p", "m", "openai-responses", 8_000), to_responses, responses_complaints),
    "anthropic": Target(
        ModelInfo(ANTHROPIC.provider, ANTHROPIC.model, "anthropic", 200_000, rules=_RULES["anthropic"]),
        to_anthropic,
        anthropic_complaints,
    ),
    "gemini": Target(
        ModelInfo(GEMINI.provider, GEMINI.model, "gemini", 1_000_000, rules=_RULES["gemini"]),
        to_gemini,
        gemini_complaints,
    ),
}


def stopped_histories(fixture: str) -> Iterator[tuple[str, tuple[Message, ...]]]:
    """The user asks, stops the answer after each of its events, and goes on; or stops it before all its calls ran."""
    data = bytes_of(fixture)
    whole = replayed(fixture).message
    partials = [whole] if is_document(data) else format_of(fixture).partials(data)
    for place, partial in enumerate(partials):
        if place and partial == partials[place - 1]:
            continue
        kept = (partial,) if partial.parts else ()
        yield f"after event {place}", (UserMessage("go"), *kept, UserMessage("go on"))
    results = [ToolResult(call.id, call.name, "done") for call in whole.tool_calls]
    for done in range(len(results) + 1):
        yield f"{done} calls done", (UserMessage("go"), whole, *results[:done], UserMessage("go on"))


@pytest.mark.parametrize("fixture", recorded())
def test_the_next_request_is_valid(fixture: str) -> None:
    for when, history in stopped_histories(fixture):
        for name, target in TARGETS.items():
            valid = repair(history, target.info)
            body = target.to_payload(ModelRequest(target.info.name, "You help.", valid, TOOLS), target.info)
            assert target.complaints(body) == [], (name, when)


def test_what_is_kept_grows_and_holds_no_call() -> None:
    """A half-streamed call is dropped, text and thinking stay: checked on an answer that has all three."""
    kept = ANTHROPIC.partials(bytes_of("anthropic/thinking_text_two_calls"))
    sizes = [len(message.text) + len(message.thinking) for message in kept]
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (0, len("Let me look." + "I should look at both files."))
    assert not any(message.tool_calls for message in kept)
    assert all(isinstance(message, AssistantMessage) and message.stop_reason == "interrupted" for message in kept)
