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
from reactagent_tui.core.react.counting import SLACK, WindowCounter, WorkingMemory, newest_that_fit, prompt_room
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


@given(
    turns=st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=4), min_size=1, max_size=40),
    limits=st.sampled_from([WorkingMemory(tokens=400), WorkingMemory(messages=10), WorkingMemory()]),
)
def test_a_full_window_keeps_its_beginning_until_two_fifths_of_it_are_new(
    turns: list[list[int]], limits: WorkingMemory
) -> None:
    """The cut moves in large steps: between two moves far more than one turn was added, so caches hit in between."""
    info = ModelInfo("p", "m", "openai-chat", 1000)
    counter = WindowCounter(memory=limits)
    budget = min(prompt_room(info) - counter.fixed("", ()), limits.tokens or 10_000)
    history: list[Message] = []
    first: Message | None = None
    new_tokens = new_messages = 0
    for n, sizes in enumerate(turns):
        for at, size in enumerate(sizes):
            word = f"{n} " + "word " * size
            message = AssistantMessage((TextPart(word),)) if at else UserMessage(word)
            history.append(message)
            new_tokens += counter.message(message)
            new_messages += 1
            chosen = newest_that_fit(counter, info, "", (), history)
            assert chosen.messages[-1] is message
            if chosen.messages[0] is first:
                continue
            last_turn_alone = sum(map(opens_turn, chosen.messages[1:])) == 0
            if first is not None and not last_turn_alone:
                enough = SLACK * (limits.messages or 0) if limits.messages else SLACK * budget
                assert (new_messages if limits.messages else new_tokens) >= enough
            first, new_tokens, new_messages = chosen.messages[0], 0, 0
