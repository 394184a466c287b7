"""The views of agents and pipelines over the story, on a fixed clock, without a chat behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reactagent_tui.core.events import (
    AgentEvent,
    AgentFinished,
    AgentStarted,
    PipelineFinished,
    PipelineStarted,
    PipelineStepFinished,
    PipelineStepStarted,
)
from reactagent_tui.core.messages import Message
from reactagent_tui.locales import Translator
from reactagent_tui.tui.boards.agents import AgentBoard, AgentRun
from reactagent_tui.tui.boards.pipelines import PipelineBoard, PipelineRun
from reactagent_tui.tui.boards.tree_rows import tree_rows
from reactagent_tui.tui.boards.wording import agent_note
from reactagent_tui.tui.keymap import build_keymap
from reactagent_tui.tui.screens.agent_view import AgentPorts
from reactagent_tui.tui.screens.agents import AgentsScreen
from reactagent_tui.tui.screens.pipeline import PipelineScreen
from reactagent_tui.tui.widgets.agent_tree import AgentTree
from tests.fakes.agent_story import Story
from tests.fakes.panel_gallery import Clock, Gallery


class Told:
    """Boards that took events, at one every tenth of a second, and what the views ask of them."""

    def __init__(self, events: Iterable[AgentEvent] = (), language: str = "en") -> None:
        self.clock = Clock()
        self.agents = AgentBoard()
        self.pipelines = PipelineBoard()
        self.stopped: list[str] = []
        self.reruns: list[tuple[str, int]] = []
        self.opened: list[AgentRun | PipelineRun] = []
        self.stored: Sequence[Message] = ()
        self.asking = False
        self.t = Translator(language)
        self.ports = AgentPorts(
            t=self.t,
            keymap=build_keymap()[0],
            clock=self.clock,
            verbosity="normal",
            watchers={},
            note=self._note,
            find_agent=lambda key: self.agents.runs.get(key) or self.agents.called_by(key),
            load=self._load,
            stop=self.stopped.append,
            asks=lambda: self.asking,
        )
        self.take(*events)

    def take(self, *events: AgentEvent) -> None:
        for event in events:
            self.clock.now += 0.1
            if isinstance(event, PipelineStarted | PipelineStepStarted | PipelineStepFinished | PipelineFinished):
                self.pipelines.fold(event, self.clock.now)
            elif event.parent_run_id is not None or isinstance(event, AgentStarted | AgentFinished):
                run = self.agents.fold(event, self.clock.now)
                assert run is not None
                self.pipelines.agent_changed(run)
                if run.run_id in self.ports.watchers:
                    self.ports.watchers[run.run_id](event)

    def tree(self) -> AgentTree:
        """A tree with the rows of now."""
        tree = AgentTree(self.t)
        tree.update_rows(tree_rows(self.agents, self.pipelines, "", self.clock.now))
        return tree

    @property
    def pipeline(self) -> PipelineRun:
        return next(iter(self.pipelines.runs.values()))

    def pipeline_screen(self) -> PipelineScreen:
        return PipelineScreen(self.pipeline, self.ports, lambda folder, index: self.reruns.append((folder, index)))

    def agents_screen(self) -> AgentsScreen:
        return AgentsScreen(
            self.ports, lambda: (self.agents.of_session(""), self.pipelines.of_session("")), self.opened.append
        )

    def _note(self, call_id: str, now: float) -> tuple[str, str]:
        run = self.agents.called_by(call_id)
        return ("", "") if run is None else agent_note(run, now, self.t)

    async def _load(self, run: AgentRun) -> Sequence[Message]:
        return self.stored


def busy(language: str = "en") -> Told:
    """The story in its middle."""
    return Told(Story().busy(), language)


async def show_tree(app: Gallery, told: Told) -> AgentTree:
    """The tree where the chat has it."""
    tree = told.tree()
    await app.query_one("#sidebar").mount(tree, before=app.tools)
    return tree
