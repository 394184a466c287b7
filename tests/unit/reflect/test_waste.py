"""Wasted calls: what the rules name, and what they leave alone."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.messages import AssistantMessage, Message, TextPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.reflect.waste import find_waste


def made(number: int, name: str, result: str, *, error: bool = False, **arguments: Any) -> list[Message]:
    tool_call = ToolCall(f"c{number}", name, json.dumps(arguments), arguments)
    status = "failed" if error else "done"
    return [AssistantMessage((tool_call,)), ToolResult(f"c{number}", name, result, is_error=error, status=status)]


def said(text: str) -> AssistantMessage:
    return AssistantMessage((TextPart(text),), stop_reason="stop")


def rows(count: int, word: str = "line") -> str:
    return "".join(f"{number:>5}\t{word}{number} value\n" for number in range(1, count + 1))


def kinds(*messages: list[Message] | Message) -> list[tuple[str, tuple[str, ...]]]:
    history: list[Message] = [UserMessage("do it")]
    for one in messages:
        history.extend(one if isinstance(one, list) else [one])
    return [(waste.kind, waste.calls) for waste in find_waste(history)]


def planted() -> list[Message]:
    """A session with useful calls and three wasted ones: c3 (repeated), c5 (retried), c7 (read again)."""
    return [
        UserMessage("why does the cart fail?"),
        *made(1, "list_dir", "src/\ntests/", path="."),
        *made(2, "grep", "2 matches in 1 file\nsrc/cart.py\n   12: total", pattern="total"),
        *made(3, "grep", "2 matches in 1 file\nsrc/cart.py\n   12: total", pattern="total"),
        *made(4, "run_shell_command", "no such option: --fast", error=True, command="pytest --fast"),
        *made(5, "run_shell_command", "no such option: --fast", error=True, command="pytest --fast"),
        *made(6, "read_file", rows(30), path="src/cart.py"),
        *made(7, "read_file", rows(30), path="src/cart.py"),
        *made(8, "edit_file", "done", path="src/cart.py", old="a", new="b"),
        *made(9, "read_file", rows(31), path="src/cart.py"),
        *made(10, "run_shell_command", "1 passed", command="pytest"),
        said("src/cart.py is fixed"),
    ]


def test_exactly_the_planted_calls_are_named() -> None:
    assert kinds(planted()[1:]) == [("repeated", ("c3",)), ("retried", ("c5",)), ("read_twice", ("c7",))]
    found = find_waste(planted())
    assert [(one.tool, one.subject) for one in found] == [
        ("grep", "total"),
        ("run_shell_command", "pytest --fast"),
        ("read_file", "src/cart.py"),
    ]


def test_a_call_made_again_for_a_reason_is_not_waste() -> None:
    write = made(2, "write_file", "ok", path="a.py", content="x")
    assert (
        kinds(
            made(1, "run_shell_command", "1 failed", command="pytest", error=True),
            write,
            made(3, "run_shell_command", "1 failed", command="pytest", error=True),
        )
        == []
    )
    assert kinds(made(1, "grep", "a", pattern="x"), made(2, "grep", "b", pattern="x")) == []
    flaky = made(1, "web_fetch", "timeout", error=True, url="u"), made(2, "web_fetch", "page", url="u")
    assert kinds(*flaky) == []
    assert kinds(made(1, "job_output", "x", id="1"), made(2, "job_output", "x", id="1")) == []
    fix = made(2, "run_shell_command", "", command="sed -i s/a/b/ x.py")
    again = made(3, "run_shell_command", "1 passed", command="pytest")
    assert kinds(made(1, "run_shell_command", "1 passed", command="pytest"), fix, again) == []
    look = made(2, "run_shell_command", "x", command="git status")
    assert kinds(made(1, "run_shell_command", "1 passed", command="pytest"), look, again) == [("repeated", ("c3",))]
    format_it = made(2, "run_shell_command", "", command="ruff format src/a.py")
    read = rows(5)
    assert (
        kinds(made(1, "read_file", read, path="src/a.py"), format_it, made(3, "read_file", read, path="src/a.py")) == []
    )


def test_a_part_of_a_file_that_was_read_whole() -> None:
    part = "".join(rows(30).splitlines(keepends=True)[4:9])
    assert kinds(
        made(1, "read_file", rows(30), path="a.py"), made(2, "read_file", part, path="./a.py", offset=5, limit=5)
    ) == [("read_twice", ("c2",))]
    assert kinds(made(1, "read_file", part, path="a.py", offset=5), made(2, "read_file", rows(30), path="a.py")) == []


def test_a_long_file_read_whole_where_a_search_had_the_place() -> None:
    search = made(1, "grep", "1 match in 1 file\nsrc/big.py\n  812: def total", pattern="total")
    assert kinds(search, made(2, "read_file", rows(300), path="src/big.py"), said("big.py line1")) == [
        ("whole_read", ("c2",))
    ]
    assert kinds(search, made(2, "read_file", rows(20), path="src/big.py"), said("big.py line1")) == []
    assert kinds(search, made(2, "read_file", rows(9), path="src/big.py", offset=808, limit=9), said("big.py")) == []


def test_a_file_that_was_read_for_nothing() -> None:
    read = made(1, "read_file", rows(40, "telling_word_"), path="notes.md")
    assert kinds(read, said("The answer is 42.")) == [("never_used", ("c1",))]
    assert kinds(read, said("As notes.md says, 42.")) == []
    assert kinds(read, said("It is telling_word_7.")) == []
    assert kinds(read) == [], "the turn has not ended"


def test_output_that_the_limits_threw_away() -> None:
    text = "a\n[… 90,000 lines left out here; 90,010 lines, 5,000,000 bytes in all; all of it: /x/log …]\nz"
    assert kinds(made(1, "run_shell_command", text, command="cat log"), said("ok")) == [("cut_output", ("c1",))]


_name = st.sampled_from(["grep", "read_file", "run_shell_command", "write_file"])
_step = st.tuples(_name, st.sampled_from(["a.py", "b.py"]), st.sampled_from(["x", rows(3), rows(250)]), st.booleans())


@given(st.lists(_step, max_size=12))
def test_every_call_is_named_once_and_the_first_of_its_kind_never(steps: list[tuple[str, str, str, bool]]) -> None:
    history: list[Message] = [UserMessage("go")]
    for number, (name, path, result, error) in enumerate(steps):
        history += made(number, name, result, error=error, path=path)
    found = find_waste(history)
    named = [call for waste in found for call in waste.calls]
    assert len(named) == len(set(named))
    for waste in found:
        if waste.kind in ("repeated", "retried", "read_twice"):
            assert waste.calls[0] != "c0"
