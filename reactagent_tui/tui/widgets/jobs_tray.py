"""The background jobs that run now, over the tool list: command, running time, the last line each printed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.message import Message

from reactagent_tui.core.display import clean_line
from reactagent_tui.locales import Translate
from reactagent_tui.tui.presenter import format_seconds
from reactagent_tui.tui.widgets.line_layout import cut, spread
from reactagent_tui.tui.widgets.painted import Painted

if TYPE_CHECKING:
    from reactagent_tui.core.events import JobInfo

MOST_SHOWN = 3
_LINES_EACH = 2


class JobsTray(Painted):
    """A heading and two lines for each of the newest jobs; hidden while none runs. A click opens the list."""

    class Opened(Message):
        """The user wants to see the jobs."""

    def __init__(self, t: Translate, *, clock: Callable[[], float] = time.time, id: str | None = None) -> None:
        super().__init__(id=id)
        self._t = t
        self._clock = clock
        self._jobs: dict[str, JobInfo] = {}
        self.display = False

    @property
    def running(self) -> Sequence[JobInfo]:
        """The jobs that run, oldest first."""
        return tuple(self._jobs.values())

    def update_job(self, job: JobInfo) -> None:
        """A job as it is now; one that ended goes away."""
        if job.state == "running":
            self._jobs[job.id] = job
        else:
            self._jobs.pop(job.id, None)
        self._fit()

    def clear(self) -> None:
        """Another session is shown."""
        self._jobs.clear()
        self._fit()

    def tick(self) -> None:
        """Running times move."""
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Content]:
        inner = width - 2
        count = Content.styled(str(len(self._jobs)), "$text-muted")
        lines = [spread(Content.styled(self._t("jobs.heading"), "bold"), count, inner)]
        for job in list(self._jobs.values())[-MOST_SHOWN:]:
            clock = format_seconds(max(self._clock() - job.began, 0.0))
            room = max(inner - 4 - len(job.id) - len(clock), 1)
            left = Content.assemble(("◐", "$primary"), f" {job.id} ", cut(clean_line(job.command), room))
            lines.append(spread(left, Content.styled(clock, "$text-muted"), inner))
            lines.append(
                Content.styled("  " + cut(clean_line(job.last_line).strip(), max(inner - 2, 1)), "$text-muted")
            )
        return [Content.assemble(" ", line) for line in lines]

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Opened())

    def _fit(self) -> None:
        shown = min(len(self._jobs), MOST_SHOWN)
        self.display = shown > 0
        height = 1 + _LINES_EACH * shown
        if shown and self.styles.height != height:
            self.styles.height = height
        self.repaint()
