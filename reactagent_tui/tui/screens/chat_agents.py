"""Agents and pipelines on the chat screen: events to the boards, rows, tree and status line from them, their views.

An event of an agent that nobody looks at is only folded. What is on the screen follows at the end of a batch when
something happened that is no delta, else a few times a second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from reactagent_tui.core.events import (
    AgentEvent,
    AgentFinished,
    AgentStarted,
    BudgetChanged,
    BudgetReached,
    PipelineFinished,
    PipelineStarted,
    PipelineStepFinished,
    PipelineStepStarted,
    QuestionAsked,
    QuestionClosed,
    SessionChanged,
    TodayChanged,
    UsageUpdated,
)
from reactagent_tui.core.messages import Message
from reactagent_tui.tui.boards.agents import AgentBoard, AgentRun
from reactagent_tui.tui.boards.pipelines import PipelineBoard, PipelineRun
from reactagent_tui.tui.boards.tree_rows import tree_rows
from reactagent_tui.tui.boards.wording import Note, agent_note, pipeline_note
from reactagent_tui.tui.bridge import FromAgent

if TYPE_CHECKING:
    from reactagent_tui.tui.screens.agent_view import AgentPorts
    from reactagent_tui.tui.screens.chat import ChatScreen
    from reactagent_tui.tui.widgets.agent_tree import TreeRow

Watcher = Callable[[AgentEvent], None]
_PIPELINE = (PipelineStarted, PipelineStepStarted, PipelineStepFinished, PipelineFinished)
_OF_THE_SCREEN = (QuestionAsked, QuestionClosed, BudgetReached, BudgetChanged, TodayChanged)
"""Of an agent, and still for everybody."""


class Boards:
    """What is known of the agents and pipelines, and what of it is not on the screen yet."""

    def __init__(self, chat: ChatScreen, clock: Callable[[], float] = time.monotonic) -> None:
        self.agents = AgentBoard()
        self.pipelines = PipelineBoard()
        self.watchers: dict[str, Watcher] = {}
        """Open views, by run: they get the events as they come."""
        self.clock = clock
        self._chat = chat
        self._stale: set[str] = set()
        """Calls whose rows read otherwise now."""
        self._news = False

    def take_agent(self, event: AgentEvent) -> None:
        """An event of an agent."""
        run = self.agents.fold(event, self.clock())
        if run is None:
            return
        self.pipelines.agent_changed(run)
        if run.parent_call_id is not None:
            self._stale.add(run.parent_call_id)
        self._news = self._news or not event.is_quiet
        watcher = self.watchers.get(run.run_id)
        if watcher is not None:
            watcher(event)

    def take_pipeline(self, event: Any) -> None:
        """An event of a pipeline."""
        self._stale.add(self.pipelines.fold(event, self.clock()).call_id)
        self._news = True

    def show_news(self) -> None:
        """After a batch: at once when it held more than deltas."""
        if self._news:
            self.refresh()

    def tick(self, _now: float) -> None:
        """Times and figures that move."""
        if self._stale or self.agents.running(self._chat.session_id) or self._chat.agent_tree.display:
            self.refresh()

    def refresh(self) -> None:
        """Bring rows, tree and status line up to date."""
        chat, now = self._chat, self.clock()
        self._news = False
        for call_id in self._stale:
            note = self.note(call_id, now)
            if any(note):
                chat.transcript.set_note(call_id, note)
        self._stale.clear()
        chat.transcript.flush()
        chat.agent_tree.update_rows(tree_rows(self.agents, self.pipelines, chat.session_id, now))
        chat.status.show_agents(self.agents.running(chat.session_id))
        chat.update_esc_target()

    def note(self, call_id: str, now: float) -> Note:
        """The line under the row of a call; empty when it runs no agent and no pipeline."""
        pipeline = self.pipelines.runs.get(call_id)
        if pipeline is not None:
            return pipeline_note(pipeline, now, self._chat.t)
        run = self.agents.called_by(call_id)
        return ("", "") if run is None else agent_note(run, now, self._chat.t)

    def turn_began(self) -> None:
        self.agents.new_turn(self._chat.session_id)
        self.pipelines.new_turn(self._chat.session_id)
        self.refresh()

    def run_ended(self) -> None:
        """No agent outlives the run; one that was left behind by a forced stop is stopped too."""
        now, session_id = self.clock(), self._chat.session_id
        ended = self.agents.end_session_run(session_id, now)
        self._stale |= {run.parent_call_id for run in ended if run.parent_call_id}
        self._stale |= {run.call_id for run in self.pipelines.end_session_run(session_id, now)}
        self.refresh()

    def session_shown(self) -> None:
        """Another session is on the screen: its rows get their lines back."""
        session_id = self._chat.session_id
        runs = self.agents.of_session(session_id)
        self._stale = {run.parent_call_id for run in runs if run.parent_call_id}
        self._stale |= {run.call_id for run in self.pipelines.of_session(session_id)}
        self.refresh()


def boards(chat: ChatScreen) -> Boards:
    """The boards of a chat, made when first needed."""
    if chat.boards is None:
        chat.boards = Boards(chat)
    return chat.boards


def take(chat: ChatScreen, event: FromAgent) -> bool:
    """Take an event that belongs to an agent or a pipeline; False leaves it to the screen."""
    if isinstance(event, _PIPELINE):
        boards(chat).take_pipeline(event)
        return True
    if isinstance(event, (tuple, *_OF_THE_SCREEN)):
        return False
    if event.parent_run_id is None and not isinstance(event, AgentStarted | AgentFinished):
        return False
    boards(chat).take_agent(event)
    if isinstance(event, UsageUpdated) and event.session_id in ("", chat.session_id):
        _money_moved(chat, event)
    return True


def _money_moved(chat: ChatScreen, event: UsageUpdated) -> None:
    """What an agent spends is part of the session's sums; the window shown stays that of the conversation."""
    shown = chat.usage
    if shown is None or event.totals.session_usage.total < shown.totals.session_usage.total:
        return
    chat.usage = replace(shown, totals=event.totals)
    chat.usage_panel.update_usage(chat.usage)
    chat.status.update_usage(chat.usage)


def show_changes(chat: ChatScreen) -> None:
    """After a batch of events."""
    if chat.boards is not None:
        chat.boards.show_news()


def turn_began(chat: ChatScreen) -> None:
    if chat.boards is not None:
        chat.boards.turn_began()


def run_ended(chat: ChatScreen) -> None:
    if chat.boards is not None:
        chat.boards.run_ended()


def session_shown(chat: ChatScreen, event: SessionChanged) -> None:
    """A session came onto the screen: agents of this program are known, earlier ones have files."""
    if chat.boards is not None:
        chat.boards.session_shown()
    calls = {call.id for message in event.messages for call in getattr(message, "tool_calls", ())}
    if calls:
        chat.run_worker(partial(_find_earlier, chat, event.session_id, calls), exit_on_error=False)


async def _find_earlier(chat: ChatScreen, session_id: str, calls: set[str]) -> None:
    from reactagent_tui.core.sessions.agent_files import list_agents

    folder = await _folder(chat, session_id)
    found = [] if folder is None else await asyncio.to_thread(list_agents, folder)
    if not found or session_id != chat.session_id:
        return
    board = boards(chat)
    known = board.agents.runs
    for file in found:
        if file.run_id not in known:
            run = AgentRun(file.run_id, session_id, file.name or file.run_id[-8:], board.clock(), task=file.task)
            run.parent_run_id, run.parent_call_id = file.parent_run_id, file.parent_call_id
            run.state, run.seconds, run.earlier = "done", 0.0, True
            known[run.run_id] = run
            board.agents.hidden.add(run.run_id)
    board.session_shown()


async def _folder(chat: ChatScreen, session_id: str) -> Any:
    async def find(agent: Any) -> Any:
        return agent.session.file.folder if agent.session.id == session_id else None

    return await chat.home.bridge.query(find)


# -- views ------------------------------------------------------------------------------------


def ports(chat: ChatScreen) -> AgentPorts:
    """What the views of agents and pipelines need of the chat."""
    from reactagent_tui.tui.screens.agent_view import AgentPorts

    board = boards(chat)

    async def load(run: AgentRun) -> Sequence[Message]:
        from reactagent_tui.core.sessions.agent_files import read_agent

        folder = await _folder(chat, run.session_id)
        return () if folder is None else await asyncio.to_thread(read_agent, folder, run.run_id)

    def asks() -> bool:
        return chat.dock.is_open

    return AgentPorts(
        t=chat.t,
        keymap=chat.home.keymap,
        clock=board.clock,
        verbosity=chat.transcript.verbosity,
        watchers=board.watchers,
        note=board.note,
        find_agent=lambda key: board.agents.runs.get(key) or board.agents.called_by(key),
        load=load,
        stop=chat.home.bridge.stop_agent,
        asks=asks,
    )


def open_row(chat: ChatScreen, row: TreeRow) -> None:
    """The agent or pipeline of a row of the tree."""
    board = boards(chat)
    if row.agent and row.id in board.agents.runs:
        open_agent(chat, board.agents.runs[row.id])
    elif row.id in board.pipelines.runs:
        open_pipeline(chat, board.pipelines.runs[row.id])


def open_view(chat: ChatScreen, call_id: str) -> bool:
    """The view of what a tool call runs or ran; False when it has none."""
    if chat.boards is None:
        return False
    pipeline = chat.boards.pipelines.runs.get(call_id)
    run = chat.boards.agents.called_by(call_id)
    if pipeline is not None:
        open_pipeline(chat, pipeline)
    elif run is not None:
        open_agent(chat, run)
    else:
        return False
    return True


def open_agent(chat: ChatScreen, run: AgentRun) -> None:
    """An agent's own transcript."""
    from reactagent_tui.tui.screens.agent_view import AgentScreen

    chat.app.push_screen(AgentScreen(run, ports(chat)))


def open_pipeline(chat: ChatScreen, run: PipelineRun) -> None:
    """The steps of a pipeline."""
    from reactagent_tui.tui.screens.pipeline import PipelineScreen
    from reactagent_tui.tui.screens.pipeline_rerun import rerun

    chat.app.push_screen(PipelineScreen(run, ports(chat), partial(rerun, chat)))


def open_agents(chat: ChatScreen) -> None:
    """All agents and pipelines of this session."""
    from reactagent_tui.tui.screens.agents import AgentsScreen

    board = boards(chat)

    def look() -> tuple[Sequence[AgentRun], Sequence[PipelineRun]]:
        return board.agents.of_session(chat.session_id), board.pipelines.of_session(chat.session_id)

    chat.app.push_screen(AgentsScreen(ports(chat), look, lambda found: _open_found(chat, found)))


def _open_found(chat: ChatScreen, found: AgentRun | PipelineRun) -> None:
    if isinstance(found, AgentRun):
        open_agent(chat, found)
    else:
        open_pipeline(chat, found)
