"""The demo against the real tools: the arguments it sends are accepted, and it reads what they answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reactagent_tui.core.llm.accumulator import Accumulator
from reactagent_tui.core.llm.base import ModelRequest
from reactagent_tui.core.llm.demo import DemoProvider
from reactagent_tui.core.messages import Message, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.paths import data_dir
from reactagent_tui.core.reporter import Answer, Question
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.skills.loader import SkillLibrary, SkillSource
from reactagent_tui.core.tools.base import Tool, ToolContext, spec_of
from reactagent_tui.core.tools.builtin import builtin_tools
from reactagent_tui.core.tools.skills import skill_tools


class Session:
    """A minimal loop around the demo provider and the real tools in one folder."""

    def __init__(self, workdir: Path) -> None:
        library = SkillLibrary([SkillSource(data_dir("skills"), "bundled")])
        tools: list[Tool] = [*builtin_tools(), *skill_tools(lambda: library)]
        self.tools = {tool.name: tool for tool in tools}
        self.provider = DemoProvider(rate=0)
        self.messages: list[Message] = []
        self.workdir = workdir
        self.seen = FilesSeen()

    async def say(self, prompt: str) -> str:
        self.messages.append(UserMessage(prompt))
        for _ in range(8):
            specs = tuple(spec_of(tool) for tool in self.tools.values())
            folded = Accumulator()
            async for delta in self.provider.stream(ModelRequest("demo", "", tuple(self.messages), specs)):
                folded.add(delta)
            reply = folded.message(provider="demo", model="demo")
            self.messages.append(reply)
            if not reply.tool_calls:
                return reply.text
            for call in reply.tool_calls:
                self.messages.append(await self._run(call))
        raise AssertionError("no answer")

    async def _run(self, call: ToolCall) -> ToolResult:
        async def ask(_question: Question) -> Answer:
            return Answer("once")

        ctx = ToolContext(
            session_id="s",
            run_id="r",
            call_id=call.id,
            workdir=self.workdir,
            workspace=Workspace.at(self.workdir),
            files_seen=self.seen,
            output=lambda _text: None,
            ask=ask,
            log_dir=self.workdir.parent / "logs",
        )
        arguments = json.loads(call.arguments_raw)
        tool = self.tools[call.name]
        assert tool.check(arguments, ctx) is None
        outcome = await tool.run(arguments, ctx)
        status = "failed" if outcome.is_error else "done"
        return ToolResult(call.id, call.name, outcome.text, is_error=outcome.is_error, status=status)


@pytest.fixture
def session(clean_place: Path) -> Session:
    return Session(clean_place)


async def test_the_two_prompts_that_must_work(session: Session) -> None:
    time = await session.say("现在几点了？")
    assert "现在是 **" in time
    assert "星期" in time
    assert "**4053**" in await session.say("what is (123+456)*7?")


async def test_health_and_memory(session: Session) -> None:
    assert "- memory: " in await session.say("how healthy is this computer?")
    assert "GiB** of" in await session.say("how much memory is left?")


async def test_files_are_written_read_edited_and_found(session: Session) -> None:
    assert "is written" in await session.say("create notes.md with some text")
    file = session.workdir / "notes.md"
    assert file.read_text() == "some text\n"
    assert "is changed" in await session.say("edit notes.md: replace some with more")
    assert file.read_text() == "more text\n"
    assert "is changed" in await session.say("edit notes.md")
    assert file.read_text() == "more text  (edited by the demo)\n"
    assert "more text" in await session.say("read notes.md")
    (session.workdir / "deep").mkdir()
    (session.workdir / "deep" / "other.md").write_text("x")
    found = await session.say("list .md files")
    assert "2 .md file(s)" in found
    assert "`deep/other.md`" in found
    assert "no .go files" in await session.say("list .go files")
    missing = await session.say("read missing.md")
    assert "failed" in missing


async def test_three_steps(session: Session) -> None:
    answer = await session.say("check the python version, write a hello program and run it")
    assert "1. Version: Python 3." in answer
    assert "3. It printed: Hello from the demo!" in answer


async def test_commands_and_two_calls(session: Session) -> None:
    assert "hello-you" in await session.say("run echo hello-you")
    assert "boom" in await session.say("run echo boom; exit 3")
    both = await session.say("two tools at once")
    assert "**list_dir**" in both
    assert '"name": "demo-pipeline"' in both
