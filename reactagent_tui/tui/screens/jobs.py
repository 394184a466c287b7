"""The jobs of this session: a list, below it the newest output of the chosen one as it comes; keys end them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen

from reactagent_tui.core.display import clean_line
from reactagent_tui.core.events import JobInfo
from reactagent_tui.locales import Translate
from reactagent_tui.tui.presenter import format_seconds
from reactagent_tui.tui.widgets.filter_head import Lines
from reactagent_tui.tui.widgets.line_layout import cut, pad, spread
from reactagent_tui.tui.widgets.list_lines import SCROLL, TextTail, keys_line, marked, rows_around, title_line

REFRESH = 0.5
"""Seconds between two looks at the jobs while this screen is open."""
_MOST_ROWS = 8
_STYLES = {
    "running": ("◐", "$primary"),
    "ended": ("●", "$success"),
    "killed": ("⊘", "$warning"),
    "lost": ("✕", "$warning"),
}


class JobsView(NamedTuple):
    """What the screen shows: all jobs, and the newest output of one of them."""

    jobs: Sequence[JobInfo]
    tail: str = ""


Look = Callable[[str], Awaitable[JobsView]]
"""The jobs now, with the output of the one that is named ("": of none)."""
Kill = Callable[[str], Awaitable[object]]
"""Ends a job; "": all of them."""


class JobsScreen(Screen[None]):
    """Arrows choose, Enter gives the output the whole screen, k ends the job, K all of them, ESC goes back."""

    DEFAULT_CSS = """
    JobsScreen { background: $background; layout: vertical; }
    JobsScreen #jobs-list { height: auto; }
    JobsScreen #jobs-tail { height: 1fr; padding: 1 1 0 1; }
    """

    def __init__(self, t: Translate, look: Look, kill: Kill, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._t = t
        self._look = look
        self._kill = kill
        self._clock = clock
        self._jobs: list[JobInfo] = []
        self._tail = TextTail()
        self._chosen = ""
        self._whole = False

    def compose(self) -> ComposeResult:
        yield Lines(self._paint_head, id="jobs-head")
        yield Lines(self._paint_list, id="jobs-list")
        yield Lines(self._paint_tail, id="jobs-tail")
        yield Lines(self._paint_keys, id="jobs-keys")

    async def on_mount(self) -> None:
        self.set_interval(REFRESH, self._ask)
        self._ask()

    @property
    def chosen(self) -> str:
        """The job whose output is shown."""
        return self._chosen

    def on_key(self, event: events.Key) -> None:
        match event.key:
            case "escape" | "q" if self._whole:
                self._whole, self._tail.up = False, 0
            case "escape" | "q":
                self.dismiss(None)
            case "enter":
                self._whole, self._tail.up = not self._whole, 0
            case "up" | "down" if not self._whole:
                self._choose(-1 if event.key == "up" else 1)
            case "k" | "x" | "delete" if self._chosen:
                self._end(self._chosen)
            case "K":
                self._end("")
            case key if key in _SCROLL:
                self._tail.scroll(_SCROLL[key])
            case _:
                return
        event.stop()
        event.prevent_default()
        self._repaint()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._tail.scroll(3)
        self._repaint()
        event.stop()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._tail.scroll(-3)
        self._repaint()
        event.stop()

    def _ask(self) -> None:
        self.run_worker(self._refresh(), exclusive=True, group="look", exit_on_error=False)

    async def _refresh(self) -> None:
        view = await self._look(self._chosen)
        self._jobs = sorted(view.jobs, key=lambda job: job.state != "running")
        if not any(job.id == self._chosen for job in self._jobs):
            self._chosen = self._jobs[0].id if self._jobs else ""
            view = await self._look(self._chosen)
        self._tail.show(view.tail)
        self._fit()
        self._repaint()

    def _end(self, job_id: str) -> None:
        async def work() -> None:
            await self._kill(job_id)
            await self._refresh()

        self.run_worker(work(), group="kill", exit_on_error=False)

    def _choose(self, step: int) -> None:
        ids = [job.id for job in self._jobs]
        if ids:
            at = ids.index(self._chosen) if self._chosen in ids else 0
            self._chosen = ids[min(max(at + step, 0), len(ids) - 1)]
            self._tail.begin()
            self._ask()

    def _fit(self) -> None:
        if self.is_mounted:
            rows = 0 if self._whole else max(1, min(len(self._jobs), _MOST_ROWS))
            self.query_one("#jobs-list", Lines).styles.height = rows

    def _repaint(self) -> None:
        if self.is_mounted:
            self._fit()
            for lines in self.query(Lines):
                lines.repaint()

    def _paint_head(self, width: int, height: int) -> Sequence[Content]:
        running = str(sum(job.state == "running" for job in self._jobs))
        return [title_line(self._t("jobs.heading"), running, width)]

    def _paint_list(self, width: int, height: int) -> Sequence[Content]:
        if not self._jobs:
            return [Content.styled(f" {self._t('jobs.none')}", "$text-muted")]
        at = next((n for n, job in enumerate(self._jobs) if job.id == self._chosen), 0)
        return [self._row(self._jobs[number], width) for number in rows_around(at, height, len(self._jobs))]

    def _row(self, job: JobInfo, width: int) -> Content:
        glyph, style = _STYLES.get(job.state, ("●", "$text-muted"))
        if job.state == "ended" and job.exit_code:
            glyph, style = "✕", "$error"
        seconds = self._clock() - job.began if job.seconds is None else job.seconds
        state = self._t(f"jobs.state.{job.state}")
        if job.exit_code is not None:
            state = f"{state} ({job.exit_code})"
        right = Content.styled(f"{state} {format_seconds(max(seconds, 0.0))}", "$text-muted")
        room = max(width - 8 - len(job.id) - right.cell_length, 1)
        left = Content.assemble((glyph, style), f" {pad(job.id, 4)} ", cut(clean_line(job.command), room))
        line = Content.assemble(" ", spread(left, right, width - 2), " ")
        return marked(line) if job.id == self._chosen else line

    def _paint_tail(self, width: int, height: int) -> Sequence[Content]:
        lines = self._tail.lines(width, height)
        if not lines and self._jobs:
            return [Content(""), Content.styled(self._t("jobs.no_output"), "$text-muted")]
        return lines

    def _paint_keys(self, width: int, height: int) -> Sequence[Content]:
        keys = (
            ("picker.key_move", 1),
            ("jobs.key_open", 3),
            ("jobs.key_kill", 5),
            ("jobs.key_all", 2),
            ("picker.key_back", 9),
        )
        return [keys_line(self._t, keys, width)]


_SCROLL = {**SCROLL, "up": 1, "down": -1}
