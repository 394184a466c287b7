"""A turn with three agents and a pipeline as events: for pictures, for widget tests, and for looking at it live."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from reactagent_tui.core.events import (
    AgentEvent,
    AgentFinished,
    AgentStarted,
    MessageFinished,
    PipelineFinished,
    PipelineStarted,
    PipelineStepFinished,
    PipelineStepStarted,
    RunEnded,
    RunStarted,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    UsageUpdated,
)
from reactagent_tui.core.messages import AssistantMessage, TextPart, ToolCall, UserMessage
from reactagent_tui.core.money import CostTotals, Money
from reactagent_tui.core.usage import Usage

MAIN = "main-run"
SPAWN = ToolCall("spawn-1", "spawn_subagent", "{}", {"task": "find who builds the cart's dates", "role": "explore"})
SPAWN_2 = ToolCall("spawn-2", "spawn_subagent", "{}", {"task": "查一下测试在 CI 上怎样设置时钟", "role": "retrieval"})
SPARK = ToolCall("spark-1", "run_idea_spark_pipeline", "{}", {"query": "why do time zones break tests?"})
ANSWER = """The dates are built in **two places**:

1. `src/cart.py:41` calls `date.today()`
2. `src/clock.py:12` has its own `today()`

```python
def today() -> date:
    return datetime.now(timezone.utc).date()
```
"""
STEPS: tuple[tuple[str, str, Any], ...] = (
    ("search the literature", "phase1_search", "bash"),
    ("read what was found and rank it", "phase1_rank", "llm_subagent"),
    ("找出瓶颈 (find the bottleneck)", "phase2_bottleneck", "llm_subagent"),
    ("generate candidates", "phase3_generate", "llm_subagent"),
    ("audit by a separate agent", "phase4_audit", "llm_subagent"),
)


class Story:
    """Events of one turn; `session` is the session they belong to."""

    def __init__(self, session: str = "") -> None:
        self.session = session

    def _of(self, run: str, **more: Any) -> dict[str, Any]:
        return {"session_id": self.session, "run_id": run, "parent_run_id": MAIN} | more

    def main(self) -> Iterator[AgentEvent]:
        """The conversation itself, up to its calls."""
        base: dict[str, Any] = {"session_id": self.session, "run_id": MAIN}
        yield RunStarted(prompt=UserMessage("why does test_cart fail on CI only?"), model="deepseek-chat", **base)
        yield StepStarted(step=1, model_call_id="m1", **base)
        parts = (TextPart("I'll let two agents look while the pipeline collects ideas."), SPAWN, SPAWN_2, SPARK)
        yield MessageFinished(message=AssistantMessage(parts), model_call_id="m1", **base)
        for call in (SPAWN, SPAWN_2, SPARK):
            yield ToolStarted(call=call, tool_call_id=call.id, **base)

    def start(self, run: str, name: str, call: str, task: str, **more: Any) -> Iterator[AgentEvent]:
        """An agent begins."""
        base = self._of(run, parent_call_id=call) | more
        yield AgentStarted(name=name, task=task, model="deepseek-chat", role=name.split("-")[0], max_steps=50, **base)
        yield RunStarted(prompt=UserMessage(task), model="deepseek-chat", **base)

    def work(self, run: str, call: str, step: int, tool: ToolCall, **more: Any) -> Iterator[AgentEvent]:
        """A step with a tool call that runs."""
        base = self._of(run, parent_call_id=call) | more
        key = f"{run}-{step}"
        yield StepStarted(step=step, model_call_id=key, **base)
        said = TextPart(f"Step {step}: I look at the next file.")
        yield MessageFinished(message=AssistantMessage((said, tool)), model_call_id=key, **base)
        yield self.usage(run, call, key, 4_000 * step, 300, f"0.00{step}4", **more)
        yield ToolStarted(call=tool, tool_call_id=tool.id, **base)

    def usage(self, run: str, call: str, key: str, sent: int, came: int, cost: str, **more: Any) -> AgentEvent:
        """Tokens and money of one model call."""
        return UsageUpdated(
            call_usage=Usage(input=sent, output=came),
            call_cost=Money(Decimal(cost), "reported"),
            totals=CostTotals(),
            context_used=sent,
            context_size=128_000,
            context_assumed=False,
            model_call_id=key,
            final=True,
            **self._of(run, parent_call_id=call) | more,
        )

    def done(self, run: str, call: str, tool: ToolCall, text: str = "214 lines", **more: Any) -> AgentEvent:
        """A tool of an agent has its result."""
        return ToolFinished(
            call=tool,
            status="done",
            text=text,
            blocks=(),
            is_error=False,
            summary=text.splitlines()[0],
            seconds=0.1,
            **self._of(run, parent_call_id=call) | more,
        )

    def say(self, run: str, call: str, key: str, text: str) -> Iterator[AgentEvent]:
        """Text in small pieces, as a model sends it."""
        for at in range(0, len(text), 4):
            yield TextDelta(text=text[at : at + 4], model_call_id=key, **self._of(run, parent_call_id=call))

    def end(self, run: str, name: str, call: str, reason: Any = "ANSWER", **more: Any) -> Iterator[AgentEvent]:
        """An agent is over."""
        base = self._of(run, parent_call_id=call) | more
        usage, cost = Usage(input=28_300, output=2_900), Money(Decimal("0.042"), "reported")
        yield RunEnded(reason=reason, answer="", usage=usage, cost=cost, steps=7, seconds=48.0, **base)
        summary = {"ANSWER": "done: notes.md, 2,114 bytes", "ERROR": "the model refused"}.get(reason, "stopped")
        yield AgentFinished(
            name=name, reason=reason, summary=summary, usage=usage, cost=cost, steps=7, seconds=48.0, **base
        )

    def pipeline(self) -> AgentEvent:
        """The pipeline begins."""
        return PipelineStarted(
            pipeline="idea-spark",
            query="why do time zones break tests?",
            run_dir="skill_run/idea-spark/why-do-time-zones-break-tests",
            tool_call_id=SPARK.id,
            session_id=self.session,
            run_id=MAIN,
        )

    def step(self, index: int, attempt: int = 1) -> AgentEvent:
        """A step of it begins."""
        title, state, kind = STEPS[index - 1]
        return PipelineStepStarted(
            index=index,
            title=title,
            state=state,
            kind=kind,
            outputs=(f"{state}.json", "notes/sources.md"),
            attempt=attempt,
            tool_call_id=SPARK.id,
            session_id=self.session,
            run_id=MAIN,
        )

    def step_done(self, index: int, status: Any = "ok", run: str = "") -> AgentEvent:
        """A step of it is over."""
        is_agent = STEPS[index - 1][2] == "llm_subagent"
        return PipelineStepFinished(
            index=index,
            status=status,
            seconds=12.5 * index,
            usage=Usage(input=9_000 * index, output=800) if is_agent else Usage(),
            cost=Money(Decimal("0.0131") * index, "reported") if is_agent else Money(Decimal(0), "free"),
            preview='{\n  "papers": 24,\n  "kept": 9,\n  "why": "时区 [bold]"\n}',
            run=run,
            tool_call_id=SPARK.id,
            session_id=self.session,
            run_id=MAIN,
        )

    def pipeline_end(self, outcome: str = "DONE", detail: str = "3 cards written") -> AgentEvent:
        """The pipeline is over."""
        return PipelineFinished(
            pipeline="idea-spark",
            run_dir="skill_run/idea-spark/why-do-time-zones-break-tests",
            outcome=outcome,
            detail=detail,
            files=("cards.md",),
            steps=5,
            seconds=187.0,
            usage=Usage(input=90_000, output=4_000),
            cost=Money(Decimal("0.184"), "reported"),
            tool_call_id=SPARK.id,
            session_id=self.session,
            run_id=MAIN,
        )

    def busy(self) -> Iterator[AgentEvent]:
        """Everything at once, up to the middle: one agent done with a child, one reading, a pipeline in step 3."""
        yield from self.main()
        yield from self.start("run-explore", "explore", SPAWN.id, "find who builds the cart's dates")
        read = ToolCall("c1", "read_file", "{}", {"path": "src/cart.py"})
        yield from self.work("run-explore", SPAWN.id, 1, read)
        yield self.done("run-explore", SPAWN.id, read)
        yield from self.start("run-tools", "tools", "inner", "list the callers", parent_run_id="run-explore")
        grep = ToolCall("c2", "grep", "{}", {"pattern": "date.today", "path": "src"})
        yield from self.work("run-tools", "inner", 1, grep, parent_run_id="run-explore")
        yield self.done("run-tools", "inner", grep, parent_run_id="run-explore")
        yield from self.end("run-tools", "tools", "inner", parent_run_id="run-explore")
        shell = ToolCall("c3", "run_shell_command", "{}", {"command": "git log -5 --oneline -- src/clock.py"})
        yield from self.work("run-explore", SPAWN.id, 2, shell)
        yield self.done("run-explore", SPAWN.id, shell, "a1b2c3d use one clock")
        base = self._of("run-explore", parent_call_id=SPAWN.id)
        yield StepStarted(step=3, model_call_id="run-explore-3", **base)
        yield from self.say("run-explore", SPAWN.id, "run-explore-3", ANSWER)
        yield from self.start("run-retrieval", "retrieval", SPAWN_2.id, "查一下测试在 CI 上怎样设置时钟")
        fetch = ToolCall("c4", "web_fetch", "{}", {"url": "https://example.org/ci/clock"})
        yield from self.work("run-retrieval", SPAWN_2.id, 1, fetch)
        yield self.pipeline()
        yield self.step(1)
        yield self.step_done(1)
        yield self.step(2, attempt=2)
        yield self.step_done(2, run="run-rank")
        yield self.step(3)
        yield from self.start("run-bottleneck", "bottleneck", SPARK.id, "找出瓶颈")
        note = ToolCall("c5", "read_file", "{}", {"path": "phase1_rank.json"})
        yield from self.work("run-bottleneck", SPARK.id, 1, note)
