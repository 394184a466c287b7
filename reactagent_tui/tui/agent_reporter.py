"""The agent's side of the bridge: events into its deque, questions as futures of the agent's loop."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactagent_tui.core.events import AgentEvent, QuestionAsked
    from reactagent_tui.core.reporter import Answer, Question


@runtime_checkable
class StopsAgents(Protocol):
    """A session whose agents can be stopped one by one."""

    def stop_agent(self, run_id: str) -> object:
        """Interrupt the agent of this run; one that is over stays as it is."""
        ...


@dataclass
class AgentReporter:
    """The `Reporter` of one agent thread. Called in that thread only."""

    send: Callable[[AgentEvent], None]
    """Takes an event to the screen, as long as this thread is the agent's."""
    questions: dict[str, asyncio.Future[Answer]] = field(default_factory=dict[str, "asyncio.Future[Answer]"])
    asked: dict[str, QuestionAsked] = field(default_factory=dict[str, "QuestionAsked"])

    def emit(self, event: AgentEvent) -> None:
        self.send(event)

    async def ask(self, question: Question) -> Answer:
        from reactagent_tui.core.events import QuestionAsked, QuestionClosed
        from reactagent_tui.core.reporter import ASKING_SESSION

        question_id = os.urandom(4).hex()
        session_id = ASKING_SESSION.get()
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.questions[question_id] = future
        self.asked[question_id] = QuestionAsked(session_id=session_id, question_id=question_id, question=question)
        self.emit(self.asked[question_id])
        try:
            return await future
        finally:
            del self.questions[question_id]
            del self.asked[question_id]
            self.emit(QuestionClosed(session_id=session_id, question_id=question_id))

    def repeat(self, session_id: str) -> None:
        """Ask again what waits for an answer: the screen shows this session anew."""
        for event in self.asked.values():
            if event.session_id == session_id:
                self.emit(event)

    def answer(self, question_id: str, answer: Answer) -> None:
        future = self.questions.get(question_id)
        if future is not None and not future.done():
            future.set_result(answer)
