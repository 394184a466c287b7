"""Tokens and money on the right side: context, traffic, cost of turn, session and day, budget, cost per step."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from textual.content import Content

from reactagent_tui.core.money import CostTotals, Money
from reactagent_tui.locales import Translate
from reactagent_tui.tui.presenter import format_amount, format_money, format_tokens
from reactagent_tui.tui.widgets.line_layout import bar, cut_content, pad, pad_left, sparkline, spread
from reactagent_tui.tui.widgets.painted import Painted

if TYPE_CHECKING:
    from reactagent_tui.core.events import BudgetReached, UsageUpdated

SHORTEST_INTERVAL = 0.1
"""Seconds between two moves of the numbers."""
BURN_WINDOW = 300.0
BURN_SETTLES = 10.0
"""Seconds of spending before a rate per minute means anything."""
AMBER, RED = 0.70, 0.90
_STEPS_KEPT = 200

Scope = Literal["turn", "session", "day"]


def context_style(share: float) -> str:
    """Colour of a filling window: calm, amber from 70 %, red from 90 %."""
    return "$error" if share >= RED else "$warning" if share >= AMBER else ""


class UsagePanel(Painted):
    """Fed by UsageUpdated; never moves more often than ten times a second."""

    def __init__(self, t: Translate, *, clock: Callable[[], float] = time.monotonic, id: str | None = None) -> None:
        super().__init__(id=id)
        self._t = t
        self._clock = clock
        self._event: UsageUpdated | None = None
        self._painted_at = float("-inf")
        self._stale = False
        self._samples: deque[tuple[float, Decimal]] = deque()
        self._step_costs: dict[tuple[str, int], dict[str, float]] = {}
        self._budget: tuple[Scope, Decimal, Decimal] | None = None
        self._today: tuple[Money, ...] = ()
        """The last that was heard, by currency; empty until then."""

    def update_usage(self, event: UsageUpdated) -> None:
        """Newest numbers; between two moves they wait for `tick`."""
        now = self._clock()
        self._event = event
        self._note_today(event.totals)
        self._note_spending(event, now)
        if event.final or now - self._painted_at >= SHORTEST_INTERVAL:
            self._move(now)
        else:
            self._stale = True

    def set_budget(self, limit: Decimal | None, scope: Scope = "session", spent: Decimal = Decimal(0)) -> None:
        """The limit whose bar is shown (None hides it); turn and session follow the totals, a day keeps `spent`."""
        self._budget = None if limit is None or limit <= 0 else (scope, limit, spent)
        self._fit_height()
        self.repaint()

    def update_budget(self, event: BudgetReached) -> None:
        self.set_budget(event.limit, event.scope, event.spent.amount or Decimal(0))

    def update_today(self, cost: Money, other: tuple[Money, ...] = ()) -> None:
        """What today cost, from outside a run: other sessions and processes spend as well."""
        self._today = (cost, *other)
        self._fit_height()
        self.repaint()

    def show_totals(self, totals: CostTotals, context_used: int, context_size: int, *, assumed: bool = False) -> None:
        """The state of a session that was just opened."""
        self._samples.clear()
        self._step_costs.clear()
        self._note_today(totals)
        from reactagent_tui.core.events import UsageUpdated

        self._event = UsageUpdated(
            call_usage=totals.turn_usage,
            call_cost=totals.turn_cost,
            totals=totals,
            context_used=context_used,
            context_size=context_size,
            context_assumed=assumed,
        )
        self._move(self._clock())

    def tick(self, now: float) -> None:
        """Shows what came since the last move."""
        if self._stale and now - self._painted_at >= SHORTEST_INTERVAL:
            self._move(now)

    def burn_rate(self, now: float) -> Decimal | None:
        """Money per minute over the last five minutes; None until ten seconds were seen."""
        while len(self._samples) > 1 and now - self._samples[0][0] > BURN_WINDOW:
            self._samples.popleft()
        if not self._samples or now - self._samples[0][0] < BURN_SETTLES:
            return None
        return (self._samples[-1][1] - self._samples[0][1]) * 60 / Decimal(str(now - self._samples[0][0]))

    def paint(self, width: int, height: int) -> Sequence[Content]:
        inner = max(width - 2, 0)
        return [Content.assemble(" ", cut_content(line, inner)) for line in self._lines(inner)]

    def _move(self, now: float) -> None:
        self._painted_at, self._stale = now, False
        self._fit_height()
        self.repaint()

    def _fit_height(self) -> None:
        lines = 1
        if self._event is not None:
            lines = 8 + self._has_writes + (self._budget is not None) + bool(self._step_costs)
        if self.styles.height is None or self.styles.height.value != lines:
            self.styles.height = lines

    @property
    def _has_writes(self) -> bool:
        event = self._event
        return event is not None and bool(
            event.totals.session_usage.cache_write + event.totals.session_usage.cache_write_1h
        )

    def _note_today(self, totals: CostTotals) -> None:
        if totals.today_cost is not None:
            self._today = (totals.today_cost, *totals.today_other)

    def _note_spending(self, event: UsageUpdated, now: float) -> None:
        amount = event.totals.session_cost.amount
        if amount is not None:
            if self._samples and amount < self._samples[-1][1]:
                self._samples.clear()
            self._samples.append((now, amount))
            while len(self._samples) > 600:
                del self._samples[1]
        value = float(event.call_cost.amount or 0) or event.call_usage.total / 1e9  # tokens where there is no price
        calls = self._step_costs.setdefault((event.run_id, event.step), {})
        calls[event.model_call_id or ""] = value
        while len(self._step_costs) > _STEPS_KEPT:
            del self._step_costs[next(iter(self._step_costs))]

    def _spark_values(self) -> list[float]:
        return [sum(calls.values()) for calls in self._step_costs.values()]

    def _lines(self, width: int) -> list[Content]:
        event = self._event
        if event is None:
            return [Content.styled(self._t("usage.empty"), "$text-muted")]
        lines = [*self._context_lines(event, width), *self._traffic(event, width)]
        lines += [Content(""), *self._money(event, width)]
        if self._budget is not None:
            lines.append(self._budget_line(self._budget, event.totals, width))
        if values := self._spark_values():
            label = pad(self._t("usage.steps"), 9)
            spark = sparkline(values, width - cell_len(label))
            lines.append(Content.assemble((label, "$text-muted"), (spark, "$primary")))
        return lines

    def _context_lines(self, event: UsageUpdated, width: int) -> list[Content]:
        label = pad(self._t("usage.context"), 9)
        size = event.context_size
        share = event.context_used / size if size else 0.0
        percent = f"{round(share * 100):>3} %" if size else "  —"
        style = context_style(share)
        full, rest = bar(share, max(width - 9 - 7, 4))
        guess = "~" if event.context_assumed else ""
        numbers = self._t("usage.of", used=format_tokens(event.context_used), size=guess + format_tokens(size))
        return [
            spread(
                Content.assemble((label, "$text-muted"), (full, style or "$primary"), (rest, "$text-muted")),
                Content.styled(percent, style or "bold"),
                width,
            ),
            Content.assemble(" " * 9, (numbers, "$text-muted")),
        ]

    def _traffic(self, event: UsageUpdated, width: int) -> list[Content]:
        usage = event.totals.session_usage
        guess = "~" if event.totals.tokens_estimated else ""
        sent, came = guess + format_tokens(usage.prompt), guess + format_tokens(usage.output)
        lines = [
            self._pair("usage.in", sent, "usage.cached", format_tokens(usage.cache_read), width),
            self._pair("usage.out", came, "usage.thinking", format_tokens(usage.reasoning), width),
        ]
        if self._has_writes:
            written = format_tokens(usage.cache_write + usage.cache_write_1h)
            lines.insert(1, self._pair("", "", "usage.written", written, width))
        return lines

    def _money(self, event: UsageUpdated, width: int) -> list[Content]:
        rate = event.tokens_per_second
        burn = self.burn_rate(self._clock())
        currency = event.totals.session_cost.currency
        speed = self._t("usage.speed", rate=f"{rate:.0f}") if rate else ""
        per_minute = self._t("usage.burn", amount=format_amount(burn, currency)) if burn else ""
        lines = [
            self._amount("usage.turn", event.totals.turn_cost, event.totals, speed, width),
            self._amount("usage.session", event.totals.session_cost, event.totals, per_minute, width),
        ]
        if not self._today:  # its place is kept: what stands below must not move when it is known
            lines.append(Content.styled(pad(self._t("usage.today"), 9) + pad_left("…", 8), "$text-muted"))
            return lines
        others = " ".join(f"+ {format_money(money)}" for money in self._today[1:])
        lines.append(self._amount("usage.today", self._today[0], event.totals, others, width))
        return lines

    def _amount(self, key: str, money: Money, totals: CostTotals, right: str, width: int) -> Content:
        covered = totals.turn_notional if key == "usage.turn" else totals.session_notional
        amount = " + ".join(map(format_money, covered))
        plan = self._t("usage.plan", amount=amount) if covered else ""
        nothing = money.state == "free" and totals.calls > 0
        text = "" if nothing and plan else self._t("usage.local") if nothing else format_money(money)
        figure = pad_left(text, 8) if text else " " * max(8 - cell_len(amount), 0) + plan
        left = Content.assemble((pad(self._t(key), 9), "$text-muted"), (figure, "bold"))
        if text and plan:
            right = f"+ {plan}"
        return spread(left, Content.styled(right, "$text-muted"), width)

    def _pair(self, key: str, value: str, other_key: str, other: str, width: int) -> Content:
        left = Content.assemble((pad(self._t(key) if key else "", 9), "$text-muted"), pad_left(value, 8))
        right = Content.assemble((self._t(other_key), "$text-muted"), " ", pad_left(other, 7))
        return spread(left, right, width)

    def _budget_line(self, budget: tuple[Scope, Decimal, Decimal], totals: CostTotals, width: int) -> Content:
        scope, limit, noted = budget
        spent = {"turn": totals.turn_cost.amount, "session": totals.session_cost.amount, "day": noted}[
            scope
        ] or Decimal(0)
        share = float(spent / limit)
        style = "$error" if share >= 1 else "$warning" if share >= 0.8 else "$primary"
        right = format_amount(limit, totals.session_cost.currency)
        full, rest = bar(share, max(width - 9 - len(right) - 2, 4))
        left = Content.assemble((pad(self._t("usage.budget"), 9), "$text-muted"), (full, style), (rest, "$text-muted"))
        return spread(left, Content(right), width)
