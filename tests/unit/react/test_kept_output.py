"""The output of a call that a crash cut off: kept while it runs, the call's result when the session goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from reactagent_tui.core.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.react import kept_output
from reactagent_tui.core.react.kept_output import KeptOutput, close_cut_calls
from reactagent_tui.core.sessions.store import SessionFile, SessionStore
from reactagent_tui.core.sessions.window import LOST_TEXT
from tests.fakes.one_session import open_one
from tests.fakes.scripted import call, say
from tests.fakes.strict import complaints

CALL = ToolCall("c1", "run_shell_command", "{}", {})
OTHER = ToolCall("c2", "run_shell_command", "{}", {})


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionFile:
    monkeypatch.setattr(kept_output, "INTERVAL", 0.0)
    file = SessionStore(tmp_path / "sessions").create(tmp_path, model="m", mode="auto")
    begin(file, CALL, OTHER)
    return file


def begin(file: SessionFile, *calls: ToolCall) -> None:
    file.append_message(UserMessage("go"))
    file.append_message(AssistantMessage(calls))


def kept_by(file: SessionFile) -> tuple[KeptOutput, Callable[[ToolCall], Callable[[str], None]]]:
    """The keeper of a run, and how a tool gets its output."""
    given: list[Callable[[str], None]] = []
    keeper = KeptOutput(lambda _call, output: given.append(output), file)  # type: ignore[arg-type,return-value]

    def begin_call(call: ToolCall) -> Callable[[str], None]:
        keeper.context(call, lambda _text: None)
        return given[-1]

    return keeper, begin_call


def after_a_crash(file: SessionFile) -> list[Message]:
    """The last messages of the session as the next program opens it, twice."""
    messages: list[Message] = []
    for _ in range(2):
        loaded = SessionStore(file.folder.parent.parent).load(file.path)
        close_cut_calls(loaded)
        loaded.close()
        messages = loaded.messages
    return messages[2:]


async def written(file: SessionFile, *texts: str) -> None:
    """Until these stand in the file."""
    while not all(text in file.path.read_text() for text in texts):
        await asyncio.sleep(0)


async def test_what_was_shown_is_the_result(file: SessionFile) -> None:
    _, begin_call = kept_by(file)
    one, two = begin_call(CALL), begin_call(OTHER)
    one("10 %\r20 %\rfirst\n")
    two("\x1b[31mred\x1b[0m\n")
    await written(file, "first", "red")
    one("second\n")
    await written(file, "second")
    results = [m for m in after_a_crash(file) if isinstance(m, ToolResult)]
    assert [(m.call_id, m.status, m.is_error) for m in results] == [("c1", "lost", True), ("c2", "lost", True)]
    assert results[0].text == f"{LOST_TEXT}\nIts output until then:\nfirst\nsecond\n"
    assert results[1].text.endswith("\nred\n")


async def test_a_result_is_never_doubled(file: SessionFile) -> None:
    keeper, begin_call = kept_by(file)
    begin_call(CALL)("some\n")
    await written(file, "some")
    keeper.is_done("c1")
    file.append_message(ToolResult("c1", CALL.name, "all of it"))
    assert [m.text for m in after_a_crash(file)] == ["all of it"]


async def test_output_of_an_earlier_call_with_the_same_id_is_not_taken(file: SessionFile) -> None:
    _, begin_call = kept_by(file)
    begin_call(CALL)("of the first\n")
    await written(file, "of the first")
    file.append_message(ToolResult("c1", CALL.name, "done"))
    file.append_message(ToolResult("c2", CALL.name, "done"))
    begin(file, CALL)
    before = len(file.messages)
    assert len(after_a_crash(file)) == before - 2
    begin_call(CALL)("of the second\n")
    await written(file, "of the second")
    last = after_a_crash(file)[-1]
    assert "of the second" in last.text
    assert "of the first" not in last.text


async def test_nothing_is_kept_of_a_call_that_is_over_or_says_too_much(
    file: SessionFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_output, "MOST", 10)
    keeper, begin_call = kept_by(file)
    one, two = begin_call(CALL), begin_call(OTHER)
    one("of one")
    keeper.is_done("c1")
    one("late")
    two("x" * 12)
    await written(file, "x" * 12)
    two("too much")
    for _ in range(5):
        await asyncio.sleep(0)
    assert "of one" not in file.path.read_text()
    assert "late" not in file.path.read_text()
    assert "too much" not in file.path.read_text()


async def test_through_a_session(clean_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that still runs when the program is gone; the next request is valid and holds its output."""
    monkeypatch.setattr(kept_output, "INTERVAL", 0.0)
    command = '{"command": "echo begun; while [ ! -e go ]; do sleep 0.02; done"}'
    one = open_one(clean_place, [call(("run_shell_command", command)), say("on")])
    run = asyncio.create_task(one.turn("work"))
    while '"tool_output"' not in one.live.file.path.read_text():
        await asyncio.sleep(0.01)
    as_killed = one.live.file.path.read_bytes()
    (clean_place / "go").touch()
    await run
    await one.runtime.close()
    one.live.file.path.write_bytes(as_killed)
    again = open_one(clean_place, [say("on again")], resume=one.live.id)
    await again.turn("and now?")
    request = again.provider.requests[0]
    assert complaints(request.messages) == []
    assert any("until then:\nbegun" in m.text for m in request.messages if isinstance(m, ToolResult))
    await again.runtime.close()
