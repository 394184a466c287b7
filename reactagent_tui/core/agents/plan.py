"""From a task to everything its run needs: role, model, tools, prompt, cap; or a refusal that says what exists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from reactagent_tui.core.agents.pool import DEEPEST, Caller, ExternalAgent, SessionAgents
from reactagent_tui.core.agents.roles import Role, bare_tool
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.llm.base import ChatProvider
from reactagent_tui.core.tools.agent_task import AgentTask
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.toolkit import Toolkit

SPAWN = "spawn_subagent"
_NOT_INHERITED = frozenset({SPAWN, "ask_user"})

PLAIN = (
    "You are a sub-agent. You were given one task by another agent and see nothing of its conversation: everything you "
    "need to know is in the task and in the files that came with it.\n"
    "Work on this task alone, do not widen it, and ask nobody: where something is missing, take the most likely "
    "reading and say which one you took. State what you found, not how you went about it. If you could not do it, say "
    "so, with what stands in the way and what you have so far. Your last message is your result; nothing else of what "
    "you write is read."
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A sub-agent that can begin."""

    role: Role | None
    provider: ChatProvider
    toolkit: Toolkit
    system: str
    cap: Decimal | None
    may_nest: bool
    external: ExternalAgent | None = None
    """A program that does the work instead of a model of ours."""

    @property
    def model(self) -> str:
        """What does the work, by name."""
        return self.role.name if self.external is not None and self.role is not None else self.provider.info.name


def plan(pool: SessionAgents, caller: Caller, task: AgentTask) -> Plan:
    """Raises ToolFailure for an unknown role, model or tool, and when nothing is left to spend."""
    pool.refuse_more(caller)
    role = find_role(pool, task.role)
    if role is not None and role.origin == "external":
        return _external(pool, caller, task, role)
    may_nest = caller.depth + 1 < min(pool.host.max_depth, DEEPEST)
    toolkit = _toolkit(caller.toolkit, task, role, may_nest=may_nest)
    return Plan(
        role, _provider(pool, caller, task, role), toolkit, _system(task, role, toolkit), _cap(caller, task), may_nest
    )


def find_role(pool: SessionAgents, name: str | None) -> Role | None:
    """The role of that name; None for no name. Raises ToolFailure that lists what there is."""
    if not name:
        return None
    wanted = name.strip().casefold().replace("_", "-")
    roles = pool.roles()
    for role in roles:
        if role.name.casefold().replace("_", "-") == wanted:
            return role
    known = ", ".join(role.name for role in roles) or "none"
    raise ToolFailure(
        "unknown_name", f"There is no role {name!r}. Roles: {known}. Without a role a plain agent is made."
    )


def _toolkit(offered: Toolkit, task: AgentTask, role: Role | None, *, may_nest: bool) -> Toolkit:
    """Exactly the tools that were named; those of the role where none were; without either none at all."""
    if task.tools_allowlist:
        return _allowed(offered, task.tools_allowlist, may_nest=may_nest)
    if role is None:
        return Toolkit()
    if role.tools is None:
        return offered.restricted(name for name in offered.names if name not in _NOT_INHERITED)
    # a role is written for many programs: what this one does not have, it does without
    found = (offered.find(bare_tool(name)) for name in role.tools)
    names = [tool.name for tool in found if tool is not None]
    return offered.restricted(name for name in names if name != SPAWN or may_nest)


def _allowed(offered: Toolkit, names: Sequence[str], *, may_nest: bool) -> Toolkit:
    found = {name: offered.find(bare_tool(name)) for name in names}
    unknown = [name for name, tool in found.items() if tool is None]
    if unknown:
        what = ", ".join(unknown)
        there = ", ".join(name for name in offered.names if name != SPAWN or may_nest) or "none"
        raise ToolFailure("unknown_name", f"No such tools to give: {what}. You can give: {there}.")
    chosen = {tool.name for tool in found.values() if tool is not None}
    if SPAWN in chosen and not may_nest:
        raise ToolFailure(
            "depth", f"{SPAWN} cannot be given to this sub-agent: agents.max_depth allows no deeper ones."
        )
    return offered.restricted(chosen)


def _provider(pool: SessionAgents, caller: Caller, task: AgentTask, role: Role | None) -> ChatProvider:
    make = pool.host.make_provider
    if task.model:
        try:
            if make is None:
                raise ConfigError("models cannot be chosen here")
            return make(task.model)
        except ConfigError as error:
            raise ToolFailure("unknown_name", f"The model {task.model!r} cannot be used: {error}") from error
    if role is not None and role.model and make is not None:
        try:
            return make(role.model)
        except ConfigError:
            pass  # `sonnet` of a role from elsewhere: its caller's model will do
    return caller.provider


def _system(task: AgentTask, role: Role | None, toolkit: Toolkit) -> str:
    text = task.system_prompt or (role.prompt if role is not None else "") or PLAIN
    if not len(toolkit):
        return text
    where = "" if task.roots is None else f" You may read and write only in: {', '.join(map(str, task.roots))}."
    where += f" Of these, only read in: {', '.join(map(str, task.read_only))}." if task.read_only else ""
    return f"{text}\n\nYour tools: {', '.join(toolkit.names)}.{where}"


def _external(pool: SessionAgents, caller: Caller, task: AgentTask, role: Role) -> Plan:
    """A program has its own model and its own tools."""
    if task.tools_allowlist or task.model or task.roots is not None:
        raise ToolFailure(
            "arguments", f"{role.name} is a program of its own: tools_allowlist and model cannot be set for it."
        )
    system = task.system_prompt or ""
    return Plan(role, caller.provider, Toolkit(), system, _cap(caller, task), False, pool.host.external()[role.name])


def _cap(caller: Caller, task: AgentTask) -> Decimal | None:
    """The smaller of what was asked for and what its caller has left."""
    left = caller.left()
    if left is not None and left <= 0:
        raise ToolFailure("budget", "Nothing is left of the budget for a sub-agent.")
    known = [amount for amount in (task.max_usd, left) if amount is not None]
    return min(known, default=None)
