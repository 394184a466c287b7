"""The tables of the ledger: which columns fit, how calls and groups are sorted, what stands in a cell. No screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from textual.content import Content

from reactagent_tui.core.cost.spending import Spending, grouped, sum_text
from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.display import cell_width, clean_line
from reactagent_tui.core.money import Money
from reactagent_tui.core.usage import Usage
from reactagent_tui.locales import Translate
from reactagent_tui.tui.presenter import format_amount, format_money, format_tokens
from reactagent_tui.tui.widgets.line_layout import pad, pad_left

LineState = Literal["reported", "estimated", "unknown", "free", "notional", "running", "interrupted"]
Order = Literal["time", "cost", "model"]
View = Literal["calls", "model", "agent", "cause"]
ORDERS: tuple[Order, ...] = ("time", "cost", "model")
VIEWS: tuple[View, ...] = ("calls", "model", "agent", "cause")
GAP = 2
_LEAST_BAR, _WIDEST_BAR = 8, 40
_MONEY = ("cost", "reported", "estimated")
_STATE_STYLES = {
    "reported": "$text-muted",
    "estimated": "$text-muted",
    "unknown": "$warning",
    "free": "$text-muted",
    "notional": "$text-muted",
    "running": "$primary",
    "interrupted": "$warning",
}
Cells = Mapping[str, tuple[str, str]]
"""Text and style by column."""


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One model call as the table shows it. `time` is ready to read (`14:03:21`)."""

    time: str
    agent: str
    cause: str
    model: str
    input: int
    """All prompt tokens; `cached` of them were read from a cache."""
    cached: int
    output: int
    cost: Money
    state: LineState
    estimated: bool = False
    """The tokens are our own count."""
    cache: str = ""
    """Share of the prompt that came from the cache, or why it is less than before."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; the one with the lowest `keep` goes first on a narrow screen."""

    key: str
    width: int
    keep: int
    right: bool = False


CALL_COLUMNS = (
    Column("time", 8, 5),
    Column("agent", 10, 2),
    Column("cause", 10, 3),
    Column("model", 22, 6),
    Column("in", 7, 7, right=True),
    Column("cached", 7, 4, right=True),
    Column("cache", 8, 0),
    Column("out", 7, 8, right=True),
    Column("cost", 9, 9, right=True),
    Column("state", 11, 1),
)
GROUP_COLUMNS = (
    Column("name", 22, 9),
    Column("calls", 6, 3, right=True),
    Column("in", 7, 4, right=True),
    Column("cached", 7, 1, right=True),
    Column("out", 7, 5, right=True),
    Column("cost", 9, 8, right=True),
    Column("reported", 9, 6, right=True),
    Column("estimated", 9, 7, right=True),
    Column("no_price", 8, 2, right=True),
)


def columns_for(view: View, width: int, cells: Iterable[Cells] = ()) -> tuple[list[Column], int]:
    """The columns that fit, and how many cells are left for a bar (0: none).

    Sums of money in `cells` (several currencies) are never cut: their columns become as wide as they need.
    """
    lines = list(cells)
    wanted = {key: max((cell_width(line[key][0]) for line in lines if key in line), default=0) for key in _MONEY}
    columns = [
        replace(c, width=max(c.width, wanted.get(c.key, 0)))
        for c in (CALL_COLUMNS if view == "calls" else GROUP_COLUMNS)
    ]
    while len(columns) > 1 and taken(columns) > width:
        columns.remove(min(columns, key=lambda column: column.keep))
    left = width - taken(columns) - GAP
    return columns, min(left, _WIDEST_BAR) if left >= _LEAST_BAR else 0


def taken(columns: Sequence[Column]) -> int:
    """Cells of a line of these columns."""
    return sum(column.width + GAP for column in columns) - GAP


def sorted_lines(lines: Sequence[LedgerLine], order: Order) -> list[LedgerLine]:
    """Newest first by time (the order they came in, reversed), dearest first by cost, by name by model."""
    newest = list(reversed(lines))
    if order == "cost":
        return sorted(newest, key=lambda line: line.cost.amount or Decimal(-1), reverse=True)
    if order == "model":
        return sorted(newest, key=lambda line: line.model)
    return newest


def grouped_lines(lines: Sequence[LedgerLine], view: View, order: Order) -> list[Spending]:
    """The calls by model, agent or cause: dearest first, by name, or the group that was at work last first."""
    groups = grouped(reversed(lines), lambda line: str(getattr(line, view)), _facts)
    if order == "cost":
        return sorted(groups, key=lambda group: group.weight, reverse=True)
    return sorted(groups, key=lambda group: group.name) if order == "model" else groups


def sum_of(lines: Sequence[LedgerLine]) -> Spending:
    """All of them together."""
    total = Spending("")
    for line in lines:
        usage, cost, estimated = _facts(line)
        total.add(usage, cost, estimated=estimated)
    return total


def _facts(line: LedgerLine) -> tuple[Usage, Money, bool]:
    usage = Usage(input=line.input - line.cached, cache_read=line.cached, output=line.output)
    return usage, line.cost, line.estimated


def total_cost(lines: Sequence[LedgerLine]) -> str:
    """The sum as text, by currency; `~` when any part is an estimate, `—` when nothing has a price."""
    sums: dict[str, Decimal] = {}
    estimated = False
    for line in lines:
        if line.cost.amount is not None and line.cost.state not in ("unknown", "notional"):
            sums[line.cost.currency] = sums.get(line.cost.currency, Decimal(0)) + line.cost.amount
            estimated |= line.cost.state == "estimated"
    if not sums:
        return notional_cost(lines) or format_money(Money(None, "unknown"))
    text = " + ".join(format_amount(amount, currency) for currency, amount in sorted(sums.items()))
    return f"~{text}" if estimated else text


def notional_cost(lines: Sequence[LedgerLine]) -> str:
    """What calls covered by a plan would have cost; "" without such calls."""
    tally = Tally()
    for line in lines:
        if line.cost.state == "notional":
            tally.add(Usage(), line.cost)
    return " + ".join(map(format_money, tally.notional))


def call_cells(line: LedgerLine, t: Translate) -> Cells:
    """One call."""
    return {
        "time": (line.time, "$text-muted"),
        "agent": (line.agent, ""),
        "cause": (line.cause, "$text-muted"),
        "model": (line.model, ""),
        "in": (_tokens(line.input, guessed=line.estimated), ""),
        "cached": (format_tokens(line.cached), "$text-muted"),
        "cache": (line.cache, "$text-muted"),
        "out": (_tokens(line.output, guessed=line.estimated), ""),
        "cost": (format_money(line.cost), "bold"),
        "state": (t(f"ledger.state_{line.state}"), _STATE_STYLES[line.state]),
    }


def group_cells(group: Spending) -> Cells:
    """One group, reported and estimated money apart."""
    usage = group.total.usage
    guessed = bool(group.total.estimated)
    return {
        "name": (group.name, ""),
        "calls": (f"{group.total.calls:,}", "$text-muted"),
        "in": (_tokens(usage.prompt, guessed=guessed), ""),
        "cached": (format_tokens(usage.cache_read), "$text-muted"),
        "out": (_tokens(usage.output, guessed=guessed), ""),
        "cost": (sum_text(group.total), "bold"),
        "reported": (sum_text(group.reported) if group.reported.calls else "", "$text-muted"),
        "estimated": (sum_text(group.estimated) if group.estimated.calls else "", "$text-muted"),
        "no_price": (str(group.unpriced or ""), "$warning"),
    }


def table_line(cells: Cells, columns: Sequence[Column], share: float | None, bar_width: int) -> Content:
    """A line of the table; `share` of the dearest (0 to 1) as a bar at its end."""
    parts = [Content.styled(cell(clean_line(cells[c.key][0]), c), cells[c.key][1]) for c in columns]
    if share is not None and bar_width:
        parts.append(Content.styled("━" * round(share * bar_width), "$primary"))
    return Content.assemble(" ", Content(" " * GAP).join(parts))


def cell(text: str, column: Column) -> str:
    return pad_left(text, column.width) if column.right else pad(text, column.width)


def _tokens(count: int, *, guessed: bool) -> str:
    return ("~" if guessed else "") + format_tokens(count)
