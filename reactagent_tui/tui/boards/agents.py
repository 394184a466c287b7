"""The agents of all sessions of this program, folded from their events. Draws nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, assert_never

from reactagent_tui.core.event_base import EndReason
from reactagent_tui.core.events import (
    AgentEvent,
    AgentFinished,
    AgentStarted,
    MessageFinished,
    RunEnded,
    RunStarted,
    StepStarted,
    TextDelta,
    TextReclassified,
    ThinkingDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    UsageUpdated,
    UserMessageAdded,
)
from reactagent_tui.core.messages import ToolResult, UserMessage
from reactagent_tui.core.money import Money
from reactagent_tui.core.usage import Usage
from reactagent_tui.tui.boards.agent_log import AgentLog
from reactagent_tui.tui.boards.sums import total
from reactagent_tui.tui.presenter import key_argument, verb

MOST_RUNS = 200
MOST_CHARS = 8_000_000
"""Characters of what all agents said that are kept; the oldest finished agents are read from their files then."""
AgentState = Literal["running", "waiting", "done", "failed", "stopped"]


@dataclass(slots=True, eq=False)
class AgentRun:
    """One agent: what it is, how far it is, what it cost so far, what it said."""

    run_id: str
    session_id: str
    name: str
    began: float
    """Seconds on the clock of the board."""
    task: str = ""
    model: str = ""
    role: str = ""
    max_steps: int = 0
    max_usd: Decimal | None = None
    parent_run_id: str | None = None
    parent_call_id: str | None = None
    state: AgentState = "running"
    step: int = 0
    doing: str = ""
    """The last tool with its argument."""
    context_used: int = 0
    seconds: float | None = None
    """How long it took; None while it runs."""
    reason: EndReason | None = None
    summary: str = ""
    output_file: str = ""
    log: AgentLog = field(default_factory=AgentLog)
    earlier: bool = False
    """Of an earlier program: known by its file only."""
    final: tuple[Usage, Money] | None = None
    calls: dict[str, tuple[Usage, Money]] = field(default_factory=dict[str, tuple[Usage, Money]])
    """Tokens and money by model call, until the end says what it was."""

    @property
    def is_running(self) -> bool:
        return self.state in ("running", "waiting")

    @property
    def usage(self) -> Usage:
        return sum((usage for usage, _ in self.calls.values()), Usage()) if self.final is None else self.final[0]

    @property
    def cost(self) -> Money:
        return total(money for _, money in self.calls.values()) if self.final is None else self.final[1]

    def elapsed(self, now: float) -> float:
        return max(now - self.began, 0.0) if self.seconds is None else self.seconds

    def end(self, reason: EndReason, now: float) -> None:
        """It is over."""
        self.reason = reason
        self.seconds = self.elapsed(now)
        self.state = "done" if reason == "ANSWER" else "stopped" if reason in ("INTERRUPTED", "PAUSED") else "failed"
        self.log.end()


class AgentBoard:
    """Agents by run id, oldest first."""

    def __init__(self) -> None:
        self.runs: dict[str, AgentRun] = {}
        self.hidden: set[str] = set()
        """Finished ones of earlier turns: the tree shows them no more, the list does."""

    def fold(self, event: AgentEvent, now: float) -> AgentRun | None:
        """Take an event of an agent (one that has a parent run, or tells of one); the agent it changed."""
        if isinstance(event, AgentStarted):
            return self._started(event, now)
        run = self.runs.get(event.run_id)
        if run is None:  # its start was not heard
            run = AgentRun(event.run_id, event.session_id, event.run_id[-8:], now)
            run.parent_run_id, run.parent_call_id = event.parent_run_id, event.parent_call_id
            self._add(run)
        if isinstance(event, AgentFinished):
            self._finished(run, event, now)
        else:
            _take(run, event, now)
        return run

    def of_session(self, session_id: str) -> list[AgentRun]:
        """All of a session, oldest first."""
        return [run for run in self.runs.values() if run.session_id == session_id]

    def tree(self, session_id: str) -> Iterator[tuple[AgentRun, int]]:
        """Those to show beside the conversation, children below their parents, with their depth from 0."""
        shown = {run.run_id: run for run in self.of_session(session_id) if run.run_id not in self.hidden}
        below: dict[str | None, list[AgentRun]] = {}
        for run in shown.values():
            parent = run.parent_run_id if run.parent_run_id in shown else None
            below.setdefault(parent, []).append(run)

        def walk(parent: str | None, depth: int) -> Iterator[tuple[AgentRun, int]]:
            for run in below.get(parent, ()):
                yield run, depth
                yield from walk(run.run_id, depth + 1)

        yield from walk(None, 0)

    def running(self, session_id: str) -> int:
        """How many of a session run now."""
        return sum(run.is_running for run in self.of_session(session_id))

    def called_by(self, call_id: str) -> AgentRun | None:
        """The newest agent that a tool call started."""
        return next((run for run in reversed(self.runs.values()) if run.parent_call_id == call_id), None)

    def new_turn(self, session_id: str) -> None:
        """Finished agents of the turn before leave the tree."""
        self.hidden |= {run.run_id for run in self.of_session(session_id) if not run.is_running}

    def end_session_run(self, session_id: str, now: float) -> list[AgentRun]:
        """The main run is over, so no agent of it runs: those whose end was not heard."""
        left = [run for run in self.of_session(session_id) if run.is_running]
        for run in left:
            run.end("INTERRUPTED", now)
        return left

    def _started(self, event: AgentStarted, now: float) -> AgentRun:
        run = self.runs.get(event.run_id)
        if run is None or not run.is_running:
            run = AgentRun(event.run_id, event.session_id, event.name, now)
            self._add(run)
        run.name, run.task, run.model, run.role = event.name, event.task, event.model, event.role
        run.max_steps, run.max_usd = event.max_steps, event.max_usd
        run.parent_run_id, run.parent_call_id = event.parent_run_id, event.parent_call_id
        return run

    def _finished(self, run: AgentRun, event: AgentFinished, now: float) -> None:
        run.end(event.reason, now)
        run.name, run.summary, run.output_file = event.name, event.summary, event.output_file
        run.step, run.seconds = event.steps or run.step, event.seconds
        run.final = (event.usage, event.cost)
        run.calls.clear()

    def _add(self, run: AgentRun) -> None:
        self.runs.pop(run.run_id, None)
        self.runs[run.run_id] = run
        over = [old for old in self.runs.values() if not old.is_running]
        for old in over[: max(len(self.runs) - MOST_RUNS, 0)]:
            del self.runs[old.run_id]
            self.hidden.discard(old.run_id)
        chars = sum(each.log.chars for each in self.runs.values())
        for old in over:
            if chars <= MOST_CHARS:
                break
            chars -= old.log.chars
            old.log.forget()


def _take(run: AgentRun, event: AgentEvent, now: float) -> None:
    log, key = run.log, event.model_call_id or ""
    match event:
        case TextDelta(text=text):
            log.delta(key, "text", text)
        case ThinkingDelta(text=text):
            log.delta(key, "thinking", text)
        case TextReclassified():
            log.reclassify(key)
        case ToolOutput(text=text):
            log.printed(event.tool_call_id or "", text)
        case MessageFinished(message=message):
            log.add(message)
        case RunStarted(prompt=UserMessage() as message) | UserMessageAdded(message=message):
            log.add(message)
        case StepStarted(step=step):
            run.step = step
            log.begin(key)
        case UsageUpdated():
            run.calls[key] = (event.call_usage, event.call_cost)
            run.context_used = event.context_used
        case ToolStarted() | ToolFinished():
            _tool(run, event)
        case RunEnded(reason=reason):
            run.end(reason, now)
        case _:
            pass


def _tool(run: AgentRun, event: ToolStarted | ToolFinished) -> None:
    call = event.call
    match event:
        case ToolStarted(waiting=waiting):
            run.log.started(call, waiting=waiting)
            run.state = "waiting" if waiting else "running"
            run.doing = f"{verb(call.name)} {key_argument(call)}".strip()
        case ToolFinished():
            run.log.finished(
                ToolResult(
                    call.id,
                    call.name,
                    event.text,
                    event.blocks,
                    event.is_error,
                    event.status,
                    event.summary,
                    event.seconds,
                )
            )
            waits = any(waiting for _, waiting in run.log.running.values())
            run.state = "waiting" if waits else "running"
        case _:
            assert_never(event)
