"""The core inside another program: functions as tools, own providers and reporters, several turns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest

from reactagent_tui.core.embed import (
    Agent,
    Answer,
    Limits,
    ModelRequest,
    Provider,
    RecordingReporter,
    StreamDelta,
    StreamText,
    StreamToolCall,
    ToolContext,
    ToolOutcome,
    ToolResult,
    UserMessage,
    tool,
)
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.events import RunEnded, ToolFinished
from reactagent_tui.core.messages import AssistantMessage
from reactagent_tui.core.sessions.window import repair
from reactagent_tui.core.tools.base import Effect
from reactagent_tui.core.tools.builtin import builtin_tools
from tests.fakes.strict import complaints


@tool
def word_count(text: str, unit: Literal["words", "letters"] = "words") -> str:
    """Count a text.

    By words or by letters.
    """
    return f"{len(text.split() if unit == 'words' else text)} {unit}"


class Calls(Provider):
    """Calls one tool with the prompt as arguments, then repeats what the tool said."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[ModelRequest] = []
        self.closed = False

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamDelta]:
        self.seen.append(request)
        last = request.messages[-1]
        if isinstance(last, ToolResult):
            yield StreamText(f"it said {last.text}")
        else:
            assert isinstance(last, UserMessage)
            yield StreamToolCall(
                name=self.name, arguments=last.text.splitlines()[-1]
            )  # after a stop a note stands before the prompt

    async def aclose(self) -> None:
        self.closed = True


def results(agent: Agent) -> list[ToolResult]:
    return [message for message in agent.messages if isinstance(message, ToolResult)]


async def test_a_function_is_a_tool_and_a_turn_ends_with_the_answer() -> None:
    provider, reporter = Calls("word_count"), RecordingReporter()
    agent = Agent(provider, [word_count], reporter, system="Count.")
    result = await agent.run('{"text": "to be or not"}')
    assert (result.reason, result.answer, result.steps) == ("ANSWER", "it said 4 words", 2)
    assert provider.seen[0].system == "Count."
    assert [event.status for event in reporter.events if isinstance(event, ToolFinished)] == ["done"]
    assert sum(isinstance(event, RunEnded) for event in reporter.events) == 1
    assert result.usage.total > 0
    assert result.cost.state == "free"


def test_the_schema_comes_from_the_signature() -> None:
    assert word_count.description == "Count a text.\n\nBy words or by letters."
    assert word_count.parameters["required"] == ["text"]
    assert word_count.parameters["properties"] == {
        "text": {"type": "string"},
        "unit": {"type": "string", "enum": ["words", "letters"], "default": "words"},
    }
    assert word_count("a b c") == "3 words"


async def test_the_conversation_goes_on_and_stays_valid() -> None:
    provider = Calls("word_count")
    agent = Agent(provider, [word_count])
    await agent.run('{"text": "a"}')
    second = await agent.run(UserMessage('{"text": "abc", "unit": "letters"}'))
    assert second.answer == "it said 3 letters"
    assert len(provider.seen[-1].messages) == 7
    assert len(agent.messages) == 8
    assert complaints(repair([*agent.messages, UserMessage("next")], provider.info)) == []


async def test_wrong_arguments_and_failures_go_to_the_model_as_text() -> None:
    @tool
    def half(n: int) -> int:
        """Halve an even number."""
        if n % 2:
            raise ValueError(f"{n} is odd")
        return n // 2

    agent = Agent(Calls("half"), [half])
    assert (await agent.run('{"n": 8}')).answer == "it said 4"
    assert "is odd" in (await agent.run('{"n": 7}')).answer
    assert "`n` is missing" in (await agent.run("{}")).answer
    assert [result.is_error for result in results(agent)] == [False, True, True]


async def test_values_are_text_outcomes_or_json_and_long_ones_are_cut() -> None:
    @tool
    async def listing(ctx: ToolContext, kind: str) -> object:
        """Many kinds of value."""
        match kind:
            case "json":
                return {"城": [1, None], "where": ctx.workdir}
            case "outcome":
                return ToolOutcome("mine", is_error=True, summary="said no")
            case _:
                return "x" * 50_000

    assert set(listing.parameters["properties"]) == {"kind"}
    agent = Agent(Calls("listing"), [listing], workdir="/")
    assert (await agent.run('{"kind": "json"}')).answer == 'it said {"城": [1, null], "where": "/"}'
    await agent.run('{"kind": "outcome"}')
    assert (results(agent)[-1].is_error, results(agent)[-1].summary) == (True, "said no")
    assert len((await agent.run('{"kind": "long"}')).answer) < 10_000


async def test_a_plain_function_runs_in_a_thread_a_coroutine_in_the_loop() -> None:
    here = threading.get_ident()
    threads: dict[str, int] = {}

    @tool
    def plain() -> str:
        """Blocks."""
        threads["plain"] = threading.get_ident()
        return ""

    @tool
    async def own() -> str:
        """Waits."""
        threads["own"] = threading.get_ident()
        return ""

    for wanted in (plain, own):
        await Agent(Calls(wanted.name), [wanted]).run("{}")
    assert threads["own"] == here
    assert threads["plain"] != here


@pytest.mark.parametrize(
    ("mode", "verdict", "runs", "asked"),
    [
        ("ask", "once", True, 1),
        ("ask", "deny", False, 1),
        ("auto", "deny", True, 0),
        ("plan", "once", False, 0),
    ],
)
async def test_a_tool_that_writes_is_asked_about(mode: str, verdict: str, runs: bool, asked: int) -> None:
    done: list[str] = []

    @tool(name="launch_it", writes=True)
    def launch(where: str) -> str:
        """Launch."""
        done.append(where)
        return "launched"

    reporter = RecordingReporter(lambda _question: Answer(verdict))  # type: ignore[arg-type]
    assert (launch.name, launch.effect({"where": "moon"})) == ("launch_it", Effect.WRITES)
    await Agent(Calls("launch_it"), [launch], reporter, mode=mode).run('{"where": "moon"}')  # type: ignore[arg-type]
    assert done == (["moon"] if runs else [])
    assert len(reporter.questions) == asked


async def test_without_a_reporter_questions_are_answered_with_no() -> None:
    @tool(writes=True)
    def launch() -> str:
        """Launch."""
        raise AssertionError("nobody allowed this")

    agent = Agent(Calls("launch"), [launch])
    await agent.run("{}")
    assert [result.status for result in results(agent)] == ["denied"]


async def test_builtin_tools_work_in_the_folder_of_the_agent(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("the word is swordfish")
    agent = Agent(Calls("read_file"), builtin_tools(), workdir=tmp_path)
    assert "swordfish" in (await agent.run('{"path": "note.txt"}')).answer


async def test_an_interrupt_ends_the_turn_and_the_next_one_works() -> None:
    started = asyncio.Event()

    @tool
    async def hang(long: bool) -> str:
        """Hang."""
        if long:
            started.set()
            await asyncio.Event().wait()
        return "short"

    agent = Agent(Calls("hang"), [hang])
    run = asyncio.create_task(agent.run('{"long": true}'))
    await started.wait()
    with pytest.raises(RuntimeError, match="runs already"):
        await agent.run("second")
    agent.interrupt()
    result = await run
    assert (result.reason, results(agent)[0].status) == ("INTERRUPTED", "interrupted")
    assert (await agent.run('{"long": false}')).answer == "it said short"


async def test_limits_hold() -> None:
    result = await Agent(Calls("word_count"), [word_count], limits=Limits(max_steps=1)).run('{"text": "a"}')
    assert (result.reason, result.steps) == ("MAX_STEPS", 1)


async def test_a_model_by_name_comes_from_the_configuration() -> None:
    async with Agent("demo", builtin_tools()) as agent:
        result = await agent.run("what is (123+456)*7?")
    assert "4053" in result.answer
    assert isinstance(agent.messages[-1], AssistantMessage)
    with pytest.raises(ConfigError):
        Agent("nobody/has-this")


async def test_closing_closes_the_provider() -> None:
    provider = Calls("word_count")
    async with Agent(provider):
        pass
    assert provider.closed


class Delegates(Provider):
    """Gives its prompt to a sub-agent with the tool word_count, and repeats what came of it."""

    def __init__(self) -> None:
        self.seen: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamDelta]:
        self.seen.append(request)
        last = request.messages[-1]
        if isinstance(last, ToolResult):
            yield StreamText(f"told: {last.text}")
        elif last.text == "to be or not":
            yield StreamToolCall(0, "c2", "word_count", '{"text": "to be or not"}')
        else:
            arguments = '{"task": "to be or not", "tools_allowlist": ["word_count"]}'
            yield StreamToolCall(0, "c1", "spawn_subagent", arguments)


async def test_a_program_may_let_its_agent_have_sub_agents(tmp_path: Path) -> None:
    provider = Delegates()
    async with Agent(provider, [word_count], workdir=tmp_path, sub_agents=True) as agent:
        result = await agent.run("main")
    assert result.answer == "told: told: 4 words"
    assert [row.agent for row in agent.ledger.rows] == [(), ("agent-1",), ("agent-1",), ()]
    assert [[spec.name for spec in request.tools] for request in provider.seen[1:3]] == [["word_count"]] * 2
