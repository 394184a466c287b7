"""The JSON protocol: replies that stream, replies that are no JSON, and a whole run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.llm.base import StreamText, ToolSpec
from reactagent_tui.core.messages import TextPart, ThinkingPart
from reactagent_tui.core.react.json_protocol import NO_ACTION, NOT_JSON, JsonProtocol, reply_schema
from reactagent_tui.core.react.json_stream import JsonStream
from reactagent_tui.core.react.protocol import THOUGHT
from reactagent_tui.core.react.text_live import AnswerPiece, CallPiece, ThoughtPiece
from tests.fakes.scripted import forever
from tests.unit.react.kit import Bench, conversation, weather, words, writer


def step(**values: Any) -> str:
    return json.dumps(values, ensure_ascii=False)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, model={"protocol": "json", "api": "openai-chat"})


async def test_compare_the_weather_of_two_cities(bench: Bench) -> None:
    tool = weather()
    answer = "北京较凉：\n\n- 北京 20 度\n- 上海 24 度"
    run = await bench.play(
        [
            words(step(thought="先查北京", action="get_weather", action_input={"city": "北京"})),
            words(step(thought="再查上海", action="get_weather", action_input="上海")),
            words(step(thought="够了", final_answer=answer)),
        ],
        tool,
        prompt="比较北京和上海的天气",
    )
    assert run.result is not None
    assert (run.result.reason, run.result.answer, run.result.steps) == ("ANSWER", answer, 3)
    assert tool.calls == [{"city": "北京"}, {"city": "上海"}]
    assert run.shown_text == answer
    assert run.shown_thinking == "先查北京再查上海够了"
    assert run.rows == ["get_weather"] or run.rows[-1] == "get_weather"
    last = run.provider.requests[-1]
    assert last.tools == ()
    assert last.extra == {"response_format": {"type": "json_object"}}
    assert "JSON" in last.system
    assert "- get_weather: The weather of a city." in last.system
    assert conversation(last)[1:] == [
        ("assistant", step(thought="先查北京", action="get_weather", action_input={"city": "北京"})),
        ("user", "Observation: 晴，20 度"),
        ("assistant", step(thought="再查上海", action="get_weather", action_input={"city": "上海"})),
        ("user", "Observation: 小雨，24 度"),
    ]


async def test_several_actions(bench: Bench) -> None:
    cities = [{"action": "get_weather", "action_input": {"city": city}} for city in ("北京", "上海")]
    run = await bench.play([words(step(thought="t", actions=cities)), words(step(final_answer="ok"))], weather())
    assert [result.text for result in run.results] == ["晴，20 度", "小雨，24 度"]
    assert json.loads(conversation(run.provider.requests[1])[1][1]) == {"thought": "t", "actions": cities}


@pytest.mark.parametrize("reply", ["It is 42.", "你好！\n\n- a", "```python\nprint(1)\n```", '{"a": 1}', "[1, 2]"])
async def test_a_reply_that_is_not_ours_is_the_answer(bench: Bench, reply: str) -> None:
    run = await bench.play([words(reply)], weather())
    assert run.result is not None
    assert (run.result.answer, run.result.steps) == (reply, 1)


async def test_prose_is_shown_while_it_streams(bench: Bench) -> None:
    run = await bench.play([words("It is 42.")], weather())
    assert run.shown_text == "It is 42."


async def test_an_answer_in_broken_json_is_saved(bench: Bench) -> None:
    run = await bench.play([words('{"thought": "t", "final_answer": "say "hi" now"')], weather())
    assert run.result is not None
    assert run.result.answer.startswith("say")
    assert run.result.steps == 1


async def test_an_action_in_broken_json_is_not_guessed(bench: Bench) -> None:
    tool = writer()
    broken = '{"thought": "t", "action": "write_note", "action_input": {"text": "a"'
    run = await bench.play([words(broken), words(step(final_answer="ok"))], tool)
    assert tool.calls == []
    assert conversation(run.provider.requests[1])[-1] == ("user", NOT_JSON)
    assert run.provider.requests[1].extra == {}


async def test_an_action_behind_prose_is_not_run(bench: Bench) -> None:
    tool = weather()
    reply = "I will look:\n" + step(action="get_weather", action_input={"city": "北京"})
    run = await bench.play([words(reply), words(step(final_answer="ok"))], tool)
    assert tool.calls == []
    assert run.result is not None
    assert run.result.answer == "ok"


async def test_an_empty_reply_is_asked_again_without_the_format(bench: Bench) -> None:
    run = await bench.play([words(""), words(step(final_answer="ok"))], weather())
    assert run.result is not None
    assert run.result.answer == "ok"
    assert run.provider.requests[0].extra != {}
    assert run.provider.requests[1].extra == {}


async def test_neither_action_nor_answer_is_asked_once_then_shown(bench: Bench) -> None:
    run = await bench.play([words(step(thought="hm"))], weather(), repeat=True)
    assert run.result is not None
    assert (run.result.answer, run.result.steps) == ("hm", 2)
    assert conversation(run.provider.requests[1])[-1] == ("user", NO_ACTION)
    assert run.notices == ["protocol.nudged", "protocol.unformatted"]


async def test_what_stands_behind_the_object_is_not_read(bench: Bench) -> None:
    reached: list[bool] = []

    async def never() -> None:
        reached.append(True)
        await forever()

    first = StreamText(step(action="get_weather", action_input={"city": "北京"}) + "\n")
    run = await bench.play([[first, StreamText("Observation: sun"), never], words(step(final_answer="ok"))], weather())
    assert not reached
    assert run.results[0].text == "晴，20 度"


async def test_an_answer_beside_a_write_is_asked_again(bench: Bench) -> None:
    both = step(thought="t", action="write_note", action_input={"text": "x"}, final_answer="done")
    run = await bench.play([words(both), words(step(final_answer="not written"))], writer())
    assert run.notices == ["protocol.unrun"]
    assert run.result is not None
    assert run.result.answer == "not written"


async def test_the_message_has_thought_and_answer_apart(bench: Bench) -> None:
    run = await bench.play([words(step(thought="t", final_answer="ok"))], weather())
    assert run.replies[0].parts == (ThinkingPart("t", THOUGHT), TextPart("ok"))


@pytest.mark.parametrize(
    ("form", "kind"), [("json_object", "json_object"), ("json_schema", "json_schema"), ("prompt", None)]
)
def test_forms(bench: Bench, form: Any, kind: str | None) -> None:
    info = bench.make([]).provider.info
    request = JsonProtocol(form).request(info, "S", (), (ToolSpec("a", "d", {}),))
    assert request.extra.get("response_format", {}).get("type") == kind


def test_the_schema_names_the_tools() -> None:
    schema = reply_schema([ToolSpec("a", "", {}), ToolSpec("b", "", {})])
    assert schema["properties"]["action"]["enum"] == ["a", "b"]
    assert "action" not in reply_schema([])["properties"]


TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
REPLIES = st.fixed_dictionaries(
    {"thought": TEXT},
    optional={
        "final_answer": TEXT,
        "action": st.sampled_from(["a", "get_weather"]),
        "action_input": st.just({"q": "}"}),
    },
)


@given(REPLIES, st.integers(1, 5), st.booleans(), st.sampled_from(["", "```json\n", "\n "]), st.sampled_from([None, 2]))
def test_pieces_show_what_the_object_says(
    reply: dict[str, Any], size: int, ascii_only: bool, before: str, indent: int | None
) -> None:
    text = before + json.dumps(reply, ensure_ascii=ascii_only, indent=indent) + ("\n```" if "`" in before else "")
    stream = JsonStream()
    pieces = [piece for at in range(0, len(text), size) for piece in stream.feed(text[at : at + size])]
    more, value = stream.finish()
    pieces += more
    assert value == reply
    assert not stream.is_over
    assert "".join(p.text for p in pieces if isinstance(p, ThoughtPiece)) == reply["thought"]
    assert "".join(p.text for p in pieces if isinstance(p, AnswerPiece)) == reply.get("final_answer", "")
    names = [p.name for p in pieces if isinstance(p, CallPiece) and p.name]
    assert names[-1:] == ([reply["action"]] if "action" in reply else [])


@given(st.text(max_size=60), st.integers(1, 4))
def test_any_text_in_pieces_equals_whole(text: str, size: int) -> None:
    def read(pieces: list[str]) -> tuple[Any, ...]:
        stream = JsonStream()
        shown = [piece for text in pieces for piece in stream.feed(text)]
        more, value = stream.finish()
        answer = "".join(p.text for p in [*shown, *more] if isinstance(p, AnswerPiece))
        return answer.rstrip(), value, stream.is_plain

    assert read([text[at : at + size] for at in range(0, len(text), size)]) == read([text])
