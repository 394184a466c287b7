from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.llm.base import ModelInfo, WireRules
from reactagent_tui.core.messages import (
    AssistantMessage,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from reactagent_tui.core.sessions.window import repair, select
from tests.fakes.strict import complaints

ids = st.sampled_from(["", "a", "b", "c", "functions.x:0", "x" * 60, "日本"])
texts = st.sampled_from(["", " ", "hello", "\n", "多"])
calls = st.builds(
    ToolCall,
    id=ids,
    name=st.sampled_from(["", "shell", "read_file"]),
    arguments_raw=st.sampled_from(["", "{}", '{"a":1}', '{"a', "[1]"]),
    arguments=st.sampled_from([None, {}, {"a": 1}]),
)
parts = st.one_of(st.builds(TextPart, texts), st.builds(ThinkingPart, texts), calls)
messages = st.one_of(
    st.builds(UserMessage, texts, origin=st.sampled_from(["user", "nudge", "steer"])),
    st.builds(
        AssistantMessage,
        st.lists(parts, max_size=4).map(tuple),
        provider=st.sampled_from(["", "p", "q"]),
        model=st.sampled_from(["m", "n"]),
        stop_reason=st.sampled_from(["stop", "tool_calls", "interrupted", "length"]),
    ),
    st.builds(ToolResult, ids, st.just("shell"), texts, status=st.sampled_from(["done", "interrupted"])),
)
histories = st.lists(messages, max_size=14)


@pytest.mark.parametrize("pattern", [r"[A-Za-z0-9_-]{1,40}", r"[A-Za-z0-9]{9}", r"[a-zA-Z0-9_-]{1,64}"])
@given(history=histories, cut=st.integers(0, 14))
def test_any_history_cut_anywhere_is_valid_after_repair(pattern: str, history: list[Message], cut: int) -> None:
    info = ModelInfo("p", "m", "openai-chat", 1000, rules=WireRules(id_pattern=pattern))
    assert complaints(repair(history[:cut], info), pattern) == []


@given(history=histories)
def test_repair_is_stable(history: list[Message]) -> None:
    info = ModelInfo("p", "m", "openai-chat", 1000)
    assert repair(history, info) == repair(history, info)


@given(history=histories)
def test_repair_of_a_growing_history_keeps_its_beginning(history: list[Message]) -> None:
    info = ModelInfo("p", "m", "openai-chat", 1000)
    base = [*history, UserMessage("first"), AssistantMessage((TextPart("one"),), "p", "m", "stop")]
    before = repair([*base, UserMessage("next")], info)
    after = repair([*base, UserMessage("next"), AssistantMessage((TextPart("two"),), "p", "m", "stop")], info)
    assert after[: len(before)] == before


@given(history=histories, budget=st.integers(0, 30))
def test_selection_is_a_suffix_with_the_last_turn(history: list[Message], budget: int) -> None:
    chosen = select([*history, UserMessage("last")], budget, lambda _m: 3)
    assert chosen.messages[-1] == UserMessage("last")
    assert list(chosen.messages) == [*history, UserMessage("last")][-len(chosen.messages) :]
