"""One tool call of the user's own. Looks like a short run to the front end: RunStarted, a tool row, RunEnded."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
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
from reactagent_tui.core.react.state import MakeContext
from reactagent_tui.core.reporter import Reporter
from reactagent_tui.core.tools.base import StoppedByUser, Tool, ToolContext, ToolOutcome


@dataclass
class UserCall:
    """A call that no model asked for. `run` once; `interrupt` as often as wanted."""

    name: str
    """Of the tool."""
    tool: Tool | None
    """None: the session has no such tool, and the call says so."""
    arguments: dict[str, Any]
    prompt: UserMessage
    """What the user typed, as the front end shows it."""
    reporter: Reporter
    context: MakeContext
    session_id: str
    adapt: Callable[[ToolContext], ToolContext] = lambda ctx: ctx
    """What this call's context has that a model's has not."""
    before_end: Callable[[ToolOutcome], None] = lambda _outcome: None
    """Called between the end of the tool and the end of the run."""
    _run_id: str = field(default_factory=lambda: secrets.token_hex(6))
    _work: asyncio.Task[ToolOutcome] | None = None
    _interrupted: bool = False

    def interrupt(self) -> None:
        """Stop it now. Idempotent."""
        if not self._interrupted and self._work is not None:
            self._interrupted = True
            self._work.cancel()

    async def run(self) -> ToolOutcome:
        """Run to the end; never raises but when cancelled from outside."""
        began = time.monotonic()
        call = ToolCall(f"user_{self._run_id}", self.name, "", self.arguments)
        self._emit(RunStarted, prompt=self.prompt, model="")
        self._emit(ToolStarted, call=call)
        status, outcome = await self._outcome(call)
        seconds = time.monotonic() - began
        self._emit(
            ToolFinished,
            call=call,
            status=status,
            text=outcome.text,
            blocks=outcome.blocks,
            is_error=outcome.is_error,
            summary=outcome.summary,
            seconds=seconds,
        )
        self.before_end(outcome)
        self._emit(
            RunEnded,
            reason="INTERRUPTED" if status == "interrupted" else "ANSWER",
            answer="",
            usage=NOTHING_USED,
            cost=NOTHING_SPENT,
            steps=0,
            seconds=seconds,
            stop=StopReport(commands_killed=1) if status == "interrupted" else None,
        )
        return outcome

    async def _outcome(self, call: ToolCall) -> tuple[ResultStatus, ToolOutcome]:
        if self.tool is None:
            return "failed", ToolOutcome(f"There is no tool {self.name} in this session.", is_error=True)

        def output(text: str) -> None:
            self._emit(ToolOutput, tool_call_id=call.id, text=text)

        ctx = self.adapt(replace(self.context(call, output), run_id=self._run_id))
        self._work = asyncio.create_task(self.tool.run(self.arguments, ctx))
        try:
            outcome = await asyncio.shield(self._work)
        except StoppedByUser:
            return "interrupted", ToolOutcome(INTERRUPTED, is_error=True, summary="interrupted")
        except asyncio.CancelledError:
            if not self._interrupted:
                self._work.cancel()
                raise
            partial: Callable[[str], ToolOutcome | None] | None = getattr(self.tool, "partial", None)
            found = partial(call.id) if partial is not None else None
            return "interrupted", found or ToolOutcome(INTERRUPTED, is_error=True, summary="interrupted")
        return ("failed" if outcome.is_error else "done"), outcome

    def _emit(self, kind: type[AgentEvent], **values: Any) -> None:
        values.setdefault("tool_call_id", getattr(values.get("call"), "id", None))
        self.reporter.emit(kind(session_id=self.session_id, run_id=self._run_id, **values))
