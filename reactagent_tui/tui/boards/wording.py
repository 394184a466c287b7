"""Agents and pipelines in words: glyphs, the line under a tool row, clocks, outcomes. Pure."""

from __future__ import annotations

import re

from reactagent_tui.core.display import clean_line
from reactagent_tui.core.money import Money
from reactagent_tui.locales import Translate
from reactagent_tui.tui.boards.agents import AgentRun, AgentState
from reactagent_tui.tui.boards.pipelines import PipelineRun, StepStatus
from reactagent_tui.tui.presenter import format_money, format_seconds, format_tokens

AGENT_GLYPHS: dict[AgentState, tuple[str, str]] = {
    "running": ("◐", "$primary"),
    "waiting": ("○", "$warning"),
    "done": ("●", "$success"),
    "failed": ("✕", "$error"),
    "stopped": ("⊘", "$warning"),
}
STEP_GLYPHS: dict[StepStatus, tuple[str, str]] = {
    "running": ("◐", "$primary"),
    "ok": ("●", "$success"),
    "failed": ("✕", "$error"),
    "interrupted": ("⊘", "$warning"),
    "skipped": ("○", "$text-muted"),
}
_PHASE_FAILED = re.compile(r"phase_(\w+)_failed")
Note = tuple[str, str]
"""Left and right side of the line under a tool row."""


def clock(seconds: float) -> str:
    """`0:12`, `3:05`, `1:02:07`: for columns."""
    whole = int(max(seconds, 0.0))
    minutes, rest = divmod(whole, 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


def money(cost: Money) -> str:
    """ "" when nothing is paid."""
    return "" if cost.state == "free" else format_money(cost)


def agent_figures(run: AgentRun, now: float, t: Translate, *, steps: bool = True) -> list[str]:
    """Step, time, tokens, money: what there is of them."""
    parts = [t("agents.step" if run.is_running else "agents.steps", n=run.step)] if steps and run.step else []
    if not run.earlier:
        parts.append(format_seconds(run.elapsed(now)))
    if run.usage.total:
        parts.append(t("agents.tokens_used", tokens=format_tokens(run.usage.total)))
    return [*parts, *filter(None, [money(run.cost)])]


def agent_title(run: AgentRun) -> str:
    """Name, with the role where the name does not say it."""
    name, role = clean_line(run.name), clean_line(run.role)
    return f"{name} ({role})" if role and not name.startswith(role) else name


def agent_note(run: AgentRun, now: float, t: Translate) -> Note:
    """The line under the tool row: `explore · step 4 · read src/x.py`, right of it `12.3k tokens · $0.012`."""
    if not run.is_running:
        return f"{agent_title(run)} · {t(f'agents.state.{run.state}')}", " · ".join(agent_figures(run, now, t))
    doing = t("agents.state.waiting") if run.state == "waiting" else clean_line(run.doing)
    step = t("agents.step", n=run.step) if run.step else ""
    spent = agent_figures(run, now, t, steps=False)[1:]  # its time is on the row itself
    return " · ".join(filter(None, (agent_title(run), step, doing))), " · ".join(spent)


def pipeline_figures(run: PipelineRun, now: float, t: Translate) -> list[str]:
    """Steps, time, tokens, money."""
    parts = [t("agents.steps", n=len(run.steps)), format_seconds(run.elapsed(now))]
    if run.usage.total:
        parts.append(t("agents.tokens_used", tokens=format_tokens(run.usage.total)))
    return [*parts, *filter(None, [money(run.cost)])]


def pipeline_note(run: PipelineRun, now: float, t: Translate) -> Note:
    """The line under the tool row: `step 3 · find the bottleneck`, right of it the money; at the end the outcome."""
    if not run.is_running:
        return outcome(run, t), " · ".join(pipeline_figures(run, now, t))
    step = run.current
    if step is None:
        return t("pipeline.starting"), ""
    parts = [t("agents.step", n=step.index), clean_line(step.title)]
    if step.attempt > 1:
        parts.append(t("pipeline.attempt", n=step.attempt))
    tokens = t("agents.tokens_used", tokens=format_tokens(run.usage.total)) if run.usage.total else ""
    return " · ".join(parts), " · ".join(filter(None, (tokens, money(run.cost))))


def outcome(run: PipelineRun, t: Translate) -> str:
    """How it ended, in words."""
    known = {
        "": "pipeline.outcome.running",
        "DONE": "pipeline.outcome.done",
        "do_not_generate": "pipeline.outcome.do_not_generate",
        "stuck": "pipeline.outcome.stuck",
        "failed": "pipeline.outcome.failed",
        "interrupted": "pipeline.outcome.interrupted",
        "ood": "pipeline.outcome.ood",
    }
    phase = _PHASE_FAILED.fullmatch(run.outcome)
    if phase is not None:
        return t("pipeline.outcome.phase_failed", n=phase[1])
    key = known.get(run.outcome)
    return clean_line(run.outcome) if key is None else t(key)


def outcome_glyph(run: PipelineRun) -> tuple[str, str]:
    """Glyph and style of a pipeline."""
    match run.outcome:
        case "":
            return ("○", "$warning") if run.current is None else ("◐", "$primary")
        case "DONE":
            return "●", "$success"
        case "do_not_generate" | "ood":
            return "●", "$warning"
        case "interrupted":
            return "⊘", "$warning"
        case _:
            return "✕", "$error"
