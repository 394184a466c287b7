"""`-p`: one prompt or one slash command, no screen. stdout holds the answer only; the exit code says why it ended.

0 answer · 1 error · 2 usage or config · 3 budget, steps, time or loop · 4 refused by policy and nothing done ·
130 interrupted · 143 terminated.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TextIO

from reactagent_tui.core.attaching import AttachmentError, with_images
from reactagent_tui.core.commands.basic import basic_commands
from reactagent_tui.core.commands.host import SessionHost
from reactagent_tui.core.commands.registry import CommandResult, Unknown, execute, split_command
from reactagent_tui.core.display import (
    CodeBlock,
    CommandBlock,
    DiffBlock,
    DisplayBlock,
    MarkdownBlock,
    OutputBlock,
    TableBlock,
    TextBlock,
    cell_width,
    clean,
)
from reactagent_tui.core.errors import ReactAgentError, StorageError
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.money import Money
from reactagent_tui.core.react.state import RunResult
from reactagent_tui.core.runtime import Options, Runtime
from reactagent_tui.core.sessions.forking import resume as resume_session
from reactagent_tui.core.sessions.index import SessionIndex
from reactagent_tui.core.tools.process import sweep_now
from reactagent_tui.headless.ending import close_noting
from reactagent_tui.headless.opening import end_sandbox, open_task_session
from reactagent_tui.headless.reporter import HeadlessReporter, StreamJsonReporter, usage_record

Format = Literal["text", "json", "stream-json"]
EXIT = {
    "ANSWER": 0,
    "PAUSED": 0,
    "ERROR": 1,
    "REFUSED": 1,
    "BLOCKED": 4,
    "BUDGET": 3,
    "MAX_STEPS": 3,
    "TIMEOUT": 3,
    "REPETITION": 3,
    "INTERRUPTED": 130,
}
SUBTYPES = {
    "ANSWER": "success",
    "PAUSED": "success",
    "MAX_STEPS": "error_max_turns",
    "BUDGET": "error_max_budget_usd",
    "TIMEOUT": "error_timeout",
    "REPETITION": "error_repetition",
    "INTERRUPTED": "error_interrupted",
}
TERMINATED = 143
HANGUP: int | None = getattr(signal, "SIGHUP", None)


@dataclass(frozen=True, slots=True)
class Task:
    """What to do without a screen."""

    prompt: str
    workdir: Path
    output: Format = "text"
    resume: str | None = None
    """Session id, title, text in it, or "" for the newest of this folder."""
    fork: bool = False
    options: Options = field(default_factory=Options)
    verbose: bool = False
    keep_jobs: bool = False
    """Background jobs outlive the program instead of ending with it."""


async def run_task(task: Task, t: Callable[..., str]) -> int:
    """Do it and return the exit code. Raises ReactAgentError for configuration and storage faults."""
    out = Output(task.output)
    reporter: HeadlessReporter
    if task.output == "stream-json":
        reporter = StreamJsonReporter(t, quiet=not task.verbose, write=out.line)
    else:
        reporter = HeadlessReporter(t, quiet=not task.verbose)
    runtime = Runtime.load(reporter, task.options)
    code = 0
    try:
        for warning in runtime.loaded.warnings:
            reporter.say(warning, always=True)
        resumed = _resumed(runtime, task, reporter)
        session = await open_task_session(runtime, task.workdir, t, partial(reporter.say, always=True), resume=resumed)
        session.jobs.outlive = task.keep_jobs
        session.tell_jobs()
        message = UserMessage(task.prompt)
        command = split_command(task.prompt)
        if command is not None:
            outcome = await execute(basic_commands(), SessionHost(runtime, session, t), *command)
            if isinstance(outcome, Unknown):
                near = f" {t('command.did_you_mean', name='/' + outcome.nearest)}" if outcome.nearest else ""
                reporter.say(t("command.unknown", name=outcome.name) + near, always=True)
                return 2
            if outcome.submit is None:
                out.command(outcome, session)
                return 1 if outcome.level == "error" else 0
            message = outcome.submit
        try:
            message = await with_images(session, message)
        except AttachmentError as error:
            reporter.say(f"reactagent: {t(error.key, **error.params)}", always=True)
            return 2
        code = await _turn(session, message, reporter, out)
        return code
    finally:
        for session in runtime.sessions.values():
            await end_sandbox(session, t, partial(reporter.say, always=True))
        for line in _job_lines(runtime, t, keep=task.keep_jobs):
            reporter.say(line, always=True)
        await close_noting(runtime, reporter, "all" if task.keep_jobs else "kept", stopped=code >= 128)


def _job_lines(runtime: Runtime, t: Callable[..., str], *, keep: bool) -> Iterator[str]:
    """What becomes of the jobs that still run."""
    for session in runtime.sessions.values():
        for job in session.jobs.running():
            if keep or job.child is None:
                yield t("jobs.kept", id=job.id, command=job.command, log=str(job.log_path))
            else:
                yield t("jobs.ended_here", id=job.id, command=job.command)


_SERVER_STATUS = {
    "off": "disabled",
    "starting": "pending",
    "ready": "connected",
    "failed": "failed",
    "login": "needs-auth",
}


async def _turn(session: LiveSession, message: UserMessage, reporter: HeadlessReporter, out: Output) -> int:
    if out.format == "stream-json":
        info = session.provider.info
        out.line(
            {
                "type": "system",
                "subtype": "init",
                "session_id": session.id,
                "cwd": str(session.workdir),
                "model": info.name,
                "tools": [spec.name for spec in session.toolkit.specs()],
                "mcp_servers": [
                    {"name": state.name, "status": _SERVER_STATUS[state.phase]}
                    for state in (session.servers.states if session.servers is not None else ())
                ],
                "permissionMode": session.mode,
            }
        )
    with stop_on_signals(session) as received:
        result = await session.run(message)
    if result.reason == "ERROR":
        reporter.say(f"reactagent: {result.error}", always=True)
    elif result.reason not in ("ANSWER", "PAUSED"):
        reporter.say(reporter.t(f"ended.{result.reason}", detail=result.error or ""), always=True)
    out.result(result, session, reporter)
    if signal.SIGTERM in received:
        return TERMINATED
    if HANGUP in received:
        return 128 + (HANGUP or 0)
    if result.reason == "ANSWER" and reporter.denials and not _did_anything(session, result):
        return 4
    return EXIT[result.reason]


def _did_anything(session: LiveSession, result: RunResult) -> bool:
    """Did any call of the last turn run?"""
    for message in reversed(session.file.messages):
        if isinstance(message, UserMessage) and message.origin == "user":
            break
        if getattr(message, "status", None) in ("done", "failed"):
            return True
    return bool(result.files_changed or result.files_created)


@contextlib.contextmanager
def stop_on_signals(session: LiveSession) -> Iterator[set[int]]:
    """SIGINT interrupts once, ends the program the second time; SIGTERM and SIGHUP interrupt and are remembered."""
    received: set[int] = set()
    loop = asyncio.get_running_loop()

    def on_signal(number: int) -> None:
        if number == signal.SIGINT and number in received:
            sweep_now()  # commands have sessions of their own: they would live on
            os._exit(130)
        received.add(number)
        session.interrupt()

    installed: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM, *(() if HANGUP is None else (HANGUP,))):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, on_signal, number)
            installed.append(number)
    try:
        yield received
    finally:
        for number in installed:
            loop.remove_signal_handler(number)


def _resumed(runtime: Runtime, task: Task, reporter: HeadlessReporter) -> Any:
    if task.resume is None:
        return None
    workdir = Path(os.path.realpath(task.workdir))
    index = SessionIndex.at(runtime.paths)
    resumed = resume_session(runtime.store, index, task.resume, workdir, fork=task.fork)
    if resumed is None:
        raise StorageError(f"there is no earlier session in {workdir}; start one without -c")
    if resumed.open_elsewhere:
        reporter.say(reporter.t("session.open_elsewhere"), always=True)
    return resumed.file


@dataclass
class Output:
    """Writes stdout. A reader that went away (`| head`) is no error."""

    format: Format
    stream: TextIO = field(default_factory=lambda: sys.stdout)

    def line(self, value: dict[str, Any]) -> None:
        """One JSON document on one line."""
        # escaped for a terminal: C1 controls and direction marks pass through JSON as they are
        self._write(json.dumps(value, ensure_ascii=self.stream.isatty()).replace("\x7f", "\\u007f") + "\n")

    def result(self, result: RunResult, session: LiveSession, reporter: HeadlessReporter) -> None:
        """The answer, or the result document."""
        if self.format == "text":
            if result.answer:
                self._write(self._text(result.answer.rstrip("\n")) + "\n")
            return
        totals = session.totals()
        cost = result.cost.amount if result.cost.currency == "USD" else None
        info = session.provider.info
        usage = usage_record(result.usage)
        self.line(
            {
                "type": "result",
                "subtype": SUBTYPES.get(result.reason, "error_during_execution"),
                "is_error": EXIT[result.reason] != 0,
                "duration_ms": round(result.seconds * 1000),
                "num_turns": result.steps,
                "result": result.answer,
                "session_id": session.id,
                "total_cost_usd": None if cost is None else float(cost),
                "usage": usage,
                "modelUsage": {
                    f"{info.provider}/{info.name}": usage
                    | {"costUSD": None if cost is None else float(cost), "costState": result.cost.state}
                },
                "permission_denials": reporter.denials,
                "cost": _money(result.cost),
                "reason": result.reason,
                "error": result.error,
                "session_cost": _money(totals.session_cost),
            }
        )

    def command(self, outcome: CommandResult, session: LiveSession) -> None:
        """What a slash command shows."""
        text = "\n".join(block_text(block) for block in outcome.blocks)
        if self.format == "text":
            self._write(self._text(text) + "\n")
        else:
            self.line(
                {
                    "type": "result",
                    "subtype": "success" if outcome.level == "info" else "error_during_execution",
                    "is_error": outcome.level == "error",
                    "duration_ms": 0,
                    "num_turns": 0,
                    "result": text,
                    "session_id": session.id,
                    "total_cost_usd": 0.0,
                    "usage": {},
                    "modelUsage": {},
                    "permission_denials": [],
                }
            )

    def _text(self, text: str) -> str:
        return clean(text) if self.stream.isatty() else text

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except BrokenPipeError:
            # the reader left: point stdout at nothing, so that the interpreter's own flush stays quiet
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())
        except UnicodeEncodeError:
            self.stream.buffer.write(text.encode(errors="replace"))
            self.stream.flush()


def _money(money: Money) -> dict[str, Any]:
    """Amount, currency and how sure it is; `amount` is null when no price is known."""
    amount = None if money.amount is None else float(money.amount)
    return {"amount": amount, "currency": money.currency, "state": money.state}


def block_text(block: DisplayBlock) -> str:
    """A block as plain text."""
    match block:
        case TextBlock(text=text) | MarkdownBlock(text=text) | CodeBlock(text=text) | OutputBlock(text=text):
            return text
        case CommandBlock(command=command):
            return f"$ {command}"
        case DiffBlock(path=path, lines=lines):
            return "\n".join((path, *lines))
        case TableBlock(columns=columns, rows=rows, align=align):
            return _table_text((columns, *rows), align)


def _table_text(rows: tuple[tuple[str, ...], ...], align: str) -> str:
    widths = [max(cell_width(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines: list[str] = []
    for row in rows:
        gaps = [" " * (widths[k] - cell_width(cell)) for k, cell in enumerate(row)]
        cells = [gaps[k] + cell if align[k : k + 1] == "r" else cell + gaps[k] for k, cell in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def main_headless(task: Task, t: Callable[..., str]) -> int:
    """Run a task in a fresh event loop; faults become one line on stderr and an exit code."""
    try:
        return asyncio.run(run_task(task, t))
    except ReactAgentError as error:
        sys.stderr.write(f"reactagent: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
