"""Agents and pipelines for pipes."""

from __future__ import annotations

import io
from typing import Any

from reactagent_tui.core.events import ToolStarted, WaitProgress
from reactagent_tui.core.messages import ToolCall
from reactagent_tui.headless.reporter import HeadlessReporter, StreamJsonReporter
from reactagent_tui.locales import Translator
from tests.fakes.agent_story import SPAWN, Story

EN = Translator("en")


def tell(quiet: bool, language: str = "en") -> list[str]:
    stream = io.StringIO()
    reporter = HeadlessReporter(Translator(language), stderr=stream, quiet=quiet)
    story = Story("s")
    for event in story.busy():
        reporter.emit(event)
    for event in (*story.end("run-explore", "explore", SPAWN.id), story.step_done(3, "failed")):
        reporter.emit(event)
    reporter.emit(story.pipeline_end("phase_2_failed", "no JSON"))
    return stream.getvalue().splitlines()


def test_one_line_for_each_agent_and_step_also_without_verbose() -> None:
    assert tell(quiet=True) == [
        "◐ agent explore: find who builds the cart's dates",
        "◐ agent tools: list the callers",
        "● agent tools: done · 7 steps · 48.0 s · 31.2k tokens · $0.042",
        "◐ agent retrieval: 查一下测试在 CI 上怎样设置时钟",
        "◐ idea-spark: why do time zones break tests? → skill_run/idea-spark/why-do-time-zones-break-tests",
        "● idea-spark step 1 search the literature: done · 12.5 s",
        "● idea-spark step 2 read what was found and rank it: done · 25.0 s · 18.8k tokens · $0.026",
        "◐ agent bottleneck: 找出瓶颈",
        "● agent explore: done · 7 steps · 48.0 s · 31.2k tokens · $0.042",
        "✕ idea-spark step 3 找出瓶颈 (find the bottleneck): failed · 37.5 s · 27.8k tokens · $0.039",
        "✕ idea-spark: phase 2 failed: no JSON · 187.0 s · 94k tokens · $0.184",
    ]


def test_tools_of_agents_stand_below_them_with_verbose() -> None:
    lines = tell(quiet=False)
    assert "  ● read_file src/cart.py" in lines
    assert not any("two places" in line for line in lines)


def test_in_chinese() -> None:
    assert tell(quiet=True, language="zh")[0] == "◐ 智能体 explore：find who builds the cart's dates"


def test_waiting_of_agents_is_no_news() -> None:
    stream = io.StringIO()
    reporter = HeadlessReporter(EN, stderr=stream)
    reporter.emit(WaitProgress(kind="prefill", seconds=30.0, run_id="r", parent_run_id="m"))
    reporter.emit(ToolStarted(call=ToolCall("c", "grep", "{}", {"pattern": "x"}), run_id="m"))
    assert stream.getvalue() == "● grep x\n"


def test_the_stream_has_tasks_and_steps() -> None:
    written: list[dict[str, Any]] = []
    stream = io.StringIO()
    reporter = StreamJsonReporter(EN, stderr=stream, quiet=True, write=written.append)
    story = Story("s")
    for event in (*story.busy(), *story.end("run-explore", "explore", SPAWN.id, "INTERRUPTED"), story.pipeline_end()):
        reporter.emit(event)
    system = [record for record in written if record["type"] == "system"]
    started = next(record for record in system if record["subtype"] == "task_started")
    assert (started["task_id"], started["tool_use_id"], started["description"]) == ("run-explore", SPAWN.id, "explore")
    ended = [record for record in system if record["subtype"] == "task_notification"][-1]
    assert (ended["status"], ended["usage"]["total_tokens"], ended["usage"]["duration_ms"]) == (
        "stopped",
        31_200,
        48_000,
    )
    assert [record["subtype"] for record in system if record["subtype"].startswith("pipeline")] == [
        "pipeline_started",
        "pipeline_step_started",
        "pipeline_step_finished",
        "pipeline_step_started",
        "pipeline_step_finished",
        "pipeline_step_started",
        "pipeline_finished",
    ]
    inside = [r for r in written if r["type"] == "assistant" and r["parent_tool_use_id"] == SPAWN.id]
    assert len(inside) == 2
    assert {record["session_id"] for record in written} == {"s"}
    assert stream.getvalue() == ""
