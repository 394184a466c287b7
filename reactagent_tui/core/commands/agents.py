"""`/agents`: the roles there are, and the sub-agents of this session; `/agents stop` ends one."""

from __future__ import annotations

from reactagent_tui.core.agents.pool import AgentRecord, SessionAgents
from reactagent_tui.core.commands.registry import CommandResult, Host, Translate
from reactagent_tui.core.display import DisplayBlock, TableBlock, TextBlock
from reactagent_tui.core.money import format_tokens, money_or_local
from reactagent_tui.core.tools.agent_report import one_line

USAGE = "[stop name|all]"


def show_agents(host: Host, arguments: str) -> CommandResult:
    """Without arguments roles and agents; `stop` with a name or `all` ends what runs."""
    t, words = host.t, arguments.split()
    agents = host.agents
    if agents is None:
        return CommandResult((TextBlock(t("agents.unavailable"), "dim"),))
    if words:
        return _stop(agents, words, t)
    blocks: list[DisplayBlock] = [_roles(agents, t)]
    for problem in agents.host.roles().problems():
        place = f"{problem.path}:{problem.line}" if problem.line else str(problem.path)
        reason = t(f"skills.problem.{problem.key}", **problem.params)
        tone = "warn" if problem.severity == "warning" else "error"
        blocks.append(TextBlock(f"{t('skills.' + problem.severity)}: {place}: {reason}", tone))
    records = sorted(agents.all(), key=lambda record: not record.is_running)
    if records:
        blocks.append(_table(records, t))
    else:
        blocks.append(TextBlock(t("agents.none"), "dim"))
    return CommandResult(tuple(blocks))


def _roles(agents: SessionAgents, t: Translate) -> TableBlock:
    rows = [
        (role.name, t(f"agents.origin.{role.origin}"), role.model or "", one_line(role.description))
        for role in agents.roles()
    ]
    columns = tuple(t(f"agents.{name}") for name in ("role", "source", "model", "purpose"))
    return TableBlock(columns, tuple(rows), "llll")


def _table(records: list[AgentRecord], t: Translate) -> TableBlock:
    rows: list[tuple[str, ...]] = []
    for record in records:
        now = record.result or record.now()
        state = t(f"agents.state.{record.result.reason}") if record.result is not None else t("agents.state.running")
        rows.append(
            (
                record.name,
                record.role,
                state,
                f"{record.seconds:.0f} s",
                format_tokens(now.usage.total),
                money_or_local(now.cost, t),
                one_line(record.task),
            )
        )
    columns = tuple(t(f"agents.{name}") for name in ("name", "role", "state", "time", "tokens", "money", "task"))
    return TableBlock(columns, tuple(rows), "lllrrrl")


def _stop(agents: SessionAgents, words: list[str], t: Translate) -> CommandResult:
    if len(words) != 2 or words[0] != "stop":
        return CommandResult((TextBlock(t("agents.usage"), "error"),), level="error")
    chosen = [record for record in agents.running() if words[1] in ("all", record.name, record.run_id)]
    if not chosen and words[1] != "all":
        return CommandResult((TextBlock(t("agents.unknown", name=words[1]), "error"),), level="error")
    n = sum(agents.stop(record.run_id) for record in chosen)
    return CommandResult((TextBlock(t("agents.stopped", n=n)),))
