"""May a pipeline begin, and may each of its command lines run?

One question at the start covers what belongs to the skill: its own scripts, and plain file commands in the workspace.
Rules of the user hold for every line; the hard list and foreign programs are asked about one by one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, assert_never

from reactagent_tui.core.display import CommandBlock, DisplayBlock
from reactagent_tui.core.reporter import Answer, ApprovalQuestion, GrantScope
from reactagent_tui.core.safety.command_line import SimpleCommand
from reactagent_tui.core.safety.command_parts import parse_command
from reactagent_tui.core.safety.permissions import Access, Allow, Ask, Decision, Deny
from reactagent_tui.core.tools.base import StoppedByUser, ToolContext
from reactagent_tui.core.tools.failure import ToolFailure

SHELL = "run_shell_command"
_PLAIN = frozenset({":", "[", "cat", "cd", "cp", "echo", "ls", "mkdir", "mv", "printf", "test", "touch", "true"})
_INTERPRETER = re.compile(r"(?:python[\d.]*|pythonw|bash|sh|dash|zsh)(?:\.exe)?")


class PermissionsLike(Protocol):
    """The part of a session's permissions that is used here."""

    def decide(self, access: Access, *, reads_only: bool) -> Decision: ...
    def grant(self, access: Access, pattern: str | None, scope: GrantScope = "session") -> None: ...


@dataclass
class Consent:
    """What the user allowed this run of a pipeline."""

    permissions: PermissionsLike
    ctx: ToolContext
    tool: str
    skill_dir: Path
    never_ask: bool = False
    """No question in the middle: what would need one is not run."""
    _allowed: set[str] = field(default_factory=set[str])
    """Command lines that the user allowed once."""

    async def begin(self, subject: str, preview: Callable[[], tuple[DisplayBlock, ...]], *, typed: bool) -> None:
        """Ask whether it may begin. `typed`: the user called it by name, so that needs no question.

        Raises ToolFailure when it may not, StoppedByUser.
        """
        access = Access(self.tool, workdir=self.ctx.workdir)
        decision = self.permissions.decide(access, reads_only=False)
        if isinstance(decision, Deny):
            raise ToolFailure("denied", decision.text)
        if isinstance(decision, Allow) or typed:
            return
        asked = replace(decision, reason="asks.pipeline") if decision.reason == "asks.tool" else decision
        answer = await self._ask(self.tool, subject, preview(), asked)
        match answer.verdict:
            case "once" | "choice":
                pass
            case "session":
                self.permissions.grant(access, None)
            case "pattern":
                self.permissions.grant(access, answer.pattern or self.tool, answer.scope)
            case "deny" | "stop":
                if answer.verdict == "stop":
                    raise StoppedByUser
                said = answer.comment.strip()
                raise ToolFailure("denied", f"The user did not allow the pipeline{f': {said}' if said else '.'}")
            case _:
                assert_never(answer.verdict)

    async def refusal(self, line: str) -> str | None:
        """Why a command line may not run; None: it may. Raises StoppedByUser."""
        access = Access(SHELL, command=line, workdir=self.ctx.workdir)
        decision = await asyncio.to_thread(self.permissions.decide, access, reads_only=False)
        if isinstance(decision, Deny):
            return decision.text
        if isinstance(decision, Allow) or line in self._allowed:
            return None
        wants_asking = decision.dangerous or decision.reason == "asks.rule"
        if not wants_asking and await asyncio.to_thread(self.is_own, line):
            return None
        if self.never_ask:
            return "It needs a permission, and this skill may not ask in the middle of a run."
        answer = await self._ask(SHELL, line, (CommandBlock(line),), decision)
        if answer.verdict == "stop":
            raise StoppedByUser
        if answer.verdict == "deny":
            return answer.comment.strip() or "The user did not allow it."
        if not decision.dangerous:
            self._allowed.add(line)
        return None

    def is_own(self, line: str) -> bool:
        """Nothing in it but the skill's own scripts and plain file commands."""
        parsed = parse_command(line)
        if parsed.unparsable or not parsed.parts:
            return False
        return all(self._is_own_part(part) for part in parsed.parts)

    def _is_own_part(self, part: SimpleCommand) -> bool:
        if part.foreign or not part.words or part.words[0].dynamic:
            return False
        if part.program in _PLAIN or self._is_script(part.name):
            return True
        if not _INTERPRETER.fullmatch(part.program) or len(part.words) < 2 or part.words[1].dynamic:
            return False
        return self._is_script(part.words[1].text)

    def _is_script(self, text: str) -> bool:
        if "/" not in text and "\\" not in text:
            return False
        path = (self.ctx.workdir / text).resolve()
        return path.is_file() and path.is_relative_to(self.skill_dir.resolve())

    async def _ask(self, tool: str, subject: str, blocks: tuple[DisplayBlock, ...], asked: Ask) -> Answer:
        question = ApprovalQuestion(
            tool=tool,
            subject=subject,
            blocks=blocks,
            reason=asked.reason,
            pattern=None if asked.dangerous or tool == SHELL else self.tool,
            risk=asked.risk,
            dangerous=asked.dangerous,
            new=asked.new,
        )
        return await self.ctx.ask(question)
