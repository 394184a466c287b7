from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.errors import AuthError, ServerError, StreamCutError
from reactagent_tui.core.events import (
    MessageFinished,
    Notice,
    RetryScheduled,
    RunEnded,
    TextDelta,
    ToolFinished,
    ToolStarted,
    UserMessageAdded,
)
from reactagent_tui.core.llm.base import StreamFinish, StreamText, StreamThinking, StreamToolCall
from reactagent_tui.core.messages import AssistantMessage, ToolResult, UserMessage
from reactagent_tui.core.react import retries
from reactagent_tui.core.react.controller import ReActController
from reactagent_tui.core.react.gates import Limits
from reactagent_tui.core.react.state import MemoryHistory, RunSetup
from reactagent_tui.core.reporter import Answer, Question, RecordingReporter
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.safety.permissions import Mode, Permissions
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.sessions.window import repair
from reactagent_tui.core.tools.base import Effect, Tool, ToolContext
from reactagent_tui.core.tools.toolkit import Toolkit
from tests.fakes.scripted import Beat, ScriptedProvider, call, forever, say
from tests.fakes.strict import complaints
from tests.fakes.tools import FakeTool, broken, echo, hang


@dataclass
class Bench:
    """A controller with everything scripted."""

    provider: ScriptedProvider
    reporter: RecordingReporter
    history: MemoryHistory
    controller: ReActController
    steered: list[UserMessage] = field(default_factory=list[UserMessage])

    def events(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.reporter.events if isinstance(event, kind)]

    def results(self) -> list[ToolResult]:
        return [message for message in self.history.messages if isinstance(message, ToolResult)]

    def check(self) -> None:
        """Exactly one end, and the next request is valid."""
        assert len(self.events(RunEnded)) == 1
        assert complaints(repair([*self.history.messages, UserMessage("next")], self.provider.info)) == []


@pytest.fixture
def bench(tmp_path: Path):
    def make(
        replies: list[list[Beat]],
        *tools: Tool,
        mode: Mode = "auto",
        limits: Limits | None = None,
        repeat: bool = False,
        answer: Answer | None = None,
    ) -> Bench:
        provider = ScriptedProvider(replies, repeat=repeat)

        def respond(_question: Question) -> Answer:
            return answer or Answer("deny")

        reporter = RecordingReporter(respond)
        history = MemoryHistory()
        workspace = Workspace.at(tmp_path)
        steered: list[UserMessage] = []

        def take() -> list[UserMessage]:
            taken = list(steered)
            steered.clear()
            return taken

        def context(tool_call: Any, output: Any) -> ToolContext:
            return ToolContext(
                "s", "r", tool_call.id, tmp_path, workspace, FilesSeen(), output, reporter.ask, tmp_path / "out"
            )

        setup = RunSetup(
            provider=provider,
            toolkit=Toolkit(tools),
            permissions=Permissions(mode, workspace.roots),
            history=history,
            ledger=Ledger("s", PriceBook()),
            reporter=reporter,
            system=lambda: "system",
            context=context,
            limits=limits or Limits(),
            steer=take,
        )
        return Bench(provider, reporter, history, ReActController(setup), steered)

    return make


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries.random, "uniform", lambda _a, _b: 0.0)


async def test_an_answer_ends_the_run(bench: Any) -> None:
    b = bench([say("42")])
    result = await b.controller.run(UserMessage("what?"))
    assert (result.reason, result.answer, result.steps) == ("ANSWER", "42", 1)
    assert [event.text for event in b.events(TextDelta)] == ["42"]
    b.check()


async def test_reads_run_together_writes_alone_and_results_keep_call_order(bench: Any) -> None:
    running: list[str] = []
    most = 0

    def slow(name: str, kind: Effect) -> FakeTool:
        async def act(_args: Mapping[str, Any], _ctx: ToolContext) -> str:
            nonlocal most
            running.append(name)
            most = max(most, len(running))
            if kind is Effect.WRITES:
                assert running == [name]
            for _ in range(5):
                await asyncio.sleep(0)
            running.remove(name)
            return name

        return FakeTool(name, act, kind)

    tools = [slow("r1", Effect.READS), slow("r2", Effect.READS), slow("w1", Effect.WRITES), slow("r3", Effect.READS)]
    b = bench([call(("r1", "{}"), ("r2", "{}"), ("w1", "{}"), ("r3", "{}")), say("ok")], *tools)
    await b.controller.run(UserMessage("go"))
    assert most == 2
    assert [r.name for r in sorted(b.results(), key=lambda r: r.call_id[-1])] == ["r1", "r2", "w1", "r3"]
    sent = [m for m in b.provider.requests[1].messages if isinstance(m, ToolResult)]
    assert [m.name for m in sent] == ["r1", "r2", "w1", "r3"]
    b.check()


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("ech", "{}", "Did you mean 'echo'?"),
        ("echo", '{"a": 1', None),
        ("write", '{"a": 1', "Understood as"),
        ("echo", "[1]", "not a JSON object"),
        ("echo", '{"bad": true}', "bad: wanted `ok`"),
        ("raises", "{}", "inside [/bold]"),
        ("functions.echo", "{}", None),
    ],
)
async def test_what_is_wrong_with_a_call_is_an_observation(
    bench: Any, name: str, arguments: str, expected: str | None
) -> None:
    b = bench([call((name, arguments)), say("ok")], echo("echo"), echo("write", Effect.WRITES), broken("raises"))
    result = await b.controller.run(UserMessage("go"))
    assert result.reason == "ANSWER"
    text = b.results()[0].text
    if expected is None:
        assert not b.results()[0].is_error
    else:
        assert expected in text
        assert b.results()[0].is_error
    b.check()


async def test_repetition_is_nudged_then_ends_the_run(bench: Any) -> None:
    tool = echo("echo")
    b = bench([call(("echo", "{}"))], tool, repeat=True)
    result = await b.controller.run(UserMessage("go"))
    assert result.reason == "REPETITION"
    assert len(tool.calls) == 2
    assert [n.key for n in b.events(Notice)] == ["loop.nudged"]
    b.check()


async def test_max_steps(bench: Any) -> None:
    replies = [call(("echo", f'{{"n": {n}}}')) for n in range(9)]
    b = bench(replies, echo("echo"), limits=Limits(max_steps=3))
    result = await b.controller.run(UserMessage("go"))
    assert (result.reason, result.steps) == ("MAX_STEPS", 3)
    b.check()


async def test_an_empty_reply_is_nudged_once(bench: Any) -> None:
    empty: list[Beat] = [StreamThinking("hm", "reasoning_content"), StreamFinish("stop")]
    b = bench([empty, empty])
    result = await b.controller.run(UserMessage("go"))
    assert (result.reason, result.answer, result.steps) == ("ANSWER", "", 2)
    assert [n.key for n in b.events(Notice)] == ["run.empty_nudge", "run.empty_answer"]
    b.check()


async def test_a_call_cut_at_the_output_limit_is_not_run(bench: Any) -> None:
    tool = echo("write", Effect.WRITES)
    cut = call(("write", '{"path": "a", "content": "half'), finish="length")
    b = bench([cut, say("ok")], tool)
    await b.controller.run(UserMessage("go"))
    assert tool.calls == []
    assert "cut off" in b.results()[0].text
    b.check()


async def test_cut_calls_again_and_again_end_the_run_with_the_limit_named(bench: Any) -> None:
    b = bench([call(("write", '{"a'), finish="length")], echo("write", Effect.WRITES), repeat=True)
    result = await b.controller.run(UserMessage("go"))
    assert result.reason == "ERROR"
    assert "max_output" in (result.error or "")
    b.check()


async def test_retry_while_nothing_was_shown(bench: Any) -> None:
    b = bench([[ServerError("busy", status=503, retryable=True)], say("ok")])
    b.controller.setup.reporter.emit = _fast(b)  # type: ignore[method-assign]
    result = await b.controller.run(UserMessage("go"))
    assert result.answer == "ok"
    assert len(b.events(RetryScheduled)) == 1
    assert [row.cause for row in b.controller.setup.ledger.rows] == ["step", "retry"]
    b.check()


def _fast(b: Bench) -> Any:
    return b.reporter.events.append


async def test_no_retry_after_text_was_shown(bench: Any) -> None:
    b = bench([[StreamText("half"), StreamCutError("cut", retryable=True)]])
    result = await b.controller.run(UserMessage("go"))
    assert result.reason == "ERROR"
    last = b.history.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert (last.text, last.stop_reason) == ("half", "cut")
    b.check()


async def test_no_retry_for_a_wrong_key(bench: Any) -> None:
    b = bench([[AuthError("wrong key", status=401)]])
    result = await b.controller.run(UserMessage("go"))
    assert (result.reason, result.error) == ("ERROR", "wrong key")
    b.check()


async def test_interrupt_in_the_text_keeps_it(bench: Any) -> None:
    b = bench([[StreamText("I was about to"), forever]])
    task = asyncio.create_task(b.controller.run(UserMessage("go")))
    while not b.events(TextDelta):
        await asyncio.sleep(0)
    b.controller.interrupt()
    b.controller.interrupt()
    result = await task
    assert result.reason == "INTERRUPTED"
    assert result.stop is not None
    assert result.stop.text_kept
    last = b.history.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert (last.text, last.stop_reason) == ("I was about to", "interrupted")
    assert b.controller.setup.ledger.rows[0].interrupted
    b.check()


async def test_interrupt_before_anything_came(bench: Any) -> None:
    b = bench([[forever]])
    task = asyncio.create_task(b.controller.run(UserMessage("go")))
    while not b.provider.requests:
        await asyncio.sleep(0)
    b.controller.interrupt()
    assert (await task).reason == "INTERRUPTED"
    assert b.history.messages == [UserMessage("go")]
    b.check()


async def test_interrupt_before_the_first_step(bench: Any) -> None:
    b = bench([say("never")])
    b.controller.interrupt()
    assert (await b.controller.run(UserMessage("go"))).reason == "INTERRUPTED"
    b.check()


async def test_interrupt_while_tools_run(bench: Any) -> None:
    hanging = hang("hang")
    quick = echo("echo")
    late = echo("late", Effect.WRITES)
    b = bench([call(("echo", "{}"), ("hang", "{}"), ("late", "{}"))], quick, hanging, late)
    task = asyncio.create_task(b.controller.run(UserMessage("go")))
    await hanging.started.wait()
    while not b.events(ToolFinished):
        await asyncio.sleep(0)
    b.controller.interrupt()
    result = await task
    assert result.stop is not None
    assert (result.stop.commands_killed, result.stop.calls_skipped) == (1, 1)
    assert {r.name: r.status for r in b.results()} == {"echo": "done", "hang": "interrupted", "late": "not_run"}
    assert late.calls == []
    b.check()


async def test_interrupt_in_half_streamed_arguments_drops_the_call(bench: Any) -> None:
    b = bench([[StreamText("let me"), StreamToolCall(0, "c1", "echo", '{"a": '), forever]], echo("echo"))
    task = asyncio.create_task(b.controller.run(UserMessage("go")))
    while not b.events(TextDelta):
        await asyncio.sleep(0)
    for _ in range(5):
        await asyncio.sleep(0)
    b.controller.interrupt()
    await task
    last = b.history.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert last.tool_calls == ()
    b.check()


async def test_cancel_from_outside_closes_everything_and_goes_on_up(bench: Any) -> None:
    hanging = hang("hang")
    b = bench([call(("hang", "{}"))], hanging)
    task = asyncio.create_task(b.controller.run(UserMessage("go")))
    await hanging.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert b.results()[0].status == "interrupted"
    b.check()


async def test_denied_call_is_told_and_the_run_goes_on(bench: Any) -> None:
    tool = echo("write", Effect.WRITES)
    b = bench([call(("write", "{}")), say("ok")], tool, mode="ask", answer=Answer("deny", comment="use [/x] instead"))
    result = await b.controller.run(UserMessage("go"))
    assert result.answer == "ok"
    assert tool.calls == []
    assert "use [/x] instead" in b.results()[0].text
    assert [e.waiting for e in b.events(ToolStarted)] == [True]
    assert len(result.denied) == 1
    b.check()


async def test_no_and_stop_ends_the_run_with_every_call_answered(bench: Any) -> None:
    b = bench(
        [call(("write", "{}"), ("write", '{"n": 2}'))], echo("write", Effect.WRITES), mode="ask", answer=Answer("stop")
    )
    result = await b.controller.run(UserMessage("go"))
    assert result.reason == "INTERRUPTED"
    assert [r.status for r in b.results()] == ["denied", "not_run"]
    b.check()


async def test_allowed_for_the_session_asks_once(bench: Any) -> None:
    tool = echo("write", Effect.WRITES)
    replies = [call(("write", "{}")), call(("write", "{}")), say("ok")]
    b = bench(replies, tool, mode="ask", answer=Answer("session"))
    await b.controller.run(UserMessage("go"))
    assert len(tool.calls) == 2
    assert len(b.reporter.questions) == 1


async def test_stopping_one_call_lets_the_run_go_on(bench: Any) -> None:
    hanging = hang("hang")
    b = bench([call(("hang", "{}")), say("went on")], hanging)
    task = asyncio.create_task(b.controller.run(UserMessage("go")))
    await hanging.started.wait()
    assert b.controller.stop_call(b.events(ToolStarted)[0].call.id)
    result = await task
    assert (result.reason, result.answer) == ("ANSWER", "went on")
    assert b.results()[0].status == "interrupted"
    b.check()


async def test_steering_enters_at_the_step_boundary(bench: Any) -> None:
    b = bench([call(("echo", "{}")), say("ok")], echo("echo"))
    steered = b.steered

    class Watch(RecordingReporter):
        pass

    original = b.reporter.emit

    def emit(event: Any) -> None:
        original(event)
        if isinstance(event, ToolFinished):
            steered.append(UserMessage("look at [b] too", origin="steer"))

    b.reporter.emit = emit  # type: ignore[method-assign]
    await b.controller.run(UserMessage("go"))
    assert [e.message.text for e in b.events(UserMessageAdded)] == ["look at [b] too"]
    assert isinstance(b.provider.requests[1].messages[-1], UserMessage)
    b.check()


async def test_steering_beside_the_answer_goes_on(bench: Any) -> None:
    b = bench([say("first"), say("second")])
    original = b.reporter.emit
    steered = b.steered

    def emit(event: Any) -> None:
        original(event)
        if isinstance(event, MessageFinished) and event.message.text == "first":
            steered.append(UserMessage("and?", origin="steer"))

    b.reporter.emit = emit  # type: ignore[method-assign]
    result = await b.controller.run(UserMessage("go"))
    assert result.answer == "second"
    b.check()


async def test_pause_after_the_step_and_resume_without_a_user_message(bench: Any) -> None:
    b = bench([call(("echo", "{}")), say("done")], echo("echo"))
    b.controller.pause()
    result = await b.controller.run(UserMessage("go"))
    assert (result.reason, result.steps) == ("PAUSED", 1)
    again = ReActController(b.controller.setup)
    assert (await again.run(None)).answer == "done"
    assert complaints(b.provider.requests[-1].messages) == []


async def test_a_fault_in_the_program_ends_the_turn_not_the_program(bench: Any) -> None:
    b = bench([say("x")])
    b.controller.setup.system = lambda: 1 / 0  # type: ignore[assignment,return-value]
    result = await b.controller.run(UserMessage("go"))
    assert result.reason == "ERROR"
    assert "ZeroDivisionError" in (result.error or "")
    b.check()
