"""`/plan`: ask for a plan first, then accept it, change it or refuse it."""

from __future__ import annotations

from reactagent_tui.core.commands.registry import Command, CommandResult, Host
from reactagent_tui.core.display import MarkdownBlock, TextBlock
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.plans.decision import PlanningSession, accepted, refused
from reactagent_tui.core.plans.steps import edited_steps, numbered
from reactagent_tui.core.safety.access import MODES, Mode

USAGE = "[task | accept [mode] | edit | reject [reason] | drop]"


def plan_command() -> Command:
    """The command of this module."""
    return Command("plan", plan, USAGE)


def plan(host: Host, arguments: str) -> CommandResult:
    """With a task: a plan for it, nothing is changed before it is accepted. Without: the plan as it stands."""
    session = host.planning
    word, _, rest = arguments.strip().partition("\n" if "\n" in arguments.partition(" ")[0] else " ")
    verb = word.strip().lower()
    if session.plan.is_open and verb in ("accept", "edit", "reject"):
        if host.is_running:
            return _problem(host.t("plan.busy"))
        return _decided(host, session, verb, rest.strip())
    if session.plan.state != "none" and arguments.strip().lower() == "drop":
        session.plan.drop()
        return CommandResult((TextBlock(host.t("plan.dropped"), "ok"),))
    if arguments.strip():
        if host.mode != "plan":
            host.set_mode("plan")
        return CommandResult(submit=UserMessage(arguments.strip(), shown=f"/plan {arguments.strip()}"))
    return _shown(host, session)


def _decided(host: Host, session: PlanningSession, verb: str, rest: str) -> CommandResult:
    if verb == "accept":
        mode: Mode | None = "ask" if not rest else next((m for m in MODES if m == rest.lower() and m != "plan"), None)
        if mode is None:
            return _problem(host.t("plan.modes", name=rest))
        return CommandResult(submit=accepted(session, mode))
    if verb == "reject":
        message = refused(session, rest)
        return CommandResult(() if message else (TextBlock(host.t("plan.refused"), "ok"),), submit=message)
    steps = edited_steps(rest)
    if not steps:
        return CommandResult(draft=f"/plan edit\n{numbered(session.plan.steps)}")
    session.plan.propose(steps, edited=True)
    return CommandResult((TextBlock(host.t("plan.changed", n=len(steps)), "ok"),))


def _shown(host: Host, session: PlanningSession) -> CommandResult:
    """The plan; without one plan mode begins."""
    t, present = host.t, session.plan
    if present.state == "none":
        if host.mode != "plan":
            host.set_mode("plan")
        return CommandResult((TextBlock(t("plan.begin"), "ok"),))
    heading = TextBlock(t(f"plan.is_{'proposed' if present.is_open else present.state}"), "bold")
    hint = (TextBlock(t("plan.how"), "dim"),) if present.is_open else ()
    return CommandResult((heading, MarkdownBlock(numbered(present.steps)), *hint))


def _problem(text: str) -> CommandResult:
    return CommandResult((TextBlock(text, "error"),), level="error")
