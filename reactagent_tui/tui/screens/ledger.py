"""The ledger: one row per model call, what it cost, and the sum pinned below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen

from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.display import clean_line
from reactagent_tui.core.money import Money
from reactagent_tui.core.usage import Usage
from reactagent_tui.locales import Translate
from reactagent_tui.tui.presenter import format_amount, format_money, format_tokens
from reactagent_tui.tui.widgets.filter_head import Lines, filter_head
from reactagent_tui.tui.widgets.line_edit import LineEdit
from reactagent_tui.tui.widgets.line_layout import Part, cut, join_parts, pad, pad_left

LineState = Literal["reported", "estimated", "unknown", "free", "notional", "running", "interrupted"]
Order = Literal["time", "cost", "model"]
_ORDERS: tuple[Order, ...] = ("time", "cost", "model")
_STATE_STYLES = {
    "reported": "$text-muted",
    "estimated": "$text-muted",
    "unknown": "$warning",
    "free": "$text-muted",
    "notional": "$text-muted",
    "running": "$primary",
    "interrupted": "$warning",
}


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
class _Column:
    key: str
    width: int
    keep: int
    """The column with the lowest number goes first on a narrow screen."""
    right: bool = False


_COLUMNS = (
    _Column("time", 8, 5),
    _Column("agent", 10, 2),
    _Column("cause", 10, 3),
    _Column("model", 22, 6),
    _Column("in", 7, 7, right=True),
    _Column("cached", 7, 4, right=True),
    _Column("cache", 8, 0),
    _Column("out", 7, 8, right=True),
    _Column("cost", 9, 9, right=True),
    _Column("state", 11, 1),
)
_GAP = 2
_LEAST_BAR = 8


def sorted_lines(lines: Sequence[LedgerLine], order: Order) -> list[LedgerLine]:
    """Newest first by time (the order they came in, reversed), dearest first by cost, by name by model."""
    newest = list(reversed(lines))
    if order == "cost":
        return sorted(newest, key=lambda line: line.cost.amount or Decimal(-1), reverse=True)
    if order == "model":
        return sorted(newest, key=lambda line: line.model)
    return newest


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


def _tokens(count: int, *, estimated: bool) -> str:
    return ("~" if estimated else "") + format_tokens(count)


class LedgerScreen(Screen[None]):
    """Typing filters, Tab changes the order, arrows scroll, ESC goes back. Totals follow the filter."""

    CSS_PATH = "../styles/screens.tcss"

    def __init__(self, t: Translate, lines: Sequence[LedgerLine]) -> None:
        super().__init__()
        self._t = t
        self._all = list(lines)
        self._order: Order = "time"
        self._filter = LineEdit()
        self._rows = sorted_lines(self._all, self._order)
        self._top = 0

    def compose(self) -> ComposeResult:
        yield Lines(self._paint_head, id="ledger-head")
        yield Lines(self._paint_table, id="ledger-table")
        yield Lines(self._paint_total, id="ledger-total")
        yield Lines(self._paint_keys, id="ledger-keys")

    def set_lines(self, lines: Sequence[LedgerLine]) -> None:
        """The ledger as it is now, oldest first."""
        self._all = list(lines)
        self._choose_rows()

    @property
    def rows(self) -> Sequence[LedgerLine]:
        """The calls shown now, from top to bottom."""
        return self._rows

    def on_key(self, event: events.Key) -> None:
        page = max(self.size.height - 6, 1)
        moves = {"up": -1, "down": 1, "pageup": -page, "pagedown": page}
        moves |= {"ctrl+home": -len(self._rows), "ctrl+end": len(self._rows)}
        if event.key == "escape":
            self.dismiss(None)
        elif event.key == "tab":
            self._order = _ORDERS[(_ORDERS.index(self._order) + 1) % len(_ORDERS)]
            self._choose_rows()
        elif event.key in moves:
            self._scroll_rows(moves[event.key])
        elif self._filter.press(event.key, event.character):
            self._choose_rows()
        else:
            return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        self._filter.insert(event.text)
        self._choose_rows()
        event.stop()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll_rows(3)
        event.stop()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll_rows(-3)
        event.stop()

    def _choose_rows(self) -> None:
        words = self._filter.text.casefold().split()
        found = [line for line in self._all if all(word in self._haystack(line) for word in words)]
        self._rows = sorted_lines(found, self._order)
        self._top = 0
        self._repaint_all()

    def _haystack(self, line: LedgerLine) -> str:
        state = self._t(f"ledger.state_{line.state}")
        return f"{line.time} {line.agent} {line.cause} {line.model} {state}".casefold()

    def _scroll_rows(self, rows: int) -> None:
        self._top = min(max(self._top + rows, 0), max(len(self._rows) - max(self.size.height - 5, 1), 0))
        self._repaint_all()

    def _repaint_all(self) -> None:
        if self.is_mounted:
            for lines in self.query(Lines):
                lines.repaint()

    def _paint_head(self, width: int, height: int) -> Sequence[Content]:
        return [filter_head(self._t("ledger.title"), self._filter, str(len(self._rows)), width, self._t)]

    def _paint_table(self, width: int, height: int) -> Sequence[Content]:
        columns, bar_width = _columns_for(width - 2)
        if not self._rows:
            text = self._t("picker.none") if self._filter.text else self._t("ledger.empty")
            return [Content.styled(f" {cut(text, width - 2)}", "$text-muted")]
        heading = [self._cell(self._t(f"ledger.{column.key}"), column) for column in columns]
        lines = [Content.styled(" " + (" " * _GAP).join(heading), "$text-muted")]
        dearest = max((line.cost.amount or Decimal(0) for line in self._rows), default=Decimal(0))
        for row in self._rows[self._top : self._top + max(height - 1, 0)]:
            lines.append(self._row_line(row, columns, bar_width, dearest))
        return lines

    def _row_line(self, row: LedgerLine, columns: Sequence[_Column], bar_width: int, dearest: Decimal) -> Content:
        values: dict[str, tuple[str, str]] = {
            "time": (row.time, "$text-muted"),
            "agent": (row.agent, ""),
            "cause": (row.cause, "$text-muted"),
            "model": (row.model, ""),
            "in": (_tokens(row.input, estimated=row.estimated), ""),
            "cached": (format_tokens(row.cached), "$text-muted"),
            "cache": (row.cache, "$text-muted"),
            "out": (_tokens(row.output, estimated=row.estimated), ""),
            "cost": (format_money(row.cost), "bold"),
            "state": (self._t(f"ledger.state_{row.state}"), _STATE_STYLES[row.state]),
        }
        cells = [Content.styled(self._cell(clean_line(values[c.key][0]), c), values[c.key][1]) for c in columns]
        if bar_width:
            share = float((row.cost.amount or Decimal(0)) / dearest) if dearest else 0.0
            cells.append(Content.styled("━" * round(share * bar_width), "$primary"))
        return Content.assemble(" ", Content(" " * _GAP).join(cells))

    def _paint_total(self, width: int, height: int) -> Sequence[Content]:
        columns, _ = _columns_for(width - 2)
        rows = self._rows
        estimated = any(row.estimated for row in rows)
        sums = {
            "in": _tokens(sum(row.input for row in rows), estimated=estimated),
            "cached": format_tokens(sum(row.cached for row in rows)),
            "out": _tokens(sum(row.output for row in rows), estimated=estimated),
            "cost": total_cost(rows),
        }
        label_width = sum(c.width + _GAP for c in columns if c.key not in sums and c.key != "state") - _GAP
        label = self._t("ledger.total", n=len(rows))
        if unpriced := sum(row.cost.amount is None for row in rows):
            label = f"{label} · {self._t('ledger.unpriced', n=unpriced)}"
        if (covered := notional_cost(rows)) and covered != sums["cost"]:
            label = f"{label} · {self._t('usage.plan', amount=covered)}"
        cells = [pad(label, max(label_width, 4)), *(self._cell(sums[c.key], c) for c in columns if c.key in sums)]
        return [Content.styled(" " + (" " * _GAP).join(cells), "bold")]

    def _paint_keys(self, width: int, height: int) -> Sequence[Content]:
        order = self._t("ledger.keys_sort", order=self._t(f"ledger.sort_{self._order}"))
        parts = [Part(Content(self._t("picker.key_move")), 1), Part(Content(order), 2)]
        parts.append(Part(Content(self._t("picker.key_back")), 9))
        return [Content.assemble(" ", join_parts(parts, width - 2, "   ")).stylize("$text-muted")]

    def _cell(self, text: str, column: _Column) -> str:
        return pad_left(text, column.width) if column.right else pad(text, column.width)


def _columns_for(width: int) -> tuple[list[_Column], int]:
    """The columns that fit, and how many cells are left for a bar (0: none)."""
    columns = list(_COLUMNS)
    while len(columns) > 1 and sum(c.width + _GAP for c in columns) - _GAP > width:
        columns.remove(min(columns, key=lambda column: column.keep))
    left = width - sum(c.width + _GAP for c in columns)
    return columns, min(left, 40) if left >= _LEAST_BAR else 0
