"""How a sub-agent speaks to the front end: through its caller, one question at a time, under its own name."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reactagent_tui.core.events import AgentEvent, RunEnded
from reactagent_tui.core.messages import ToolCall
from reactagent_tui.core.react.executor import RunHooks
from reactagent_tui.core.reporter import Answer, ApprovalQuestion, ChoiceQuestion, Question, Reporter
from reactagent_tui.core.tools.base import ToolOutcome


@dataclass
class AgentVoice:
    """The `Reporter` of one sub-agent."""

    reporter: Reporter
    asking: asyncio.Lock
    run_id: str
    path: str
    ended: RunEnded | None = None
    """The end of its run, once it was told."""
    stops_all: bool = False
    """The user answered "no, and stop"."""

    def emit(self, event: AgentEvent) -> None:
        if isinstance(event, RunEnded) and event.run_id == self.run_id:
            self.ended = event
        self.reporter.emit(event)

    async def ask(self, question: Question) -> Answer:
        """The user's answer. A budget that is used up is no question of a sub-agent: it ends, and its caller asks."""
        match question:
            case ChoiceQuestion(key="budget.question"):
                return Answer("deny")
            case ChoiceQuestion(text=str() as text):
                question = replace(question, text=f"[{self.path}] {text}")
            case ChoiceQuestion():
                pass
            case ApprovalQuestion():
                question = replace(question, agent=question.agent or self.path)
        async with self.asking:
            answer = await self.reporter.ask(question)
        if answer.verdict == "stop":
            self.stops_all = True
        return answer


class CallHooks:
    """The user's hooks as they hold for a sub-agent: its calls pass them, its end is nobody's turn that ends."""

    def __init__(self, hooks: RunHooks) -> None:
        self._hooks = hooks

    async def before_call(self, call: ToolCall, args: Mapping[str, Any]) -> str | None:
        return await self._hooks.before_call(call, args)

    async def after_call(self, call: ToolCall, args: Mapping[str, Any], outcome: ToolOutcome) -> ToolOutcome:
        return await self._hooks.after_call(call, args, outcome)

    async def before_stop(self, answer: str) -> str | None:
        """Never: the Stop hooks look at turns."""
        return None
