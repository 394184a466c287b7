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
from reactagent_tui.core.sessions.window import opens_turn, repair, select
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


@given(
    history=histories,
    budget=st.integers(0, 60),
    most=st.one_of(st.none(), st.integers(1, 12)),
    slack=st.sampled_from([0.0, 0.4]),
    pinned=st.booleans(),
)
def test_what_is_selected_is_a_valid_request_with_the_last_turn(
    history: list[Message], budget: int, most: int | None, slack: float, pinned: bool
) -> None:
    info = ModelInfo("p", "m", "openai-chat", 1000)
    note = [UserMessage("the note", origin="summary")] if pinned else []
    last = [UserMessage("the last prompt"), *(m for m in history if not isinstance(m, UserMessage))]
    chosen = select([*note, *history, *last], budget, lambda _m: 3, most=most, slack=slack)
    sent = repair(chosen.messages, info)
    assert complaints(sent) == []
    assert "the last prompt" in "".join(m.text for m in sent)
    assert list(chosen.messages[-len(last) :]) == last
    assert list(chosen.messages[: len(note)]) == note
    assert chosen.fits == (3 * len(chosen.messages) <= budget)
    assert chosen.tokens == 3 * len(chosen.messages)
    first = chosen.messages[len(note)]
    assert chosen.dropped_turns == 0 or opens_turn(first), "cut at a turn boundary only"
    if chosen.fits is False or (most is not None and len(chosen.messages) > most):
        assert list(chosen.messages) == [*note, *last], "only what must stay exceeds the limits"


@given(sizes=st.lists(st.integers(1, 20), min_size=1, max_size=40), budget=st.integers(60, 200))
def test_with_slack_the_beginning_stays_for_many_steps(sizes: list[int], budget: int) -> None:
    """A history grows turn by turn: what the request begins with changes less often than without slack."""

    def beginnings(slack: float) -> int:
        shown: list[Message] = []
        seen: list[Message] = []
        for n, size in enumerate(sizes):
            shown.append(UserMessage(f"{n} " + "x" * size))
            shown = list(select(shown, budget, lambda m: len(m.text), slack=slack).messages)
            if not seen or seen[-1] is not shown[0]:
                seen.append(shown[0])
        return len(seen)

    assert beginnings(0.4) <= beginnings(0.0)
