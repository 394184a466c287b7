"""The bottom line: what happens now, for how long, which keys stop it; and what the next message costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, assert_never

from textual.content import Content

from reactagent_tui.core.display import clean_line
from reactagent_tui.core.money import CostTotals, Money
from reactagent_tui.locales import Translate
from reactagent_tui.tui.presenter import format_money, format_price, format_seconds, format_tokens, money_or_local
from reactagent_tui.tui.widgets.line_layout import Part, bar, cut, join_parts, spread
from reactagent_tui.tui.widgets.painted import Painted
from reactagent_tui.tui.widgets.usage_panel import context_style

if TYPE_CHECKING:
    from reactagent_tui.core.events import UsageUpdated

FRAMES_PER_SECOND = 4
_SPINNER = "◐◓◑◒"
_LEAST_HINT = 10
"""Cells that the key hints keep beside the price tag."""


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing runs."""


class Running(NamedTuple):
    """A turn runs; `since` on the bar's clock, in seconds."""

    step: int
    since: float
    pausing: bool = False
    """It will pause after this step."""


class Stopping(NamedTuple):
    since: float


class WaitingForUser(NamedTuple):
    """A question is open."""

    since: float
    editing: bool = False
    """A line of it is being typed: ESC leaves only that."""


class Retrying(NamedTuple):
    """The call failed; the next try is due at `until`. `reason` and `fallback` are shown as they are."""

    attempt: int
    attempts: int
    until: float
    reason: str
    fallback: str = ""
    """What to do instead of waiting."""


class WaitingForServer(NamedTuple):
    """Nothing is generated. `share` is 0 to 1 when the server tells; it goes on at `until` when that is known."""

    kind: Literal["queued", "prefill", "loading", "connecting", "paced", "stalled"]
    since: float
    share: float | None = None
    until: float | None = None


Activity: TypeAlias = Idle | Running | Stopping | WaitingForUser | Retrying | WaitingForServer


class NextCall(NamedTuple):
    """What sending now would cost: prompt tokens, how many of them are cached, and money."""

    tokens: int
    cached: int
    cost: Money


class StatusBar(Painted):
    """One line. Times come from `clock`; the screen calls `tick` a few times a second while something runs."""

    def __init__(
        self,
        t: Translate,
        *,
        clock: Callable[[], float] = time.monotonic,
        reduced_motion: bool = False,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._t = t
        self._clock = clock
        self._reduced_motion = reduced_motion
        self._activity: Activity = Idle()
        self._usage: UsageUpdated | None = None
        self._usage_inline = False
        self._jobs = 0
        self._agents = 0
        self._servers = ""
        self._next: NextCall | None = None
        self._flash: tuple[str, float] | None = None
        self._now = clock()

    @property
    def activity(self) -> Activity:
        return self._activity

    def show_activity(self, activity: Activity) -> None:
        self._activity = activity
        self.tick(self._clock())

    def update_usage(self, event: UsageUpdated) -> None:
        """Newest totals; shown here only while the usage panel is hidden."""
        self._usage = event
        if self._usage_inline:
            self.repaint()

    def show_usage(self, inline: bool) -> None:
        """Whether tokens, money and context belong on this line (the sidebar is hidden)."""
        self._usage_inline = inline
        self.repaint()

    def show_jobs(self, count: int) -> None:
        """How many background jobs run; said here only while the sidebar is hidden."""
        self._jobs = count
        self.repaint()

    def show_servers(self, line: str) -> None:
        """MCP servers that start or failed; "": nothing to say."""
        if line != self._servers:
            self._servers = line
            self.repaint()

    def show_agents(self, count: int) -> None:
        """How many agents run."""
        if count != self._agents:
            self._agents = count
            self.repaint()

    def set_next(self, price_tag: NextCall | None) -> None:
        self._next = price_tag
        self.repaint()

    def flash(self, text: str, seconds: float = 2.0) -> None:
        """A message in place of the line for a moment; gone at the first `tick` after it."""
        self._flash = (clean_line(text), self._clock() + seconds)
        self.repaint()

    def clear_flash(self) -> None:
        self._flash = None
        self.repaint()

    @property
    def needs_tick(self) -> bool:
        """Whether anything on the line changes by time alone: false means no timer is needed."""
        return self._flash is not None or not isinstance(self._activity, Idle)

    def tick(self, now: float) -> None:
        self._now = now
        if self._flash is not None and now >= self._flash[1]:
            self._flash = None
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Content]:
        if self._flash is not None:
            return [Content.styled(f" {cut(self._flash[0], width - 2)}", "bold")]
        inner = max(width - 2, 0)
        parts = [*self._server_part(), *(self._usage_parts() if self._usage_inline else ())]
        usage = join_parts(parts, inner - 10, " ", whole=True) if parts else Content("")
        used = usage.cell_length + 2 if usage else 0
        glyph = self._glyph()
        used += glyph.cell_length
        free = inner - used
        short = Content(self._tag(short=True)).cell_length + 3
        if isinstance(self._activity, Idle) and self._next is not None and free - short >= _LEAST_HINT:
            free -= short  # what sending costs matters more than the last hints
        left = Content.assemble(glyph, join_parts(self._left_parts(), free, " · "))
        if usage:
            left = Content.assemble(left, "  ", usage)
        room = inner - left.cell_length - 3
        right = join_parts(self._right_parts(room), room, "   ", whole=True)
        return [Content.assemble(" ", spread(left, right, inner))]

    def _glyph(self) -> Content:
        match self._activity:
            case Idle():
                return Content("")
            case WaitingForUser():
                return Content.styled("○ ", "$warning")
            case Stopping() | Retrying() | WaitingForServer(kind="stalled"):
                style = "$warning"
            case Running() | WaitingForServer():
                style = "$primary"
            case _ as unreachable:
                assert_never(unreachable)
        frame = 0 if self._reduced_motion else int(self._now * FRAMES_PER_SECOND) % len(_SPINNER)
        return Content.styled(f"{_SPINNER[frame]} ", style)

    def _left_parts(self) -> list[Part]:
        """What happens, for how long, which keys help; hints are the first to go."""
        activity, t = self._activity, self._t
        stop = self._hint("status.esc_stop", 3)
        match activity:
            case Idle():
                hints = ("status.hint_send", "status.hint_file", "status.hint_command")
                return [self._hint(key, 3 - index) for index, key in enumerate(hints)]
            case Running(step, since, pausing):
                what = t("status.pausing" if pausing else "status.step", step=step)
                pause = self._hint("status.resume" if pausing else "status.pause", 1)
                return [Part(Content(what), 4), self._time(since), *self._agent_part(), stop, pause]
            case Stopping(since):
                return [Part(Content(t("status.stopping")), 9), self._time(since)]
            case WaitingForUser(since, editing):
                escape = self._hint("status.esc_back" if editing else "status.esc_deny", 2)
                return [Part(Content(t("status.needs_you")), 9), self._time(since), escape]
            case Retrying(attempt, attempts, until, reason, fallback):
                left = format_seconds(max(until - self._now, 0.0))
                what = t("status.retry", attempt=attempt, attempts=attempts, time=left)
                instead = [Part(Content(clean_line(fallback)), 6)] if fallback else []
                return [Part(Content(what), 9), *instead, Part(Content(clean_line(reason)), 2), stop]
            case WaitingForServer("paced", since, until=None):
                return [Part(Content(t("status.wait_slot")), 9), self._time(since), stop]
            case WaitingForServer(kind, until=float(until)):
                left = format_seconds(max(until - self._now, 0.0))
                return [
                    Part(Content(t(f"status.wait_{kind}")), 9),
                    Part(Content(t("status.wait_left", time=left)), 5),
                    stop,
                ]
            case WaitingForServer(kind, since, share):
                return [Part(Content(t(f"status.wait_{kind}")), 9), Part(_progress(share), 4), self._time(since), stop]
            case _:
                assert_never(activity)

    def _server_part(self) -> list[Part]:
        return [Part(Content.styled(clean_line(self._servers), "$text-muted"), 1)] if self._servers else []

    def _agent_part(self) -> list[Part]:
        text = self._t("status.agents", n=self._agents)
        return [Part(Content.styled(text, "$primary"), 4)] if self._agents else []

    def _time(self, since: float) -> Part:
        return Part(Content(format_seconds(max(self._now - since, 0.0))), 5)

    def _hint(self, key: str, keep: int) -> Part:
        return Part(Content.styled(self._t(key), "$text-muted"), keep)

    def _right_parts(self, room: int) -> list[Part]:
        parts = []
        if self._next is not None:
            tag = Content.styled(self._tag(short=False), "$text-muted")
            if tag.cell_length > room:
                tag = Content.styled(self._tag(short=True), "$text-muted")
            parts.append(Part(tag, 2))
        parts.append(self._hint("status.help", 1))
        return parts

    def _tag(self, *, short: bool) -> str:
        """`next ≈ 41.2k in (38k cached) $0.020`; short: without the cached part."""
        tag = self._next
        if tag is None:
            return ""
        cached = self._t("status.next_cached", cached=format_tokens(tag.cached)) if tag.cached and not short else ""
        price = format_price(tag.cost, self._t)
        return " ".join(self._t("status.next", tokens=format_tokens(tag.tokens), cached=cached, cost=price).split())

    def _session_money(self, totals: CostTotals) -> str:
        """What was spent; when a plan covers everything, what that would have cost."""
        cost = totals.session_cost
        if cost.state == "free" and totals.session_notional:
            return self._t("usage.plan", amount=" + ".join(map(format_money, totals.session_notional)))
        return money_or_local(cost, self._t) if totals.calls else format_money(cost)

    def _usage_parts(self) -> list[Part]:
        event = self._usage
        jobs = [Part(Content.styled(self._t("status.jobs", n=self._jobs), "$primary"), 4)] if self._jobs else []
        if event is None:
            return jobs
        usage = event.totals.session_usage
        guess = "~" if event.totals.tokens_estimated else ""
        sent, cached, came = map(format_tokens, (usage.prompt, usage.cache_read, usage.output))
        tokens = f"↑{guess}{sent} ⟳{cached} ↓{guess}{came}"
        parts = [
            *jobs,
            Part(Content.styled(tokens, "$text-muted"), 1),
            Part(Content(self._session_money(event.totals)), 3),
        ]
        if event.context_size:
            share = event.context_used / event.context_size
            text = self._t("status.context", percent=round(share * 100))
            parts.append(Part(Content.styled(text, context_style(share)), 2))
        return parts


def _progress(share: float | None) -> Content:
    if share is None:
        return Content("")
    full, rest = bar(share, 10)
    return Content.assemble((full, "$primary"), (rest, "$text-muted"), f" {round(share * 100)} %")
