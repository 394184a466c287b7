"""The programs of a pipeline: `run.py next`, and the command lines of RUN. Stopped for certain when the step is."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.pipeline.spec import PipelineSpec
from reactagent_tui.core.tools.base import ToolContext
from reactagent_tui.core.tools.command_output import CommandOutput, LiveOutput
from reactagent_tui.core.tools.output_text import console_encoding
from reactagent_tui.core.tools.process import TIMEOUT_GRACE, shielded, spawn
from reactagent_tui.core.tools.shell_env import child_env, shell_argv

HANDSHAKES = (10, 11)
"""Exit codes that ask for a sub-agent: the next block of `next` is its step. No failure."""
RETRIED = 3
"""Exit code that one more try may mend: nothing could be fetched."""
NEXT_TIMEOUT = 120.0
MAX_BLOCK = 2_000_000
"""Bytes of what `next` prints."""
_TAIL = 2_000


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended."""

    code: int
    text: str
    """What it printed, capped; for `next` its stdout."""
    errors: str = ""
    """Its stderr, where that was kept apart."""
    timed_out: bool = False

    @property
    def is_fine(self) -> bool:
        return not self.timed_out and (self.code == 0 or self.code in HANDSHAKES)

    @property
    def why(self) -> str:
        if self.timed_out:
            return "timed out"
        return f"exit code {self.code}"


@dataclass(frozen=True, slots=True)
class Programs:
    """Runs the programs of one run of a pipeline."""

    skill_dir: Path
    run_dir: Path
    query: str
    spec: PipelineSpec
    ctx: ToolContext
    secrets: Sequence[str]

    @property
    def env(self) -> Mapping[str, str]:
        own = {"SKILL_DIR": str(self.skill_dir), "RUN_DIR": str(self.run_dir)}
        return {**self.ctx.env, **self.spec.env, **own}

    @property
    def entry(self) -> list[str]:
        """The program that says what comes next, without its arguments."""
        words = shlex.split(self.spec.entry)
        return [self.spec.python or sys.executable, str(self.skill_dir / words[0]), *words[1:]]

    async def next(self) -> Ended:
        """Ask the state machine. Raises SkillError when it cannot be started or prints without end."""
        command = [*self.entry, "--dir", str(self.run_dir)]
        if not self.query:
            return await self._captured(command)
        ended = await self._captured([*command, "--query", self.query])
        if ended.code == 2 and "unrecognized arguments: --query" in ended.errors:
            return await self._captured(command)
        return ended

    async def _captured(self, argv: list[str]) -> Ended:
        printed = bytearray()
        env = child_env(os.environ, self.env, secrets=self.secrets, encoding="utf-8")
        argv = argv if self.ctx.wrap is None else self.ctx.wrap(argv, self.ctx.workdir)
        with tempfile.TemporaryFile() as errors:
            try:
                child = spawn(argv, cwd=self.ctx.workdir, env=env, on_output=printed.extend, stderr=errors.fileno())
            except OSError as error:
                raise SkillError(f"{argv[0]}: {error.strerror or error}") from error
            try:
                timed_out = not await child.wait(NEXT_TIMEOUT) or len(printed) > MAX_BLOCK
                if not timed_out:
                    await child.drain(1.0)
                code = child.exit_code
            finally:
                await shielded(child.stop(TIMEOUT_GRACE if not child.exited.done() else 0.0))
            errors.seek(0)
            said = errors.read(200_000).decode("utf-8", "replace")
        text = bytes(printed[:MAX_BLOCK]).decode("utf-8", "replace")
        return Ended(-1 if code is None else code, text, said[-_TAIL:], timed_out)

    async def command(self, line: str, name: str) -> Ended:
        """Run one command line of RUN in a shell, live output to the screen. Cancelled, everything it began is dead."""
        encoding = console_encoding()
        output = CommandOutput(self.ctx.log_dir, name, LiveOutput(self.ctx.output), encoding)
        env = child_env(os.environ, self.env, secrets=self.secrets, encoding=encoding)
        argv = shell_argv(line)
        if self.ctx.wrap is not None:
            argv = self.ctx.wrap(argv, self.ctx.workdir)
        try:
            child = spawn(argv, cwd=self.ctx.workdir, env=env, on_output=output.feed)
        except OSError as error:
            raise SkillError(f"{argv[0]}: {error.strerror or error}") from error
        timed_out = False
        try:
            timed_out = not await child.wait(self.spec.bash_timeout_s)
            if not timed_out:
                await child.drain()
            code = child.exit_code
        finally:
            try:
                await shielded(child.stop(TIMEOUT_GRACE if timed_out else 0.15))
            finally:
                output.finish()
        return Ended(-1 if code is None else code, output.model_text(8_000), timed_out=timed_out)
