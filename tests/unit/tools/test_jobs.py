"""Background jobs: how they begin, what the model gets to read, how they end, what is kept of them."""

# ruff: noqa: ASYNC240 - the files of a test are small and nobody waits
from __future__ import annotations

import asyncio
import gc
import os
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.tools import command_output, jobs, shell
from reactagent_tui.core.tools.base import Effect, Tool, ToolContext, ToolOutcome
from reactagent_tui.core.tools.job_log import lines_before, newest_lines, offset_of_line, read_from
from reactagent_tui.core.tools.job_tools import JobKill, JobOutput
from reactagent_tui.core.tools.jobs import Job, SessionJobs
from reactagent_tui.core.tools.process import running_children, sweep_now
from reactagent_tui.core.tools.process_table import find_tagged
from reactagent_tui.core.tools.shell import RunShellCommand


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    sweep_now()
    assert running_children() == ()


@pytest.fixture(autouse=True)
def no_head_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "HEAD_START", 0.1)


@pytest.fixture
def records() -> list[Mapping[str, Any]]:
    return []


@pytest.fixture
def seen() -> list[Job]:
    return []


@pytest.fixture
def ctx(file_ctx: ToolContext, records: list[Mapping[str, Any]], seen: list[Job]) -> ToolContext:
    return replace(file_ctx, jobs=SessionJobs(seen.append, lambda data: records.append(dict(data))))


async def call(tool: Tool, ctx: ToolContext, **args: object) -> ToolOutcome:
    complaint = tool.check(args, ctx)
    return ToolOutcome(complaint, is_error=True) if complaint is not None else await tool.run(args, ctx)


async def start(ctx: ToolContext, command: str) -> Job:
    await call(RunShellCommand(), ctx, command=command, run_in_background=True)
    return ctx.jobs.all()[-1]


async def printed(job: Job, text: str) -> None:
    """Until the job has printed this."""

    async def look() -> None:
        while text not in job.newest():
            await asyncio.sleep(0.005)

    await asyncio.wait_for(look(), 60)


UNTIL = "while [ ! -e {0} ]; do sleep 0.01; done; "


async def test_a_job_from_begin_to_end(ctx: ToolContext, seen: list[Job]) -> None:
    command = "echo up; " + UNTIL.format("go") + "echo over; exit 3"
    outcome = await call(RunShellCommand(), ctx, command=command, run_in_background=True)
    assert outcome.text.startswith("up\n[runs in the background as job j1; job_output shows")
    assert (outcome.is_error, outcome.summary) == (False, "job j1")
    (job,) = ctx.jobs.running()
    looked = await call(JobOutput(), ctx, job_id="j1")
    assert re.match(r"\[j1 is running for \d s\] echo up", looked.text)
    assert looked.text.endswith("[nothing new after line 1]")
    Path("go").touch()
    ended = await call(JobOutput(), ctx, job_id="1", wait_seconds=30)
    assert re.match(r"\[j1 is over: exit code 3 after \d s\] ", ended.text)
    assert "\nover\n[output from line 2 on; all of it is in " in ended.text
    assert job.log_path.read_text() == "up\nover\n"
    assert ctx.jobs.running() == ()
    assert ctx.jobs.take_news() is None  # it has just seen it
    assert [seen[0].id, seen[-1].state] == ["j1", "ended"]
    again = await call(JobOutput(), ctx, job_id="j1", from_line=1)
    assert "up\nover\n" in again.text


async def test_what_fails_at_once_is_told_at_once(ctx: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "HEAD_START", 20)
    outcome = await call(RunShellCommand(), ctx, command="no-such-server --port 1", run_in_background=True)
    assert outcome.text.endswith("command not found\n[exit code 127]")
    assert ctx.jobs.all() == ()


async def test_the_end_is_told_to_the_model_once(ctx: ToolContext) -> None:
    first = await start(ctx, UNTIL.format("go") + "exit 1")
    second = await start(ctx, "sleep 900")
    assert ctx.jobs.take_news() is None
    Path("go").touch()
    assert await ctx.jobs.wait(first, 60)
    await ctx.jobs.kill(second)
    news = ctx.jobs.take_news()
    assert news is not None
    lines = news.splitlines()
    assert lines[0] == "Background jobs ended (job_output shows what they printed):"
    assert re.fullmatch(r"- j1 exit code 1 after \d s: while .*", lines[1])
    assert re.fullmatch(r"- j2 was ended after \d s: sleep 900", lines[2])
    assert ctx.jobs.take_news() is None


async def test_many_ends_are_told_shortly(ctx: ToolContext) -> None:
    for _ in range(8):
        await start(ctx, "sleep 900; echo " + "x" * 5000)
    assert await ctx.jobs.kill_all() == 8
    news = ctx.jobs.take_news()
    assert news is not None
    assert news.endswith("\n- and 3 more")
    assert len(news) < 1500


@pytest.mark.parametrize(
    "command",
    [
        "sleep 900",
        "trap '' TERM INT; sleep 900; sleep 900",
        "setsid sleep 900 & sleep 900",
        "yes",
        "sleep 900 & sleep 9",
    ],
)
async def test_kill_ends_everything_and_shows_the_last_output(ctx: ToolContext, command: str) -> None:
    job = await start(ctx, f"echo up; {command}")
    await printed(job, "y" if command == "yes" else "up")
    tool = JobKill()
    assert tool.effect({"job_id": "j1"}) is Effect.ISOLATED
    outcome = await call(tool, ctx, job_id="j1")
    assert re.match(r"\[j1 is over: was ended after \d s\]", outcome.text)
    assert find_tagged({job.tag}, set()) == ()
    assert running_children() == ()
    assert (await call(tool, ctx, job_id="j1")).text.startswith("j1 had ended already")
    assert ctx.jobs.take_news() is None


async def test_an_unknown_job_names_those_there_are(ctx: ToolContext) -> None:
    for tool in (JobOutput(), JobKill()):
        assert (await call(tool, ctx, job_id="j7")).text == "There is no job 'j7' in this session. Jobs: none."
    await start(ctx, "sleep 900")
    assert "Jobs: j1 (running)." in (await call(JobKill(), ctx, job_id="x")).text


async def test_what_a_command_leaves_behind_is_a_job(ctx: ToolContext) -> None:
    outcome = await call(RunShellCommand(), ctx, command=f"({UNTIL.format('go')} echo late) & echo now; exit 4")
    assert "now\n[exit code 4]\n" in outcome.text
    assert "; as job j1, see job_output]" in outcome.text
    looked = await call(JobOutput(), ctx, job_id="j1")
    assert re.search(r"the command itself ended with exit code 4, pid \d+ \(\w+\).* runs on\]", looked.text)
    Path("go").touch()
    ended = await call(JobOutput(), ctx, job_id="j1", wait_seconds=30)
    assert "late" in ended.text
    assert "\nnow\n" not in ended.text
    assert running_children() == ()


async def test_a_running_command_is_sent_to_the_background(ctx: ToolContext) -> None:
    up = asyncio.Event()
    listening = replace(ctx, output=lambda text: up.set() if "up" in text else None)
    work = asyncio.create_task(
        call(RunShellCommand(), listening, command="echo up; " + UNTIL.format("go") + "echo on", timeout_seconds=60)
    )
    await asyncio.wait_for(up.wait(), 60)
    assert ctx.jobs.send_to_background("another call") == 0
    assert ctx.jobs.send_to_background() == 1
    outcome = await asyncio.wait_for(work, 60)
    assert outcome.text.startswith("up\n[the user sent it to the background: it goes on as job j1;")
    assert not outcome.is_error
    assert ctx.jobs.send_to_background() == 0
    Path("go").touch()
    assert "\non\n" in (await call(JobOutput(), ctx, job_id="j1", wait_seconds=30)).text


async def test_a_stop_ends_the_command_and_no_job(ctx: ToolContext) -> None:
    job = await start(ctx, "sleep 900")
    work = asyncio.create_task(call(RunShellCommand(), ctx, command="sleep 900", timeout_seconds=60))
    while len(running_children()) < 2:
        await asyncio.sleep(0.005)
    waiting = asyncio.create_task(call(JobOutput(), ctx, job_id="j1", wait_seconds=600))
    await asyncio.sleep(0)
    for task in (work, waiting):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [child.tag for child in running_children()] == [job.tag]
    assert job.is_running


async def test_there_is_a_most(ctx: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_RUNNING", 1)
    await start(ctx, "sleep 900")
    outcome = await call(RunShellCommand(), ctx, command="sleep 900", run_in_background=True)
    assert "end one with job_kill first" in outcome.text


async def test_endless_output_is_bounded_in_memory_and_on_disk(
    ctx: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_output, "LOG_LIMIT", 300_000)
    job = await start(ctx, f"yes | head -c 3000000; echo end; {UNTIL.format('go')}")
    await printed(job, "end")
    assert job.log_path.stat().st_size < 301_000
    looked = await call(JobOutput(), ctx, job_id="j1")
    assert len(looked.text.encode()) < 9_000
    assert "[the log is full; the newest output]" in looked.text
    assert "y\nend\n" in looked.text


async def test_binary_output_is_named_and_not_shown(ctx: ToolContext) -> None:
    job = await start(ctx, f"head -c 5000 /bin/ls; {UNTIL.format('go')}")
    await printed(job, "5,000 bytes")
    assert "[binary output, 5,000 bytes" in (await call(JobOutput(), ctx, job_id="j1")).text


async def test_an_unfinished_line_is_shown_and_shown_whole_later(ctx: ToolContext) -> None:
    job = await start(ctx, f"{UNTIL.format('ask')} printf 'Port? '; {UNTIL.format('go')} echo 80")
    Path("ask").touch()
    await printed(job, "Port?")
    assert "\nPort?" in (await call(JobOutput(), ctx, job_id="j1")).text
    Path("go").touch()
    assert "80" in (await call(JobOutput(), ctx, job_id="j1", wait_seconds=30)).text


async def test_kept_jobs_go_on_and_are_found_again(ctx: ToolContext, records: list[Mapping[str, Any]]) -> None:
    job = await start(ctx, f"echo one; {UNTIL.format('go')} echo two; {UNTIL.format('end')}")
    await printed(job, "one")
    await ctx.jobs.close("all")
    assert running_children() == ()
    sweep_now()
    later = SessionJobs(record=lambda data: records.append(dict(data)))
    later.restore(records)
    (found,) = later.running()
    assert (found.id, found.command, later.died) == ("j1", job.command, [])
    Path("go").touch()
    await printed(found, "two")
    assert job.log_path.read_text() == "one\ntwo\n"
    other = replace(ctx, jobs=later)
    assert "one\ntwo\n" in (await call(JobOutput(), other, job_id="j1", from_line=1)).text
    await later.kill(found)
    assert find_tagged({job.tag}, set()) == ()
    assert later.take_news() is not None
    assert records[-1]["state"] == "killed"


async def test_a_kept_job_that_ends_by_itself_is_told(ctx: ToolContext, records: list[Mapping[str, Any]]) -> None:
    await start(ctx, UNTIL.format("go"))
    await ctx.jobs.close("all")
    later = SessionJobs()
    later.restore(records)
    Path("go").touch()
    assert await later.wait(later.all()[0], 60)
    assert "- j1 ended after" in (later.take_news() or "")


async def test_jobs_end_with_the_program_and_the_next_run_tells(
    ctx: ToolContext, records: list[Mapping[str, Any]]
) -> None:
    job = await start(ctx, "sleep 900")
    crashed = list(records)
    await ctx.jobs.close()
    assert find_tagged({job.tag}, set()) == ()
    for before in (crashed, list(records)):
        later = SessionJobs(record=lambda data: records.append(dict(data)))
        later.restore(before)
        assert [job.command for job in later.died] == ["sleep 900"]
        assert "- j1 ended together with the program: sleep 900" in (later.take_news() or "")
    once_more = SessionJobs()
    once_more.restore(records)
    assert (once_more.died, once_more.take_news()) == ([], None)
    assert [job.state for job in once_more.all()] == ["lost"]


def test_records_that_cannot_be_read_are_passed_over() -> None:
    found = SessionJobs()
    found.restore(
        [{"name": "mode"}, {"name": "job"}, {"name": "job", "id": "x", "command": 1, "tag": "", "log": "", "began": 0}]
    )
    assert found.all() == ()


async def test_twenty_jobs_leak_nothing(ctx: ToolContext) -> None:
    async def one() -> None:
        job = await start(ctx, "seq 1 3000; sleep 900")
        await ctx.jobs.kill(job)

    await one()
    gc.collect()
    before = (len(os.listdir("/proc/self/fd")), threading.active_count(), len(asyncio.all_tasks()))
    for _ in range(20):
        await one()
    assert (len(os.listdir("/proc/self/fd")), threading.active_count(), len(asyncio.all_tasks())) == before


def test_reading_a_log(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    assert (read_from(log, 5).text, offset_of_line(log, 3), lines_before(log, 9), newest_lines(log, 9)) == (
        "",
        0,
        0,
        "",
    )
    log.write_text("".join(f"line {n}\n" for n in range(1, 100_001)))
    assert offset_of_line(log, 1) == 0
    at = offset_of_line(log, 99_999)
    assert read_from(log, at).text == "line 99999\nline 100000\n"
    assert lines_before(log, at) == 99_998
    assert offset_of_line(log, 500_000) == log.stat().st_size
    whole = read_from(log, 0)
    assert len(whole.text.encode()) <= 8000
    assert whole.text.startswith("line 1\n")
    assert whole.text.endswith("line 100000\n")
    assert f"[… of {log.stat().st_size:,} bytes only" in whole.text
    assert newest_lines(log, 30) == "line 99999\nline 100000\n"


async def test_what_was_kept_stays_kept_until_the_user_ends_it(
    ctx: ToolContext, records: list[Mapping[str, Any]]
) -> None:
    job = await start(ctx, "sleep 900")
    await ctx.jobs.close("all")
    for keep, alive in (("kept", True), ("none", False)):
        later = SessionJobs(record=lambda data: records.append(dict(data)))
        later.restore(records)
        await later.close(keep)  # type: ignore[arg-type]
        assert bool(find_tagged({job.tag}, set())) is alive


async def test_jobs_that_outlive_everything_write_their_log_themselves(
    ctx: ToolContext, records: list[Mapping[str, Any]]
) -> None:
    ctx.jobs.outlive = True
    job = await start(ctx, f"echo one; {UNTIL.format('go')} echo two")
    assert (running_children(), records[-1]["state"], job.is_running) == ((), "kept", True)
    Path("go").touch()
    await printed(job, "two")
    assert await ctx.jobs.wait(job, 30)
    assert job.log_path.read_text() == "one\ntwo\n"
