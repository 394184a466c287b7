"""Deltas to message: however the fragments are cut, the calls come out the same; and every rule on its own."""

from __future__ import annotations

import json
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.errors import ProviderError
from reactagent_tui.core.llm.accumulator import Accumulator
from reactagent_tui.core.llm.base import (
    StreamDelta,
    StreamFinish,
    StreamReclassify,
    StreamText,
    StreamThinking,
    StreamToolCall,
    StreamUsage,
)
from reactagent_tui.core.llm.calls import CallProgress
from reactagent_tui.core.llm.openai_events import ChatState, from_event
from reactagent_tui.core.messages import (
    AssistantMessage,
    TextPart,
    ThinkingPart,
    ToolCall,
    message_from_record,
    message_to_record,
)
from reactagent_tui.core.usage import Usage

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.text(min_size=1, max_size=4), VALUES, min_size=1, max_size=3)
CALLS = st.lists(st.tuples(st.sampled_from(["shell", "read_file"]), ARGUMENTS), min_size=1, max_size=3)


def accumulate(*deltas: StreamDelta) -> Accumulator:
    numbers = count(1)
    accumulator = Accumulator(new_id=lambda: f"made_{next(numbers)}")
    for delta in deltas:
        accumulator.add(delta)
    return accumulator


def message(*deltas: StreamDelta) -> AssistantMessage:
    return accumulate(*deltas).message("p", "m")


def call(*deltas: StreamToolCall) -> ToolCall:
    (only,) = message(*deltas).tool_calls
    return only


@given(CALLS, st.data())
def test_calls_by_index_survive_any_cutting_and_interleaving(
    calls: list[tuple[str, dict[str, object]]], data: st.DataObject
) -> None:
    queues: list[list[StreamToolCall]] = []
    repeats_id = data.draw(st.booleans())
    for index, (name, arguments) in enumerate(calls):
        raw = json.dumps(arguments)
        cuts = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=3)))
        pieces = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
        first = StreamToolCall(index, f"id{index}", name, pieces[0])
        later = [StreamToolCall(index, f"id{index}" if repeats_id else None, None, piece) for piece in pieces[1:]]
        queues.append([first, *later])
    deltas: list[StreamDelta] = [queue.pop(0) for queue in queues]
    while any(queues):
        place = data.draw(st.sampled_from([place for place, queue in enumerate(queues) if queue]))
        deltas.append(queues[place].pop(0))
    got = [(made.id, made.name, made.arguments) for made in message(*deltas).tool_calls]
    assert got == [(f"id{index}", name, arguments) for index, (name, arguments) in enumerate(calls)]


@given(CALLS, st.booleans(), st.booleans())
def test_whole_calls_one_by_one_without_index_or_all_at_zero(
    calls: list[tuple[str, dict[str, object]]], zero: bool, with_ids: bool
) -> None:
    index = 0 if zero else None
    distinct = [{**arguments, "n": place} for place, (_, arguments) in enumerate(calls)]
    deltas = [
        StreamToolCall(index, f"id{place}" if with_ids else None, name, json.dumps(distinct[place]))
        for place, (name, _) in enumerate(calls)
    ]
    assert [dict(made.arguments or {}) for made in message(*deltas).tool_calls] == distinct


HALVES = st.sampled_from(["\ud83c", "\udf0d", "a", "你", "🌍"])
TEXTS = st.lists(st.text(st.one_of(st.characters(), HALVES), max_size=6), max_size=8)


@given(TEXTS)
def test_text_is_joined_and_can_be_encoded(pieces: list[str]) -> None:
    got = message(*(StreamText(piece) for piece in pieces)).text
    got.encode()
    assert got == "".join(pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def test_surrogates_are_joined_across_pieces_and_lone_ones_replaced() -> None:
    got = message(StreamText("a\ud83c"), StreamText("\udf0db\ud83c"), StreamThinking("\udf0d"))
    assert (got.text, got.thinking) == ("a🌍b\ufffd", "\ufffd")
    escaped = call(StreamToolCall(0, "i", "f", '{"a": "\\ud83c", "\\udf0d": ["\\ud83c\\udf0d"]}'))
    assert escaped.arguments == {"a": "\ufffd", "\ufffd": ["🌍"]}


def test_parts_keep_their_order() -> None:
    got = message(
        StreamThinking("a", "reasoning"),
        StreamThinking("b", "reasoning"),
        StreamText("c"),
        StreamToolCall(0, "i", "f", "{}"),
        StreamText("d"),
        StreamThinking("e", "think"),
    )
    assert got.parts == (
        ThinkingPart("ab", "reasoning"),
        TextPart("c"),
        ToolCall("i", "f", "{}", {}),
        TextPart("d"),
        ThinkingPart("e", "think"),
    )
    assert message_from_record(message_to_record(got)) == got


def test_signed_and_redacted_parts_are_never_merged() -> None:
    got = message(
        StreamThinking("a"),
        StreamThinking("", signature="s1"),
        StreamThinking("", signature="s2"),
        StreamThinking("b"),
        StreamThinking("", redacted="r"),
        StreamText("t1"),
        StreamText("", signature="g"),
        StreamText("t2"),
    )
    assert got.parts == (
        ThinkingPart("a", signature="s1"),
        ThinkingPart("", signature="s2"),
        ThinkingPart("b"),
        ThinkingPart("", redacted="r"),
        TextPart("t1"),
        TextPart("", "g"),
        TextPart("t2"),
    )


def test_reclassify_turns_text_into_thinking() -> None:
    got = message(StreamText("plan"), StreamReclassify(), StreamThinking(" more", "think"), StreamText("answer"))
    assert got.parts == (ThinkingPart("plan more", "think"), TextPart("answer"))


def test_names_are_set_once() -> None:
    assert call(StreamToolCall(0, "i", "read"), StreamToolCall(0, None, "read")).name == "read"
    assert call(StreamToolCall(0, "i", "read"), StreamToolCall(0, None, "read_file")).name == "read_file"
    assert call(StreamToolCall(0, "i", "read"), StreamToolCall(0, None, "other")).name == "read"
    assert call(StreamToolCall(0, "i"), StreamToolCall(0, None, "late")).name == "late"


def test_arguments() -> None:
    def arguments(*pieces: str) -> object:
        return call(StreamToolCall(0, "i", "f"), *(StreamToolCall(0, None, None, piece) for piece in pieces)).arguments

    assert arguments() == {}
    assert arguments("  ") == {}
    assert arguments("{}", '{"a":', "1}") == {"a": 1}
    assert arguments('{"a":', "1}", '{"a":1}') == {"a": 1}
    assert arguments("[1]") is None
    assert arguments('"text"') is None
    assert arguments('{"a":1') is None
    assert arguments("{", "{") is None
    assert call(StreamToolCall(0, "i", "f", '{"a":1')).arguments_raw == '{"a":1'


def test_one_id_twice_is_two_calls_and_the_later_is_renamed() -> None:
    for index in (1, 0, None):
        first = StreamToolCall(None if index is None else 0, "x", "f", '{"a":1}')
        got = message(first, StreamToolCall(index, "x", "f", '{"a":2}')).tool_calls
        assert [(made.id, dict(made.arguments or {})) for made in got] == [("x", {"a": 1}), ("made_1", {"a": 2})]


def test_extra_keys_stay_on_their_call() -> None:
    deltas = (StreamToolCall(0, "i", "f", "{}", {"x": 1}), StreamToolCall(None, None, None, "", {"y": 2}))
    assert call(*deltas).extra == {"x": 1, "y": 2}


def test_progress() -> None:
    accumulator = accumulate(StreamToolCall(0, "i", "f", '{"a'), StreamToolCall(1, "j", "g", "12345"))
    assert accumulator.calls_so_far() == (CallProgress(0, "f", 3), CallProgress(1, "g", 5))
    assert accumulate(StreamText("a"), StreamThinking("b"), StreamText("c")).text_so_far == "ac"


WHOLE = StreamToolCall(0, "i", "f", '{"a":1}')
BROKEN = StreamToolCall(0, "i", "f", '{"a"')


def test_the_content_decides_why_it_stopped() -> None:
    assert message(StreamText("x")).stop_reason == "stop"
    assert message(WHOLE).stop_reason == "tool_calls"
    assert message(WHOLE, StreamFinish("stop")).stop_reason == "tool_calls"
    assert message(StreamText("x"), StreamFinish("tool_calls")).stop_reason == "stop"
    assert message(WHOLE, StreamFinish("length")).stop_reason == "length"
    assert message(WHOLE, StreamFinish("content_filter")).stop_reason == "content_filter"
    assert message(WHOLE, StreamFinish("unknown")).stop_reason == "tool_calls"
    assert message(BROKEN, StreamFinish("unknown")).stop_reason == "unknown"
    assert message(StreamFinish("unknown")).stop_reason == "unknown"
    assert accumulate(StreamText("x")).finish_state is None
    assert accumulate(StreamFinish("length")).finish_state == "length"


def test_an_interrupted_reply_keeps_text_and_thinking_only() -> None:
    accumulator = accumulate(StreamThinking("t"), StreamText("half"), WHOLE, BROKEN, StreamUsage(Usage(1)))
    stopped = accumulator.message("p", "m", interrupted=True)
    assert stopped.parts == (ThinkingPart("t"), TextPart("half"))
    assert (stopped.stop_reason, stopped.usage) == ("interrupted", Usage(1))
    cut = accumulator.message("p", "m", stop_reason="cut")
    assert (cut.stop_reason, cut.tool_calls) == ("cut", ())


def test_the_newest_usage_counts() -> None:
    assert message(StreamUsage(Usage(5, output=1)), StreamUsage(Usage(5, output=9))).usage == Usage(5, output=9)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "delta", "message", "content", "tool_calls", "function", "arguments", "usage"])
            | st.sampled_from(
                ["finish_reason", "error", "reasoning_details", "timings", "prompt_progress", "text", "id"]
            )
            | st.sampled_from(
                ["prompt_tokens", "completion_tokens_details", "index", "name", "type", "code", "refusal"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.lists(st.dictionaries(st.sampled_from(["choices", "usage", "error", "x"]), JSON), max_size=4))
def test_whatever_json_comes_only_provider_errors_are_raised(chunks: list[dict[str, object]]) -> None:
    state, accumulator = ChatState(), Accumulator()
    try:
        for chunk in chunks:
            for delta in from_event(chunk, state):
                accumulator.add(delta)
    except ProviderError:
        return
    message_to_record(accumulator.message("p", "m"))


@given(JSON)
def test_whatever_a_delta_holds_only_provider_errors_are_raised(delta: object) -> None:
    state, accumulator = ChatState(), Accumulator()
    try:
        for made in from_event({"choices": [{"delta": delta, "finish_reason": None}]}, state):
            accumulator.add(made)
    except ProviderError:
        return
    json.dumps(message_to_record(accumulator.message("p", "m")), ensure_ascii=False).encode()
