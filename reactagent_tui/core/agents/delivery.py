"""Where a sub-agent's answer goes: into the file its caller named, by the rules and on the way of `write_file`."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reactagent_tui.core.agents.voice import AgentVoice
from reactagent_tui.core.events import AgentEvent
from reactagent_tui.core.messages import ToolCall, ToolResult
from reactagent_tui.core.react.executor import Executor, PermissionRules
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.safety.permissions import Access, Deny
from reactagent_tui.core.tools.agent_task import AgentResult, AgentTask
from reactagent_tui.core.tools.base import StoppedByUser, ToolContext
from reactagent_tui.core.tools.builtin_base import in_thread
from reactagent_tui.core.tools.disk import read_whole
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.places import PathLocks, real_path
from reactagent_tui.core.tools.toolkit import Toolkit
from reactagent_tui.core.tools.write_file import WriteFile

_FENCED = re.compile(r"\s*(`{3,}|~{3,})[^\n`]*\n(.*?)\n?\1\s*", re.DOTALL)
_TEXTS = frozenset({".md", ".markdown", ".txt", ".rst"})


@dataclass
class Delivery:
    """The output file of one sub-agent, or none."""

    task: AgentTask
    ctx: ToolContext
    """Of the call that asked for the agent."""
    rights: PermissionRules
    voice: AgentVoice
    context: Callable[[ToolCall, Callable[[str], None]], ToolContext]
    emit: Callable[..., None]
    seen: FilesSeen
    """What the agent knows of files."""
    tools: Toolkit
    """The caller's: its write_file holds the locks of all paths."""
    wrote: Callable[[Path], bool]
    """Did the agent itself write that file?"""
    path: Path | None = None
    _stamp: tuple[int, int] | None = None

    def prepare(self) -> None:
        """Refuse now what could not be written later. Raises ToolFailure."""
        if not self.task.output_file:
            return
        self.path = real_path(self.task.output_file, replace(self.ctx, judged=None))
        if self.path.is_dir():
            raise ToolFailure("not_a_file", f"output_file {self.path} is a directory.")
        said = self.rights.decide(self._access(self.path), reads_only=False)
        if isinstance(said, Deny):
            raise ToolFailure("denied", f"output_file {self.path}: {said.text}")
        self._stamp = _stamp(self.path)

    def instruction(self, toolkit: Toolkit) -> str:
        """What the agent is told of it."""
        if self.path is None:
            return ""
        if "write_file" in toolkit:
            return f"Write your result into the file {self.path} with write_file; then say in one line what it holds."
        return (
            f"Your answer is saved as {self.path}, as it is: answer with the content of this file and nothing around "
            "it, no introduction and no code fence."
        )

    async def deliver(self, result: AgentResult) -> AgentResult:
        """The result with its file: the agent wrote it itself, or its answer is written now."""
        if self.path is None:
            return result
        now = _stamp(self.path)
        if now is not None and (now != self._stamp or self.wrote(self.path)):
            return replace(result, output_file=self.path, written=now[1])
        if not result.text.strip():
            return replace(result, reason="ERROR", error=f"{self.path} was not written: the agent gave no answer")
        return await self._write(self.path, result)

    async def _write(self, path: Path, result: AgentResult) -> AgentResult:
        try:
            done, files = await self.write(path, _content(path, result.text))
        except StoppedByUser:
            return replace(result, reason="INTERRUPTED", stops_all=True, error=f"{path} was not written")
        except (ToolFailure, OSError) as error:
            return replace(result, reason="ERROR", error=f"{path} was not written: {error}")
        now = _stamp(path)
        if done.is_error or now is None:
            return replace(result, reason="ERROR", error=f"{path} was not written: {done.text}")
        return replace(
            result, output_file=path, written=now[1], files=tuple(dict.fromkeys((*result.files, *sorted(files))))
        )

    async def write(self, path: Path, content: str) -> tuple[ToolResult, set[str]]:
        """Write a file as a call of the agent to write_file would; its result and the files it touched.

        Raises StoppedByUser when the user says "no, and stop".
        """
        kept: list[ToolResult] = []
        arguments = {"path": str(path), "content": content}
        call = ToolCall(f"{self.voice.run_id}-{secrets.token_hex(3)}", "write_file", "", arguments)
        executor = Executor(
            toolkit=Toolkit([self._writer()]),
            permissions=self.rights,
            context=self.context,
            emit=self._tell,
            ask=self.voice.ask,
            keep=kept.append,
            agent=self.voice.path,
        )
        await self._know(path)
        await executor.run([call])
        return kept[-1], executor.created | executor.changed

    def _writer(self) -> WriteFile:
        tool = self.tools.find("write_file")
        return tool if isinstance(tool, WriteFile) else WriteFile(PathLocks())

    async def _know(self, path: Path) -> None:
        """An old file of that name is meant to be replaced: seeing it first is what write_file asks for."""
        before = await in_thread(lambda _: read_whole(path, str(path)))
        if before is not None:
            self.seen.remember(path, before)

    def _access(self, path: Path) -> Access:
        return Access("write_file", workdir=self.ctx.workdir, writes=(path,))

    def _tell(self, kind: type[AgentEvent], values: dict[str, Any]) -> None:
        self.emit(kind, **values)


def _content(path: Path, text: str) -> str:
    """The whole answer; where it is one fenced block and the file is no prose, what stands in the fence."""
    fenced = None if path.suffix.lower() in _TEXTS else _FENCED.fullmatch(text)
    content = text if fenced is None else fenced[2]
    return content if content.endswith("\n") else content + "\n"


def _stamp(path: Path) -> tuple[int, int] | None:
    """When it was written last, in nanoseconds, and its size in bytes; None: no such file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
