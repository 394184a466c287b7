"""A command line of the user's own (`!make test`): it runs at once, is shown, and the model is told if wanted."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reactagent_tui.core.events import (
    AgentEvent,
    RunEnded,
    RunStarted,
    StopReport,
    ToolFinished,
    ToolOutput,
    ToolStarted,
)
from reactagent_tui.core.messages import ResultStatus, ToolCall, UserMessage
from reactagent_tui.core.money import NOTHING_SPENT, NOTHING_USED
from reactagent_tui.core.react.observation import INTERRUPTED
from reactagent_tui.core.react.state import History, MakeContext
from reactagent_tui.core.reporter import Reporter
from reactagent_tui.core.tools.base import ToolOutcome
from reactagent_tui.core.tools.toolkit import Toolkit

SHELL = "run_shell_command"
LONGEST = 600
TOLD = "I ran this command myself:\n{command}\nIt showed:\n{output}"


@dataclass
class UserCommand:
    """One command. Looks like a short run to the front end: RunStarted, a tool row, RunEnded."""

    command: str
    tell_model: bool
    toolkit: Toolkit
    history: History
    reporter: Reporter
    context: MakeContext
    session_id: str
    _work: asyncio.Task[ToolOutcome] | None = None
    _interrupted: bool = False

    def interrupt(self) -> None:
        """Stop it now. Idempotent."""
        if not self._interrupted and self._work is not None:
            self._interrupted = True
            self._work.cancel()

    async def run(self) -> None:
        """Run to the end; never raises but when cancelled from outside."""
        run_id, began = secrets.token_hex(6), time.monotonic()
        call = ToolCall(f"user_{run_id}", SHELL, "", {"command": self.command, "timeout_seconds": LONGEST})
        shown = f"{'!' if self.tell_model else '!!'}{self.command}"
        self._emit(RunStarted, run_id, prompt=UserMessage(shown), model="")
        self._emit(ToolStarted, run_id, call=call)
        status, outcome = await self._outcome(call, run_id)
        seconds = time.monotonic() - began
        self._emit(
            ToolFinished,
            run_id,
            call=call,
            status=status,
            text=outcome.text,
            blocks=outcome.blocks,
            is_error=outcome.is_error,
            summary=outcome.summary,
            seconds=seconds,
        )
        if self.tell_model:
            told = TOLD.format(command=self.command, output=outcome.text)
            self.history.append_message(UserMessage(told, origin="reminder", shown=shown))
        self._emit(
            RunEnded,
            run_id,
            reason="INTERRUPTED" if status == "interrupted" else "ANSWER",
            answer="",
            usage=NOTHING_USED,
            cost=NOTHING_SPENT,
            steps=0,
            seconds=seconds,
            stop=StopReport(commands_killed=1) if status == "interrupted" else None,
        )

    async def _outcome(self, call: ToolCall, run_id: str) -> tuple[ResultStatus, ToolOutcome]:
        tool = self.toolkit.find(SHELL)
        if tool is None:
            return "failed", ToolOutcome("There is no shell tool in this session.", is_error=True)

        def output(text: str) -> None:
            self._emit(ToolOutput, run_id, tool_call_id=call.id, text=text)

        self._work = asyncio.create_task(tool.run(call.arguments or {}, self.context(call, output)))
        try:
            outcome = await asyncio.shield(self._work)
        except asyncio.CancelledError:
            if not self._interrupted:
                self._work.cancel()
                raise
            partial: Callable[[str], ToolOutcome | None] | None = getattr(tool, "partial", None)
            outcome = partial(call.id) if partial is not None else None
            return "interrupted", outcome or ToolOutcome(INTERRUPTED, is_error=True, summary="interrupted")
        return ("failed" if outcome.is_error else "done"), outcome

    def _emit(self, kind: type[AgentEvent], run_id: str, **values: Any) -> None:
        values.setdefault("tool_call_id", getattr(values.get("call"), "id", None))
        self.reporter.emit(kind(session_id=self.session_id, run_id=run_id, **values))
