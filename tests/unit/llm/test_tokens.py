from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.llm.base import ModelRequest, ToolSpec
from reactagent_tui.core.llm.tokens import (
    count,
    count_exact,
    estimate,
    estimate_message,
    estimate_request,
    weigh,
    weigh_message,
    weigh_messages,
)
from reactagent_tui.core.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall, ToolResult, UserMessage

ENGLISH = (
    "The agent reads the file, changes two lines, runs the tests again and reports what it found. "
    "Nothing it started survives the stop key, and the next message simply works.\n"
) * 20
CHINESE = "智能体读取文件,修改两行,再次运行测试,并报告结果。按下停止键之后,它启动的一切都会结束。\n" * 20
CODE = (
    "def read(path: Path) -> str:\n    with open(path, encoding='utf-8') as file:\n"
    "        return file.read()\n\n\nif __name__ == '__main__':\n    print(read(Path(sys.argv[1])))\n"
) * 20
JSON = '{"path": "src/main.py", "line": 137, "ok": true, "text": "hello world"}\n' * 20


@pytest.mark.parametrize("text", [ENGLISH, CHINESE, CODE, JSON], ids=["english", "chinese", "code", "json"])
def test_estimate_is_near_the_exact_count(text: str) -> None:
    assert estimate(text) == pytest.approx(count_exact(text), rel=0.25)


@given(st.text(), st.text())
def test_pieces_add_up_to_the_whole(first: str, second: str) -> None:
    assert weigh(first) + weigh(second) == pytest.approx(weigh(first + second))
    assert 0 <= estimate(first) + estimate(second) - estimate(first + second) <= 1


@given(st.text(), st.text(min_size=1))
def test_more_text_is_never_fewer_tokens(first: str, more: str) -> None:
    assert estimate(first + more) >= estimate(first)
    assert weigh(first + more) > weigh(first)


def test_nothing_is_nothing_and_surrogates_are_counted() -> None:
    assert estimate("") == 0
    assert estimate("a") == 1
    assert estimate("\ud83d") >= 1


def test_requests_count_everything_that_is_sent() -> None:
    reply = AssistantMessage(
        (ThinkingPart("t" * 400), TextPart("x" * 400), ToolCall("1", "read_file", '{"path": "a"}'))
    )
    messages = (UserMessage("hello " * 100), reply, ToolResult("1", "read_file", CODE))
    tool = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
    bare = estimate_request(ModelRequest("m", "", ()))
    whole = estimate_request(ModelRequest("m", ENGLISH, messages, (tool,)))
    assert whole >= bare + estimate(ENGLISH) + sum(estimate_message(message) for message in messages) + 10
    assert estimate_message(reply) >= estimate("t" * 400 + "x" * 400)


def test_exact_count_of_a_large_text_is_the_sum_of_its_lines() -> None:
    line = "one line of twelve ordinary words that ends here, as lines do\n"
    assert count_exact(line * 3_000) == pytest.approx(count_exact(line) * 3_000, rel=0.001)
    assert count_exact("a" * 120_000) > 0


def test_special_tokens_are_only_text() -> None:
    assert count_exact("<|endoftext|>") > 1


async def test_count_in_a_thread() -> None:
    assert await count("hello world") == 2


def test_import_loads_no_tokenizer() -> None:
    code = (
        "import sys, reactagent_tui.core.llm.tokens as t; t.estimate('x');"
        "print([m for m in ('tiktoken', 'pydantic', 'httpx', 'genai_prices') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=_root(), check=True)
    assert done.stdout.strip() == "[]"


def _root() -> str:
    from pathlib import Path

    return str(Path(__file__).parents[3])


def test_many_messages_weigh_what_they_weigh_one_by_one() -> None:
    messages = [
        UserMessage("how much? 多少 🙂"),
        AssistantMessage((ThinkingPart("hm 嗯"), TextPart("x" * 60_000), ToolCall("1", "read", '{"a": 1}', {"a": 1}))),
        ToolResult("1", "read", "line\n" * 9),
    ]
    for thinking in (True, False):
        single = [weigh_message(message, thinking=thinking) for message in messages]
        together = weigh_messages(messages, lambda _message, told=thinking: told)
        assert together.plain == pytest.approx(sum(weight.plain for weight in single))
        assert together.wide == pytest.approx(sum(weight.wide for weight in single))
