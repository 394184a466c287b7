"""Agents and pipelines for pipes: one line each for stderr, one JSON object each for the stream.

An agent's own text and tool calls are no progress of the answer: in text mode only these lines tell of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactagent_tui.core.display import clean_line
from reactagent_tui.core.events import (
    AgentEvent,
    AgentFinished,
    AgentStarted,
    PipelineFinished,
    PipelineStarted,
    PipelineStepFinished,
    PipelineStepStarted,
)
from reactagent_tui.core.money import Money, format_money, format_tokens
from reactagent_tui.core.usage import Usage

Translate = Callable[..., str]
_LONGEST = 120
_GLYPHS = {"ok": "●", "failed": "✕", "interrupted": "⊘", "skipped": "○"}
_STATUS = {"done": "completed", "failed": "failed", "stopped": "stopped"}
_OUTCOMES = ("DONE", "do_not_generate", "stuck", "failed", "interrupted", "ood")


class ProgressLines:
    """Remembers the titles of steps between their beginning and their end."""

    def __init__(self, t: Translate) -> None:
        self._t = t
        self._pipelines: dict[str, str] = {}
        self._titles: dict[tuple[str, int], str] = {}

    def line(self, event: AgentEvent) -> str | None:
        """The line for an event; None for one that needs none."""
        match event:
            case AgentStarted(name=name, task=task):
                return self._t("headless.agent_started", name=clean_line(name), task=_short(task))
            case AgentFinished():
                return self._agent_ended(event)
            case PipelineStarted() | PipelineStepStarted() | PipelineStepFinished() | PipelineFinished():
                return self._pipeline(event)
            case _:
                return None

    def _agent_ended(self, event: AgentFinished) -> str:
        state, glyph = _agent_state(event)
        figures = [self._t("agents.steps", n=event.steps), *self._figures(event.seconds, event.usage, event.cost)]
        name, words = clean_line(event.name), self._t(f"agents.state.{state}")
        return self._t("headless.agent_ended", glyph=glyph, name=name, state=words, figures=" · ".join(figures))

    def _pipeline(
        self, event: PipelineStarted | PipelineStepStarted | PipelineStepFinished | PipelineFinished
    ) -> str | None:
        call_id = event.tool_call_id or ""
        name = self._pipelines.get(call_id, "")
        match event:
            case PipelineStarted():
                self._pipelines[call_id] = name = clean_line(event.pipeline)
                return self._t("headless.pipeline_started", name=name, query=_short(event.query), folder=event.run_dir)
            case PipelineStepStarted(index=index, title=title):
                self._titles[call_id, index] = _short(title)
                return None
            case PipelineStepFinished(index=index, status=status):
                return self._t(
                    "headless.pipeline_step",
                    glyph=_GLYPHS[status],
                    name=name,
                    n=index,
                    title=self._titles.get((call_id, index), ""),
                    state=self._t(f"pipeline.status.{status}"),
                    figures=" · ".join(self._figures(event.seconds, event.usage, event.cost)),
                )
            case PipelineFinished():
                return self._t(
                    "headless.pipeline_ended",
                    glyph="●" if event.outcome == "DONE" else "✕",
                    name=clean_line(event.pipeline),
                    outcome=self._outcome(event),
                    figures=" · ".join(self._figures(event.seconds, event.usage, event.cost)),
                )

    def _outcome(self, event: PipelineFinished) -> str:
        words = clean_line(event.outcome)
        if event.outcome in _OUTCOMES:
            words = self._t(f"pipeline.outcome.{event.outcome.lower()}")
        elif event.outcome.startswith("phase_") and event.outcome.endswith("_failed"):
            words = self._t("pipeline.outcome.phase_failed", n=event.outcome[len("phase_") : -len("_failed")])
        return f"{words}: {_short(event.detail)}" if event.detail else words

    def _figures(self, seconds: float, usage: Usage, cost: Money) -> list[str]:
        parts = [f"{seconds:.1f} s"]
        if usage.total:
            parts.append(self._t("agents.tokens_used", tokens=format_tokens(usage.total)))
        if cost.state != "free":
            parts.append(format_money(cost))
        return parts


def system_record(event: AgentEvent) -> dict[str, Any] | None:
    """What the stream says of agents and pipelines: a `system` object; None for other events.

    Agents are tasks in the shapes Claude Code uses; pipelines have subtypes of their own.
    """
    values = _of_agent(event) or _of_pipeline(event)
    if values is None:
        return None
    return {"type": "system", **values, "session_id": event.session_id}


def _of_agent(event: AgentEvent) -> dict[str, Any] | None:
    place = {"task_id": event.run_id, "tool_use_id": event.parent_call_id}
    match event:
        case AgentStarted():
            return {
                "subtype": "task_started",
                **place,
                "description": event.name,
                "task_type": "agent",
                "prompt": event.task,
                "role": event.role,
                "model": event.model,
            }
        case AgentFinished():
            return {
                "subtype": "task_notification",
                **place,
                "description": event.name,
                "status": _STATUS[_agent_state(event)[0]],
                "reason": event.reason,
                "summary": event.summary,
                "output_file": event.output_file,
                "steps": event.steps,
                "usage": _spent(event.seconds, event.usage, event.cost),
            }
        case _:
            return None


def _of_pipeline(event: AgentEvent) -> dict[str, Any] | None:
    place = {"tool_use_id": event.tool_call_id}
    match event:
        case PipelineStarted():
            values = {"query": event.query, "run_dir": event.run_dir, "resumed": event.resumed}
            return {"subtype": "pipeline_started", **place, "pipeline": event.pipeline, **values}
        case PipelineStepStarted():
            values = {"title": event.title, "kind": event.kind, "attempt": event.attempt}
            return {
                "subtype": "pipeline_step_started",
                **place,
                "index": event.index,
                **values,
                "outputs": list(event.outputs),
            }
        case PipelineStepFinished():
            return {
                "subtype": "pipeline_step_finished",
                **place,
                "index": event.index,
                "status": event.status,
                "task_id": event.run,
                "usage": _spent(event.seconds, event.usage, event.cost),
            }
        case PipelineFinished():
            values = {"run_dir": event.run_dir, "outcome": event.outcome, "detail": event.detail, "steps": event.steps}
            return {
                "subtype": "pipeline_finished",
                **place,
                "pipeline": event.pipeline,
                **values,
                "files": list(event.files),
                "usage": _spent(event.seconds, event.usage, event.cost),
            }
        case _:
            return None


def _spent(seconds: float, usage: Usage, cost: Money) -> dict[str, Any]:
    amount = None if cost.amount is None else float(cost.amount)
    return {
        "total_tokens": usage.total,
        "duration_ms": round(seconds * 1000),
        "cost": amount,
        "currency": cost.currency,
        "cost_state": cost.state,
    }


def _agent_state(event: AgentFinished) -> tuple[str, str]:
    if event.reason == "ANSWER":
        return "done", "●"
    return ("stopped", "⊘") if event.reason in ("INTERRUPTED", "PAUSED") else ("failed", "✕")


def _short(text: str) -> str:
    return " ".join(clean_line(text).split())[:_LONGEST]
