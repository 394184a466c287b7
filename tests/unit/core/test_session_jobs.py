"""Jobs of a session: the model hears of an end at the next step, once; an answer stays one; polling is no loop."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.commands.basic import basic_commands
from reactagent_tui.core.commands.host import SessionHost
from reactagent_tui.core.commands.registry import CommandResult, execute
from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.display import TableBlock, TextBlock
from reactagent_tui.core.events import JobChanged, Notice
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.reporter import RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime
from reactagent_tui.core.tools.process import running_children
from reactagent_tui.locales import Translator
from tests.fakes.scripted import Beat, ScriptedProvider, call, say

NEWS = "Background jobs ended"


def shell(command: str, **more: Any) -> list[Beat]:
    return call(("run_shell_command", json.dumps({"command": command} | more)))


def job_output(**args: Any) -> list[Beat]:
    return call(("job_output", json.dumps({"job_id": "j1"} | args)))


@pytest.fixture
def reporter() -> RecordingReporter:
    return RecordingReporter()


@pytest.fixture
async def runtime(reporter: RecordingReporter) -> AsyncIterator[Runtime]:
    runtime = Runtime.load(reporter, Options(demo=True, overrides=Overrides(mode="auto")))
    yield runtime
    await runtime.close()
    assert running_children() == ()


def opened(runtime: Runtime, workdir: Path, *replies: list[Beat]) -> tuple[LiveSession, ScriptedProvider]:
    session = runtime.open_session(workdir)
    provider = ScriptedProvider(replies)
    session.provider = provider
    return session, provider


def told(provider: ScriptedProvider) -> list[int]:
    """How often each request speaks of ended jobs."""
    return [sum(getattr(m, "text", "").count(NEWS) for m in request.messages) for request in provider.requests]


async def test_an_end_is_told_at_the_next_step_once(runtime: Runtime, clean_place: Path) -> None:
    session, provider = opened(
        runtime,
        clean_place,
        shell("while [ ! -e go ]; do sleep 0.01; done; exit 7", run_in_background=True),
        shell("touch go; while kill -0 $(cat pid) 2>/dev/null; do sleep 0.01; done; sleep 0.3"),
        shell("echo more"),
        say("done"),
    )
    await session.run(UserMessage("go"))
    # known from the third request at the latest, and the history keeps that one message
    assert told(provider)[-1] == 1
    assert told(provider)[:2] == [0, 0]
    text = next(m.text for m in provider.requests[-1].messages if NEWS in getattr(m, "text", ""))
    assert "- j1 exit code 7 after" in text


async def test_news_do_not_turn_an_answer_into_another_step(runtime: Runtime, clean_place: Path) -> None:
    async def end() -> None:
        await session.jobs.kill_all()

    session, provider = opened(
        runtime, clean_place, shell("sleep 900", run_in_background=True), [end, *say("the answer")], say("now I know")
    )
    result = await session.run(UserMessage("go"))
    assert (result.answer, len(provider.requests)) == ("the answer", 2)
    await session.run(UserMessage("and?"))
    assert told(provider) == [0, 0, 1]


async def test_polling_a_job_is_no_loop_while_it_prints(runtime: Runtime, clean_place: Path) -> None:
    session, provider = opened(
        runtime,
        clean_place,
        shell("for i in $(seq 1000); do echo $i; sleep 0.01; done", run_in_background=True),
        *[job_output(wait_seconds=0.1) for _ in range(6)],
        say("enough"),
    )
    result = await session.run(UserMessage("go"))
    assert (result.reason, len(provider.requests)) == ("ANSWER", 8)


async def test_looking_again_and_again_at_nothing_is_one(runtime: Runtime, clean_place: Path) -> None:
    session, provider = opened(
        runtime, clean_place, shell("exit 3", run_in_background=True), *[job_output() for _ in range(9)]
    )
    result = await session.run(UserMessage("go"))
    assert (result.reason, len(provider.requests) < 9) == ("REPETITION", True)


async def test_events_and_the_end_of_the_session(
    runtime: Runtime, reporter: RecordingReporter, clean_place: Path
) -> None:
    session, _ = opened(runtime, clean_place, shell("sleep 900", run_in_background=True), say("it runs"))
    await session.run(UserMessage("go"))
    assert next(event.job.state for event in reporter.events if isinstance(event, JobChanged)) == "running"
    session_id = session.id
    await runtime.close_session(session_id)
    assert [event.job.state for event in reporter.events if isinstance(event, JobChanged)][-1] == "lost"
    again = runtime.open_session(clean_place, resume=runtime.store.find(session_id, clean_place))
    again.tell_jobs()
    again.tell_jobs()
    notices = [event for event in reporter.events if isinstance(event, Notice) and event.key == "jobs.died"]
    assert [notice.params for notice in notices] == [{"n": 1, "names": "sleep 900"}]
    provider = again.provider = ScriptedProvider([say("ah"), say("so")])
    await again.run(UserMessage("what runs?"))
    assert told(provider) == [1]


async def test_the_command(runtime: Runtime, clean_place: Path) -> None:
    session, _ = opened(
        runtime,
        clean_place,
        shell("sleep 900", run_in_background=True),
        shell("sleep 901", run_in_background=True),
        say("two"),
    )
    host = SessionHost(runtime, session, Translator("en"))

    async def jobs(arguments: str = "") -> CommandResult:
        result = await execute(basic_commands(), host, "jobs", arguments)
        assert isinstance(result, CommandResult)
        return result

    assert (await jobs()).blocks == (TextBlock("no jobs in this session", "dim"),)
    await session.run(UserMessage("go"))
    (table,) = (await jobs()).blocks
    assert isinstance(table, TableBlock)
    assert [(row[0], row[1], row[4]) for row in table.rows] == [
        ("j1", "running", "sleep 900"),
        ("j2", "running", "sleep 901"),
    ]
    assert (await jobs("kill j9")).level == "error"
    assert (await jobs("end j1")).level == "error"
    assert (await jobs("kill j1")).blocks == (TextBlock("1 job ended"),)
    assert (await jobs("kill all")).blocks == (TextBlock("1 job ended"),)
    (table,) = (await jobs()).blocks
    assert isinstance(table, TableBlock)
    assert [row[1] for row in table.rows] == ["killed", "killed"]
