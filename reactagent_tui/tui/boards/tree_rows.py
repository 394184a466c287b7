"""The rows of the sidebar's tree: pipelines with their agents below them, then the other agents. Pure."""

from __future__ import annotations

from reactagent_tui.core.display import clean_line
from reactagent_tui.core.money import format_tokens
from reactagent_tui.tui.boards.agents import AgentBoard, AgentRun
from reactagent_tui.tui.boards.pipelines import PipelineBoard, PipelineRun
from reactagent_tui.tui.boards.wording import AGENT_GLYPHS, clock, money, outcome_glyph
from reactagent_tui.tui.widgets.agent_tree import TreeRow


def tree_rows(agents: AgentBoard, pipelines: PipelineBoard, session_id: str, now: float) -> list[TreeRow]:
    """All of a session that run or ended in this turn."""
    tree = list(agents.tree(session_id))
    rows: list[TreeRow] = []
    below: set[str] = set()
    for pipeline in pipelines.shown(session_id):
        rows.append(_pipeline(pipeline, now))
        inside = False
        for run, depth in tree:
            if depth == 0:
                inside = run.parent_call_id == pipeline.call_id
            if inside:
                below.add(run.run_id)
                rows.append(_agent(run, depth + 1, now))
    return rows + [_agent(run, depth, now) for run, depth in tree if run.run_id not in below]


def _agent(run: AgentRun, depth: int, now: float) -> TreeRow:
    glyph, style = AGENT_GLYPHS[run.state]
    tokens = run.usage.total
    return TreeRow(
        run.run_id,
        clean_line(run.name),
        glyph,
        style,
        f"#{run.step}" if run.step else "",
        clock(run.elapsed(now)),
        format_tokens(tokens) if tokens else "",
        money(run.cost),
        depth,
        running=run.is_running,
    )


def _pipeline(run: PipelineRun, now: float) -> TreeRow:
    glyph, style = outcome_glyph(run)
    tokens = run.usage.total
    return TreeRow(
        run.call_id,
        clean_line(run.pipeline),
        glyph,
        style,
        f"#{run.current.index}" if run.current is not None else "",
        clock(run.elapsed(now)),
        format_tokens(tokens) if tokens else "",
        money(run.cost),
        agent=False,
        running=run.is_running,
    )
