"""`/permissions`: the rules that hold here, where each comes from, taking one back. `/trust`: the folder's own."""

from __future__ import annotations

from typing import get_args

from reactagent_tui.core.commands.registry import Command, CommandResult, Host, Translate
from reactagent_tui.core.display import TableBlock, TextBlock
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.reporter import GrantScope
from reactagent_tui.core.safety.grants import Grant
from reactagent_tui.core.trust import things_to_trust

USAGE = "[allow rule [session|project|always] | remove n]"
_SCOPES: tuple[GrantScope, ...] = get_args(GrantScope)


def permission_commands() -> list[Command]:
    return [Command("permissions", permissions, USAGE), Command("trust", trust, "[yes|no]")]


def permissions(host: Host, arguments: str) -> CommandResult:
    """Without arguments the list; else one more rule, or one less."""
    verb, _, rest = arguments.strip().partition(" ")
    match verb:
        case "":
            return _listed(host)
        case "allow" if rest.strip():
            return _allow(host, rest.strip())
        case "remove" if rest.strip().isdecimal():
            return _remove(host, int(rest))
        case _:
            return _error(host.t("permissions.usage"))


def trust(host: Host, arguments: str) -> CommandResult:
    """What this folder brings along and whether it counts; with an answer, remember it."""
    t, wanted = host.t, arguments.strip().lower()
    if wanted not in ("", "yes", "no"):
        return _error(t("trust.usage"))
    if wanted:
        try:
            host.set_trusted(wanted == "yes")
        except StorageError as error:
            return _error(t("trust.not_kept", text=error))
    kinds = ", ".join(t(f"trust.{kind}") for kind in things_to_trust(host.workdir)) or t("trust.nothing")
    state = t(f"trust.state_{host.trust.verdict(host.workdir)}", folder=host.workdir)
    return CommandResult((TextBlock(state, "ok" if wanted else "dim"), TextBlock(t("trust.holds", what=kinds))))


def _listed(host: Host) -> CommandResult:
    t, rules = host.t, host.permissions
    rows = [("", t(f"permissions.{kind}"), text, t("permissions.config")) for kind, text in rules.configured]
    for number, grant in enumerate(rules.grants.listed(), 1):
        rows.append((str(number), t("permissions.allow"), grant.rule, _place(grant, t)))
    mode = TextBlock(t("permissions.mode", mode=host.mode, meaning=t(f"mode.{host.mode}")), "dim")
    if not rows:
        return CommandResult((mode, TextBlock(t("permissions.none"), "dim")))
    columns = ("", t("permissions.effect"), t("permissions.rule"), t("permissions.where"))
    return CommandResult((mode, TableBlock(columns, tuple(rows), "rlll"), TextBlock(t("permissions.hint"), "dim")))


def _place(grant: Grant, t: Translate) -> str:
    shown = t(f"permissions.{grant.scope}")
    return shown if grant.where is None else f"{shown} · {grant.where}"


def _allow(host: Host, rest: str) -> CommandResult:
    rule, _, last = rest.rpartition(" ")
    named: GrantScope | None = next((scope for scope in _SCOPES if rule and scope == last), None)
    text = rest if named is None else rule
    scope: GrantScope = named or "session"
    try:
        host.permissions.grants.add(text, scope)
    except (ValueError, StorageError) as error:
        return _error(host.t("permissions.not_kept", text=error))
    where = host.t(f"permissions.{scope}")
    return CommandResult((TextBlock(host.t("permissions.added", rule=text, where=where), "ok"),))


def _remove(host: Host, number: int) -> CommandResult:
    grants = host.permissions.grants
    listed = grants.listed()
    if not 0 < number <= len(listed):
        return _error(host.t("permissions.no_such", n=number))
    grant = listed[number - 1]
    try:
        grants.remove(grant)
    except StorageError as error:
        return _error(host.t("permissions.not_removed", text=error))
    return CommandResult((TextBlock(host.t("permissions.removed", rule=grant.rule), "ok"),))


def _error(text: str) -> CommandResult:
    return CommandResult((TextBlock(text, "error"),), level="error")
