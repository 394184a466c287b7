"""The main screen: transcript, prompt, panels, and the state of the run. Events come in through `chat_events`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from textual import events, messages, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.timer import Timer
from textual.widgets import TextArea

from reactagent_tui.core.money import CostTotals
from reactagent_tui.tui.compat import resume_first
from reactagent_tui.tui.ladder import Ladder, Situation
from reactagent_tui.tui.presenter import short_path
from reactagent_tui.tui.screens.chat_keys import ChatKeys
from reactagent_tui.tui.screens.chat_others import Others
from reactagent_tui.tui.screens.next_price import NextPrice
from reactagent_tui.tui.transcript.widget import Transcript
from reactagent_tui.tui.widgets.agent_tree import AgentTree
from reactagent_tui.tui.widgets.approval_dock import ApprovalDock
from reactagent_tui.tui.widgets.chat_prompt import ChatPrompt
from reactagent_tui.tui.widgets.completion import CompletionPopup
from reactagent_tui.tui.widgets.header_bar import HeaderBar
from reactagent_tui.tui.widgets.jobs_tray import JobsTray
from reactagent_tui.tui.widgets.new_below import NewBelow
from reactagent_tui.tui.widgets.queue_list import QueueList
from reactagent_tui.tui.widgets.search_bar import SearchBar
from reactagent_tui.tui.widgets.status_bar import (
    Idle,
    Running,
    StatusBar,
    Stopping,
    WaitingForUser,
)
from reactagent_tui.tui.widgets.todo_panel import TodoLine, TodoPanel
from reactagent_tui.tui.widgets.tool_sidebar import ToolSidebar
from reactagent_tui.tui.widgets.usage_panel import UsagePanel

if TYPE_CHECKING:
    from reactagent_tui.core.events import JobInfo, ServerStateChanged, UsageUpdated
    from reactagent_tui.core.reporter import Answer
    from reactagent_tui.tui.app import ReactAgentApp
    from reactagent_tui.tui.screens.chat_agents import Boards

FRAME = 1 / 16
"""Seconds between two drains while a run goes; longer when a flush is slow."""
TICK = 0.25
WIDE = 100
ROOMY = 30
WATCHDOG = 2.05


class ChatScreen(ChatKeys):
    """One conversation on the screen."""

    AUTO_FOCUS = "#prompt"

    def __init__(self, first_prompt: str = "") -> None:
        super().__init__()
        self.first_prompt = first_prompt
        self.ladder = Ladder()
        self.session_id = ""
        self.title_text = ""
        self.model = ""
        self.mode = "ask"
        self.workdir = Path.cwd()
        self.running = False
        self.stopping = False
        self.pausing = False
        self.can_resume = False
        self.had_run = False
        self.running_jobs: dict[tuple[str, str], JobInfo] = {}
        """By session and job: those of sessions that are not on the screen as well."""
        self._jobs_clock: Timer | None = None
        self.servers: dict[str, ServerStateChanged] = {}
        self.step = 0
        self.run_began = 0.0
        self.usage: UsageUpdated | None = None
        self.totals = CostTotals()
        """What the session cost before its first call here."""
        self.context_used = 0
        self.sidebar_wanted: bool | None = None
        self.question_open_since = 0.0
        self._beat: Timer | None = None
        self._next_tick = 0.0
        self._flush_cost = 0.0
        self._skip_until = 0.0
        self._resumed: Literal["never", "now", "before"] = "never"
        self._fitted = Size(0, 0)
        self._drawn = 0.0
        self.boards: Boards | None = None
        """Agents and pipelines of this program, from their first event on."""
        self.next_price = NextPrice(self)
        self.others = Others()

    @property
    def home(self) -> ReactAgentApp:
        return cast("ReactAgentApp", self.app)

    @property
    def t(self) -> Callable[..., str]:
        return self.home.t

    # -- layout -----------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """What the first frame shows, fitted to the window before anything is styled."""
        app, t = self.home, self.t
        self.header = HeaderBar(t, id="header")
        self.transcript = Transcript(t, id="transcript")
        self.below = NewBelow(t, id="below")
        self.queue_list = QueueList(t, id="queue")
        self.dock = ApprovalDock(t, id="dock")
        self.search_bar = SearchBar(t, id="search")
        self.popup = CompletionPopup(id="completion")
        self.prompt = ChatPrompt(
            t=t, keymap=app.keymap, popup=self.popup, offer=self.offer_key, offer_paste=self.offer_paste, id="prompt"
        )
        self.usage_panel = UsagePanel(t, id="usage")
        self.jobs_tray = JobsTray(t, id="jobs")
        self.agent_tree = AgentTree(t, id="agents")
        self.tools = ToolSidebar(t, id="tools")
        self.todo = TodoPanel(t, id="todo")
        self.todo_line = TodoLine(t, id="todo-line")
        self.status = StatusBar(t, reduced_motion=app.boot.reduced_motion, id="status")
        self.sidebar = Vertical(self.usage_panel, self.tools, self.todo, id="sidebar")
        self._fit(app.size)
        yield self.header
        with Horizontal(id="body"):
            yield Vertical(self.transcript, self.prompt, id="main")
            yield self.sidebar
        yield self.status

    def on_mount(self) -> None:
        self.dock.give_back = self.give_back
        self.workdir = Path(self.home.started_with.workdir)
        self.header.set_place(short_path(self.workdir))
        self.prompt.set_mode(self.mode)
        verbosity = self.home.boot.verbosity
        if verbosity in ("compact", "normal", "verbose"):
            self.transcript.set_verbosity(verbosity)
        self.call_after_refresh(self.after_first_paint)

    async def mount_hidden(self) -> None:
        """The widgets that the first frame does not show."""
        hidden = (self.below, self.todo_line, self.queue_list, self.dock, self.search_bar, self.popup)
        await self.query_one("#main").mount_all(hidden, before=self.prompt)
        if self.search_bar.is_open:
            self.search_bar.focus()  # asked for by an early key
        await self.sidebar.mount(self.agent_tree, self.jobs_tray, before=self.tools)

    def on_resize(self, event: events.Resize) -> None:
        if event.size == self._fitted:
            event.prevent_default()  # laid out for this size already
        else:
            self._fit(event.size)

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Textual resumes the first screen twice; it is drawn once."""
        if self._resumed != "before":
            event.prevent_default()
        if self._resumed == "never":
            self._drawn = resume_first(self)
        self._resumed = "now"

    def on_update(self, message: messages.Update) -> None:
        """The first frame shows already what was asked for before it."""
        if message.time < self._drawn:
            message.stop()
            message.prevent_default()

    def on_layout(self, message: messages.Layout) -> None:
        if message.time < self._drawn:
            message.stop()
            message.prevent_default()

    def on_screen_suspend(self) -> None:
        self._resumed = "before"

    def _fit(self, size: Size) -> None:
        """The sidebar when there is room for it; its figures on the status line otherwise."""
        self._fitted = size
        setting = self.home.boot.sidebar
        wanted = self.sidebar_wanted
        if wanted is None:
            wanted = setting != "hidden"
        shown = wanted and size.width >= WIDE
        if self.sidebar.display != shown:
            self.sidebar.display = shown
        self.status.show_usage(inline=not shown)
        self.todo_line.show_instead(not shown)
        self.header.display = size.height >= 12
        self.set_class(size.height >= ROOMY, "-roomy", update=self.is_mounted)

    def settings_changed(self) -> None:
        """The configuration arrived and differs from what the first frame assumed."""
        self.prompt.set_keymap(self.home.keymap)
        self._fit(self.app.size)

    # -- what ESC means ---------------------------------------------------------------------

    def situation(self) -> Situation:
        """What an ESC or Ctrl+C would find now."""
        row = self.agent_tree.focused_row
        return Situation(
            popup=self.popup.is_open,
            search=self.search_bar.is_open,
            dock="editing" if self.dock.is_editing else "open" if self.dock.is_open else "closed",
            call_focused=self.transcript.has_focus and self.transcript.focused_call_id() is not None,
            agent_focused=row is not None and row.agent and row.running,
            transcript_focused=self.transcript.has_focus or self.tools.has_focus or self.agent_tree.has_focus,
            running=self.running,
            has_text=bool(self.prompt.text),
            has_selection=bool(self.selections),
        )

    def update_esc_target(self) -> None:
        """Tell the input thread what ESC acts on. Called whenever that may have changed."""
        found = self.situation()
        gate = self.home.esc_gate
        if self.app.screen is not self or found.popup or found.search or found.dock == "editing" or self.holds_escape:
            gate.esc_target = "SCREEN"
        elif found.dock == "open":
            gate.esc_target = "APPROVAL" if found.running else "SCREEN"  # no run asks: there is none to stop
        elif found.running and not found.call_focused and not found.agent_focused:
            gate.esc_target = "RUN"
        else:
            gate.esc_target = "SCREEN"

    @on(CompletionPopup.Toggled)
    @on(ApprovalDock.LineToggled)
    @on(SearchBar.Toggled)
    @on(Transcript.CallFocused)
    @on(AgentTree.Moved)
    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    @on(events.ScreenResume)
    @on(events.ScreenSuspend)
    def _esc_may_mean_something_else(self) -> None:
        self.update_esc_target()

    @on(ApprovalDock.LineToggled)
    def _line_toggled(self) -> None:
        self.show_activity()

    @on(TextArea.Changed)
    def _draft_moved(self) -> None:
        self.next_price.changed()

    @on(Transcript.FollowChanged)
    def _follow_changed(self, message: Transcript.FollowChanged) -> None:
        self.below.update(message.following, message.unseen_lines)

    @on(NewBelow.Wanted)
    def _to_end(self) -> None:
        self.transcript.to_end()

    # -- events of the agent ----------------------------------------------------------------

    def drain(self) -> None:
        """Apply everything that happened, in order."""
        found = self.home.bridge.take()
        if found:
            from reactagent_tui.tui.screens.chat_events import apply_all

            apply_all(self, found)

    # -- a run ------------------------------------------------------------------------------

    def begin_run(self) -> None:
        """A run begins: ESC means stop from now on, times move."""
        self.set_running(True)
        self.step = 0
        self.had_run = True
        self.run_began = time.monotonic()
        self.stopping = self.pausing = self.can_resume = False
        self._start_beat()
        self.show_activity()

    def end_run(self, *, can_resume: bool) -> None:
        """A run is over, however it ended."""
        self.transcript.flush()
        self.transcript.end_run()
        self.set_running(False)
        self.stopping = self.pausing = False
        self.can_resume = can_resume
        self.dock.close()
        self._stop_beat()
        self.show_activity()
        self.update_esc_target()

    def set_running(self, running: bool) -> None:
        """The state everything else follows: keys, ESC, the prompt's hints."""
        self.running = running
        self.next_price.changed()
        self.prompt.set_running(running)
        self.update_esc_target()

    def show_stopping(self) -> None:
        """ESC was seen: say so at once; the watchdog makes sure that it is true."""
        if not self.running or self.stopping:
            return
        self.stopping = True
        self.ladder.stopped(time.monotonic())
        self.show_activity()
        self.set_timer(WATCHDOG, self._watch_stop)

    async def _watch_stop(self) -> None:
        if await self.home.bridge.watch_stop():
            self.drain()

    def show_activity(self) -> None:
        """The status line says what goes on."""
        if not self.running:
            self.status.show_activity(Idle())
        elif self.stopping:
            self.status.show_activity(Stopping(self.run_began))
        elif self.dock.is_open:
            self.status.show_activity(WaitingForUser(self.question_open_since, self.dock.is_editing))
        else:
            self.status.show_activity(Running(max(self.step, 1), self.run_began, self.pausing))

    def jobs_counted(self) -> None:
        """How many jobs run; while any does, their times move once a second."""
        count = len(self.running_jobs)
        self.status.show_jobs(count)
        if count and self._jobs_clock is None:
            self._jobs_clock = self.set_interval(1.0, self.jobs_tray.tick)
        elif not count and self._jobs_clock is not None:
            self._jobs_clock.stop()
            self._jobs_clock = None

    # -- the beat ---------------------------------------------------------------------------

    def question_changed(self) -> None:
        """A question came or went: it listens to the beat, also when nothing runs."""
        if self.dock.is_open:
            self._start_beat()
        elif not self.running:
            self._stop_beat()
        self.show_activity()
        self.update_esc_target()

    def _start_beat(self) -> None:
        if self._beat is None:
            self._beat = self.set_interval(FRAME, self._on_beat)

    def _stop_beat(self) -> None:
        if self._beat is not None:
            self._beat.stop()
            self._beat = None

    def _on_beat(self) -> None:
        """Only alive while a run goes: deltas to the screen, running times a few times a second."""
        now = time.monotonic()
        if now < self._skip_until:
            return
        self.drain()
        self.transcript.flush()
        cost = time.monotonic() - now
        self._flush_cost = 0.8 * self._flush_cost + 0.2 * cost
        if 4 * self._flush_cost > FRAME:
            self._skip_until = now + 4 * self._flush_cost
        if now >= self._next_tick:
            self._next_tick = now + TICK
            self.tick(now)

    def tick(self, now: float) -> None:
        """Times that run."""
        self.status.tick(now)
        if self.running:
            self.transcript.tick(now)
            self.tools.tick(now)
            self.usage_panel.tick(now)
            if self.boards is not None:
                self.boards.tick(now)
        if self.running or self.dock.is_open:
            self.dock.tick(now)

    def answer(self, question_id: str, answer: Answer) -> None:
        self.home.bridge.answer(question_id, answer)
