"""The agents and pipelines of this session: a list with a filter, beside it what the chosen one does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from textual import events

from reactagent_tui.core.display import DisplayBlock, MarkdownBlock, TextBlock
from reactagent_tui.core.money import format_tokens
from reactagent_tui.tui.boards.agents import AgentRun
from reactagent_tui.tui.boards.pipelines import PipelineRun
from reactagent_tui.tui.boards.wording import (
    AGENT_GLYPHS,
    STEP_GLYPHS,
    agent_figures,
    agent_title,
    clock,
    money,
    outcome,
    outcome_glyph,
    pipeline_figures,
)
from reactagent_tui.tui.screens.agent_view import AgentPorts
from reactagent_tui.tui.screens.picker import NARROW, PickerItem, PickerKey, PickerScreen, matching
from reactagent_tui.tui.widgets.line_layout import pad_left

REFRESH = 0.5
"""Seconds between two looks while this screen is open."""
_NEWEST_TEXT = 4000
Look = Callable[[], tuple[Sequence[AgentRun], Sequence[PipelineRun]]]


class AgentsScreen(PickerScreen):
    """Enter opens one on top of the list, Delete stops the one under the cursor, ESC goes back."""

    choose_hint = "agents.key_open"

    def __init__(self, ports: AgentPorts, look: Look, open_one: Callable[[AgentRun | PipelineRun], None]) -> None:
        self._ports = ports
        self._look = look
        self._open_one = open_one
        self._runs: dict[str, AgentRun | PipelineRun] = {}
        t = ports.t
        stop = PickerKey("delete", "stop", t("agents.key_delete"), stays=True)
        super().__init__(
            t,
            t("agents.heading"),
            (),
            preview=lambda item: self._about(self._runs[item.id]),
            keys=(stop,),
            empty=t("agents.none"),
        )

    def on_mount(self) -> None:
        self._refresh()
        super().on_mount()
        self.set_interval(REFRESH, self._refresh)

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self._refresh()

    def _refresh(self) -> None:
        before = self._shown.item
        self._all = self._items()
        self._shown.items = matching(self._all, self._filter.text)
        ids = [item.id for item in self._shown.items]
        last = max(len(ids) - 1, 0)
        same = before is not None and before.id in ids
        self._shown.cursor = ids.index(before.id) if same and before else min(self._shown.cursor, last)
        self.preview_changed()

    def _choose(self, action: str) -> None:
        item = self._shown.item
        if item is not None and action == "choose":
            self._open_one(self._runs[item.id])

    def on_picker_screen_action_pressed(self, message: PickerScreen.ActionPressed) -> None:
        run = self._runs.get(message.item_id)
        if isinstance(run, AgentRun) and run.is_running:
            self._ports.stop(run.run_id)

    def _items(self) -> list[PickerItem]:
        t, now = self._ports.t, self._ports.clock()
        agents, pipelines = self._look()
        found: list[AgentRun | PipelineRun] = [*reversed(pipelines), *reversed(agents)]
        self._runs = {_key(run): run for run in found}
        figures = {key: _figures(run, now) for key, run in self._runs.items()}
        widths = [max((cell_len(row[n]) for row in figures.values()), default=0) for n in range(4)]
        shown = self.size.width if self.size.width < NARROW else 2 * self.size.width // 5
        for n in (0, 2, 1):  # where it is narrow the step goes first, then the tokens, then the time
            if sum(width + 1 for width in widths if width) > shown // 2:
                widths[n] = 0
        return [
            PickerItem(
                key,
                _label(run),
                " ".join(pad_left(cell, width) for cell, width in zip(figures[key], widths, strict=True) if width),
                t(group),
                run.task if isinstance(run, AgentRun) else run.query,
            )
            for group, wanted in (("agents.running", True), ("agents.finished", False))
            for key, run in self._runs.items()
            if run.is_running is wanted
        ]

    def _about(self, run: AgentRun | PipelineRun) -> Sequence[DisplayBlock]:
        return _about_agent(run, self._ports) if isinstance(run, AgentRun) else _about_pipeline(run, self._ports)


def _key(run: AgentRun | PipelineRun) -> str:
    return f"a:{run.run_id}" if isinstance(run, AgentRun) else f"p:{run.call_id}"


def _label(run: AgentRun | PipelineRun) -> str:
    if isinstance(run, AgentRun):
        return f"{AGENT_GLYPHS[run.state][0]} {agent_title(run)}"
    return f"{outcome_glyph(run)[0]} {run.pipeline}"


def _figures(run: AgentRun | PipelineRun, now: float) -> tuple[str, str, str, str]:
    """Step, time, tokens, money."""
    step = run.step if isinstance(run, AgentRun) else len(run.steps)
    time = "" if isinstance(run, AgentRun) and run.earlier else clock(run.elapsed(now))
    tokens = run.usage.total
    return f"#{step}" if step else "", time, format_tokens(tokens) if tokens else "", money(run.cost)


def _about_agent(run: AgentRun, ports: AgentPorts) -> list[DisplayBlock]:
    t = ports.t
    state = t(f"agents.state.{run.state}")
    blocks: list[DisplayBlock] = [
        TextBlock(agent_title(run), "bold"),
        TextBlock(" · ".join([state, *agent_figures(run, ports.clock(), t)]), "dim"),
    ]
    if run.model:
        blocks.append(TextBlock(run.model, "dim"))
    blocks += [TextBlock(""), TextBlock(run.task)]
    if run.is_running and run.doing:
        blocks += [TextBlock(""), TextBlock(run.doing, "dim")]
    if not run.is_running and run.summary:
        blocks += [TextBlock(""), TextBlock(run.summary, "bold")]
    if run.output_file:
        blocks.append(TextBlock(t("agents.wrote", path=run.output_file), "dim"))
    newest = run.log.newest_text()[-_NEWEST_TEXT:]
    if newest.strip():
        blocks += [TextBlock(""), MarkdownBlock(newest)]
    return blocks


def _about_pipeline(run: PipelineRun, ports: AgentPorts) -> list[DisplayBlock]:
    t = ports.t
    blocks: list[DisplayBlock] = [
        TextBlock(run.pipeline, "bold"),
        TextBlock(" · ".join([outcome(run, t), *pipeline_figures(run, ports.clock(), t)]), "dim"),
        TextBlock(""),
        TextBlock(run.query),
        TextBlock(run.run_dir, "dim"),
        TextBlock(""),
    ]
    blocks += [TextBlock(f"{STEP_GLYPHS[s.status][0]} {s.index:>2}  {s.title}") for s in run.ordered()]
    return blocks
