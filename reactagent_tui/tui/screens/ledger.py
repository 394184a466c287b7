"""The ledger: one row per model call, or per model, agent or cause; what it cost, and the sum pinned below."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen

from reactagent_tui.core.cost.spending import Spending
from reactagent_tui.core.display import clean_line
from reactagent_tui.core.money import Money
from reactagent_tui.locales import Translate
from reactagent_tui.tui.screens.ledger_table import (
    GAP,
    ORDERS,
    VIEWS,
    Cells,
    Column,
    Order,
    View,
    call_cells,
    cell,
    columns_for,
    group_cells,
    grouped_lines,
    notional_cost,
    sorted_lines,
    sum_of,
    table_line,
    taken,
    total_cost,
)
from reactagent_tui.tui.screens.ledger_table import LedgerLine as LedgerLine
from reactagent_tui.tui.widgets.filter_head import Lines, filter_head
from reactagent_tui.tui.widgets.line_edit import LineEdit
from reactagent_tui.tui.widgets.line_layout import Part, cut, join_parts, pad

Save = Callable[[], Awaitable[str]]
"""Writes the calls into a CSV file and returns what to tell the user."""


class LedgerScreen(Screen[None]):
    """Typing filters, Tab changes the order, Shift+Tab the grouping, Ctrl+S saves a CSV, arrows scroll, ESC goes back.

    Totals follow the filter; the file holds every call.
    """

    CSS_PATH = "../styles/screens.tcss"

    def __init__(self, t: Translate, lines: Sequence[LedgerLine], save: Save | None = None) -> None:
        super().__init__()
        self._t = t
        self._all = list(lines)
        self._save = save
        self._order: Order = "time"
        self._view: View = "calls"
        self._filter = LineEdit()
        self._rows = sorted_lines(self._all, self._order)
        self._groups: list[Spending] = []
        self._top = 0
        self._told = ""
        """What the last save said; gone with the next key."""

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
        """The calls that count now, whether they are shown one by one or in groups; from top to bottom."""
        return self._rows

    @property
    def groups(self) -> Sequence[Spending]:
        """The groups shown now, from top to bottom; empty when single calls are shown."""
        return self._groups

    def on_key(self, event: events.Key) -> None:
        page = max(self.size.height - 6, 1)
        moves = {"up": -1, "down": 1, "pageup": -page, "pagedown": page}
        moves |= {"ctrl+home": -self._count, "ctrl+end": self._count}
        self._told = ""
        if event.key == "escape":
            self.dismiss(None)
        elif event.key == "tab":
            self._order = ORDERS[(ORDERS.index(self._order) + 1) % len(ORDERS)]
            self._choose_rows()
        elif event.key == "shift+tab":
            self._view = VIEWS[(VIEWS.index(self._view) + 1) % len(VIEWS)]
            self._choose_rows()
        elif event.key == "ctrl+s" and self._save is not None:
            self.run_worker(self._save_file(self._save), exit_on_error=False, exclusive=True)
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

    async def _save_file(self, save: Save) -> None:
        self._told = await save()
        self._repaint_all()

    @property
    def _count(self) -> int:
        return len(self._rows if self._view == "calls" else self._groups)

    def _choose_rows(self) -> None:
        words = self._filter.text.casefold().split()
        found = [line for line in self._all if all(word in self._haystack(line) for word in words)]
        self._rows = sorted_lines(found, self._order)
        self._groups = [] if self._view == "calls" else grouped_lines(found, self._view, self._order)
        self._top = 0
        self._repaint_all()

    def _haystack(self, line: LedgerLine) -> str:
        state = self._t(f"ledger.state_{line.state}")
        return f"{line.time} {line.agent} {line.cause} {line.model} {state}".casefold()

    def _scroll_rows(self, rows: int) -> None:
        self._top = min(max(self._top + rows, 0), max(self._count - max(self.size.height - 5, 1), 0))
        self._repaint_all()

    def _repaint_all(self) -> None:
        if self.is_mounted:
            for lines in self.query(Lines):
                lines.repaint()

    def _paint_head(self, width: int, height: int) -> Sequence[Content]:
        title = self._t("ledger.title")
        if self._view != "calls":
            title = f"{title} · {self._view_name(self._view)}"
        return [filter_head(title, self._filter, str(self._count), width, self._t)]

    def _view_name(self, view: View) -> str:
        return self._t(f"ledger.view_{view}")

    def _paint_table(self, width: int, height: int) -> Sequence[Content]:
        rows, currency = self._cells(), sum_of(self._rows).total.cost.currency
        columns, bar_width = self._columns(width)
        if not self._rows:
            text = self._t("picker.none") if self._filter.text else self._t("ledger.empty")
            return [Content.styled(f" {cut(text, width - 2)}", "$text-muted")]
        heading = [cell(self._t(self._heading(column)), column) for column in columns]
        lines = [Content.styled(" " + (" " * GAP).join(heading), "$text-muted")]
        amounts = [cost.amount or Decimal(0) if cost.currency == currency else Decimal(0) for _, cost in rows]
        dearest = max(amounts, default=Decimal(0)) or Decimal(1)
        shown = slice(self._top, self._top + max(height - 1, 0))
        for (cells, _), amount in zip(rows[shown], amounts[shown], strict=True):
            lines.append(table_line(cells, columns, float(amount / dearest), bar_width))
        return lines

    def _columns(self, width: int) -> tuple[list[Column], int]:
        cells = [cells for cells, _ in self._cells()] if self._view != "calls" else []
        return columns_for(self._view, width - 2, [*cells, self._sums()])

    def _sums(self) -> Cells:
        return {**group_cells(sum_of(self._rows)), "cost": (total_cost(self._rows), "")}

    def _heading(self, column: Column) -> str:
        return f"ledger.{self._view if column.key == 'name' else column.key}"

    def _cells(self) -> list[tuple[Cells, Money]]:
        """Every line of the table, with the money that its bar shows."""
        if self._view == "calls":
            return [(call_cells(row, self._t), row.cost) for row in self._rows]
        return [(group_cells(group), group.total.cost) for group in self._groups]

    def _paint_total(self, width: int, height: int) -> Sequence[Content]:
        columns, _ = self._columns(width)
        total = self._sums()
        sums = {key: total[key][0] for key in ("in", "cached", "out", "cost", "reported", "estimated", "no_price")}
        before = [c for c in columns if c.key not in sums and c.key != "state"]
        label = self._t("ledger.total", n=len(self._rows))
        if self._view == "calls" and (unpriced := sum(row.cost.amount is None for row in self._rows)):
            label = f"{label} · {self._t('ledger.unpriced', n=unpriced)}"
        if self._view == "calls" and (covered := notional_cost(self._rows)) and covered != sums["cost"]:
            label = f"{label} · {self._t('usage.plan', amount=covered)}"
        cells = [pad(label, max(taken(before), 4)), *(cell(sums[c.key], c) for c in columns if c.key in sums)]
        return [Content.styled(" " + (" " * GAP).join(cells), "bold")]

    def _paint_keys(self, width: int, height: int) -> Sequence[Content]:
        if self._told:
            return [Content.styled(f" {cut(clean_line(self._told), width - 2)}", "bold")]
        order = self._t("ledger.keys_sort", order=self._t(f"ledger.sort_{self._order_name()}"))
        following = VIEWS[(VIEWS.index(self._view) + 1) % len(VIEWS)]
        parts = [
            Part(Content(self._t("picker.key_move")), 1),
            Part(Content(order), 3),
            Part(Content(self._t("ledger.keys_view", view=self._view_name(following))), 4),
        ]
        if self._save is not None:
            parts.append(Part(Content(self._t("ledger.keys_save")), 2))
        parts.append(Part(Content(self._t("picker.key_back")), 9))
        return [Content.assemble(" ", join_parts(parts, width - 2, "   ")).stylize("$text-muted")]

    def _order_name(self) -> str:
        return "name" if self._order == "model" and self._view != "calls" else self._order
