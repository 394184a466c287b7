"""The steps of a pipeline: a list with figures, beside it what the chosen step made; r runs it again from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen

from reactagent_tui.core.display import DisplayBlock, MarkdownBlock, OutputBlock, TextBlock, clean_line
from reactagent_tui.core.money import format_tokens
from reactagent_tui.tui.boards.pipelines import PipelineRun, PipelineStep, price_from
from reactagent_tui.tui.boards.wording import (
    STEP_GLYPHS,
    agent_figures,
    agent_title,
    clock,
    money,
    outcome,
    outcome_glyph,
    pipeline_figures,
)
from reactagent_tui.tui.presenter import format_money, format_seconds
from reactagent_tui.tui.screens.agent_view import AgentPorts, AgentScreen, keys_line
from reactagent_tui.tui.widgets.block_lines import block_lines
from reactagent_tui.tui.widgets.filter_head import Lines
from reactagent_tui.tui.widgets.line_layout import cut, cut_left, pad, pad_left, spread

REFRESH = 0.25
WIDE = 100
"""Columns from which the preview is beside the list, not under it."""
_NEWEST_TEXT = 4000
Rerun = Callable[[str, int], None]
"""Runs the pipeline of a folder again from a step on."""


class PipelineScreen(Screen[None]):
    """Arrows choose, Enter opens the step's agent, r asks whether to run again from here, ESC goes back."""

    DEFAULT_CSS = """
    PipelineScreen { background: $background; color: $foreground; layout: vertical; }
    PipelineScreen #pipeline-head { height: 3; }
    PipelineScreen #pipeline-body { height: 1fr; layout: horizontal; margin: 1 0 0 0; }
    PipelineScreen #pipeline-list { width: 3fr; height: 1fr; }
    PipelineScreen #pipeline-preview { width: 2fr; height: 1fr; border-left: solid $border-blurred; }
    PipelineScreen.-narrow #pipeline-body { layout: vertical; }
    PipelineScreen.-narrow #pipeline-list { width: 1fr; }
    PipelineScreen.-narrow #pipeline-preview { width: 1fr; border-left: none; border-top: solid $border-blurred; }
    PipelineScreen #pipeline-keys { height: 1; }
    """

    def __init__(self, run: PipelineRun, ports: AgentPorts, rerun: Rerun) -> None:
        super().__init__()
        self.run = run
        self._ports = ports
        self._rerun = rerun
        self._chosen: int | None = None
        """The step under the cursor; None: the newest, as it moves on."""
        self._asking = False
        """The price of running again is on the last line and waits for a yes."""
        self._top = 0
        self._down = 0
        """Lines the preview is scrolled."""

    def compose(self) -> ComposeResult:
        yield Lines(self._paint_head, id="pipeline-head")
        with Container(id="pipeline-body"):
            yield Lines(self._paint_list, id="pipeline-list")
            yield Lines(self._paint_preview, id="pipeline-preview")
        yield Lines(self._paint_keys, id="pipeline-keys")

    def on_mount(self) -> None:
        self.set_interval(REFRESH, self._repaint)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < WIDE, "-narrow")

    @property
    def step(self) -> PipelineStep | None:
        """The step under the cursor."""
        return self.run.current if self._chosen is None else self.run.steps.get(self._chosen)

    @property
    def is_asking(self) -> bool:
        return self._asking

    def on_key(self, event: events.Key) -> None:
        if self._asking:
            self._answer(event.key)
        elif event.key in ("escape", "q"):
            self.dismiss(None)
        elif not self._act(event.key):
            return
        event.stop()
        event.prevent_default()
        self._repaint()

    def _act(self, key: str) -> bool:
        match key:
            case "enter":
                self._open_agent()
            case "r":
                self._asking = self._can_rerun
            case "up" | "k":
                self._move(-1)
            case "down" | "j":
                self._move(1)
            case "home" | "end":
                self._move(-10_000 if key == "home" else 10_000)
            case "pageup" | "pagedown":
                self._down = max(self._down + (-10 if key == "pageup" else 10), 0)
            case _:
                return False
        return True

    def _answer(self, key: str) -> None:
        step = self.step
        self._asking = False
        if key in ("enter", "y") and step is not None and self._can_rerun:
            self._rerun(self.run.run_dir, step.index)
            self.dismiss(None)

    @property
    def _can_rerun(self) -> bool:
        return not self.run.is_running and bool(self.run.run_dir) and self.step is not None

    def _move(self, by: int) -> None:
        indexes = [step.index for step in self.run.ordered()]
        if not indexes:
            return
        step = self.step
        at = indexes.index(step.index) if step is not None and step.index in indexes else 0
        at = min(max(at + by, 0), len(indexes) - 1)
        self._chosen = None if at == len(indexes) - 1 and self.run.is_running else indexes[at]
        self._down = 0

    def _open_agent(self) -> None:
        step = self.step
        run = self._ports.find_agent(step.run) if step is not None and step.run else None
        if run is not None:
            self.app.push_screen(AgentScreen(run, self._ports))

    def on_click(self, event: events.Click) -> None:
        if event.widget is None or event.widget.id != "pipeline-list":
            return
        steps = self.run.ordered()
        index = event.y - 1 + self._top
        if event.y >= 1 and index < len(steps):
            self._chosen, self._down = steps[index].index, 0
            if event.chain == 2:
                self._open_agent()
            self._repaint()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, 1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -1)

    def _wheel(self, event: events.MouseEvent, by: int) -> None:
        if event.widget is not None and event.widget.id == "pipeline-list":
            self._move(by)
        else:
            self._down = max(self._down + 3 * by, 0)
        event.stop()
        self._repaint()

    def _repaint(self) -> None:
        if self.is_mounted:
            for lines in self.query(Lines):
                lines.repaint()

    # -- painting ---------------------------------------------------------------------------

    def _paint_head(self, width: int, height: int) -> Sequence[Content]:
        run, t = self.run, self._ports.t
        glyph, style = outcome_glyph(run)
        figures = " · ".join(pipeline_figures(run, self._ports.clock(), t))
        resumed = f"  {t('pipeline.was_resumed')}" if run.resumed else ""
        name = Content.assemble((f" {glyph} ", style), (clean_line(run.pipeline), "bold"), (resumed, "$text-muted"))
        words = outcome(run, t)
        if run.detail:
            words = f"{words}: {clean_line(run.detail)}"
        room = width - 4 - min(cell_len(words), 2 * width // 3) - 2
        place = Content.styled(cut_left(clean_line(run.run_dir), room) if room >= 12 else "", "$text-muted")
        said = Content.styled(words, "" if run.is_running else style)
        return [
            Content.assemble(spread(name, Content.styled(figures, "$text-muted"), width - 1, gap=2), " "),
            Content.assemble("   ", cut(clean_line(run.query), width - 4)),
            Content.assemble("   ", spread(said, place, width - 4, gap=2)),
        ]

    def _paint_list(self, width: int, height: int) -> Sequence[Content]:
        steps, t, now = self.run.ordered(), self._ports.t, self._ports.clock()
        if not steps:
            return [Content.styled(f"   {t('pipeline.no_steps')}", "$text-muted")]
        chosen = self.step
        at = next((n for n, step in enumerate(steps) if step is chosen), len(steps) - 1)
        place = max(height - 1, 1)
        self._top = max(min(max(self._top, at - place + 1), at, len(steps) - place), 0)
        cells = [_figures(step, now) for step in steps]
        heads = ("", t("pipeline.time"), t("pipeline.tokens"), t("pipeline.cost"))
        widths = [max(cell_len(row[n]) for row in [heads, *cells]) for n in range(len(heads))]
        kinds = max(cell_len(t(f"pipeline.kind.{step.kind}")) for step in steps)
        room = width - 9 - sum(w + 2 for w in widths if w)
        shown_kind = kinds if room - kinds - 2 >= 16 else 0
        while room < 12 and any(widths[:3]):
            n = next(n for n in (0, 2, 1) if widths[n])
            room += widths[n] + 2
            widths[n] = 0
        if shown_kind:
            room -= shown_kind + 2
        lines = [_heads(heads, widths, width, t("pipeline.step"))]
        for step, row in list(zip(steps, cells, strict=True))[self._top : self._top + place]:
            glyph, style = STEP_GLYPHS[step.status]
            kind = f"  {pad(t(f'pipeline.kind.{step.kind}'), shown_kind)}" if shown_kind else ""
            right = "".join(f"  {pad_left(cell, w)}" for cell, w in zip(row, widths, strict=True) if w)
            line = Content.assemble(
                (f" {glyph}", style),
                (f" {step.index:>3}  ", "$text-muted"),
                pad(cut(clean_line(step.title), room), max(room, 1)),
                (f"{kind}{right}", "$text-muted"),
                " ",
            )
            if step is chosen:
                line = line.stylize_before("$block-cursor-foreground on $block-cursor-background")
            lines.append(line)
        return lines

    def _paint_preview(self, width: int, height: int) -> Sequence[Content]:
        step = self.step
        if step is None:
            return []
        lines = block_lines(self._about(step), max(width - 3, 1))
        self._down = min(self._down, max(len(lines) - height, 0))
        return [Content.assemble("  ", line) for line in lines[self._down : self._down + height]]

    def _about(self, step: PipelineStep) -> list[DisplayBlock]:
        t = self._ports.t
        state = t(f"pipeline.status.{step.status}")
        parts = [state, t(f"pipeline.kind.{step.kind}"), format_seconds(step.elapsed(self._ports.clock()))]
        if step.attempt > 1:
            parts.append(t("pipeline.attempt", n=step.attempt))
        blocks: list[DisplayBlock] = [
            TextBlock(f"{step.index}  {step.title}", "bold"),
            TextBlock(" · ".join(parts), "error" if step.status == "failed" else "dim"),
        ]
        if step.state:
            blocks.append(TextBlock(step.state, "dim"))
        if step.outputs:
            blocks += [TextBlock(""), TextBlock(t("pipeline.outputs"), "dim")]
            blocks += [TextBlock(f"  {name}") for name in step.outputs]
        agent = self._ports.find_agent(step.run) if step.run else None
        if agent is not None:
            figures = agent_figures(agent, self._ports.clock(), t)
            blocks += [TextBlock(""), TextBlock(" · ".join([f"↳ {agent_title(agent)}", *figures]), "dim")]
            if agent.is_running and agent.doing:
                blocks.append(TextBlock(f"  {agent.doing}"))
        if step.preview:
            blocks += [TextBlock(""), OutputBlock(step.preview)]
        elif agent is not None and (newest := agent.log.newest_text()[-_NEWEST_TEXT:]).strip():
            blocks += [TextBlock(""), MarkdownBlock(newest)]
        return blocks

    def _paint_keys(self, width: int, height: int) -> Sequence[Content]:
        t, step = self._ports.t, self.step
        if self._asking and step is not None:
            n, cost, seconds = price_from(self.run.ordered(), step.index)
            price = t("pipeline.rerun_free") if cost.state == "free" else format_money(cost)
            text = t("pipeline.rerun_ask", index=step.index, n=n, price=price, time=format_seconds(seconds))
            return [Content.styled(f" {cut(text, width - 2)}", "bold $warning")]
        keys = [("picker.key_move", 3)]
        if step is not None and step.run:
            keys.append(("pipeline.key_open", 4))
        if self._can_rerun:
            keys.append(("pipeline.key_rerun", 5))
        keys += [("pipeline.key_scroll", 1), ("picker.key_back", 9)]
        return [keys_line(t, self._ports.asks(), keys, width)]


def _figures(step: PipelineStep, now: float) -> tuple[str, str, str, str]:
    """Attempt, time, tokens, money of a step."""
    attempt = f"×{step.attempt}" if step.attempt > 1 else ""
    tokens = format_tokens(step.usage.total) if step.usage.total else ""
    return attempt, clock(step.elapsed(now)), tokens, money(step.cost)


def _heads(heads: Sequence[str], widths: Sequence[int], width: int, first: str) -> Content:
    right = "".join(f"  {pad_left(head, w)}" for head, w in zip(heads, widths, strict=True) if w)
    return Content.assemble(spread(Content(f"       {first}"), Content(right), width - 1), " ").stylize("$text-muted")
