"""The user's word about a plan: accepted in a mode of their choice, changed, or refused with a reason."""

from __future__ import annotations

import asyncio
from typing import Any, Literal, Protocol

from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.plans.session_plan import SessionPlan
from reactagent_tui.core.plans.steps import numbered, plan_steps
from reactagent_tui.core.reporter import ASKING_SESSION, ChoiceQuestion, Reporter
from reactagent_tui.core.safety.access import Mode
from reactagent_tui.core.tools.toolkit import Toolkit

WRITERS = frozenset({"write_file", "edit_file", "job_kill"})
"""Tools that only ever change something; plan mode does without them."""
ACCEPTED = "I accept your plan. Carry it out now, step by step; tick off each step with todo_write right after it."
EDITED = (
    "I accept the plan as I changed it:\n\n{steps}\n\nCarry it out now, step by step; tick off each with todo_write."
)
REFUSED = "I do not accept this plan: {reason}\n\nMake another one: a numbered list of what you would do."
OPTIONS = ("plan.accept_ask", "plan.accept_edits", "plan.edit", "plan.refuse")

PlanTools = Literal["read", "none"]


class PlanningSession(Protocol):
    """The part of a live session that plans need."""

    plan: SessionPlan
    reporter: Reporter

    @property
    def id(self) -> str: ...
    @property
    def mode(self) -> Mode: ...
    @property
    def is_running(self) -> bool: ...
    def set_mode(self, mode: Mode) -> None: ...
    def submit(self, message: UserMessage) -> None: ...


def withheld(toolkit: Toolkit, offer: PlanTools) -> Toolkit:
    """What the model may use in plan mode: nothing that writes; with `none` nothing at all."""
    if offer == "none":
        return Toolkit()
    return toolkit.restricted(name for name in toolkit.names if name not in WRITERS and not _drives_pipeline(name))


def _drives_pipeline(name: str) -> bool:
    return name.startswith("run_") and name.endswith("_pipeline")


def note_answer(session: PlanningSession, answer: str, *, answered: bool) -> None:
    """A turn ended: in plan mode its numbered list is the plan; otherwise a plan whose steps are done is over."""
    if session.mode == "plan" and answered:
        steps = plan_steps(answer)
        if steps:
            session.plan.propose(steps)
    else:
        session.plan.end_if_done()


def accepted(session: PlanningSession, mode: Mode) -> UserMessage:
    """Accept the plan, change to the mode, and give the message that starts the work."""
    plan = session.plan
    edited = plan.edited
    plan.accept()
    session.set_mode(mode)
    text = EDITED.format(steps=numbered(plan.steps)) if edited else ACCEPTED
    return UserMessage(text, shown=f"/plan accept {mode}")


def refused(session: PlanningSession, reason: str) -> UserMessage | None:
    """Refuse the plan; with a reason the message asks for another one, still in plan mode."""
    session.plan.drop()
    if not reason:
        return None
    if session.mode != "plan":
        session.set_mode("plan")
    return UserMessage(REFUSED.format(reason=reason), shown=f"/plan reject {reason}")


async def ask_about_plan(session: PlanningSession) -> None:
    """Put the proposed plan before the user and do what they decide; without a word it stays proposed."""
    plan = session.plan
    if plan.state != "proposed" or session.is_running:
        return
    plan.stop_asking()
    ASKING_SESSION.set(session.id)
    params: dict[str, Any] = {"steps": numbered(plan.steps)}
    question = ChoiceQuestion("plan.question", OPTIONS, params=params, title="plan.title", commented=True)
    asking = plan.asking = asyncio.ensure_future(session.reporter.ask(question))
    try:
        await asyncio.wait([asking])
    finally:
        asking.cancel()
        if plan.asking is asking:
            plan.asking = None
    if asking.cancelled() or plan.state != "proposed" or session.is_running:
        return
    answer = asking.result()
    if answer.verdict != "choice":
        return
    match answer.choice:
        case 0:
            session.submit(accepted(session, "ask"))
        case 1:
            session.submit(accepted(session, "edits"))
        case 2:
            plan.begin_edit()
        case _:
            message = refused(session, answer.comment.strip())
            if message is not None:
                session.submit(message)
