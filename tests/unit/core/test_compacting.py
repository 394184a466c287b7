"""A compaction the user asked for, in a live session: what is typed meanwhile waits and is never lost (B57)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from reactagent_tui.core.events import RunEnded
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.messages import AssistantMessage, TextPart, UserMessage
from reactagent_tui.core.reporter import RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime
from tests.fakes.scripted import Beat, ScriptedProvider, say


@asynccontextmanager
async def session_with(
    place: Path, replies: Sequence[list[Beat]]
) -> AsyncIterator[tuple[LiveSession, ScriptedProvider]]:
    """A session with a conversation behind it."""
    runtime = Runtime.load(RecordingReporter(), Options(demo=True))
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
