"""The choice of a protocol, what is learned from refusals, and calls that a server let through as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.errors import AuthError, BadRequestError, NotFoundError, ProviderError, ServerError
from reactagent_tui.core.events import RunEnded
from reactagent_tui.core.llm.base import ModelInfo, StreamText, ToolSpec, WireRules
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.react.json_protocol import JsonProtocol
from reactagent_tui.core.react.native import NativeProtocol
from reactagent_tui.core.react.protocols import Protocols
from reactagent_tui.core.react.stray_calls import StrayCallReader, find_stray_calls
from reactagent_tui.core.react.text_protocol import TextProtocol
from reactagent_tui.locales import LANGUAGES, read_texts
from tests.fakes.scripted import call, say
from tests.fakes.tools import echo
from tests.unit.react.kit import Bench, weather, words, writer


def info(**fields: Any) -> ModelInfo:
    return ModelInfo("p", "m", "openai-chat", 100_000, **fields)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (info(), NativeProtocol),
        (info(rules=WireRules(supports_tools=False)), TextProtocol),
        (info(protocol="text"), TextProtocol),
        (info(protocol="json"), JsonProtocol),
        (info(protocol="native", rules=WireRules(supports_tools=False)), NativeProtocol),
    ],
)
def test_choice(model: ModelInfo, kind: type[object]) -> None:
    assert isinstance(Protocols().choose(model), kind)


def test_the_form_of_json_depends_on_the_server() -> None:
    protocols = Protocols()
    assert protocols.choose(info(protocol="json")) == JsonProtocol("json_object")
    assert protocols.choose(ModelInfo("lmstudio", "m", "openai-chat", 1, protocol="json")) == JsonProtocol(
        "json_schema"
    )
    assert protocols.choose(ModelInfo("p", "x", "anthropic", 1, protocol="json")) == JsonProtocol("prompt")


REFUSALS = [
    "registry.ollama.ai/library/gemma:2b does not support tools",
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    "Unsupported parameter: 'tools' is not supported with this model.",
    "Unrecognized request argument supplied: tools",
    "tools: Extra inputs are not permitted",
    "`tool calling` is not supported with this model",
    "This model does not support Function Calling",
    "tools param requires --jinja flag",
    "No endpoints found that support tool use",
]
OTHERS = [
    "Invalid schema for function 'x': schema must be of type object",
    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    "messages: unexpected `tool_use_id` found in tool_result blocks",
    "model not found",
    "maximum context length exceeded",
]


@pytest.mark.parametrize("said", REFUSALS)
def test_a_server_without_tools_is_known_from_what_it_says(said: str) -> None:
    protocols = Protocols()
    change = protocols.refused(BadRequestError(said, status=400), info())
    assert change is not None
    assert change.notice == "protocol.tools_refused"
    assert isinstance(protocols.choose(info()), TextProtocol)
    assert isinstance(protocols.choose(ModelInfo("p", "other", "openai-chat", 1)), NativeProtocol)
    assert Protocols().refused(BadRequestError(said, status=400), info(protocol="native")) is None


@pytest.mark.parametrize("said", OTHERS)
def test_other_refusals_change_nothing(said: str) -> None:
    protocols = Protocols()
    assert protocols.refused(BadRequestError(said, status=400), info()) is None
    assert protocols.refused(AuthError("tools not supported", status=401), info()) is None
    assert isinstance(protocols.choose(info()), NativeProtocol)


def test_stop_sequences_are_given_up_when_refused() -> None:
    protocols = Protocols()
    model = info(protocol="text")
    assert protocols.refused(BadRequestError("Unsupported parameter: 'stop'", status=400), model) is not None
    chosen = protocols.choose(model)
    assert isinstance(chosen, TextProtocol)
    assert not chosen.stops
    assert protocols.refused(BadRequestError("Unsupported parameter: 'stop'", status=400), model) is None


def test_forms_of_json_are_given_up_one_by_one() -> None:
    protocols = Protocols()
    model = info(protocol="json")
    error = BadRequestError("'response_format.type' must be 'json_schema' or 'text'", status=400)
    seen = [protocols.choose(model)]
    while protocols.refused(error, model) is not None:
        seen.append(protocols.choose(model))
    assert seen == [JsonProtocol("json_object"), JsonProtocol("json_schema"), JsonProtocol("prompt")]


@pytest.mark.parametrize(
    "error",
    [
        BadRequestError("m does not support tools", status=400),
        NotFoundError("No endpoints found that support tool use", status=404),
        ServerError("tools param requires --jinja flag", status=500, retryable=True),
    ],
)
async def test_the_run_goes_on_in_text_with_a_notice_and_the_session_remembers(
    tmp_path: Path, error: ProviderError
) -> None:
    bench = Bench(tmp_path)
    tool = weather()
    run = await bench.play([[error], words("Action: get_weather\nAction Input: 北京"), words("Final Answer: ok")], tool)
    assert run.result is not None
    assert (run.result.answer, run.result.steps) == ("ok", 2)
    assert run.notices == ["protocol.tools_refused"]
    assert [len(request.tools) for request in run.provider.requests] == [1, 0, 0]
    again = await Bench(tmp_path, bench.protocols).play([words("Final Answer: ok")], tool)
    assert again.provider.requests[0].tools == ()
    assert again.notices == []


async def test_a_refusal_that_cannot_be_helped_ends_the_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path, model={"protocol": "native"})
    run = bench.make([[BadRequestError("m does not support tools", status=400)]], weather())
    result = await run.controller.run(UserMessage("go"))
    assert result.reason == "ERROR"
    assert len(run.events(RunEnded)) == 1


async def test_compare_the_weather_of_two_cities(tmp_path: Path) -> None:
    tool = weather()
    run = await Bench(tmp_path).play(
        [
            call(("get_weather", '{"city": "北京"}'), text="先查北京"),
            call(("get_weather", '{"city": "上海"}'), text="再查上海"),
            say("北京较凉"),
        ],
        tool,
        prompt="比较北京和上海的天气",
    )
    assert run.result is not None
    assert (run.result.answer, run.result.steps) == ("北京较凉", 3)
    assert tool.calls == [{"city": "北京"}, {"city": "上海"}]


# -- calls written as text

SHELL = ToolSpec("shell", "", {"type": "object", "properties": {"command": {"type": "string"}}})
QWEN = "<function=shell>\n<parameter=command>\necho LEAK\n</parameter>\n</function>\n</tool_call>"
HERMES = '<tool_call>\n{"name":"shell","arguments":{"command":"ls"}}\n</tool_call>'
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.shell:0<|tool_call_argument_begin|>"
    '{"command":"ls"}<|tool_call_end|><|tool_calls_section_end|>'
)
DEEPSEEK = (
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>shell\n```json\n"
    '{"command":"ls"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
)
GLM = "<tool_call>shell\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>"


@pytest.mark.parametrize(
    ("text", "command"), [(QWEN, "echo LEAK"), (HERMES, "ls"), (KIMI, "ls"), (DEEPSEEK, "ls"), (GLM, "ls")]
)
def test_markup_is_read(text: str, command: str) -> None:
    calls, rest = find_stray_calls(text)
    assert [(found.name, dict(found.arguments)) for found in calls] == [("shell", {"command": command})]
    assert rest == ""


FENCED = f"```xml\n{HERMES}\n```"


@pytest.mark.parametrize(
    ("text", "commands", "rest"),
    [
        (f"{HERMES}\n{QWEN}", ["ls", "echo LEAK"], ""),
        (f"{HERMES}\nIt looks like this:\n{FENCED}", ["ls"], f"It looks like this:\n{FENCED}"),
        (f"{HERMES}\n~~~\n{KIMI}", ["ls"], f"~~~\n{KIMI}"),
        (f"{HERMES}\nor `{HERMES}`", ["ls"], f"or `{HERMES}`"),
        (f"{HERMES}\n> {QWEN}", ["ls"], "> " + QWEN.removesuffix("</tool_call>").rstrip()),
        (f"{KIMI}{KIMI}", ["ls", "ls"], ""),
        (f"<tool_call>\n{QWEN}", ["echo LEAK"], ""),
        (FENCED, [], FENCED),
        (DEEPSEEK + "\nDone.", ["ls"], "Done."),
        (
            '<tool_call>{"name":"shell","arguments":{"command":"cat <<E\\n```\\nE"}}</tool_call>',
            ["cat <<E\n```\nE"],
            "",
        ),
    ],
)
def test_only_what_stands_outside_of_code_is_a_call(text: str, commands: list[str], rest: str) -> None:
    calls, left = find_stray_calls(text)
    assert ([found.arguments["command"] for found in calls], left) == (commands, rest)


def show(pieces: list[str]) -> str:
    reader = StrayCallReader([SHELL])
    deltas = [delta for piece in pieces for delta in reader.feed(StreamText(piece))]
    return "".join(delta.text for delta in [*deltas, *reader.flush()] if isinstance(delta, StreamText))


SCRAPS = st.sampled_from(
    ["<tool_call>", "</tool_call>", "<fun", "ction=", "<|tool_", "<", "\n", "```\n", "~~~\n", " ", "a"]
)


@given(st.lists(SCRAPS, max_size=14).map("".join), st.integers(1, 4))
def test_pieces_equal_whole_and_no_text_is_lost(text: str, size: int) -> None:
    assert show([text[at : at + size] for at in range(0, len(text), size)]) == show([text]) == text


def test_text_without_markup_is_not_delayed() -> None:
    reader = StrayCallReader([SHELL])
    for piece in ("a < b", " and", "\n", "next ", "`<tool_call>`", "\nline\n"):
        assert [delta.text for delta in reader.feed(StreamText(piece)) if isinstance(delta, StreamText)] == [piece]


@pytest.mark.parametrize("size", [1, 3, 500])
async def test_a_complete_call_of_a_known_tool_is_run_and_never_shown(tmp_path: Path, size: int) -> None:
    tool = writer()
    reply = "On it.\n" + '<tool_call>\n{"name": "write_note", "arguments": {"text": "x"}}\n</tool_call>'
    run = await Bench(tmp_path).play([words(reply, size=size), say("done")], tool)
    assert tool.calls == [{"text": "x"}]
    assert run.shown_text.replace("done", "") == "On it.\n"
    assert run.notices == ["protocol.call_as_text"]
    assert run.result is not None
    assert run.result.answer == "done"


@pytest.mark.parametrize(
    "reply",
    [
        QWEN,
        '<tool_call>\n{"name": "write_note", "arguments": {"text": "x"',
    ],
)
async def test_a_call_that_cannot_be_run_is_never_a_silent_answer(tmp_path: Path, reply: str) -> None:
    tool = writer()
    run = await Bench(tmp_path).play([words(reply), say("done")], tool)
    assert tool.calls == []
    assert run.result is not None
    assert run.result.answer == "done"
    assert run.notices == ["protocol.call_as_text", "protocol.nudged"]
    stubborn = await Bench(tmp_path).play([words(reply)], tool, repeat=True)
    assert stubborn.result is not None
    assert (stubborn.result.answer, stubborn.result.steps) == (reply, 2)


@pytest.mark.parametrize(
    "reply",
    [
        f"Like this:\n```xml\n{HERMES}\n```\nThat is all.",
        "Write `<tool_call>` first.",
        f"> {HERMES}",
    ],
)
async def test_markup_as_documentation_is_an_answer(tmp_path: Path, reply: str) -> None:
    tool = echo("shell")
    run = await Bench(tmp_path).play([words(reply, size=1)], tool)
    assert tool.calls == []
    assert run.result is not None
    assert run.result.answer == reply
    assert run.notices == []


def test_every_notice_has_its_words() -> None:
    keys = {"tools_refused", "nudged", "to_json", "unformatted", "unrun", "call_as_text"}
    for language in LANGUAGES:
        texts = read_texts(language)
        assert {key for key in keys if f"protocol.{key}" not in texts} == set()
