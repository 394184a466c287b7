"""`run_shell_command`: a command line in a shell of its own, watched, bounded, and stopped for certain."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from reactagent_tui.core.display import CommandBlock, DisplayBlock, OutputBlock
from reactagent_tui.core.safety.command_parts import parse_command
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.safety.read_only import is_read_only
from reactagent_tui.core.tools.base import Effect, ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase
from reactagent_tui.core.tools.command_output import CommandOutput, LiveOutput
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.jobs import MOST_RUNNING, Job
from reactagent_tui.core.tools.output_text import console_encoding
from reactagent_tui.core.tools.process import TIMEOUT_GRACE, ChildProcess, shielded, spawn
from reactagent_tui.core.tools.process_table import ProcessEntry
from reactagent_tui.core.tools.schema import ToolArgs
from reactagent_tui.core.tools.shell_env import PROVIDER_KEYS, child_env, shell_argv
from reactagent_tui.core.tools.shell_hints import interactive_hint
from reactagent_tui.core.tools.truncate import MAX_BYTES

SHORTEST, LONGEST = 1, 600
HEAD_START = 0.5
"""Seconds that a command gets before it goes to the background: what fails at once is told at once."""
LONG_LINE = 2_000
"""Characters; a longer command line is not looked into before it is judged: it counts as one that writes."""
_NAMED = 8
"""Processes left behind that are named one by one."""


class ShellArgs(ToolArgs):
    """Arguments of run_shell_command."""

    command: str = Field(description="The command line, as bash reads it.")
    timeout_seconds: float | None = Field(
        default=None, description="Seconds until it is stopped, 1 to 600; 10 if left out."
    )
    run_in_background: bool = Field(default=False, description="Let it run on as a job and go on at once.")
    workdir: str | None = Field(default=None, description="Directory to run in; default: the working directory.")

    synonyms: ClassVar[Mapping[str, str]] = {
        "cmd": "command",
        "script": "command",
        "timeout": "timeout_seconds",
        "cwd": "workdir",
    }


@dataclass(frozen=True, slots=True)
class Launch:
    """A program and how it is run. `command` is the line it is known by, `timeout` in seconds."""

    argv: Sequence[str]
    command: str
    workdir: Path
    timeout: float
    note: str = ""
    """For the model, when the time-out is not the one it asked for."""
    in_background: bool = False
    stdin: bytes | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])


class RunShellCommand(ToolBase[ShellArgs]):
    """The tool. `secrets`: environment variables that commands must not see."""

    name = "run_shell_command"
    args_type = ShellArgs
    writes = True

    def __init__(self, *, secrets: Iterable[str] = PROVIDER_KEYS, default_timeout: float = 10.0) -> None:
        super().__init__()
        self._secrets = tuple(secrets)
        self._default_timeout = default_timeout
        self._partial: dict[str, ToolOutcome] = {}

    @property
    def default_timeout(self) -> float:
        """Seconds."""
        return self._default_timeout

    def partial(self, call_id: str) -> ToolOutcome | None:
        """What a cancelled call had printed when it was stopped; once, then it is forgotten.

        `run` raises CancelledError after its processes are dead; the executor asks here for the call's result.
        """
        return self._partial.pop(call_id, None)

    def effect_of(self, args: ShellArgs) -> Effect:
        if len(args.command) > LONG_LINE:
            return Effect.WRITES
        return Effect.READS if is_read_only(args.command) else Effect.WRITES

    def access_of(self, args: ShellArgs, ctx: ToolContext) -> Access:
        return Access(tool=self.name, command=args.command, workdir=_workdir(args, ctx))

    def complaint_of(self, args: ShellArgs, ctx: ToolContext) -> str | None:
        if not args.command.strip():
            return "The command is empty."
        if "\0" in args.command:
            return "The command contains a NUL byte."
        if args.run_in_background and ctx.jobs.is_full:
            return f"{MOST_RUNNING} jobs run already; end one with job_kill first."
        return None

    async def preview_of(self, args: ShellArgs, ctx: ToolContext) -> tuple[DisplayBlock, ...]:
        workdir = _workdir(args, ctx)
        shown = None if workdir == ctx.workdir else ctx.workspace.shown(workdir)
        return (CommandBlock(args.command, shown),)

    async def perform(self, args: ShellArgs, ctx: ToolContext) -> ToolOutcome:
        complaint = self.complaint_of(args, ctx)
        if complaint is not None:
            raise ToolFailure("arguments", complaint)
        workdir = _workdir(args, ctx)
        if not workdir.is_dir():
            raise ToolFailure("not_found", f"The directory {workdir} does not exist, so the command was not run.")
        timeout, note = clamped(self._default_timeout if args.timeout_seconds is None else args.timeout_seconds)
        if args.run_in_background:
            timeout, note = HEAD_START, ""
        line = Launch(shell_argv(args.command), args.command, workdir, timeout, note, args.run_in_background)
        return await self.launch(line, ctx)

    async def launch(self, what: Launch, ctx: ToolContext) -> ToolOutcome:
        """Run a program as commands run: its own process group, watched, bounded, stopped with all it started."""
        workdir, timeout = what.workdir, what.timeout
        encoding = console_encoding()
        output = CommandOutput(ctx.log_dir, ctx.call_id, LiveOutput(ctx.output), encoding)
        env = child_env(os.environ, {**ctx.env, **what.env}, secrets=self._secrets, encoding=encoding)
        argv = what.argv if ctx.wrap is None else ctx.wrap(what.argv, workdir)
        child = spawn(argv, cwd=workdir, env=env, on_output=output.feed, stdin=what.stdin)
        with ctx.jobs.foreground(ctx.call_id) as sent:
            try:
                await asyncio.wait((child.exited, sent), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                if not child.exited.done() and (what.in_background or sent.done()):
                    job = ctx.jobs.adopt(child, output, what.command)
                    return _gone_on(job, output, by_user=sent.done())
                timed_out = not child.exited.done()
                if timed_out:
                    await shielded(child.stop(TIMEOUT_GRACE))
                else:
                    await child.drain()
                left = () if timed_out else await child.survivors()
            except asyncio.CancelledError:
                try:
                    await shielded(child.stop())
                finally:
                    output.finish()
                    self._partial[ctx.call_id] = _interrupted(output)
                raise
        behind = ""
        if left:
            behind = _left_behind(left, ctx.jobs.adopt(child, output, what.command))
        else:
            output.finish()
        ending = _timed_out(timeout) if timed_out else _exited(child.exit_code)
        return _outcome(what.command, output, (what.note, ending, behind), child, timed_out)


def _workdir(args: ShellArgs, ctx: ToolContext) -> Path:
    folder = ctx.workspace.resolve(args.workdir, ctx.workdir) if args.workdir else ctx.workdir
    if ctx.judged is not None and ctx.judged.workdir != folder:
        raise ToolFailure("swapped", f"{args.workdir} leads to another folder than the one that was allowed.")
    return folder


def clamped(seconds: float) -> tuple[float, str]:
    """The time-out that is used, and a note when it is not what was asked for."""
    used = min(max(seconds, SHORTEST), LONGEST) if seconds == seconds else 10.0
    return (
        used,
        "" if used == seconds else f"[timeout_seconds {seconds:g} was changed to {used:g}: allowed is 1 to 600]",
    )


def _outcome(
    command: str, output: CommandOutput, notes: tuple[str, ...], child: ChildProcess, timed_out: bool
) -> ToolOutcome:
    code = child.exit_code or 0
    is_error = timed_out or code != 0
    hint = None
    if is_error:
        names = tuple(part.name for part in parse_command(command).parts)
        hint = interactive_hint(output.model_text(), names, timed_out=timed_out)
    notes = (*notes, f"[{hint}]" if hint else "")
    summary = "timed out" if timed_out else _summary(code, output)
    kind = ("no_terminal" if hint else "timeout" if timed_out else "exit_code") if is_error else ""
    blocks = (OutputBlock(output.shown()),) if not output.is_empty else ()
    return ToolOutcome(_text(output, notes), blocks, is_error=is_error, summary=summary, error_kind=kind)


def _gone_on(job: Job, output: CommandOutput, *, by_user: bool) -> ToolOutcome:
    why = "the user sent it to the background: it goes on" if by_user else "runs in the background"
    note = f"[{why} as job {job.id}; job_output shows what it prints, job_kill ends it, you are told when it ends]"
    blocks = (OutputBlock(output.shown()),) if not output.is_empty else ()
    return ToolOutcome(_text(output, (note,)), blocks, summary=f"job {job.id}")


def _interrupted(output: CommandOutput) -> ToolOutcome:
    blocks = (OutputBlock(output.shown()),) if not output.is_empty else ()
    text = _text(output, ("[interrupted by the user]", "[the command and everything it started was stopped]"))
    return ToolOutcome(text, blocks, is_error=True, summary="interrupted", error_kind="interrupted")


def _text(output: CommandOutput, notes: tuple[str, ...]) -> str:
    ending = "\n".join(note for note in notes if note)
    body = output.model_text(MAX_BYTES - len(ending.encode()) - 1) if not output.is_empty else "[no output]"
    return f"{body}{'' if body.endswith(chr(10)) else chr(10)}{ending}"


def _timed_out(timeout: float) -> str:
    longer = f"give it a longer timeout_seconds (up to {LONGEST}), or " if timeout < LONGEST else ""
    return (
        f"[timed out after {timeout:g} s; the command and everything it started was stopped: {longer}"
        "let it run on with run_in_background]"
    )


def _exited(code: int | None) -> str:
    code = code or 0
    if code < 0:
        return f"[killed by signal {_signal_name(-code)}]"
    if 128 < code <= 128 + 64:
        return f"[exit code {code}: killed by signal {_signal_name(code - 128)}]"
    return f"[exit code {code}]"


def _summary(code: int, output: CommandOutput) -> str:
    if code < 0:
        return _signal_name(-code)
    if code:
        return f"exit {code}"
    if output.is_binary:
        return f"{output.total_bytes:,} bytes"
    return f"{output.lines:,} line{'' if output.lines == 1 else 's'}" if output.lines else ""


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({number})"
    except ValueError:
        return str(number)


def _left_behind(left: tuple[ProcessEntry, ...], job: Job) -> str:
    named = ", ".join(f"pid {entry.pid} ({entry.name})" for entry in left[:_NAMED])
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    plural = "es" if len(left) > 1 else ""
    return f"[{len(left)} background process{plural} still running: {named}{more}; as job {job.id}, see job_output]"
