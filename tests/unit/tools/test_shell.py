"""run_shell_command: what the model reads, what the screen sees, what is stopped, what is left behind."""

# ruff: noqa: ASYNC240 - the files of a test are small and nobody waits
from __future__ import annotations

import asyncio
import gc
import os
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from reactagent_tui.core.display import CommandBlock, OutputBlock
from reactagent_tui.core.tools import command_output, shell
from reactagent_tui.core.tools.base import Effect, ToolContext, ToolOutcome
from reactagent_tui.core.tools.process import running_children, sweep_now
from reactagent_tui.core.tools.process_table import find_tagged
from reactagent_tui.core.tools.shell import RunShellCommand


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    sweep_now()
    assert running_children() == ()


@pytest.fixture
def tool() -> RunShellCommand:
    return RunShellCommand()


@pytest.fixture
def live() -> list[str]:
    return []


@pytest.fixture
def ctx(file_ctx: ToolContext, live: list[str]) -> ToolContext:
    return replace(file_ctx, output=live.append)


def runs(pid: str) -> bool:
    """Alive, and not a zombie that waits for init."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def run(ctx: ToolContext, command: str, **args: object) -> ToolOutcome:
    return await RunShellCommand().run({"command": command, **args}, ctx)


async def test_both_streams_in_order_and_the_exit_code(ctx: ToolContext, live: list[str]) -> None:
    outcome = await run(ctx, "echo one; echo two >&2; echo three")
    assert outcome == ToolOutcome(
        "one\ntwo\nthree\n[exit code 0]", (OutputBlock("one\ntwo\nthree\n"),), summary="3 lines"
    )
    assert "".join(live) == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("command", "text", "summary"),
    [
        ("exit 3", "[no output]\n[exit code 3]", "exit 3"),
        ("printf x; false", "x\n[exit code 1]", "exit 1"),
        ("kill -9 $$", "[no output]\n[killed by signal SIGKILL (9)]", "SIGKILL (9)"),
        ("bash -c 'kill -15 $$'; exit $?", "[exit code 143: killed by signal SIGTERM (15)]", "exit 143"),
        ("nosuchprogram", "command not found\n[exit code 127]", "exit 127"),
    ],
)
async def test_failures_say_how(ctx: ToolContext, command: str, text: str, summary: str) -> None:
    outcome = await run(ctx, command)
    assert outcome.is_error
    assert outcome.error_kind == "exit_code"
    assert outcome.text.endswith(text)
    assert outcome.summary == summary


async def test_no_output_is_said(ctx: ToolContext) -> None:
    assert (await run(ctx, "true")).text == "[no output]\n[exit code 0]"


async def test_the_environment(ctx: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("USERS_OWN", "stays")
    outcome = await run(replace(ctx, env={"SKILL_DIR": "/skills/x"}), "env")
    env = dict(line.split("=", 1) for line in outcome.text.splitlines() if "=" in line)
    expected = {
        "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "CI": "1", "TERM": "dumb",
        "GIT_SEQUENCE_EDITOR": "false", "DEBIAN_FRONTEND": "noninteractive", "npm_config_yes": "true",
        "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8", "REACTAGENT_PYTHON": sys.executable, "SKILL_DIR": "/skills/x",
        "USERS_OWN": "stays",
    }  # fmt: skip
    assert {name: env.get(name) for name in expected} == expected
    assert re.fullmatch("[0-9a-f]{32}", env["REACTAGENT_TOOL_ID"])
    assert "sk-secret" not in outcome.text


async def test_workdir(ctx: ToolContext) -> None:
    Path("sub").mkdir()
    assert (await run(ctx, "pwd", workdir="sub")).text.startswith(str(ctx.workdir / "sub"))
    missing = await run(ctx, "pwd", workdir="nope")
    assert missing.is_error
    assert "does not exist, so the command was not run" in missing.text


@pytest.mark.parametrize("asked", [0, -5, 601, 1e9])
async def test_the_time_out_is_clamped_and_that_is_said(ctx: ToolContext, asked: float) -> None:
    outcome = await run(ctx, "true", timeout_seconds=asked)
    used = 1 if asked < 1 else 600
    assert f"was changed to {used}: allowed is 1 to 600" in outcome.text


async def test_what_cannot_be_a_command_is_refused(tool: RunShellCommand, ctx: ToolContext) -> None:
    assert tool.check({"command": "  "}, ctx) == "The command is empty."
    assert tool.check({"command": "a\0b"}, ctx) == "The command contains a NUL byte."


async def test_a_time_out_keeps_the_output_and_kills_everything(
    ctx: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "SHORTEST", 0.2)
    monkeypatch.setattr(shell, "TIMEOUT_GRACE", 0.05)
    command = "echo begun; trap '' TERM; setsid sh -c 'echo $$ > daemon; sleep 99' & sleep 99; sleep 99"
    outcome = await run(ctx, command, timeout_seconds=0.2)
    assert outcome.text.startswith("begun\n[timed out after 0.2 s;")
    assert (outcome.is_error, outcome.summary, outcome.error_kind) == (True, "timed out", "timeout")
    assert not runs(Path("daemon").read_text().strip())
    assert running_children() == ()


BACKGROUND = {
    "silent holder": ("sleep 600 & :", "", 1),
    "nohup": ("nohup sleep 600 & echo started", "started\n", 1),
    "late writer": ("(sleep 600; echo late) & echo now", "now\n", 2),
    "holds stderr": ("sleep 600 </dev/null >/dev/null & :", "", 1),
    "setsid": ("setsid sleep 600 & echo detached", "detached\n", 1),
    "other descriptor": ("bash -c 'exec 3>&1; (sleep 600 >&3) & echo fd3'", "fd3\n", 1),
    "no pipe": ("sleep 600 </dev/null >/dev/null 2>&1 & echo ok", "ok\n", 1),
}


@pytest.mark.parametrize("case", BACKGROUND)
async def test_returns_when_the_command_ends_and_names_what_runs_on(ctx: ToolContext, case: str) -> None:
    command, output, count = BACKGROUND[case]
    outcome = await asyncio.wait_for(run(ctx, command, timeout_seconds=60), 50)
    assert not outcome.is_error
    assert outcome.text.replace("nohup: ignoring input\n", "").startswith(f"{output or '[no output]'}".rstrip())
    found = re.search(r"\[(\d+) background process(?:es)? still running: pid (\d+) \((\w+)\)", outcome.text)
    assert found is not None
    assert int(found[1]) in (count, count + 1)  # the subshell may still be between fork and exec
    assert runs(found[2])
    assert outcome.text.endswith("; as job j1, see job_output]")
    (job,) = ctx.jobs.all()
    assert (job.is_running, job.command) == (True, command)
    assert sweep_now() >= 1
    assert not find_tagged({child.tag for child in running_children()}, set())


async def test_later_output_of_a_background_process_goes_to_the_log(ctx: ToolContext) -> None:
    await run(ctx, "(while [ ! -e go ]; do sleep 0.01; done; echo late; : > done) & echo now")
    (job,) = ctx.jobs.all()
    Path("go").touch()
    assert await ctx.jobs.wait(job, 60)
    assert job.log_path.read_text() == "now\nlate\n"


async def interrupted(tool: RunShellCommand, ctx: ToolContext, command: str, live: list[str], cancels: int) -> None:
    started = asyncio.Event()

    def output(text: str) -> None:
        live.append(text)
        started.set()

    task = asyncio.ensure_future(tool.run({"command": command, "timeout_seconds": 600}, replace(ctx, output=output)))
    await asyncio.wait_for(started.wait(), 60)
    for _ in range(cancels):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("cancels", [1, 3])
@pytest.mark.parametrize(
    "command",
    [
        "echo up; sleep 600 && echo hi",
        "bash -c 'trap \"\" INT TERM; echo up; sleep 600; sleep 600'",
        "echo up; (sleep 600; sleep 600) & sleep 600",
        "echo up; yes > /dev/null",
        "yes up",
    ],
)
async def test_escape_kills_all_and_keeps_what_was_printed(
    tool: RunShellCommand, ctx: ToolContext, live: list[str], command: str, cancels: int
) -> None:
    await interrupted(tool, ctx, command, live, cancels)
    assert running_children() == ()
    partial = tool.partial(ctx.call_id)
    assert partial is not None
    assert partial.is_error
    assert partial.text.startswith("up\n")
    assert "[interrupted by the user]" in partial.text
    assert tool.partial(ctx.call_id) is None


async def test_the_next_command_works_after_an_interrupt(
    tool: RunShellCommand, ctx: ToolContext, live: list[str]
) -> None:
    await interrupted(tool, ctx, "echo up; sleep 600", live, 2)
    assert (await tool.run({"command": "echo again"}, ctx)).text == "again\n[exit code 0]"


async def test_huge_output_is_bounded_and_whole_on_disk(ctx: ToolContext, live: list[str]) -> None:
    outcome = await run(ctx, "seq 1 200000", timeout_seconds=60)
    assert len(outcome.text.encode()) <= 8000
    assert outcome.text.startswith("1\n2\n3\n")
    assert outcome.text.endswith("199999\n200000\n[exit code 0]")
    assert "200,000 lines, 1,288,895 bytes in all; all of it is in " in outcome.text
    log = ctx.log_dir / "c.log"
    assert str(log) in outcome.text
    assert log.read_text() == "".join(f"{n}\n" for n in range(1, 200_001))
    (block,) = outcome.blocks
    assert isinstance(block, OutputBlock)
    assert len(block.text) < 140_000
    assert outcome.summary == "200,000 lines"
    assert "".join(live).endswith("199999\n200000\n")
    assert max(map(len, live)) < 13_000


async def test_output_between_the_limits_names_the_log_too(ctx: ToolContext) -> None:
    outcome = await run(ctx, "seq 1 3000")
    assert "all of it is in" in outcome.text
    assert (ctx.log_dir / "c.log").read_text() == "".join(f"{n}\n" for n in range(1, 3001))
    short_lines = await run(replace(ctx, call_id="d"), "yes '' | head -n 1500")
    assert "all of it is in" in short_lines.text
    assert (ctx.log_dir / "d.log").read_text() == "\n" * 1500


async def test_one_huge_line(ctx: ToolContext) -> None:
    outcome = await run(ctx, "head -c 3000000 /dev/zero | tr '\\0' a", timeout_seconds=60)
    assert len(outcome.text.encode()) <= 8000
    assert (ctx.log_dir / "c.log").stat().st_size == 3_000_000


async def test_the_log_stops_at_its_limit(ctx: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_output, "LOG_LIMIT", 100_000)
    await run(ctx, "yes | head -c 400000")
    text = (ctx.log_dir / "c.log").read_text()
    assert text.endswith("[the log ends here: it reached its size limit]\n")
    assert len(text) < 100_100


async def test_a_repeated_or_hostile_call_id_overwrites_nothing(ctx: ToolContext) -> None:
    for _ in range(2):
        await run(replace(ctx, call_id="../../x"), "seq 1 3000")
    assert sorted(path.name for path in ctx.log_dir.iterdir()) == ["______x-2.log", "______x.log"]


async def test_a_log_that_cannot_be_written_does_not_lose_the_result(ctx: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    outcome = await run(replace(ctx, log_dir=tmp_path / "file" / "logs"), "seq 1 3000")
    assert outcome.text.endswith("3000\n[exit code 0]")


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (r"printf '\360'", "\ufffd\n[exit code 0]"),
        (r"printf 'head\377\376tail\n'", "head\ufffd\ufffdtail\n[exit code 0]"),
        (r"printf '\0\0\0'", "[binary output, 3 bytes; redirect it to a file to keep it]\n[exit code 0]"),
        ("head -c 5000 /bin/ls", "[binary output, 5,000 bytes; redirect it to a file to keep it]\n[exit code 0]"),
        (r"printf '10%%\r100%%\n\033[31mred\033[0m\n'", "100%\nred\n[exit code 0]"),
    ],
)
async def test_binary_and_control(ctx: ToolContext, live: list[str], command: str, text: str) -> None:
    outcome = await run(ctx, command)
    assert outcome.text == text
    assert "\0" not in "".join(live)


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("git init -q . && git -c user.name=a -c user.email=a@b commit --allow-empty", "use -m"),
        ('read -r line; [ -n "$line" ]', "`read` found no input"),
        (f"{sys.executable} -c 'input()'", "reads from the keyboard"),
        (f"{sys.executable} -c 'open(\"/dev/tty\")'", "needs a terminal: it opens /dev/tty"),
        ("echo 'Host key verification failed.'; exit 255", "ssh asks"),
        ("echo 'sudo: a terminal is required to read the password' >&2; exit 1", "sudo asks for a password"),
        ("echo 'fatal: could not read Username for x: terminal prompts disabled'; exit 128", "user name"),
        ("echo 'the input device is not a TTY'; exit 1", "batch mode"),
        ("top() { return 1; }; top", "top is interactive"),
    ],
)
async def test_a_program_that_wants_a_terminal_fails_fast_with_the_reason(
    ctx: ToolContext, command: str, hint: str
) -> None:
    outcome = await asyncio.wait_for(run(ctx, command, timeout_seconds=60), 50)
    assert outcome.is_error
    assert hint in outcome.text
    assert outcome.error_kind == "no_terminal"


@pytest.mark.parametrize("command", ["cat", sys.executable, "cat | wc -c"])
async def test_reading_stdin_ends_at_once(ctx: ToolContext, command: str) -> None:
    assert not (await asyncio.wait_for(run(ctx, command, timeout_seconds=60), 50)).is_error


async def test_an_unfinished_line_is_shown_while_it_waits(ctx: ToolContext) -> None:
    live: list[str] = []
    seen = asyncio.Event()

    def output(text: str) -> None:
        live.append(text)
        if "Continue?" in text:
            seen.set()

    command = "printf 'Continue? '; while [ ! -e go ]; do sleep 0.01; done; echo yes"
    task = asyncio.ensure_future(run(replace(ctx, output=output), command, timeout_seconds=60))
    await asyncio.wait_for(seen.wait(), 60)
    Path("go").touch()
    assert (await task).text == "Continue? yes\n[exit code 0]"
    assert "".join(live) == "Continue? yes\n"


async def test_twenty_calls_leak_nothing(ctx: ToolContext) -> None:
    def held() -> tuple[int, int, int]:
        gc.collect()  # what other tests left behind goes now, not between the two counts
        return len(os.listdir("/proc/self/fd")), threading.active_count(), len(asyncio.all_tasks())

    await run(ctx, "seq 1 3000")
    before = held()
    for _ in range(20):
        await run(ctx, "seq 1 3000; (:) &")
    assert all(now <= then for now, then in zip(held(), before, strict=True))


async def test_effect_access_and_preview(tool: RunShellCommand, ctx: ToolContext, tmp_path: Path) -> None:
    assert tool.effect({"command": "git log | head"}) is Effect.READS
    assert tool.effect({"command": "rm x"}) is Effect.WRITES
    assert tool.effect({"command": 5.5}) is Effect.WRITES
    (ctx.workdir / "sub").mkdir()
    access = tool.access({"command": "ls", "workdir": "sub"}, ctx)
    assert (access.tool, access.command, access.workdir) == ("run_shell_command", "ls", ctx.workdir / "sub")
    assert await tool.preview({"command": "ls", "workdir": "sub"}, ctx) == (CommandBlock("ls", "sub"),)
    assert await tool.preview({"command": "ls"}, ctx) == (CommandBlock("ls"),)
