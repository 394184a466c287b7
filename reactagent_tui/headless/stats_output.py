"""What `reactagent stats` prints: a table with bars for people, CSV and JSON for programs. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from reactagent_tui.core.cost.csv_export import plain, to_csv
from reactagent_tui.core.cost.spending import Spending, sum_text
from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.display import cell_width, clean_line
from reactagent_tui.core.money import UNKNOWN, Money, format_tokens
from reactagent_tui.locales import Translate

GAP = 2
LEAST_NAME = 10
LEAST_BAR, USUAL_BAR, WIDEST_BAR = 8, 16, 40
USUAL_NAME = 24
"""Names longer than this make room for the bars."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_GUESSED = "░"
_TOKENS = ("input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning")
_COSTS = ("cost", "currency", "state", "estimated_cost", "unpriced_calls", "estimated_calls")


@dataclass(frozen=True, slots=True)
class Facts:
    """What is to be told: groups of calls since a day (None: all there are), and their sum."""

    by: str
    groups: Sequence[Spending]
    total: Spending
    since: date | None


class _Column(NamedTuple):
    key: str
    keep: int
    """The column with the lowest number goes first where the line is too narrow."""


_COLUMNS = (
    _Column("calls", 2),
    _Column("in", 4),
    _Column("cached", 3),
    _Column("out", 5),
    _Column("cost", 9),
    _Column("estimated", 1),
)


def stats_text(facts: Facts, t: Translate, *, width: int | None, styled: bool = False) -> str:
    """The table. `width` None: not for a terminal, so nothing is cut and there are no bars."""
    since = t("stats.since_ever") if facts.since is None else t("stats.since", day=facts.since.isoformat())
    names = [_name(group.name, facts.by, t) for group in facts.groups]
    rows = [_cells(group) for group in (*facts.groups, facts.total)]
    columns = [column for column in _COLUMNS if column.key != "estimated" or facts.total.estimated.calls]
    heading = {column.key: t(f"stats.{column.key}") for column in columns}
    widths = {c.key: max(cell_width(row[c.key]) for row in (heading, *rows)) for c in columns}
    if width is not None:
        _fit(columns, widths, width)
    fixed = sum(widths[c.key] + GAP for c in columns)
    named = max(cell_width(text) for text in (*names, t(f"stats.by_{facts.by}"), t("stats.total")))
    if width is not None:
        with_bar = max(width - fixed - GAP - USUAL_BAR, USUAL_NAME)
        named = max(min(named, with_bar, width - fixed), LEAST_NAME)
    bar = 0 if width is None else min(width - named - fixed - GAP, WIDEST_BAR)
    bars = _bars(facts, bar) if bar >= LEAST_BAR else [""] * len(facts.groups)

    def line(name: str, cells: dict[str, str], bar: str = "") -> str:
        padded = [_left(name, named), *(_right(cells[c.key], widths[c.key]) for c in columns)]
        return (" " * GAP).join([*padded, bar]).rstrip()

    lines = [since if width is None else _cut(since, width), ""]
    lines.append(_style(line(t(f"stats.by_{facts.by}"), heading), "2", on=styled))
    lines += [line(name, cells, bar) for name, cells, bar in zip(names, rows, bars, strict=False)]
    lines.append(_style(line(t("stats.total"), rows[-1]), "1", on=styled))
    return "\n".join([*lines, *_notes(facts, t)]) + "\n"


def _cells(group: Spending) -> dict[str, str]:
    usage = group.total.usage
    guess = "~" if group.total.estimated else ""
    return {
        "calls": f"{group.total.calls:,}",
        "in": guess + format_tokens(usage.prompt),
        "cached": f"{round(group.cached_share * 100)} %",
        "out": guess + format_tokens(usage.output),
        "cost": sum_text(group.total) if group.total.cost.state != "free" else "",
        "estimated": f"{round(group.estimated_share * 100)} %" if group.estimated.calls else "",
    }


def _name(name: str, by: str, t: Translate) -> str:
    match by:
        case "agent":
            return clean_line(name) or t("ledger.main")
        case "cause":
            return t(f"cause.{name}")
        case "project":
            return _short(clean_line(name)) or UNKNOWN
        case _:
            return clean_line(name) or UNKNOWN


def _short(folder: str) -> str:
    home = str(Path.home())
    return f"~{folder[len(home) :]}" if folder == home or folder.startswith(f"{home}/") else folder


def _notes(facts: Facts, t: Translate) -> list[str]:
    """What the numbers do not say by themselves."""
    notes: list[str] = []
    total = facts.total
    if total.unpriced:
        notes.append(t("stats.note_unpriced", n=total.unpriced))
    if total.estimated.calls:
        notes.append(t("stats.note_estimated", n=total.estimated.calls))
    if total.total.cost.state == "free":
        notes.append(t("stats.note_free"))
    return ["", *notes] if notes else []


def _fit(columns: list[_Column], widths: dict[str, int], width: int) -> None:
    """Drop columns until the names have room; the shares of estimates already where bars, which show them, need it."""
    if sum(widths[c.key] + GAP for c in columns) + USUAL_NAME + GAP + LEAST_BAR > width:
        columns[:] = [column for column in columns if column.key != "estimated"]
    while len(columns) > 1 and sum(widths[c.key] + GAP for c in columns) + LEAST_NAME > width:
        columns.remove(min(columns, key=lambda column: column.keep))


def _bars(facts: Facts, width: int) -> list[str]:
    """A bar per group: money in the currency of the sum, else tokens; `░` is the estimated part."""
    currency = facts.total.total.cost.currency
    money = [(_amount(group.total, currency), _amount(group.estimated, currency)) for group in facts.groups]
    if not any(whole for whole, _ in money):
        money = [(Decimal(group.total.usage.total), Decimal(0)) for group in facts.groups]
    top = max((whole for whole, _ in money), default=Decimal(0)) or Decimal(1)
    return [bar_text(float(whole / top) * width, float(guessed / top) * width) for whole, guessed in money]


def bar_text(cells: float, guessed: float = 0.0) -> str:
    """A bar `cells` long in steps of an eighth, its last part drawn as guessed; more than nothing shows."""
    light = min(round(guessed), round(cells))
    if guessed > 0 and not light:
        light = 1 if cells < 1 else 0
    eighths = round(max(cells - light, 0.0) * 8)
    if not eighths and not light and cells > 0:
        eighths = 1
    full, rest = divmod(eighths, 8)
    return _EIGHTHS[8] * full + (_EIGHTHS[rest] if rest and not light else "") + _GUESSED * light


def _amount(tally: Tally, currency: str) -> Decimal:
    found = (money.amount for money in (tally.cost, *tally.other_costs) if money.currency == currency)
    return next((amount for amount in found if amount is not None), Decimal(0))


def stats_csv(facts: Facts) -> str:
    """A row per group; when the groups are split by currency, every column can be added up."""
    rows: list[tuple[Any, ...]] = []
    for group in facts.groups:
        money = group.total.cost
        tokens = tuple(getattr(group.total.usage, name) for name in _TOKENS)
        guessed = group.estimated.cost.amount if group.estimated.calls else Decimal(0)
        costs = (money.amount, "" if money.amount is None else money.currency, money.state, guessed)
        rows.append((group.name, group.total.calls, *tokens, *costs, group.unpriced, group.total.estimated))
    return to_csv((facts.by, "calls", *_TOKENS, *_COSTS), rows)


def stats_json(facts: Facts) -> str:
    """The same as one document; money as text, by currency."""
    document = {
        "by": facts.by,
        "since": None if facts.since is None else facts.since.isoformat(),
        "groups": [{"name": group.name} | _record(group) for group in facts.groups],
        "total": _record(facts.total),
    }
    return json.dumps(document, indent=2) + "\n"


def _record(group: Spending) -> dict[str, Any]:
    return {
        "calls": group.total.calls,
        "tokens": {name: getattr(group.total.usage, name) for name in _TOKENS},
        "costs": [_money(money) for money in (group.total.cost, *group.total.other_costs) if group.total.calls],
        "estimated_costs": [
            _money(money) for money in (group.estimated.cost, *group.estimated.other_costs) if group.estimated.calls
        ],
        "unpriced_calls": group.unpriced,
        "estimated_calls": group.total.estimated,
        "estimated_share": round(group.estimated_share, 4),
        "cached_share": round(group.cached_share, 4),
    }


def _money(money: Money) -> dict[str, Any]:
    return {
        "amount": None if money.amount is None else plain(money.amount),
        "currency": money.currency,
        "state": money.state,
    }


def _style(text: str, code: str, *, on: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if on else text


def _cut(text: str, width: int) -> str:
    if cell_width(text) <= width:
        return text
    while text and cell_width(text) > width - 1:
        text = text[:-1]
    return text + "…"


def _left(text: str, width: int) -> str:
    text = _cut(text, width)
    return text + " " * (width - cell_width(text))


def _right(text: str, width: int) -> str:
    return " " * (width - cell_width(text)) + text
