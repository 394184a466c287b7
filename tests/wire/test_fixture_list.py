"""The list of what a parser of model streams must survive: 36 lines, each with its recorded answers and its check.

That every one of these answers comes out the same however it is cut is tested in `test_splits.py`; here stands what
comes out, and that no line is without an answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from reactagent_tui.core.errors import NotAnApiError, RateLimitError, ServerError, StreamCutError
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, WireRules
from reactagent_tui.core.llm.openai_payload import to_payload
from reactagent_tui.core.messages import ThinkingPart, ToolResult, UserMessage
from reactagent_tui.core.usage import Usage
from tests.wire import test_splits
from tests.wire.replaying import CHAT, LARGE, LONG_TEXT, Replayed, bytes_of, format_of, recorded, replayed

Check = Callable[..., bool]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the list: `check` takes what came out of each answer, in order."""

    what: str
    answers: tuple[str, ...]
    check: Check


def calls(got: Replayed) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments and dict(call.arguments)) for call in got.message.tool_calls]


def ids(got: Replayed) -> list[str]:
    return [call.id for call in got.message.tool_calls]


def says(got: Replayed, text: str, thinking: str = "") -> bool:
    return got.error is None and (got.message.text, got.message.thinking) == (text, thinking)


def failed(got: Replayed, kind: type[Exception], text: str = "") -> bool:
    return type(got.error) is kind and got.message.text == text and not got.message.tool_calls


def goes_back_with_reasoning(got: Replayed) -> bool:
    results = tuple(ToolResult(call.id, call.name, "done") for call in got.message.tool_calls)
    rules = WireRules(reasoning_replay="tool_turns", reasoning_field="reasoning_content")
    request = ModelRequest("m", "", (UserMessage("go"), got.message, *results))
    sent = to_payload(request, ModelInfo("p", "m", "openai-chat", 8_000, rules=rules))["messages"][1]
    return sent["reasoning_content"] == got.message.thinking == "need the cwd" and len(sent["tool_calls"]) == 1


def signatures(got: Replayed) -> list[tuple[str, str | None]]:
    return [(part.text, part.signature) for part in got.message.parts if isinstance(part, ThinkingPart)]


LS = ("shell", {"command": "ls"})
ONE_TWO = [("shell", {"command": "one"}), ("shell", {"command": "two"})]

LINES: dict[int, Line] = {
    1: Line(
        "text and a chunk with the usage",
        ("chat/openai_text", "chat/obfuscated_openai"),
        lambda text, padded: (
            says(text, "Hello")
            and text.message.usage == Usage(input=200, cache_read=800, output=50, reasoning=40)
            and says(padded, "Hi")
        ),
    ),
    2: Line(
        "two calls at once, their pieces mixed, told apart by index",
        ("chat/parallel_by_index",),
        lambda got: calls(got) == [("read_file", {"path": "a"}), ("read_file", {"path": "b"})],
    ),
    3: Line(
        "every call has index 0 and an id of its own",
        ("chat/all_index_zero",),
        lambda got: calls(got) == [*ONE_TWO, ("read_file", {"path": "a"})] and ids(got) == ["c1", "c2", "c3"],
    ),
    4: Line(
        "no index, one call per chunk, finish stop",
        ("chat/no_index_gemini",),
        lambda got: len(calls(got)) == 3 and got.message.stop_reason == "tool_calls",
    ),
    5: Line("the id on every piece", ("chat/id_on_every_fragment",), lambda got: calls(got) == [LS]),
    6: Line(
        "an empty id on later pieces",
        ("chat/id_empty_later_qwen",),
        lambda got: calls(got) == [LS, ("shell", {"command": "pwd"})] and ids(got) == ["q1", "q2"],
    ),
    7: Line(
        "arguments as an object",
        ("chat/arguments_object", "responses/arguments_object_and_no_call_id"),
        lambda chat, responses: calls(chat) == [("shell", {"command": "ls", "n": 1})] and calls(responses) == [LS],
    ),
    8: Line("arguments null, then text", ("chat/arguments_null_then_text",), lambda got: calls(got) == [LS]),
    9: Line(
        "pieces that do not make JSON: joined, never replaced, and no arguments",
        ("chat/arguments_broken_s1",),
        lambda got: (
            got.message.tool_calls[0].arguments_raw == '{"command":"ls"-la"}' and calls(got) == [("shell", None)]
        ),
    ),
    10: Line(
        "the output limit in the middle of the arguments",
        ("chat/length_in_arguments", "anthropic/max_tokens_in_call", "responses/incomplete_length_in_arguments"),
        lambda *all_of: all(
            got.message.stop_reason == "length" and calls(got) == [("write_file", None)] for got in all_of
        ),
    ),
    11: Line(
        "reasoning, then calls: the reasoning goes back with them",
        ("chat/deepseek_thinking_call",),
        goes_back_with_reasoning,
    ),
    12: Line(
        "the same reasoning in two fields is taken once",
        ("chat/reasoning_in_two_fields",),
        lambda got: says(got, "ok", "same text"),
    ),
    13: Line(
        "thinking in tags: split, something that looks like a tag, never closed, never opened",
        ("chat/think_tags_split", "chat/think_unclosed", "chat/think_orphan_closer"),
        lambda split, unclosed, orphan: (
            says(split, "ANSWER if a < b and x<things", "secret")
            and says(unclosed, "", "never closed <thinner")
            and says(orphan, "answer", "plan without opener")
        ),
    ),
    14: Line(
        "comments, empty data, CRLF, a byte order mark",
        ("chat/keepalives", "chat/crlf_bom"),
        lambda kept, crlf: says(kept, "AB") and says(crlf, "one two"),
    ),
    15: Line("no [DONE]", ("chat/no_done",), lambda got: says(got, "fine")),
    16: Line("[DONE], then the socket stays open", ("chat/done_then_more",), lambda got: says(got, "over")),
    17: Line(
        "status 200, then an error as the first event",
        ("chat/error_first", "anthropic/error_first", "gemini/error_first"),
        lambda *all_of: all(got.error is not None and got.error.retryable and not got.message.parts for got in all_of),
    ),
    18: Line(
        "an error in the middle of the text",
        ("chat/error_in_text", "chat/error_event", "gemini/error_in_text", "responses/error_flat_in_text"),
        lambda *all_of: all(got.error is not None and got.message.text for got in all_of),
    ),
    19: Line(
        "a JSON document instead of a stream",
        ("chat/json_body", "anthropic/json_body", "gemini/object_body", "gemini/array_body", "responses/json_body"),
        lambda *all_of: all(got.error is None and got.message.text for got in all_of),
    ),
    20: Line(
        "a web page with status 200",
        ("chat/html_body", "anthropic/html_body", "gemini/page", "responses/html_body"),
        lambda *all_of: all(failed(got, NotAnApiError) for got in all_of),
    ),
    21: Line(
        "choices null, with usage or with nothing",
        ("chat/choices_null", "chat/choices_null_only"),
        lambda some, only: says(some, "Hi") and failed(only, StreamCutError) and only.error.retryable,
    ),
    22: Line(
        "usage inside the first choice",
        ("chat/usage_in_choice_moonshot",),
        lambda got: got.message.usage == Usage(input=20, cache_read=10, output=4),
    ),
    23: Line(
        "emoji and Chinese, cut inside a character",
        ("chat/emoji_cjk", "anthropic/emoji_cjk", "gemini/emoji_cjk", "responses/emoji_cjk"),
        lambda *all_of: all("修复" in got.message.text and "🌍" in got.message.text for got in all_of),
    ),
    24: Line(
        "one data line of 1.5 MB",
        tuple(LARGE),
        lambda *all_of: all(got.message.text == LONG_TEXT and got.error is None for got in all_of),
    ),
    25: Line(
        "Anthropic: thinking, text and two calls, with pings and an event that nobody knows",
        ("anthropic/thinking_text_two_calls",),
        lambda got: (
            calls(got) == [("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"})]
            and got.message.text == "Let me look."
            and signatures(got) == [("I should look at both files.", "EqQBCgIYAhIM+sig/one==")]
        ),
    ),
    26: Line(
        "Anthropic: thinking left out, only its signature comes",
        ("anthropic/thinking_omitted",),
        lambda got: signatures(got) == [("", "EosnCkYICxIMMDYx+omitted=")] and got.message.text == "Done.",
    ),
    27: Line(
        "Anthropic: message_delta twice, its counts grow and are never added",
        ("anthropic/usage_twice",),
        lambda got: got.message.usage == Usage(input=20, cache_read=50, cache_write=30, output=15),
    ),
    28: Line(
        "Anthropic: overloaded in the middle",
        ("anthropic/overloaded_in_text",),
        lambda got: failed(got, RateLimitError, "Half an ans") and got.error.request_id == "req_011over",
    ),
    29: Line(
        "Gemini: a signature on an empty last part",
        ("gemini/thoughts_then_text",),
        lambda got: got.message.parts[-1].text == "" and got.message.parts[-1].signature == "c2lnLWxhc3Q=",
    ),
    30: Line(
        "Gemini: MALFORMED_FUNCTION_CALL, its own or through a gateway",
        ("gemini/malformed_call", "chat/openrouter_native_finish", "chat/finish_with_words_google"),
        lambda *all_of: all(failed(got, ServerError) and got.error.retryable for got in all_of),
    ),
    31: Line(
        "OpenRouter: PROCESSING, reasoning_details, then finish error",
        ("chat/openrouter_details_then_error", "chat/openrouter_details", "chat/openrouter_finish_error"),
        lambda error, details, finish: (
            failed(error, ServerError, "I will")
            and error.message.thinking == "Look first."
            and details.message.thinking == "First then."
            and len(details.message.parts[0].details) == 2
            and failed(finish, ServerError, "part")
        ),
    ),
    32: Line("Ollama: a whole call in one chunk", ("chat/ollama_one_chunk_call",), lambda got: calls(got) == [LS]),
    33: Line(
        "llama.cpp: progress of the prompt, and timings in the place of usage",
        ("chat/llamacpp_progress_timings",),
        lambda got: says(got, "hi") and got.message.usage == Usage(input=800, cache_read=200, output=7),
    ),
    34: Line(
        "finish tool_calls without a call is an end",
        ("chat/finish_tool_calls_without_calls",),
        lambda got: got.message.stop_reason == "stop" and got.message.thinking == "So the answer is 42.",
    ),
    35: Line(
        "two calls with one id",
        ("chat/duplicate_ids",),
        lambda got: calls(got) == ONE_TWO and len(set(ids(got))) == 2,
    ),
    36: Line(
        "stopped at every event: the history stays valid (`test_stopped_anywhere.py`)",
        (),
        lambda *all_of: all(format_of(name).partials(bytes_of(name)) for name in recorded()),
    ),
}


@pytest.mark.parametrize("number", LINES)
def test_line(number: int) -> None:
    line = LINES[number]
    assert line.check(*map(replayed, line.answers)), line.what


def test_the_list_is_complete_and_every_answer_is_cut_everywhere() -> None:
    assert sorted(LINES) == list(range(1, 37))
    cut = {*test_splits.STREAMS, *test_splits.DOCUMENTS, *LARGE}
    assert cut == {*recorded(), *LARGE}
    for number, line in LINES.items():
        assert set(line.answers) <= cut, number
        assert line.answers or number == 36


def test_after_done_nothing_more_is_read() -> None:
    """The socket may stay open: whoever asks for one more piece would wait for ever."""

    def pieces() -> Iterator[bytes]:
        yield bytes_of("chat/done_then_more").partition(b"[DONE]")[0]
        yield b"[DONE]\n\n"
        raise AssertionError("read on after [DONE]")

    assert CHAT.replay(pieces()).message.text == "over"


def test_tags_that_are_split_between_two_deltas_at_every_character() -> None:
    whole = "Say <thinner> first.\n<think>plan <b>x</b></think>\n\nanswer `<think>`"

    def play(*parts: str) -> Replayed:
        chunks = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in parts]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        return CHAT.replay([b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks])

    expected = play(whole)
    assert says(expected, "Say <thinner> first.\n\n\nanswer `<think>`", "plan <b>x</b>")
    for at in range(1, len(whole)):
        assert play(whole[:at], whole[at:]).key == expected.key, at
    assert play(*whole).key == expected.key
