"""The cases of text-ReAct replies seen in the field, numbered as in the research notes."""

from __future__ import annotations

from typing import Any

import pytest

from reactagent_tui.core.react.replies import Act, Action, Direct, Final, Malformed, NoAction, ParsedReply
from reactagent_tui.core.react.text_input import ToolNames, ToolShape, arguments_of, read_input
from reactagent_tui.core.react.text_parser import (
    Both,
    TextParser,
    TextRules,
    parse,
)


def shape(name: str, *properties: str, required: tuple[str, ...] | None = None, plain: str | None = None) -> ToolShape:
    return ToolShape(name, frozenset(properties), properties if required is None else required, plain)


TOOLS = ToolNames(
    {
        tool.name: tool
        for tool in (
            shape("get_weather", "city", plain="city"),
            shape("search", "q", "n", required=("q",), plain="q"),
            shape("calc", "expr", plain="expr"),
            shape("now"),
            shape("搜索", "q", plain="q"),
            shape("add", "a", "b"),
            shape("note", "text", plain="text"),
        )
    }
)


def act(name: str, value: Any = None, thought: str | None = "t") -> tuple[Any, ...]:
    return ("A", ((name, value, thought),))


T_SEARCH = "Thought: t\nAction: search\nAction Input: "
CASES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "1": ("Thought: need data\nAction: get_weather\nAction Input: 北京", act("get_weather", "北京", "need data")),
    "2": (" 用户想比较天气。\nAction: get_weather\nAction Input: 北京", act("get_weather", "北京", "用户想比较天气。")),
    "3": ("Thought：先查天气\nAction：get_weather\nAction Input：上海", act("get_weather", "上海", "先查天气")),
    "4": ("思考：先查\n行动：get_weather\n行动输入：上海", act("get_weather", "上海", "先查")),
    "5": ("**Thought:** x\n**Action:** `get_weather`\n**Action Input:** 北京", act("get_weather", "北京", "x")),
    "5b": ("**Thought**: x\n**Action: get_weather**\n**Action Input**: 北京", act("get_weather", "北京", "x")),
    "6": ("thought: x\naction: get_weather\naction input: 北京", act("get_weather", "北京", "x")),
    "7": ("Thought 1: x\nAction 1: search\nAction Input 1: foo", act("search", "foo", "x")),
    "7b": ("Thought 1: x\nAction 1: search\nAction 1 Input 1: foo", act("search", "foo", "x")),
    "8": ("Thought: done\nFinal Answer: 42", ("F", "42", "done")),
    "9": (
        "Thought: done\nFinal Answer: line one\n\nline two\n- item",
        ("F", "line one\n\nline two\n- item", "done"),
    ),
    "10": (
        "Thought: 我无法理解这个问题。Final Answer: 我暂时无法回答这个问题。",
        ("F", "我暂时无法回答这个问题。", "我无法理解这个问题。"),
    ),
    "11": ("Final Answer: 42", ("F", "42", "")),
    "12": ("思考：够了\n最终答案：北京较凉", ("F", "北京较凉", "够了")),
    "13": (
        "Thought: t\nAction: search\nAction Input: q\nObservation: fake result\nThought: now I know\n"
        "Final Answer: wrong",
        act("search", "q"),
    ),
    "14": (f"{T_SEARCH}q\nFinal Answer: maybe", ("F", "maybe", "t")),
    "15": ("Thought: t\nFinal Answer: 7\nAction: search\nAction Input: q", ("F", "7", "t")),
    "16": (
        "Thought: a\nAction: search\nAction Input: one\nThought: b\nAction: search\nAction Input: two",
        ("A", (("search", "one", "a"), ("search", "two", "b"))),
    ),
    "17": ('Thought: t\nAction: calc\nAction Input:\n```json\n{"expr": "1+1"}\n```', act("calc", {"expr": "1+1"})),
    "17b": ('Thought: t\nAction: calc\nAction Input: ```json\n{"expr": "1+1"}\n```', act("calc", {"expr": "1+1"})),
    "18": (f'{T_SEARCH}{{"q": "a",\n "n": 3}}', act("search", {"q": "a", "n": 3})),
    "19": (f"{T_SEARCH}SELECT *\nFROM t\nWHERE a = 'x';", act("search", "SELECT *\nFROM t\nWHERE a = 'x';")),
    "20": (f'{T_SEARCH}"Shohei Ohtani"', act("search", "Shohei Ohtani")),
    "21": (f'{T_SEARCH}SELECT a FROM "t"', act("search", 'SELECT a FROM "t"')),
    "21b": (f'{T_SEARCH}"a" or "b"', act("search", '"a" or "b"')),
    "22": ('Thought: t\nAction: search({"q": "x"})', act("search", {"q": "x"})),
    "22b": ('Thought: t\nAction: search({\n  "q": "x"\n})', act("search", {"q": "x"})),
    "23": ("Thought: t\nAction: get_weather(北京)", act("get_weather", "北京")),
    "23b": ("Thought: t\nAction: get_weather（北京）", act("get_weather", "北京")),
    "24": ("Thought: t\nAction: Get Weather\nAction Input: 北京", act("get_weather", "北京")),
    "25": ('Thought: t\nAction: add (add two numbers)\nAction Input: {"a":1}', act("add", {"a": 1})),
    "26": ("Thought: t\nAction:\nAction Input:", ("N", "t")),
    "27": ("Thought: t\nAction: None\nAction Input: None", ("N", "t")),
    "28": ("Thought: t\nAction: None (direct response required)", ("N", "t")),
    "29": ("Thought: all done. Final Answer: 5\nAction: 无", ("F", "5", "all done.")),
    "30": ("Thought: t\nAction: now", act("now")),
    "31": ("Thought: I am still thinking", ("N", "I am still thinking")),
    "32": ("你好！有什么可以帮你？", ("D", "你好！有什么可以帮你？")),
    "33": ("", ("E", "empty")),
    "33b": (" \n\n", ("E", "empty")),
    "34": (f"<think>Action: rm\nFinal Answer: no</think>\n{T_SEARCH}q", act("search", "q")),
    "35": ("reasoning without opener</think>\nFinal Answer: ok", ("F", "ok", "")),
    "36": (f"<think>{T_SEARCH}q</think>", act("search", "q")),
    "36b": ("<think>just musing</think>", ("E", "empty")),
    "37": ('{"thought":"t","action":"search","action_input":{"q":"x"}}', act("search", {"q": "x"})),
    "37b": ('{"thought":"t","action":{"name":"search","arguments":{"q":"x"}}}', act("search", {"q": "x"})),
    "38": ('```json\n{"thought":"t","final_answer":"done"}\n```', ("F", "done", "t")),
    "39": ('{"action":"Final Answer","action_input":"done"}', ("F", "done", "")),
    "39b": ("Thought: t\nAction: Final Answer\nAction Input: done", ("F", "done", "t")),
    "40": (
        "Thought: need data\r\nAction: get_weather\r\nAction Input: 北京\r\n\r\n\r\n",
        act("get_weather", "北京", "need data"),
    ),
    "41": (
        "Thought: call it like this\n```\nAction: rm\nAction Input: /\n```\nFinal Answer: explained",
        ("F", "explained", "call it like this\n```\nAction: rm\nAction Input: /\n```"),
    ),
    "42": (
        "```\nThought: need data\nAction: get_weather\nAction Input: 北京\n```",
        act("get_weather", "北京", "need data"),
    ),
    "43": (f"{T_SEARCH}https://example.com:8080/a?b=c", act("search", "https://example.com:8080/a?b=c")),
    "44": ("Thought: t\nAction: 搜索\nAction Input: 北京 天气", act("搜索", "北京 天气")),
    "45": (
        "Thought: the next Action: search would help\nFinal Answer: ok",
        ("F", "ok", "the next Action: search would help"),
    ),
    "46": ("Observation: earlier text\nThought: t\nFinal Answer: ok", ("F", "ok", "t")),
    "47": (
        'To answer I need a handoff.\n\nAction: search\nAction Input: {"q": 1}',
        act("search", {"q": 1}, "To answer I need a handoff."),
    ),
    "48": ("Thought: t\nAction: fly_to_moon\nAction Input: now", act("fly_to_moon", "now")),
    "49": ("Thought: t\nFinal Answer: 42\n\nQuestion: next?\nThought: hallucinated", ("F", "42", "t")),
    "50": ("Thought: t\nFinalAnswer: ok", ("F", "ok", "t")),
    "51": ("Thought: t\nAnswer: ok", ("F", "ok", "t")),
    "52": (f"{T_SEARCH}{{'q': 'x',}}", act("search", {"q": "x"})),
    "52b": ("Thought: t\nAction: note\nAction Input: {'q': 'x',}", act("note", "{'q': 'x',}")),
    "53": (f'{T_SEARCH}{{"q": "x"}} and then summarise', act("search", {"q": "x"})),
    "54": ("Thought: t\nAction: [search]\nAction Input: q", act("search", "q")),
    "55": ("\n\nThought: t\n\n\nAction: search\n\nAction Input:\n\nq\n\n", act("search", "q")),
    "56": ("- Thought: t\n- Action: search\n- Action Input: q", act("search", "q")),
    "57": ('Thought: e.g. {"action": "rm", "action_input": "/"}\nFinal Answer: no', ("F", "no", None)),
    "58": ("Thought: t\nAction: search\nAction Input: q\nObservation: z", act("search", "q")),
    "59": (
        f'{T_SEARCH}{{"q": "line\\nObservation: not real"}}',
        act("search", {"q": "line\nObservation: not real"}),
    ),
    "59b": (
        f'{T_SEARCH}{{"q": "line\nObservation: not real"}}',
        act("search", {"q": "line\nObservation: not real"}),
    ),
    "60": (f"{T_SEARCH}q\nObservation:", act("search", "q")),
    # beyond the list
    "61 a bracket that never closes does not hide the observation": (
        f'{T_SEARCH}{{"q": "x"\nObservation: made up\nFinal Answer: no',
        act("search", '{"q": "x"'),
    ),
    "62 prose in an answer that looks like a label": (
        "Final Answer: do this\nAction: restart the server\n**Question:** why?\nThat is all.",
        ("F", "do this\nAction: restart the server\n**Question:** why?\nThat is all.", ""),
    ),
    "63 inline final answer in code is prose": (
        "Thought: I write `Final Answer: x` later\nAction: now",
        act("now", None, "I write `Final Answer: x` later"),
    ),
    "64 a fenced answer without labels": ("```python\nprint(1)\n```", ("D", "```python\nprint(1)\n```")),
    "65 a JSON answer without our keys": ('{"a": 1}', ("D", '{"a": 1}')),
    "66 an invented observation behind a JSON reply": (
        '{"thought":"t","action":"search","action_input":"q"}\nObservation: x\n{"final_answer": "no"}',
        act("search", "q"),
    ),
    "67 text behind the tool's name": ("Thought: t\nAction: get_weather 北京", act("get_weather", "北京")),
    "68 an empty final answer": ("Thought: t\nFinal Answer:", ("N", "t")),
    "69 a fence in an input that never closes": (
        'Thought: t\nAction: calc\nAction Input: ```json\n{"expr": "1"}\nObservation: 1\nFinal Answer: no',
        act("calc", {"expr": "1"}),
    ),
    "70 an example, then text": (
        "```\nAction: rm\n```\nlike this",
        ("D", "```\nAction: rm\n```\nlike this"),
    ),
    "71 two answers": ("Final Answer: a\nFinal Answer: b", ("F", "b", "")),
    "72 braces that are no JSON": ("{hm}\nFinal Answer: ok", ("F", "ok", "{hm}")),
    "73 byte order mark": ("\ufeffThought: t\nFinal Answer: ok", ("F", "ok", "t")),
    "74 final answer inside the input's fence": (
        "Thought: t\nAction: note\nAction Input: ```\nFinal Answer: x\n```",
        act("note", "Final Answer: x"),
    ),
}


def plain(reply: ParsedReply) -> tuple[Any, ...]:
    match reply:
        case Act(actions=actions):
            return ("A", tuple((action.name, action.input, action.thought) for action in actions))
        case Final(answer=answer, thought=thought):
            return ("F", answer, thought)
        case NoAction(thought=thought):
            return ("N", thought)
        case Direct(text=text):
            return ("D", text)
        case Malformed(why=why):
            return ("E", why)


def test_no_case_of_the_notes_is_missing() -> None:
    assert {str(number) for number in range(1, 61)} <= CASES.keys()


@pytest.mark.parametrize("number", CASES)
def test_case(number: str) -> None:
    text, expected = CASES[number]
    got = plain(parse(text, TOOLS))
    if expected[0] == "F" and expected[2] is None:
        got = (*got[:2], None)
    assert got == expected


@pytest.mark.parametrize(
    ("number", "both", "expected"),
    [
        ("14", "action", act("search", "q")),
        ("14", "retry", ("E", "both")),
        ("15", "action", act("search", "q")),
    ],
)
def test_final_answer_beside_an_action_by_setting(number: str, both: Both, expected: tuple[Any, ...]) -> None:
    assert plain(parse(CASES[number][0], TOOLS, TextRules(both=both))) == expected


@pytest.mark.parametrize("number", ["14", "15"])
def test_the_action_that_was_not_run_is_told(number: str) -> None:
    reply = parse(CASES[number][0], TOOLS)
    assert isinstance(reply, Final)
    assert [action.name for action in reply.unrun] == ["search"]


def test_only_the_first_of_several_actions_without_parallel() -> None:
    assert parse(CASES["16"][0], TOOLS, TextRules(parallel=False)) == Act((Action("search", "one", "a"),))


def test_a_made_up_observation_ends_the_reply_while_it_streams() -> None:
    parser = TextParser(TOOLS)
    shown: list[Any] = []
    for piece in ("Thou", "ght: t\nAct", "ion: se", "arch\nAction In", "put: q\nObser", "vation:"):
        shown += parser.feed(piece)
    assert not parser.is_over
    shown += parser.feed(" z")
    assert parser.is_over
    assert parser.feed("\nThought: more") == []
    assert "".join(getattr(piece, "text", "") for piece in shown if type(piece).__name__ == "ThoughtPiece") == "t"
    assert not [piece for piece in shown if type(piece).__name__ == "AnswerPiece"]
    assert plain(parser.finish()[1]) == act("search", "q")


@pytest.mark.parametrize(
    ("value", "tool", "expected"),
    [
        ("北京", "get_weather", {"city": "北京"}),
        ({"city": "北京"}, "get_weather", {"city": "北京"}),
        (None, "now", {}),
        ("none", "now", {}),
        (None, "search", None),
        ("1 2", "add", None),
        ("[ -f x ] && echo y", "note", {"text": "[ -f x ] && echo y"}),
        ('{"text": "x', "note", None),
        ([1], "note", None),
        ("q", "fly_to_moon", None),
    ],
)
def test_arguments(value: Any, tool: str, expected: dict[str, Any] | None) -> None:
    assert arguments_of(value, TOOLS.find(tool))[1] == expected


def test_a_number_stays_a_number() -> None:
    wants = ToolShape("wait", frozenset({"seconds"}), ("seconds",), "seconds", is_number=True)
    assert arguments_of(read_input("5", wants), wants)[1] == {"seconds": 5}
    assert arguments_of(read_input("soon", wants), wants)[1] == {"seconds": "soon"}
