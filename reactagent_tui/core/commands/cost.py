"""`/cost`: the ledger of this session as tables and as a CSV file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from reactagent_tui.core.commands.registry import CommandResult, Host, Translate
from reactagent_tui.core.cost.csv_export import calls_csv, write_new
from reactagent_tui.core.cost.ledger import LedgerRow
from reactagent_tui.core.cost.spending import TRAITS, Spending, Trait, by_trait, grouped, row_facts, sum_text
from reactagent_tui.core.display import TableBlock, TextBlock
from reactagent_tui.core.money import format_money
from reactagent_tui.core.usage import Usage

USAGE = "[model|agent|cause|csv [file]]"


async def show_cost(host: Host, arguments: str) -> CommandResult:
    """A row per model call, or per model, agent or cause; `csv` writes the calls into a file."""
    t = host.t
    word, _, rest = arguments.strip().partition(" ")
    if word == "csv":
        return await _save(host, rest.strip())
    trait: Trait | None = next((name for name in TRAITS if name == word and not rest), None)
    if word and trait is None:
        return CommandResult((TextBlock(t("cost.usage"), "error"),), level="error")
    rows = host.ledger.rows
    if not rows:
        return CommandResult((TextBlock(t("cost.none"), "dim"),))
    return CommandResult((_calls_table(rows, t) if trait is None else groups_table(rows, trait, t),))


def _calls_table(rows: Sequence[LedgerRow], t: Translate) -> TableBlock:
    lines = [
        (
            str(n),
            t(f"cause.{row.cause}"),
            f"{row.provider}/{row.model}",
            *_usage_cells(row.usage, estimated=row.estimated),
            _cache_cell(row, t),
            format_money(row.cost),
            t(f"cost.state.{row.cost.state}"),
        )
        for n, row in enumerate(rows, 1)
    ]
    total = _total(rows)
    cells = _usage_cells(total.total.usage, estimated=bool(total.total.estimated))
    state = t(f"cost.state.{total.total.cost.state}")
    lines.append(("", t("cost.total"), "", *cells, "", sum_text(total.total), state))
    blank = ("",) * 4
    lines += [
        ("", t("cost.plan"), "", *blank, format_money(money), t("cost.state.notional"))
        for money in total.total.notional
    ]
    columns = tuple(
        t(f"cost.{name}") for name in ("call", "cause", "model", "in", "cached", "out", "cache", "money", "state")
    )
    return TableBlock(columns, tuple(lines), "rllrrrlrl")


def groups_table(rows: Sequence[LedgerRow], trait: Trait, t: Translate) -> TableBlock:
    """A line per model, agent or cause, dearest first, reported and estimated money apart, the total last."""
    lines = [_group_cells(trait_name(group.name, trait, t), group) for group in by_trait(rows, trait)]
    lines.append(_group_cells(t("cost.total"), _total(rows)))
    names = (trait, "calls", "in", "cached", "out", "money", "reported", "estimated", "unpriced")
    return TableBlock(tuple(t(f"cost.{name}") for name in names), tuple(lines), "lrrrrrrrr")


def trait_name(name: str, trait: Trait, t: Translate) -> str:
    """What a group is called in the user's language."""
    match trait:
        case "model":
            return name
        case "agent":
            return name or t("ledger.main")
        case "cause":
            return t(f"cause.{name}")


def _total(rows: Sequence[LedgerRow]) -> Spending:
    return grouped(rows, lambda _row: "", row_facts)[0]


def _group_cells(name: str, group: Spending) -> tuple[str, ...]:
    return (
        name,
        str(group.total.calls),
        *_usage_cells(group.total.usage, estimated=bool(group.total.estimated)),
        sum_text(group.total),
        sum_text(group.reported) if group.reported.calls else "",
        sum_text(group.estimated) if group.estimated.calls else "",
        str(group.unpriced or ""),
    )


def _usage_cells(usage: Usage, *, estimated: bool) -> tuple[str, str, str]:
    guess = "~" if estimated else ""
    return (f"{guess}{usage.prompt:,}", f"{usage.cache_read:,}", f"{guess}{usage.output:,}")


def _cache_cell(row: LedgerRow, t: Translate) -> str:
    """Why less came from the cache than before, else which part of the prompt did."""
    if row.cache_tag:
        return t(f"cache.{row.cache_tag}")
    return "" if not row.cache_share else f"{100 * row.cache_share:.0f} %"


async def _save(host: Host, wanted: str) -> CommandResult:
    t = host.t
    rows = host.ledger.rows
    if not rows:
        return CommandResult((TextBlock(t("cost.none"), "dim"),))
    try:
        path = await asyncio.to_thread(save_csv, rows, host.workdir, host.session_folder, wanted)
    except OSError as error:
        text = t("cost.not_saved", reason=error.strerror or str(error), file=error.filename or wanted)
        return CommandResult((TextBlock(text, "error"),), level="error")
    return CommandResult((TextBlock(t("cost.saved", n=len(rows), file=path), "ok"),))


def save_csv(rows: Sequence[LedgerRow], workdir: Path, session_folder: Path, wanted: str = "") -> Path:
    """Write the calls into a new file and say where; an existing one is never touched. Raises OSError.

    Without a name: in the working folder, or beside the session's file where that cannot be written.
    """
    text = calls_csv(rows)
    name = f"reactagent-cost-{session_folder.name}.csv"
    if wanted:
        path = workdir / Path(wanted).expanduser()
        return write_new(path / name if path.is_dir() else path, text)
    try:
        return write_new(workdir / name, text)
    except OSError:
        session_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return write_new(session_folder / name, text)
