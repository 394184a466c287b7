"""One agent's conversation on a screen of its own: the same transcript, live while it runs; ESC goes back."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen

from reactagent_tui.core.display import DisplayBlock, TextBlock, clean_line
from reactagent_tui.core.events import AgentEvent
from reactagent_tui.core.messages import Message, ToolResult
from reactagent_tui.locales import Translate
from reactagent_tui.tui.boards.agents import AgentRun
from reactagent_tui.tui.boards.wording import AGENT_GLYPHS, Note, agent_figures, agent_title
from reactagent_tui.tui.keymap import Keymap
from reactagent_tui.tui.screens.transcript_events import add_agent_event, show_log
from reactagent_tui.tui.transcript.widget import Transcript
from reactagent_tui.tui.widgets.filter_head import Lines
from reactagent_tui.tui.widgets.line_layout import Part, cut, join_parts, spread
from reactagent_tui.tui.widgets.new_below import NewBelow
from reactagent_tui.tui.widgets.search_bar import SearchBar

FRAME = 1 / 16
"""Seconds between two batches on the screen."""
TICK = 0.25


@dataclass(frozen=True, slots=True)
class AgentPorts:
    """What the views of agents and pipelines may do besides showing."""

    t: Translate
    keymap: Keymap
    clock: Callable[[], float]
    verbosity: str
    watchers: dict[str, Callable[[AgentEvent], None]]
    """By run: who gets the events of an agent as they come."""
    note: Callable[[str, float], Note]
    """The line under the row of a call that runs an agent or a pipeline."""
    find_agent: Callable[[str], AgentRun | None]
    """By run id or by the call that started it."""
    load: Callable[[AgentRun], Awaitable[Sequence[Message]]]
    """What its file holds, for what is in memory no more."""
    stop: Callable[[str], None]
    asks: Callable[[], bool]
    """Whether a question waits on the conversation's screen."""


def keys_line(t: Translate, asks: bool, keys: Sequence[tuple[str, int]], width: int) -> Content:
    """The line of keys; a question that waits elsewhere comes first."""
    parts = [Part(Content.styled(t("agents.asks"), "$warning"), 20)] if asks else []
    parts += [Part(Content.styled(t(key), "$text-muted"), keep) for key, keep in keys]
    return Content.assemble(" ", join_parts(parts, width - 2, "   "))


class AgentScreen(Screen[None]):
    """Keys are those of the conversation; x stops this agent."""

    DEFAULT_CSS = """
    AgentScreen { background: $background; color: $foreground; layout: vertical; }
    AgentScreen #agent-head { height: 2; }
    AgentScreen #agent-main { height: 1fr; margin: 1 0 0 0; }
    AgentScreen #agent-transcript { height: 1fr; min-height: 1; }
    AgentScreen #agent-keys { height: 1; }
    """

    def __init__(self, run: AgentRun, ports: AgentPorts) -> None:
        super().__init__()
        self.run = run
        self._ports = ports
        self._next_tick = 0.0
        self._flush_cost = 0.0
        self._skip_until = 0.0

    def compose(self) -> ComposeResult:
        t = self._ports.t
        self.transcript = Transcript(t, id="agent-transcript")
        self.below = NewBelow(t)
        self.search_bar = SearchBar(t)
        yield Lines(self._paint_head, id="agent-head")
        yield Vertical(self.transcript, self.below, self.search_bar, id="agent-main")
        yield Lines(self._paint_keys, id="agent-keys")

    def on_mount(self) -> None:
        verbosity = self._ports.verbosity
        if verbosity in ("compact", "normal", "verbose"):
            self.transcript.set_verbosity(verbosity)
        show_log(self.transcript, self.run.log)
        self._notes()
        self._ports.watchers[self.run.run_id] = self._take
        self.set_interval(FRAME, self._beat)
        self.transcript.focus()
        if self.run.earlier or (self.run.log.cut and not self.run.is_running):
            self.run_worker(self._load, exit_on_error=False)

    def on_unmount(self) -> None:
        if self._ports.watchers.get(self.run.run_id) == self._take:
            del self._ports.watchers[self.run.run_id]

    async def _load(self) -> None:
        messages = await self._ports.load(self.run)
        if messages:
            self.transcript.load(messages)
            self._notes()
            self.transcript.flush()

    def _take(self, event: AgentEvent) -> None:
        """An event of this agent: to the transcript, drawn with the next frame."""
        add_agent_event(self.transcript, event, self._ports.t)

    def _beat(self) -> None:
        now = time.monotonic()
        if now < self._skip_until:
            return
        self.transcript.flush()
        cost = time.monotonic() - now
        self._flush_cost = 0.8 * self._flush_cost + 0.2 * cost
        if 4 * self._flush_cost > FRAME:
            self._skip_until = now + 4 * self._flush_cost
        if now >= self._next_tick:
            self._next_tick = now + TICK
            if self.run.is_running:
                self._notes()
                self.transcript.tick(now)
            for lines in self.query(Lines):
                lines.repaint()

    def _notes(self) -> None:
        """Rows of agents that this one started."""
        results = [message.call_id for message in self.run.log.messages if isinstance(message, ToolResult)]
        for call_id in (*results, *self.run.log.running):
            note = self._ports.note(call_id, self._ports.clock())
            if any(note):
                self.transcript.set_note(call_id, note)

    def _paint_head(self, width: int, height: int) -> Sequence[Content]:
        run, t = self.run, self._ports.t
        glyph, style = AGENT_GLYPHS[run.state]
        figures = " · ".join(agent_figures(run, self._ports.clock(), t))
        model = f"  {clean_line(run.model)}" if run.model else ""
        left = Content.assemble((f" {glyph} ", style), (agent_title(run), "bold"), (model, "$text-muted"))
        words = t("agents.state.waiting") if run.state == "waiting" else clean_line(run.doing or run.task)
        if run.earlier:
            words = clean_line(run.task)
        elif not run.is_running:
            said = run.state == "done" and run.summary  # its own words say that it is done
            words = ": ".join(filter(None, ["" if said else t(f"agents.state.{run.state}"), clean_line(run.summary)]))
        return [
            Content.assemble(spread(left, Content.styled(figures, "$text-muted"), width - 1, gap=2), " "),
            Content.styled(f"   {cut(words, width - 4)}", "$text-muted"),
        ]

    def _paint_keys(self, width: int, height: int) -> Sequence[Content]:
        keys = [("agents.key_scroll", 3), ("agents.key_block", 2), ("agents.key_search", 1)]
        if self.run.is_running:
            keys.append(("agents.key_stop", 5))
        keys.append(("picker.key_back", 9))
        return [keys_line(self._ports.t, self._ports.asks(), keys, width)]

    # -- keys -------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        keymap = self._ports.keymap
        if event.key == "escape":
            self.dismiss(None)
        elif event.key == "x":
            if self.run.is_running:
                self._ports.stop(self.run.run_id)
        else:
            action = keymap.action("transcript", event.key) or keymap.action("screen", event.key)
            move = self._moves().get(action or "")
            if move is None:
                return
            move()
        event.stop()
        event.prevent_default()

    def _moves(self) -> dict[str, Callable[[], object]]:
        view = self.transcript
        return {
            "open": view.toggle_item,
            "scroll_up": lambda: view.scroll_rows(-1),
            "scroll_down": lambda: view.scroll_rows(1),
            "scroll_home": view.to_top,
            "scroll_top": view.to_top,
            "scroll_bottom": view.to_end,
            "scroll_end": view.to_end,
            "page_up": view.page_up,
            "page_down": view.page_down,
            "block_up": view.cursor_up,
            "block_down": view.cursor_down,
            "search": self.search_bar.open,
            "thinking": view.toggle_thinking,
            "verbosity": view.cycle_verbosity,
            "copy": lambda: self.app.copy_to_clipboard(view.copy_text_of_cursor() or view.last_answer()),
        }

    @on(Transcript.OpenDetail)
    def _open_detail(self, message: Transcript.OpenDetail) -> None:
        from reactagent_tui.tui.screens.detail import DetailScreen

        message.stop()
        inner = self._ports.find_agent(message.call_id)
        if inner is not None:
            self.app.push_screen(AgentScreen(inner, self._ports))
            return
        found = [m for m in self.run.log.messages if isinstance(m, ToolResult) and m.call_id == message.call_id]
        if found:
            blocks: Sequence[DisplayBlock] = found[-1].blocks or (TextBlock(found[-1].text),)
            self.app.push_screen(DetailScreen(self._ports.t, found[-1].name, blocks))

    @on(Transcript.FollowChanged)
    def _follow_changed(self, message: Transcript.FollowChanged) -> None:
        self.below.update(message.following, message.unseen_lines)

    @on(NewBelow.Wanted)
    def _to_end(self) -> None:
        self.transcript.to_end()

    @on(SearchBar.Changed)
    def _search(self, message: SearchBar.Changed) -> None:
        self.search_bar.show_count(self.transcript.search(message.text))

    @on(SearchBar.Step)
    def _search_step(self, message: SearchBar.Step) -> None:
        if message.step > 0:
            self.transcript.search_next()
        else:
            self.transcript.search_previous()

    @on(SearchBar.Toggled)
    def _search_toggled(self, message: SearchBar.Toggled) -> None:
        if not message.is_open:
            self.transcript.end_search()
            self.transcript.focus()
