"""Histories of every origin, repaired, are requests that the Messages API accepts; and its cache finds them again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reactagent_tui.core.llm.anthropic_payload import to_payload
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec, WireRules
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
)
from reactagent_tui.core.sessions.window import repair
from tests.wire.validators_anthropic import anthropic_complaints

RULES = WireRules(id_pattern=r"[A-Za-z0-9_-]{1,64}")
MODELS = ("claude-sonnet-4-5", "claude-opus-4-7", "claude-3-7-sonnet-20250219", "claude-opus-4-6", "claude-fable-5")
TOOLS = (ToolSpec("shell", "Run.", {"type": "object", "properties": {"command": {"type": "string"}}}),)
ORIGINS = (
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-4-7"),
    ("deepseek", "deepseek-chat"),
    ("openai", "gpt-5.2"),
    ("gemini", "gemini-3-pro"),
)
STOPS: tuple[StopReason, ...] = ("stop", "tool_calls", "length", "refusal", "cut", "interrupted", "lost", "error")

_texts = st.sampled_from(["", " ", "\n\n", "I look.", "修复 🌍", "a" * 30])
_thinking = st.builds(
    ThinkingPart,
    _texts,
    st.sampled_from([None, "reasoning_content", "thinking"]),
    st.sampled_from([None, "", "SIG"]),
    st.sampled_from([None, None, "BLOB"]),
)
_calls = st.builds(
    lambda call_id, name, arguments: ToolCall(
        call_id, name, "{" if arguments is None else json.dumps(arguments), arguments, {"thought_signature": "x"}
    ),
    st.sampled_from(["call_1", "call_1", "", "functions.shell:0", "toolu_01A", "x" * 80, "a b|c"]),
    st.sampled_from(["shell", "functions.shell", "", "名字"]),
    st.sampled_from([None, {}, {"command": "ls"}]),
)
_parts = st.lists(st.one_of(st.builds(TextPart, _texts, st.sampled_from([None, "G"])), _thinking, _calls), max_size=6)
_messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, _texts),
    st.builds(
        lambda parts, origin, stop: AssistantMessage(tuple(parts), *origin, stop),
        _parts,
        st.sampled_from(ORIGINS),
        st.sampled_from(STOPS),
    ),
    st.builds(ToolResult, st.sampled_from(["call_1", "toolu_01A", "", "gone"]), st.just("shell"), _texts),
)


def info_of(model: str, **extra: Any) -> ModelInfo:
    return ModelInfo("anthropic", model, "anthropic", 200_000, rules=RULES, extra=extra)


@settings(max_examples=400, deadline=None)
@given(
    history=st.lists(_messages, max_size=10),
    model=st.sampled_from(MODELS),
    thinking=st.sampled_from([None, True, False, "low", "max"]),
    cache=st.sampled_from(["5m", "1h", False]),
    tools=st.sampled_from([(), TOOLS]),
    choice=st.sampled_from(["auto", "none", "required"]),
    temperature=st.sampled_from([None, 0.2]),
)
def test_any_history(
    history: list[Message],
    model: str,
    thinking: Any,
    cache: Any,
    tools: tuple[ToolSpec, ...],
    choice: Any,
    temperature: float | None,
) -> None:
    info = info_of(model, thinking=thinking, cache=cache)
    request = ModelRequest(
        model, "You help.", repair(history, info), tools, tool_choice=choice, temperature=temperature
    )
    issued = {
        (part.text, part.signature)
        for message in history
        if isinstance(message, AssistantMessage) and (message.provider, message.model) == ("anthropic", model)
        for part in message.parts
        if isinstance(part, ThinkingPart) and part.signature
    }
    body = to_payload(request, info)
    assert anthropic_complaints(body, issued) == []
    json.dumps(body)
    assert json.dumps(to_payload(request, info)) == json.dumps(body)


def switched(origin: tuple[str, str]) -> tuple[Message, ...]:
    """Thinking and two parallel calls made elsewhere, then a switch in the middle of the turn."""
    parts: tuple[AssistantPart, ...] = (
        ThinkingPart("secret plan", "reasoning_content", "OTHER_SIG", details=({"type": "reasoning.text"},)),
        ToolCall("functions.shell:0", "shell", '{"command":"ls"}', {"command": "ls"}, {"extra_content": {"g": 1}}),
        TextPart("and the other", "GSIG"),
        ToolCall("functions.shell:1", "shell", '{"command":"pwd"}', {"command": "pwd"}),
    )
    return (
        UserMessage("go"),
        AssistantMessage(parts, *origin, "tool_calls"),
        ToolResult("functions.shell:1", "shell", "/"),
        ToolResult("functions.shell:0", "shell", "a.txt"),
    )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("origin", [("deepseek", "deepseek-chat"), ("gemini", "gemini-3-pro"), ("openai", "gpt-5.2")])
def test_a_model_switched_in_mid_turn(origin: tuple[str, str], model: str) -> None:
    info = info_of(model, thinking="high")
    body = to_payload(ModelRequest(model, "", repair(switched(origin), info), TOOLS), info)
    assert anthropic_complaints(body, ()) == []
    text = json.dumps(body)
    for foreign in ("secret plan", "OTHER_SIG", "GSIG", "extra_content", "reasoning", "functions"):
        assert foreign not in text
    kinds = [block["type"] for block in body["messages"][1]["content"]]
    assert kinds == ["text", "tool_use", "tool_use"]
    inputs = [block["input"]["command"] for block in body["messages"][1]["content"][1:]]
    assert inputs == ["ls", "pwd"]
    assert [block["content"] for block in body["messages"][2]["content"]] == ["a.txt", "/"]


def test_thinking_that_is_required_waits_for_the_next_turn() -> None:
    """Manual thinking cannot begin in the middle of a turn; with the next message of the user it does."""
    info = info_of("claude-sonnet-4-5", thinking=True)
    history = switched(("openai", "gpt-5.2"))
    turn = to_payload(ModelRequest(info.name, "", repair(history, info), TOOLS), info)
    assert "thinking" not in turn
    later = (*history, AssistantMessage((TextPart("Done."),), "anthropic", info.name, "stop"), UserMessage("more"))
    assert to_payload(ModelRequest(info.name, "", repair(later, info), TOOLS), info)["thinking"]["type"] == "enabled"


def test_an_interrupted_reply_leaves_no_thinking() -> None:
    info = info_of("claude-sonnet-4-5")
    stopped = AssistantMessage(
        (ThinkingPart("half", "thinking"), ThinkingPart("whole", "thinking", "SIG"), TextPart("so")),
        "anthropic",
        info.name,
        "interrupted",
    )
    body = to_payload(ModelRequest(info.name, "", repair((UserMessage("a"), stopped, UserMessage("b")), info)), info)
    assert anthropic_complaints(body, ()) == []
    assert body["messages"][1]["content"] == [{"type": "text", "text": "so"}]


def test_an_unsigned_dialect_gets_its_reasoning_back() -> None:
    """DeepSeek and Kimi behind a Messages API never sign, and refuse a call whose reasoning is missing."""
    rules = replace(RULES, reasoning_replay="tool_turns")
    info = ModelInfo("deepseek", "deepseek-chat", "anthropic", 64_000, rules=rules)
    call = ToolCall("c1", "shell", "{}", {})
    history = (
        UserMessage("go"),
        AssistantMessage((ThinkingPart("why", "thinking"), call), "deepseek", "deepseek-chat", "tool_calls"),
        ToolResult("c1", "shell", "ok"),
        AssistantMessage((replace(call, id="c2"),), "deepseek", "deepseek-chat", "tool_calls"),
        ToolResult("c2", "shell", "ok"),
    )
    messages = to_payload(ModelRequest("deepseek-chat", "", repair(history, info), TOOLS), info)["messages"]
    assert messages[1]["content"][0] == {"type": "thinking", "thinking": "why", "signature": ""}
    assert messages[3]["content"][0] == {"type": "thinking", "thinking": "", "signature": ""}


class PrefixCache:
    """A provider's cache: entries end at marks, reading looks back 20 blocks from each mark."""

    def __init__(self) -> None:
        self.entries: set[str] = set()

    def send(self, body: dict[str, Any]) -> tuple[int, int]:
        """How many blocks of the request were found, of how many."""
        blocks = [*body.get("tools", ()), *body.get("system", ())]
        blocks += [{**block, "role": m["role"]} for m in body["messages"] for block in m["content"]]
        prefixes: list[str] = []
        seen = ""
        marks: list[int] = []
        for place, block in enumerate(blocks):
            if "cache_control" in block:
                marks.append(place)
            seen += json.dumps({key: value for key, value in block.items() if key != "cache_control"})
            prefixes.append(seen)
        found = max(
            (at + 1 for mark in marks for at in range(max(0, mark - 20), mark + 1) if prefixes[at] in self.entries),
            default=0,
        )
        self.entries |= {prefixes[mark] for mark in marks}
        return found, len(blocks)


@pytest.mark.parametrize("calls", [1, 5, 9, 10, 15, 30, 60])
def test_the_cache_is_hit_in_every_step_however_many_calls_it_had(calls: int) -> None:
    info, cache = info_of("claude-sonnet-4-5", thinking=True), PrefixCache()
    history: list[Message] = [UserMessage("go")]
    sent_before = 0
    for step in range(6):
        body = to_payload(ModelRequest(info.name, "You help.", repair(history, info), TOOLS), info)
        found, sent = cache.send(body)
        assert found == sent_before
        sent_before = sent
        ids = [f"toolu_{step}_{number}" for number in range(calls)]
        parts = (ThinkingPart("hm", "thinking", "SIG"), *(ToolCall(call_id, "shell", "{}", {}) for call_id in ids))
        history.append(AssistantMessage(parts, "anthropic", info.name, "tool_calls"))
        history += [ToolResult(call_id, "shell", "ok") for call_id in ids]


def test_the_validator_notices_what_is_wrong() -> None:
    """A validator that accepts everything would make the tests above worthless."""
    mark = {"cache_control": {"type": "ephemeral"}}
    call = {"type": "tool_use", "id": "a.b", "name": "f", "input": "{}"}
    result = {"type": "tool_result", "tool_use_id": "a.b"}
    body = {
        "model": "claude-opus-4-7",
        "max_tokens": 500,
        "top_p": 0.9,
        "prompt": "x",
        "thinking": {"type": "enabled", "budget_tokens": 600},
        "tool_choice": {"type": "any"},
        "system": [{"type": "text", "text": "s", **mark}] * 5,
        "messages": [
            {"role": "assistant", "content": [{"type": "text", "text": " "}, call, call, {"type": "vision"}]},
            {"role": "user", "content": [{"type": "text", "text": "early"}, result]},
            {"role": "user", "content": []},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "", **mark}]},
        ],
    }
    said = "\n".join(anthropic_complaints(body, ()))
    for words in (
        "unknown key 'prompt'",
        "first message",
        "prefill",
        "roles must alternate",
        "non-whitespace",
        "bad id",
        "should be an object",
        "unknown block",
        "must be unique",
        "without tool_result",
        "must come first",
        "empty content",
        "without a signature",
        "cannot be modified",
        "extra inputs",
        "maximum of 4",
        "enabled is not supported",
        "top_p is deprecated",
        "budget_tokens",
        "forces tool use",
        "tools must be set",
        "tool_choice without tools",
    ):
        assert words in said, words


def test_claude_behind_a_reseller_gets_no_unsigned_thinking() -> None:
    info = replace(info_of("anthropic/claude-sonnet-4.5"), rules=replace(RULES, reasoning_replay="always"))
    reply = AssistantMessage((ThinkingPart("t", "reasoning"), TextPart("a")), "anthropic", info.name, "stop")
    history = (UserMessage("a"), reply, UserMessage("b"))
    assert anthropic_complaints(to_payload(ModelRequest(info.name, "", repair(history, info)), info), ()) == []
