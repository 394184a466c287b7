"""The main screen: transcript, prompt, panels. Here is the one `match` over the agent's events; widgets get verbs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.timer import Timer

from reactagent_tui.core.events import (
    AgentEvent,
    BudgetReached,
    CostTotals,
    MessageFinished,
    ModeChanged,
    ModelChanged,
    Notice,
    QuestionAsked,
    QuestionClosed,
    QueueChanged,
    RetryScheduled,
    RunEnded,
    RunStarted,
    SessionChanged,
    StepStarted,
    TextDelta,
    TextReclassified,
    ThinkingDelta,
    TitleChanged,
    ToolCallDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    UsageUpdated,
    UserMessageAdded,
    WaitProgress,
)
from reactagent_tui.core.reporter import Answer, Question
from reactagent_tui.tui.bridge import AgentFailed, AgentReady, FromAgent
from reactagent_tui.tui.ladder import Ladder, Situation
from reactagent_tui.tui.presenter import format_money, format_seconds
from reactagent_tui.tui.screens.chat_actions import ChatActions
from reactagent_tui.tui.transcript.widget import Transcript
from reactagent_tui.tui.widgets.approval_dock import ApprovalDock
from reactagent_tui.tui.widgets.chat_prompt import ChatPrompt
from reactagent_tui.tui.widgets.completion import CompletionPopup
from reactagent_tui.tui.widgets.header_bar import HeaderBar
from reactagent_tui.tui.widgets.new_below import NewBelow
from reactagent_tui.tui.widgets.queue_list import QueueList
from reactagent_tui.tui.widgets.search_bar import SearchBar
from reactagent_tui.tui.widgets.status_bar import (
    Idle,
    Retrying,
    Running,
    StatusBar,
    Stopping,
    WaitingForServer,
    WaitingForUser,
)
from reactagent_tui.tui.widgets.tool_sidebar import ToolSidebar
from reactagent_tui.tui.widgets.usage_panel import UsagePanel

if TYPE_CHECKING:
    from reactagent_tui.tui.app import ReactAgentApp

FRAME = 1 / 16
"""Seconds between two drains while a run goes; longer when a flush is slow."""
TICK = 0.25
WIDE = 100
WATCHDOG = 2.05


class ChatScreen(ChatActions):
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
        self.step = 0
        self.had_run = True
        self.run_began = 0.0
        self.usage: UsageUpdated | None = None
        self.sidebar_wanted: bool | None = None
        self.question_open_since = 0.0
        self._beat: Timer | None = None
        self._next_tick = 0.0
        self._flush_cost = 0.0
        self._skip_until = 0.0

    @property
    def home(self) -> ReactAgentApp:
        return cast("ReactAgentApp", self.app)

    @property
    def t(self) -> Callable[..., str]:
        return self.home.t

    # -- layout -----------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        app = cast("ReactAgentApp", self.app)
        t = app.t
        yield HeaderBar(t, id="header")
        with Horizontal(id="body"):
            with Vertical(id="main"):
                yield Transcript(t, id="transcript")
                yield NewBelow(t, id="below")
                yield QueueList(t, id="queue")
                yield ApprovalDock(t, id="dock")
                yield SearchBar(t, id="search")
                yield CompletionPopup(id="completion")
                yield ChatPrompt(
                    t=t, keymap=app.keymap, offer=self.offer_key, offer_paste=self.offer_paste, id="prompt"
                )
            with Vertical(id="sidebar"):
                yield UsagePanel(t, id="usage")
                yield ToolSidebar(t, id="tools")
        yield StatusBar(t, reduced_motion=app.boot.reduced_motion, id="status")

    def on_mount(self) -> None:
        self.header = self.query_one(HeaderBar)
        self.transcript = self.query_one(Transcript)
        self.below = self.query_one(NewBelow)
        self.queue_list = self.query_one(QueueList)
        self.dock = self.query_one(ApprovalDock)
        self.search_bar = self.query_one(SearchBar)
        self.prompt = self.query_one(ChatPrompt)
        self.popup = self.query_one(CompletionPopup)
        self.usage_panel = self.query_one(UsagePanel)
        self.tools = self.query_one(ToolSidebar)
        self.status = self.query_one(StatusBar)
        self.prompt.popup = self.popup
        self.workdir = Path(self.home.started_with.workdir)
        self.header.set_place(_short(self.workdir))
        self.prompt.set_mode(self.mode)
        verbosity = self.home.boot.verbosity
        if verbosity in ("compact", "normal", "verbose"):
            self.transcript.set_verbosity(verbosity)
        self._fit(self.app.size)
        self.prompt.focus()
        self.call_after_refresh(self.after_first_paint)

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size)

    def _fit(self, size: Size) -> None:
        """The sidebar when there is room for it; its figures on the status line otherwise."""
        setting = self.home.boot.sidebar
        wanted = self.sidebar_wanted
        if wanted is None:
            wanted = setting != "hidden"
        shown = wanted and size.width >= WIDE
        sidebar = self.query_one("#sidebar")
        if sidebar.display != shown:
            sidebar.display = shown
        self.query_one(StatusBar).show_usage(inline=not shown)
        self.query_one(HeaderBar).display = size.height >= 12

    def settings_changed(self) -> None:
        """The configuration arrived and differs from what the first frame assumed."""
        self.prompt.set_keymap(self.home.keymap)
        self._fit(self.app.size)

    # -- what ESC means ---------------------------------------------------------------------

    def situation(self) -> Situation:
        """What an ESC or Ctrl+C would find now."""
        return Situation(
            popup=self.popup.is_open,
            search=self.search_bar.is_open,
            dock="editing" if self.dock.is_editing else "open" if self.dock.is_open else "closed",
            call_focused=self.transcript.has_focus and self.transcript.focused_call_id() is not None,
            transcript_focused=self.transcript.has_focus or self.tools.has_focus,
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
            gate.esc_target = "APPROVAL"
        elif found.running and not found.call_focused:
            gate.esc_target = "RUN"
        else:
            gate.esc_target = "SCREEN"

    @on(CompletionPopup.Toggled)
    @on(ApprovalDock.LineToggled)
    @on(SearchBar.Toggled)
    @on(Transcript.CallFocused)
    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    @on(events.ScreenResume)
    @on(events.ScreenSuspend)
    def _esc_may_mean_something_else(self) -> None:
        self.update_esc_target()

    @on(Transcript.FollowChanged)
    def _follow_changed(self, message: Transcript.FollowChanged) -> None:
        self.below.update(message.following, message.unseen_lines)

    @on(NewBelow.Wanted)
    def _to_end(self) -> None:
        self.transcript.to_end()

    # -- events of the agent ----------------------------------------------------------------

    def drain(self) -> None:
        """Apply everything that happened, in order; neighbouring deltas of one message are merged."""
        for event in _merged(self.home.bridge.take()):
            self._apply(event)

    def _apply(self, event: FromAgent) -> None:
        match event:
            case AgentReady(demo=demo, warnings=warnings):
                self.agent_ready(demo, warnings)
            case AgentFailed(text=text):
                self.home.fail(text)
            case SessionChanged():
                self.show_session(event)
            case _ if event.session_id and self.session_id and event.session_id != self.session_id:
                pass  # another session's run goes on unseen
            case _ if event.parent_run_id is not None:
                pass  # a sub-agent streams to its own view
            case (
                TextDelta()
                | ThinkingDelta()
                | TextReclassified()
                | ToolCallDelta()
                | MessageFinished()
                | ToolStarted()
                | ToolOutput()
                | ToolFinished()
                | UserMessageAdded()
            ):
                self._apply_to_transcript(event)
            case _:
                self._apply_to_screen(event)

    def _apply_to_transcript(self, event: AgentEvent) -> None:
        transcript = self.transcript
        key = event.model_call_id or ""
        match event:
            case TextDelta(text=text):
                transcript.append_text(key, text)
            case ThinkingDelta(text=text):
                transcript.append_thinking(key, text)
            case TextReclassified():
                transcript.reclassify_text_as_thinking(key)
            case ToolCallDelta(index=index, name=name, size=size):
                transcript.tool_delta(key, index, name, size)
            case MessageFinished(message=message):
                transcript.finish_message(key, message)
            case ToolStarted(call=call, waiting=waiting):
                transcript.tool_started(call, waiting=waiting)
                self.tools.tool_started(call, waiting=waiting)
            case ToolOutput(text=text):
                transcript.tool_output(event.tool_call_id or "", text)
            case ToolFinished(call=call, status=status):
                transcript.tool_finished(
                    call.id,
                    status=status,
                    text=event.text,
                    blocks=event.blocks,
                    is_error=event.is_error,
                    summary=event.summary,
                    seconds=event.seconds,
                )
                self.tools.tool_finished(call, status=status, seconds=event.seconds)
            case UserMessageAdded(message=message):
                transcript.add_user(message.text, origin=message.origin, shown=message.shown)
            case _:
                pass

    def _apply_to_screen(self, event: AgentEvent) -> None:
        match event:
            case RunStarted():
                self._run_started(event)
            case StepStarted():
                self.step = event.step
                self.transcript.begin_message(event.model_call_id or "")
                self._show_activity()
            case RunEnded():
                self._run_ended(event)
            case QuestionAsked(question_id=question_id, question=question):
                self._question_asked(question_id, question)
            case QuestionClosed(question_id=question_id):
                self.dock.close(question_id)
                self._show_activity()
                self.update_esc_target()
            case RetryScheduled(attempt=attempt, attempts=attempts, delay=delay, reason=reason):
                self.status.show_activity(Retrying(attempt, attempts, time.monotonic() + delay, reason))
            case WaitProgress(kind=kind, seconds=seconds, share=share):
                self.status.show_activity(WaitingForServer(kind, time.monotonic() - seconds, share))
            case QueueChanged(items=items):
                self.queue_list.update_queue(items)
                self.prompt.set_queued(len(items))
            case Notice(key=key, params=params, level=level, blocks=blocks):
                self.transcript.add_notice(self.t(key, **params), level=level, blocks=blocks)
            case _:
                self._apply_to_panels(event)

    def _apply_to_panels(self, event: AgentEvent) -> None:
        match event:
            case UsageUpdated():
                self.usage = event
                self.usage_panel.update_usage(event)
                self.status.update_usage(event)
            case BudgetReached():
                self.usage_panel.update_budget(event)
            case ModeChanged(mode=mode):
                self.mode = mode
                self.prompt.set_mode(mode)
            case ModelChanged():
                self._model_changed(event)
            case TitleChanged(title=title):
                self.set_title(title)
            case _:
                pass  # StepFinished, CompactionDone, TodoChanged: nothing of theirs is on this screen

    def _question_asked(self, question_id: str, question: Question) -> None:
        self.question_open_since = time.monotonic()
        self.dock.open(question_id, question)
        self._show_activity()
        self.update_esc_target()
        self.notify_user("needs_you")

    def _model_changed(self, event: ModelChanged) -> None:
        self.model = event.model
        self.header.set_model(event.model if event.provider in ("", event.model) else f"{event.provider}/{event.model}")
        used = 0 if self.usage is None else self.usage.context_used
        self.usage_panel.show_totals(self._totals(), used, event.context_size, assumed=event.context_assumed)

    def _totals(self) -> CostTotals:
        return CostTotals() if self.usage is None else self.usage.totals

    # -- a run ------------------------------------------------------------------------------

    def _run_started(self, event: RunStarted) -> None:
        self.home.bridge.stop_seen()
        if event.prompt is not None:
            self.transcript.add_user(event.prompt.text, origin=event.prompt.origin, shown=event.prompt.shown)
        self.set_running(True)
        self.step = 0
        self.had_run = True
        self.run_began = time.monotonic()
        self.stopping = self.pausing = self.can_resume = False
        self._start_beat()
        self._show_activity()

    def _run_ended(self, event: RunEnded) -> None:
        self.home.bridge.stop_seen()
        self.transcript.flush()
        self.transcript.end_run()
        self.set_running(False)
        self.stopping = self.pausing = False
        self.can_resume = event.reason in ("INTERRUPTED", "PAUSED")
        self.dock.close()
        self._stop_beat()
        for line, level in self.end_lines(event):
            self.transcript.add_notice(line, level=level) if level != "summary" else self.transcript.add_turn_summary(
                line
            )
        self._show_activity()
        self.update_esc_target()
        self.notify_user("done" if event.reason == "ANSWER" else "failed" if event.reason == "ERROR" else "")
        self.after_run()

    def end_lines(self, event: RunEnded) -> Iterator[tuple[str, Any]]:
        """What to say after a run: why it ended when that is not plain, files, time, money."""
        t = self.t
        if event.reason == "INTERRUPTED":
            stop = event.stop
            parts = [t("stopped.title")]
            if event.error == "abandoned":
                parts.append(t("stopped.abandoned"))
            if stop is not None and stop.commands_killed:
                parts.append(t("stopped.killed", n=stop.commands_killed))
            if stop is not None and stop.calls_skipped:
                parts.append(t("stopped.skipped", n=stop.calls_skipped))
            yield f"{' · '.join(parts)}   {t('stopped.resume', key=self.home.keymap.label('pause_resume'))}", "warn"
        elif event.reason == "ERROR":
            yield t("ended.ERROR", error=event.error or ""), "error"
        elif event.reason != "ANSWER":
            yield t(f"ended.{event.reason}", detail=event.error or ""), "warn"
        facts = [format_seconds(event.seconds)]
        if event.files_created:
            facts.insert(0, t("turn.created", n=len(event.files_created)))
        if event.files_changed:
            facts.insert(1 if event.files_created else 0, t("turn.changed", n=len(event.files_changed)))
        if event.cost.state != "free":
            facts.append(format_money(event.cost))
        if event.seconds >= 0.05:
            yield " · ".join(facts), "summary"

    def set_running(self, running: bool) -> None:
        """The state everything else follows: keys, ESC, the prompt's hints."""
        self.running = running
        self.prompt.set_running(running)
        self.update_esc_target()

    def show_stopping(self) -> None:
        """ESC was seen: say so at once; the watchdog makes sure that it is true."""
        if not self.running or self.stopping:
            return
        self.stopping = True
        self.ladder.stopped(time.monotonic())
        self._show_activity()
        self.set_timer(WATCHDOG, self._watch_stop)

    async def _watch_stop(self) -> None:
        if await self.home.bridge.watch_stop():
            self.drain()

    def _show_activity(self) -> None:
        if not self.running:
            self.status.show_activity(Idle())
        elif self.stopping:
            self.status.show_activity(Stopping(self.run_began))
        elif self.dock.is_open:
            self.status.show_activity(WaitingForUser(self.question_open_since))
        else:
            self.status.show_activity(Running(max(self.step, 1), self.run_began, self.pausing))

    # -- the beat ---------------------------------------------------------------------------

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
            self.dock.tick(now)

    def answer(self, question_id: str, answer: Answer) -> None:
        self.home.bridge.answer(question_id, answer)


def _merged(found: Sequence[FromAgent]) -> Iterator[FromAgent]:
    """The same events with neighbouring text of one reply, and output of one call, joined."""
    held: TextDelta | ThinkingDelta | ToolOutput | None = None
    pieces: list[str] = []
    for event in found:
        if isinstance(event, (TextDelta, ThinkingDelta, ToolOutput)):
            if (
                held is not None
                and type(held) is type(event)
                and held.model_call_id == event.model_call_id
                and held.tool_call_id == event.tool_call_id
                and held.run_id == event.run_id
            ):
                pieces.append(event.text)
                continue
            if held is not None:
                yield _joined(held, pieces)
            held, pieces = event, [event.text]
            continue
        if held is not None:
            yield _joined(held, pieces)
            held = None
        yield event
    if held is not None:
        yield _joined(held, pieces)


def _joined(event: TextDelta | ThinkingDelta | ToolOutput, pieces: list[str]) -> FromAgent:
    if len(pieces) == 1:
        return event
    return type(event)(
        text="".join(pieces),
        session_id=event.session_id,
        run_id=event.run_id,
        parent_run_id=event.parent_run_id,
        parent_call_id=event.parent_call_id,
        step=event.step,
        model_call_id=event.model_call_id,
        tool_call_id=event.tool_call_id,
        seq=event.seq,
    )


def _short(path: Path) -> str:
    """`~/src/shop` for a folder under HOME."""
    try:
        inside = path.relative_to(Path.home())
    except ValueError:
        return str(path)
    return "~" if str(inside) == "." else f"~/{inside}"
