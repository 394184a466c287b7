"""Events of agents and pipelines folded into what the screen shows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.events import (
    AgentEvent,
    PipelineStarted,
    PipelineStepFinished,
    PipelineStepStarted,
    TextDelta,
    ThinkingDelta,
)
from reactagent_tui.core.messages import AssistantMessage, TextPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.money import Money
from reactagent_tui.core.usage import Usage
from reactagent_tui.locales import Translator
from reactagent_tui.tui.boards.agent_log import MOST_CHARS, AgentLog
from reactagent_tui.tui.boards.agents import MOST_RUNS, AgentBoard, AgentRun
from reactagent_tui.tui.boards.pipelines import MOST_RUNS as MOST_PIPELINES
from reactagent_tui.tui.boards.pipelines import PipelineBoard, price_from
from reactagent_tui.tui.boards.sums import total
from reactagent_tui.tui.boards.tree_rows import tree_rows
from reactagent_tui.tui.boards.wording import agent_note, clock, outcome, pipeline_note
from tests.fakes.agent_gallery import Told, busy
from tests.fakes.agent_story import SPARK, SPAWN, Story

EN = Translator("en")


def paid(amount: str, state: Any = "reported", currency: str = "USD") -> Money:
    return Money(Decimal(amount), state, currency)


def test_an_agent_from_start_to_end() -> None:
    told, story = Told(), Story()
    told.take(*story.start("r1", "explore", SPAWN.id, "look"))
    run = told.agents.runs["r1"]
    assert (run.name, run.task, run.state, run.parent_call_id) == ("explore", "look", "running", SPAWN.id)
    read = ToolCall("c1", "read_file", "{}", {"path": "src/cart.py"})
    told.take(*story.work("r1", SPAWN.id, 1, read))
    assert (run.step, run.doing, run.usage.total) == (1, "read src/cart.py", 4300)
    assert run.cost == paid("0.0014")
    told.take(*story.work("r1", SPAWN.id, 2, read))
    assert (run.step, run.usage.total, run.cost) == (2, 12_600, paid("0.0038"))
    note = agent_note(run, told.clock.now, EN)
    assert note == ("explore · step 2 · read src/cart.py", "12.6k tokens · $0.0038")
    told.take(*story.end("r1", "explore", SPAWN.id))
    assert (run.state, run.seconds, run.usage.total) == ("done", 48.0, 31_200)
    assert agent_note(run, 1e9, EN) == ("explore · done", "7 steps · 48 s · 31.2k tokens · $0.042")


@pytest.mark.parametrize(
    ("reason", "state"), [("ANSWER", "done"), ("INTERRUPTED", "stopped"), ("ERROR", "failed"), ("MAX_STEPS", "failed")]
)
def test_how_it_ended(reason: str, state: str) -> None:
    story = Story()
    told = Told(story.start("r1", "tools", SPAWN.id, "look"))
    told.take(*story.end("r1", "tools", SPAWN.id, reason))
    assert told.agents.runs["r1"].state == state


def test_children_stand_below_their_parents_and_pipelines_over_their_agents() -> None:
    told = busy()
    rows = tree_rows(told.agents, told.pipelines, "", told.clock.now)
    assert [(row.name, row.depth, row.agent) for row in rows] == [
        ("idea-spark", 0, False),
        ("bottleneck", 1, True),
        ("explore", 0, True),
        ("tools", 1, True),
        ("retrieval", 0, True),
    ]


def test_a_new_turn_clears_what_is_over_and_keeps_what_runs() -> None:
    told = busy()
    told.agents.new_turn("")
    rows = tree_rows(told.agents, told.pipelines, "", told.clock.now)
    assert "tools" not in [row.name for row in rows]
    assert "explore" in [row.name for row in rows]
    assert "run-tools" in told.agents.runs


def test_sessions_do_not_mix() -> None:
    told = Told(Story("one").busy())
    assert tree_rows(told.agents, told.pipelines, "two", 0.0) == []
    assert told.agents.running("one") == 3
    assert told.agents.running("two") == 0


def test_an_agent_whose_start_was_not_heard() -> None:
    board = AgentBoard()
    run = board.fold(TextDelta(text="x", run_id="abcdefgh-1234567", parent_run_id="m"), 0.0)
    assert run is not None
    assert (run.name, run.is_running) == ("-1234567", True)


def test_the_end_of_the_main_run_ends_what_was_left_behind() -> None:
    told = busy()
    left = told.agents.end_session_run("", told.clock.now)
    assert {run.name for run in left} == {"explore", "retrieval", "bottleneck"}
    assert {run.state for run in left} == {"stopped"}
    assert [run.outcome for run in told.pipelines.end_session_run("", told.clock.now)] == ["interrupted"]
    assert told.pipeline.steps[3].status == "interrupted"


def test_old_agents_are_forgotten() -> None:
    story, told = Story(), Told()
    for number in range(MOST_RUNS + 20):
        told.take(*story.start(f"r{number}", "a", f"c{number}", "t"), *story.end(f"r{number}", "a", f"c{number}"))
    assert len(told.agents.runs) == MOST_RUNS
    assert "r0" not in told.agents.runs


def test_steps_of_a_pipeline() -> None:
    told = busy()
    run = told.pipeline
    assert [(step.index, step.status, step.attempt) for step in run.ordered()] == [
        (1, "ok", 1),
        (2, "ok", 2),
        (3, "running", 1),
    ]
    step = run.current
    assert step is not None
    assert (step.index, step.run, step.usage.total) == (3, "run-bottleneck", 4300)  # live, from its agent
    assert pipeline_note(run, told.clock.now, EN)[0] == "step 3 · 找出瓶颈 (find the bottleneck)"
    told.take(Story().step_done(3), Story().pipeline_end())
    assert run.current is run.steps[3]
    assert (run.is_running, run.cost) == (False, paid("0.184"))
    assert pipeline_note(run, 0.0, EN) == ("done", "3 steps · 3 m 07 s · 94.0k tokens · $0.184".replace("94.0k", "94k"))


def test_a_further_attempt_goes_on_with_the_same_step() -> None:
    story = Story()
    told = Told([story.pipeline(), story.step(2), story.step_done(2, "failed", "old"), story.step(2, attempt=2)])
    step = told.pipeline.steps[2]
    assert (step.status, step.attempt, step.run, step.preview, len(told.pipeline.steps)) == ("running", 2, "", "", 1)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("DONE", "done"),
        ("phase_2_failed", "phase 2 failed"),
        ("ood", "ended early: the question is outside what it does"),
        ("something [bold]new\x1b", "something [bold]new"),
    ],
)
def test_outcomes_in_words(said: str, words: str) -> None:
    story = Story()
    told = Told([story.pipeline(), story.pipeline_end(said, "")])
    assert outcome(told.pipeline, EN) == words


def test_the_price_of_running_again() -> None:
    story = Story()
    told = Told([story.pipeline(), *(e for n in (1, 2, 3) for e in (story.step(n), story.step_done(n)))])
    n, cost, seconds = price_from(told.pipeline.ordered(), 2)
    assert (n, cost, seconds) == (2, paid("0.0655"), 62.5)
    assert price_from(told.pipeline.ordered(), 1)[1] == cost  # the first step is free


def test_a_pipeline_that_starts_again_under_the_same_call_is_a_new_one() -> None:
    story, board = Story(), PipelineBoard()
    board.fold(story.pipeline(), 0.0)  # type: ignore[arg-type]
    board.fold(story.step(1), 1.0)  # type: ignore[arg-type]
    assert board.fold(story.pipeline(), 2.0).steps == {}  # type: ignore[arg-type]
    assert list(board.runs) == [SPARK.id]


def test_sums() -> None:
    assert total([]).state == "free"
    assert total([paid("1"), paid("2", "estimated")]) == paid("3", "estimated")
    assert total([paid("1"), Money(None, "unknown")]) == paid("1", "unknown")
    assert total([paid("1"), paid("9", "notional")]) == paid("1")
    assert total([paid("9", "notional")]) == paid("9", "notional")
    assert total([paid("1"), paid("5", currency="CNY")]) == paid("1", "unknown")


@given(st.lists(st.integers(0, 10_000), max_size=20))
def test_the_sum_is_the_sum(cents: list[int]) -> None:
    amounts = [paid(f"{cent}e-4") for cent in cents]
    assert (total(amounts).amount or 0) == sum(money.amount or 0 for money in amounts)


@given(st.floats(0, 1e6))
def test_the_clock_reads_back(seconds: float) -> None:
    parts = [int(part) for part in clock(seconds).split(":")]
    assert sum(part * 60**power for power, part in enumerate(reversed(parts))) == int(seconds)


# -- the log ------------------------------------------------------------------------------------


def test_what_arrives_becomes_the_whole_message() -> None:
    log = AgentLog()
    for piece in ("a", "b", "c"):
        log.delta("k", "thinking", piece)
    log.delta("k", "text", "answer")
    assert log.arriving == [("thinking", ["a", "b", "c"]), ("text", ["answer"])]
    assert log.newest_text() == "answer"
    log.reclassify("k")
    assert {kind for kind, _ in log.arriving} == {"thinking"}
    log.add(AssistantMessage((TextPart("whole"),)))
    assert (log.arriving, log.newest_text()) == ([], "whole")
    log.delta("next", "text", "x")
    assert log.arriving == [("text", ["x"])]


def test_the_log_is_bounded_and_says_what_is_missing() -> None:
    log = AgentLog()
    for number in range(30):
        log.add(ToolResult(f"c{number}", "grep", "x" * 100_000, (), False, "done", "", 0.1))
    assert log.chars <= MOST_CHARS
    assert log.cut + len(log.messages) == 30
    log.forget()
    assert (len(log.messages), log.chars, log.cut) == (0, 0, 30)


def test_output_of_running_calls_keeps_its_end() -> None:
    log, call = AgentLog(), ToolCall("c1", "run_shell_command", "{}", {})
    log.printed("c1", "before it ran")
    log.started(call, waiting=False)
    for _ in range(300):
        log.printed("c1", "y" * 100)
    assert len(log.output["c1"]) == 20_000
    log.finished(ToolResult("c1", "run_shell_command", "done", (), False, "done", "", 0.1))
    assert (log.output, log.running) == ({}, {})


@given(st.lists(st.tuples(st.sampled_from(["text", "thinking"]), st.text(max_size=5)), max_size=40))
def test_no_delta_is_lost(deltas: list[tuple[str, str]]) -> None:
    board = AgentBoard()
    for kind, text in deltas:
        made: AgentEvent = (TextDelta if kind == "text" else ThinkingDelta)(
            text=text, run_id="r", parent_run_id="m", model_call_id="k"
        )
        board.fold(made, 0.0)
    held = board.runs["r"].log.arriving if deltas else []
    for wanted in ("text", "thinking"):
        assert "".join(p for kind, ps in held if kind == wanted for p in ps) == "".join(
            text for kind, text in deltas if kind == wanted
        )


def test_a_user_message_is_no_answer() -> None:
    log = AgentLog()
    log.add(UserMessage("task"))
    assert log.newest_text() == ""


def step_events(number: int, attempt: int = 1) -> tuple[PipelineStepStarted, PipelineStepFinished]:
    begun = PipelineStepStarted(
        index=number, title="t", state="s", kind="llm_subagent", attempt=attempt, outputs=(), tool_call_id="p"
    )
    over = PipelineStepFinished(
        index=number, status="failed", seconds=1.0, usage=Usage(input=100), cost=paid("0.10"), tool_call_id="p"
    )
    return begun, over


def test_every_attempt_of_a_step_counts() -> None:
    board = PipelineBoard()
    for attempt in (1, 2):
        for event in step_events(1, attempt):
            run = board.fold(event, 0.0)
    assert (run.usage.total, run.cost) == (200, paid("0.20"))
    assert (run.steps[1].usage.total, run.steps[1].cost) == (200, paid("0.20"))


def test_a_second_try_in_a_step_does_not_hide_what_the_first_has_cost() -> None:
    board = PipelineBoard()
    begun, over = step_events(1)
    step = board.fold(begun, 0.0).steps[1]
    for number in (1, 2):
        agent = AgentRun(f"a{number}", "", "a", 0.0, parent_call_id="p")
        agent.calls["m"] = (Usage(input=10), paid("0.01"))
        board.agent_changed(agent)
        agent.final, agent.state = (Usage(input=50), paid("0.05")), "done"
        board.agent_changed(agent)
        assert (step.usage.total, step.cost) == (50 * number, paid("0.05") if number == 1 else paid("0.10"))
        assert step.run == agent.run_id
    board.fold(over, 1.0)
    assert (step.usage.total, step.cost) == (100, paid("0.10"))


def test_finished_pipelines_stay_up_to_the_limit() -> None:
    board = PipelineBoard()
    for number in range(MOST_PIPELINES + 10):
        started = PipelineStarted(pipeline="x", query="", run_dir="/r", resumed=False, tool_call_id=f"c{number}")
        board.end(board.fold(started, 0.0), "DONE", 1.0)
        assert len(board.runs) == min(number + 1, MOST_PIPELINES)
