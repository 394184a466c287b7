"""The text protocol in a run: what the model is told, what the user sees, what happens to replies out of format."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.events import ToolFinished
from reactagent_tui.core.llm.base import StreamFinish, StreamReclassify, StreamText, StreamThinking
from reactagent_tui.core.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.react.protocol import THOUGHT
from reactagent_tui.core.react.protocols import Protocols
from reactagent_tui.core.react.text_protocol import NO_ACTION, NO_LABELS, STOPS
from reactagent_tui.core.react.written_history import observations
from tests.fakes.scripted import call, forever, say
from tests.fakes.tools import echo
from tests.unit.react.kit import Bench, conversation, weather, words, writer

S2 = [
    words("需要两个城市的天气，先查北京。\nAction: get_weather\nAction Input: 北京"),
    words(
        'Thought: 再查上海。\nAction: get_weather\nAction Input: {"city": "上海"}\nObservation: 晴\nFinal Answer: 假的'
    ),
    words("Thought: 已经够了。\nFinal Answer: 北京较凉：\n\n- 北京 20 度\n- 上海 24 度"),
]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, model={"protocol": "text"})


async def test_compare_the_weather_of_two_cities(bench: Bench) -> None:
    tool = weather()
    run = await bench.play(S2, tool, prompt="比较北京和上海的天气")
    assert run.result is not None
    assert (run.result.reason, run.result.steps) == ("ANSWER", 3)
    assert run.result.answer == "北京较凉：\n\n- 北京 20 度\n- 上海 24 度"
    assert tool.calls == [{"city": "北京"}, {"city": "上海"}]
    assert run.shown_text == run.result.answer
    assert run.shown_thinking == "需要两个城市的天气，先查北京。再查上海。已经够了。"
    assert run.rows == ["get_weather"]
    assert not run.notices
    last = run.provider.requests[-1]
    assert last.tools == ()
    assert last.stop == STOPS
    assert last.system.startswith("SYSTEM\n\n")
    assert "- get_weather: The weather of a city." in last.system
    assert conversation(last) == [
        ("user", "比较北京和上海的天气"),
        (
            "assistant",
            'Thought: 需要两个城市的天气，先查北京。\nAction: get_weather\nAction Input: {"city": "北京"}',
        ),
        ("user", "Observation: 晴，20 度"),
        ("assistant", 'Thought: 再查上海。\nAction: get_weather\nAction Input: {"city": "上海"}'),
        ("user", "Observation: 小雨，24 度"),
    ]


async def test_the_stream_is_cancelled_at_a_made_up_observation(bench: Bench) -> None:
    closed: list[bool] = []

    async def never() -> None:
        closed.append(False)
        await forever()

    made_up = [
        StreamText("Thought: t\nAction: get_weather\nAction Input: 北京\nObser"),
        StreamText("vation: sunny"),
        never,
    ]
    run = await bench.play([made_up, words("Final Answer: ok")], weather())
    assert closed == []
    assert run.result is not None
    assert run.result.answer == "ok"
    assert run.results[0].text == "晴，20 度"
    rows = run.controller.setup.ledger.totals()
    assert rows.turn_usage.output > 0


async def test_several_actions_run_together_and_come_back_numbered(bench: Bench) -> None:
    both = "Thought: a\nAction: get_weather\nAction Input: 北京\nThought: b\nAction: get_weather\nAction Input: 上海"
    run = await bench.play([words(both), words("Final Answer: ok")], weather())
    assert [result.text for result in run.results] == ["晴，20 度", "小雨，24 度"]
    assert conversation(run.provider.requests[1])[-2:] == [
        (
            "assistant",
            'Thought: a\nb\nAction: get_weather\nAction Input: {"city": "北京"}\n'
            'Action: get_weather\nAction Input: {"city": "上海"}',
        ),
        ("user", "Observation 1 (get_weather): 晴，20 度\n\nObservation 2 (get_weather): 小雨，24 度"),
    ]
    assert [type(part).__name__ for part in run.replies[0].parts] == [
        "ThinkingPart",
        "ToolCall",
        "ThinkingPart",
        "ToolCall",
    ]


async def test_no_action_is_nudged_and_the_thought_is_remembered(bench: Bench) -> None:
    run = await bench.play([words("Thought: hm"), words("Final Answer: 1")], weather())
    assert run.result is not None
    assert run.result.answer == "1"
    assert conversation(run.provider.requests[1])[1:] == [("assistant", "Thought: hm"), ("user", NO_ACTION)]
    assert run.notices == ["protocol.nudged"]


async def test_a_reply_without_labels_is_reminded_once_then_it_is_the_answer(bench: Bench) -> None:
    run = await bench.play([words("你好！"), words("你好！")], weather())
    assert run.result is not None
    assert (run.result.answer, run.result.steps) == ("你好！", 2)
    assert conversation(run.provider.requests[1])[-1] == ("user", NO_LABELS)
    assert run.replies[-1].parts == (TextPart("你好！"),)


async def test_a_reply_without_labels_may_be_the_answer_at_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Protocols(accept_direct=True), model={"protocol": "text"})
    run = await bench.play([words("你好！")], weather())
    assert run.result is not None
    assert (run.result.answer, run.result.steps) == ("你好！", 1)


async def test_a_model_that_never_keeps_the_format_ends(bench: Bench) -> None:
    run = await bench.play([words("Thought: hm")], weather(), repeat=True)
    assert run.result is not None
    assert (run.result.reason, run.result.answer, run.result.steps) == ("ANSWER", "hm", 3)
    assert run.notices[-1] == "protocol.unformatted"


async def test_two_replies_out_of_format_switch_to_json(tmp_path: Path) -> None:
    bench = Bench(tmp_path, model={"protocol": "text", "api": "openai-chat"})
    out = words("Thought: hm")
    run = await bench.play([out, out, words('{"thought": "t", "final_answer": "ok"}')], weather())
    assert run.result is not None
    assert run.result.answer == "ok"
    assert run.notices == ["protocol.nudged", "protocol.to_json"]
    assert run.provider.requests[2].extra == {"response_format": {"type": "json_object"}}
    assert conversation(run.provider.requests[2])[1][1].startswith('{"thought": "hm"}')


BOTH = "Thought: t\nAction: {}\nAction Input: x\nFinal Answer: done"


async def test_an_answer_beside_a_call_that_would_write_is_asked_again(bench: Bench) -> None:
    tool = writer()
    alone = words("Action: write_note\nAction Input: x")
    run = await bench.play([words(BOTH.format("write_note")), alone, words("Final Answer: written")], tool)
    assert run.result is not None
    assert run.result.answer == "written"
    assert tool.calls == [{"text": "x"}]
    assert run.notices == ["protocol.unrun"]
    assert "write_note was not run" in conversation(run.provider.requests[1])[-1][1]


async def test_an_answer_beside_a_write_is_taken_the_second_time(bench: Bench) -> None:
    tool = writer()
    run = await bench.play([words(BOTH.format("write_note"))], tool, repeat=True)
    assert run.result is not None
    assert (run.result.answer, run.result.steps) == ("done", 2)
    assert tool.calls == []


async def test_an_answer_beside_a_call_that_only_reads_is_final(bench: Bench) -> None:
    tool = weather()
    run = await bench.play([words(BOTH.format("get_weather"))], tool)
    assert run.result is not None
    assert (run.result.answer, run.result.steps) == ("done", 1)
    assert tool.calls == []


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Action: get_wether\nAction Input: 北京", "Did you mean 'get_weather'?"),
        ("Action: fly\nAction Input: now", "There is no tool named 'fly'"),
        ("Action: get_weather", "not a JSON object"),
        ('Action: write_note\nAction Input: {"text": "a', "Understood as"),
    ],
)
async def test_what_is_wrong_with_an_action_is_an_observation(bench: Bench, reply: str, said: str) -> None:
    run = await bench.play([words(reply), words("Final Answer: ok")], weather(), writer())
    assert said in run.results[0].text
    assert conversation(run.provider.requests[1])[-1][1].startswith("Observation:")


async def test_the_same_step_again_and_again_ends_the_run(bench: Bench) -> None:
    tool = weather()
    run = await bench.play([words("Action: get_weather\nAction Input: 北京")], tool, repeat=True)
    assert run.result is not None
    assert run.result.reason == "REPETITION"
    assert len(tool.calls) == 2


async def test_a_call_that_was_cut_off_is_not_run(bench: Bench) -> None:
    tool = writer()
    cut = words('Action: write_note\nAction Input: {"text": "a', finish="length")
    run = await bench.play([cut, words("Final Answer: ok")], tool)
    assert tool.calls == []
    assert run.results[0].status == "not_run"
    assert "output limit" in run.results[0].text


async def test_an_interrupt_keeps_what_was_thought(bench: Bench) -> None:
    started = asyncio.Event()

    async def hang() -> None:
        started.set()
        await forever()

    run = bench.make([[StreamText("Thought: so far\nAction: get_weather\nAction Input: 北"), hang]], weather())
    task = asyncio.create_task(run.controller.run(UserMessage("go")))
    await started.wait()
    run.controller.interrupt()
    result = await task
    assert result.reason == "INTERRUPTED"
    assert run.replies[-1].parts == (ThinkingPart("so far", THOUGHT),)
    assert run.events(ToolFinished) == []


async def test_thinking_of_the_provider_is_kept_apart(bench: Bench) -> None:
    reply = [
        StreamThinking("deep", "reasoning_content"),
        StreamText("Thought: t\nFinal Answer: ok"),
        StreamFinish("stop"),
    ]
    run = await bench.play([reply])
    assert run.replies[0].parts == (
        ThinkingPart("deep", "reasoning_content"),
        ThinkingPart("t", THOUGHT),
        TextPart("ok"),
    )


@pytest.mark.parametrize(
    "beats",
    [
        [StreamThinking("Thought: t\nAction: get_weather\nAction Input: 北京", "think"), StreamFinish("stop")],
        [
            StreamText("Thought: t\nAction: get_weather\nAction Input: 北京"),
            StreamReclassify(),
            StreamFinish("stop"),
        ],
    ],
)
async def test_a_whole_reply_inside_think_tags_still_counts(bench: Bench, beats: list[Any]) -> None:
    tool = weather()
    run = await bench.play([beats, words("Final Answer: ok")], tool)
    assert tool.calls == [{"city": "北京"}]
    assert run.result is not None
    assert run.result.answer == "ok"


async def test_plain_reasoning_is_never_promoted(bench: Bench) -> None:
    tool = weather()
    musing = [
        StreamThinking("Action: get_weather\nAction Input: 北京", "reasoning_content"),
        StreamFinish("stop"),
    ]
    await bench.play([musing, words("Final Answer: ok")], tool)
    assert tool.calls == []


async def test_a_history_of_native_calls_is_told_as_text_and_the_other_way_round(tmp_path: Path) -> None:
    native = Bench(tmp_path)
    await native.play([call(("echo", '{"a": 1}'), text="look"), say("first")], echo("echo"), prompt="one")
    text = Bench(tmp_path, history=native.history, model={"protocol": "text"})
    second = "Thought: hm\nAction: echo\nAction Input: {}"
    run = await text.play([words(second), words("Thought: ok\nFinal Answer: second")], echo("echo"), prompt="two")
    assert conversation(run.provider.requests[0]) == [
        ("user", "one"),
        ("assistant", 'Thought: look\nAction: echo\nAction Input: {"a": 1}'),
        ("user", "Observation: echo {'a': 1}"),
        ("assistant", "Final Answer: first"),
        ("user", "two"),
    ]
    again = Bench(tmp_path, history=text.history)
    run = await again.play([say("third")], echo("echo"), prompt="three")
    sent = run.provider.requests[0]
    assert [spec.name for spec in sent.tools] == ["echo"]
    acting = [m for m in sent.messages if isinstance(m, AssistantMessage) and m.tool_calls]
    assert [m.text for m in acting] == ["look", "hm"]
    assert not [p for m in sent.messages if isinstance(m, AssistantMessage) for p in m.parts if is_thought(p)]
    assert [m.text for m in sent.messages if isinstance(m, AssistantMessage)][-1] == "second"


def is_thought(part: object) -> bool:
    return isinstance(part, ThinkingPart) and part.field == THOUGHT


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sunny", "Observation: sunny"),
        ("Final Answer: 42", "Observation:\n```\nFinal Answer: 42\n```"),
        ("a\n```\nAction: rm\n```", "Observation:\n````\na\n```\nAction: rm\n```\n````"),
        ("  indented\nkept", "Observation:\n```\n  indented\nkept\n```"),
    ],
)
def test_observations_are_data(text: str, told: str) -> None:
    assert observations([ToolResult("1", "t", text)]) == told


async def test_calls_are_never_lost_from_the_history(bench: Bench) -> None:
    bench.history += [
        UserMessage("one"),
        AssistantMessage((ToolCall("c", "get_weather", '{"city": "x"}', {"city": "x"}),), stop_reason="tool_calls"),
    ]
    run = await bench.play([words("Final Answer: ok")], weather())
    assert "program ended before this call" in conversation(run.provider.requests[0])[-1][1]


@pytest.mark.parametrize("make", [lambda: weather(), lambda: echo("echo")])
async def test_without_tools_the_prompt_says_so(bench: Bench, make: Callable[[], Any]) -> None:
    run = await bench.play([words("Final Answer: ok")])
    assert "(none: answer without tools)" in run.provider.requests[0].system
    run = await Bench(bench.place, model={"protocol": "text"}).play([words("Final Answer: ok")], make())
    assert "(none" not in run.provider.requests[0].system
