"""A compaction the user asked for, in a live session: what is typed meanwhile waits and is never lost (B57)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reactagent_tui.core.commands.basic import basic_commands
from reactagent_tui.core.commands.context_room import SessionContext
from reactagent_tui.core.commands.host import SessionHost
from reactagent_tui.core.commands.registry import CommandResult, execute
from reactagent_tui.core.events import Notice, RunEnded
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.messages import AssistantMessage, TextPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.react.summary import SYSTEM
from reactagent_tui.core.reporter import Answer, Question, RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime
from tests.fakes.scripted import Beat, ScriptedProvider, call, forever, say


@asynccontextmanager
async def session_with(
    place: Path, replies: Sequence[list[Beat]], reporter: RecordingReporter | None = None
) -> AsyncIterator[tuple[LiveSession, ScriptedProvider]]:
    """A session with a conversation behind it."""
    runtime = Runtime.load(reporter or RecordingReporter(), Options(demo=True))
    try:
        session = runtime.open_session(place)
        for n in range(8):
            session.file.append_message(UserMessage(f"task {n}"))
            session.file.append_message(AssistantMessage((TextPart(f"answer {n} " + "word " * 300),)))
        provider = ScriptedProvider(replies)
        session.set_provider(provider)
        yield session, provider
    finally:
        await runtime.close()


async def until_asked(provider: ScriptedProvider, number: int) -> None:
    """Until the model got this many requests."""
    while len(provider.requests) < number:
        await asyncio.sleep(0)


async def test_a_message_typed_meanwhile_is_sent_afterwards(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with session_with(tmp_path, [[gate.wait, *say("## Goal\ngo on")], say("after")]) as (session, provider):
        work = session.compact()
        await until_asked(provider, 1)
        session.submit(UserMessage("typed meanwhile"), "follow_up")
        with pytest.raises(RuntimeError):
            session.compact()
        gate.set()
        await work.done.wait()
        assert work.outcome is not None
        assert work.outcome.ending == "done"
        await until_asked(provider, 2)
        sent = provider.requests[1].messages
        assert "go on" in sent[0].text
        assert "typed meanwhile" in sent[-1].text
        await session.settle()


async def test_after_a_stop_it_waits_and_the_history_is_as_it_was(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with session_with(tmp_path, [[gate.wait, *say("never")], say("after")]) as (session, provider):
        before = list(session.file.messages)
        work = session.compact()
        await until_asked(provider, 1)
        session.submit(UserMessage("typed meanwhile"), "follow_up")
        session.interrupt()
        await work.done.wait()
        await session.settle()
        assert work.outcome is None
        assert (session.file.messages, session.file.marks.stack) == (before, [])
        assert len(provider.requests) == 1
        session.send_queue()
        await until_asked(provider, 2)
        assert "typed meanwhile" in provider.requests[1].messages[-1].text
        await session.settle()


async def test_its_end_is_told_like_that_of_a_run(tmp_path: Path) -> None:
    async with session_with(tmp_path, [say("## Goal\ngo on")]) as (session, _):
        await session.compact("the port").done.wait()
        await session.settle()
        reporter = session.reporter
        assert isinstance(reporter, RecordingReporter)
        (ended,) = [event for event in reporter.events if isinstance(event, RunEnded)]
        assert ended.reason == "ANSWER"
        assert [row.cause for row in session.ledger.rows] == ["compaction"]


NOTE = "## Goal\ngo on"
LOOK = call(("list_dir", '{"path": "."}'))
WRITE = call(("write_file", '{"path": "new.txt", "content": "x"}'))


async def typed(session: LiveSession, name: str, arguments: str = "") -> None:
    """A slash command typed while something runs: it shows nothing but its place in the queue."""
    host = SessionHost(Any, session, lambda key, **_params: key)  # type: ignore[arg-type]
    assert await execute(basic_commands(), host, name, arguments) == CommandResult()


def notices(session: LiveSession) -> list[str]:
    assert isinstance(session.reporter, RecordingReporter)
    return [event.key for event in session.reporter.events if isinstance(event, Notice)]


async def test_b57_compact_typed_during_a_run_runs_at_the_next_step(tmp_path: Path) -> None:
    """Without any question open: it is a command in the queue, and never a message to the model."""
    gate = asyncio.Event()
    replies = [[gate.wait, *LOOK], say(NOTE), say("done")]
    async with session_with(tmp_path, replies) as (session, provider):
        session.submit(UserMessage("go"))
        await until_asked(provider, 1)
        await typed(session, "compact", "the port")
        assert [(item.text, item.kind) for item in session.queue] == [("/compact the port", "command")]
        gate.set()
        await session.settle(None)
        assert [request.system == SYSTEM for request in provider.requests] == [False, True, False]
        assert "the port" in provider.requests[1].messages[0].text
        assert "go on" in provider.requests[2].messages[0].text
        assert not any("/compact" in message.text for message in session.file.messages)
        assert session.queue == ()
        assert "compact.done" in notices(session)


async def test_b57_compact_typed_while_a_question_is_open_runs_after_it(tmp_path: Path) -> None:
    asked, gate = asyncio.Event(), asyncio.Event()

    class Slow(RecordingReporter):
        async def ask(self, question: Question) -> Answer:
            asked.set()
            await gate.wait()
            return Answer("once")

    replies = [WRITE, say(NOTE), say("done"), say("after")]
    async with session_with(tmp_path, replies, Slow()) as (session, provider):
        session.submit(UserMessage("go"))
        await asked.wait()
        session.submit(UserMessage("for later"), "follow_up")
        await typed(session, "compact")
        assert [item.kind for item in session.queue] == ["follow_up", "command"]
        gate.set()
        await session.settle(None)
        await session.settle(None)
        assert (tmp_path / "new.txt").read_text() == "x"
        texts = [request.messages[-1].text for request in provider.requests if request.system != SYSTEM]
        assert [request.system == SYSTEM for request in provider.requests] == [False, False, True, False]
        assert texts[-1].endswith("for later"), "what was typed first goes first"


async def test_b57_a_queued_command_waits_after_esc_and_can_be_taken_back(tmp_path: Path) -> None:
    async with session_with(tmp_path, [[forever], say(NOTE)]) as (session, provider):
        session.submit(UserMessage("go"))
        await until_asked(provider, 1)
        await typed(session, "uncompact")
        await typed(session, "compact")
        session.interrupt()
        await session.settle()
        assert [item.text for item in session.queue] == ["/uncompact", "/compact"]
        taken = session.take_back()
        assert taken is not None
        assert taken.text == "/compact"
        session.hold(taken, "command")
        session.send_queue()
        await session.settle()
        assert [request.system == SYSTEM for request in provider.requests] == [False, True]
        assert [key for key in notices(session) if "compact" in key] == [
            "uncompact.nothing",
            "compact.begins",
            "compact.done",
        ]
        assert session.queue == ()


async def test_reflect_after_a_compaction_looks_at_the_original_messages(tmp_path: Path) -> None:
    async with session_with(tmp_path, [say(NOTE), say('["Search first."]')]) as (session, provider):
        for n in range(2):
            asks = ToolCall(f"w{n}", "run_shell_command", '{"command": "make x"}', {"command": "make x"})
            session.file.append_message(AssistantMessage((asks,), stop_reason="tool_calls"))
            session.file.append_message(ToolResult(f"w{n}", asks.name, "no rule to make x", is_error=True))
        for n in range(4):
            session.file.append_message(UserMessage(f"later {n}"))
            session.file.append_message(AssistantMessage((TextPart("yes"),)))
        await session.compact().done.wait()
        await session.settle()
        assert not any(isinstance(m, ToolResult) for m in session.file.marks.view(session.file.messages))
        host = SessionHost(Any, session, lambda key, **_params: key)  # type: ignore[arg-type]
        await execute(basic_commands(), host, "reflect", "")
        assert "make x" in provider.requests[-1].messages[0].text


async def test_a_nested_file_has_a_line_of_its_own_and_can_be_switched_off(tmp_path: Path) -> None:
    async with session_with(tmp_path, []) as (session, _):
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "AGENTS.md").write_text("Tabs only.\n" * 40)
        view = session.file.marks.view(session.file.messages)
        touched = [session.workdir / "sub" / "a.py"]
        text = session.nested.untold(touched, session.workdir, view)
        assert text is not None
        session.file.append_message(UserMessage(text, origin="reminder"))
        context = SessionContext(parts_of(), session)
        line = next(line for line in context.fill().lines if line.id.startswith("nested:"))
        assert (line.name, line.off) == ("sub/AGENTS.md", False)
        assert "Tabs only." in line.text
        assert line.tokens > 50
        reminders = next(line for line in context.fill().lines if line.id == "reminders")
        assert reminders.tokens < 10, "its tokens are counted once"
        context.switch(line.id)
        assert next(one for one in context.fill().lines if one.id == line.id).off
        assert session.nested.untold(touched, session.workdir, []) is None
        context.switch(line.id)
        assert session.nested.untold(touched, session.workdir, []) == text


def parts_of() -> Any:
    """The runtime that a session's context view asks for prompt and skills."""

    class Parts:
        def prompt_sections(self, _session: Any) -> tuple[Any, ...]:
            return ()

        def skills(self, _workdir: Path) -> Any:
            return SimpleNamespace(all=tuple)

    return Parts()
