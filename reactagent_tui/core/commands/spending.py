"""Commands about what may be spent, and on which model."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from reactagent_tui.core.commands.registry import Command, CommandResult, Host
from reactagent_tui.core.cost.budget import SCOPES, Scope
from reactagent_tui.core.display import TableBlock, TextBlock
from reactagent_tui.core.money import format_amount, format_money


def spending_commands() -> list[Command]:
    """The commands of this module."""
    return [
        Command("budget", change_budget, "[turn|session|day] [amount|off]"),
        Command("fallback", take_fallback, headless=False),
    ]


def change_budget(host: Host, arguments: str) -> CommandResult:
    """Without a word: the budgets and what is spent of them. `2`, `day 10`, `turn off`: a new limit."""
    t = host.t
    if not arguments.strip():
        return show_budget(host)
    scope, wanted = _parsed(arguments)
    if scope is None:
        return CommandResult((TextBlock(t("budget.usage"), "error"),), level="error")
    host.set_budget(scope, wanted)
    name = t(f"budget.scope_{scope}")
    if wanted is None:
        return CommandResult((TextBlock(t("budget.off", scope=name), "ok"),))
    currency = host.ledger.totals().session_cost.currency
    return CommandResult((TextBlock(t("budget.now", scope=name, limit=format_amount(wanted, currency)), "ok"),))


def show_budget(host: Host) -> CommandResult:
    """Every budget with what is spent of it."""
    t = host.t
    standings = [] if host.budget is None else host.budget.standings()
    if not standings:
        return CommandResult((TextBlock(t("budget.none"), "dim"),))
    rows = tuple(
        (
            t(f"budget.scope_{standing.scope}"),
            format_money(standing.spent),
            format_amount(standing.limit, standing.spent.currency),
            f"{int(standing.share * 100)} %",
        )
        for standing in standings
    )
    return CommandResult((TableBlock((t("budget.scope"), t("budget.spent"), t("budget.limit"), ""), rows, "lrrr"),))


def take_fallback(host: Host, _arguments: str) -> CommandResult:
    """Go on with the next model of the chain instead of waiting."""
    if host.take_fallback():
        return CommandResult()
    return CommandResult((TextBlock(host.t("fallback.none"), "dim"),))


def _parsed(arguments: str) -> tuple[Scope | None, Decimal | None]:
    """(scope, limit) of what was typed; limit None takes it away, scope None: not understood."""
    words = arguments.lower().split()
    scope: Scope = "session"
    for name in SCOPES:
        if words[:1] == [name]:
            scope, words = name, words[1:]
            break
    if len(words) != 1:
        return None, None
    if words[0] in ("off", "none", "0"):
        return scope, None
    try:
        limit = Decimal(words[0].lstrip("$€¥"))
    except InvalidOperation:
        return None, None
    return (scope, limit) if limit.is_finite() and limit > 0 else (None, None)
