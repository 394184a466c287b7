"""The demo pipeline: its state machine, and the demo model as caller and as its sub-agents."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reactagent_tui.core.llm.base import ModelRequest, ToolSpec
from reactagent_tui.core.llm.demo_scenes import choose
from reactagent_tui.core.llm.demo_turn import Reply
from reactagent_tui.core.messages import AssistantMessage, Message, TextPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.paths import data_dir
from reactagent_tui.core.pipeline.emit import is_terminal, parse_emit
from reactagent_tui.core.pipeline.outputs import tree
from reactagent_tui.core.pipeline.spec import read_spec
from reactagent_tui.core.skills.expand import NEVER_ASK, expand_skill_command
from reactagent_tui.core.skills.models import Skill
from reactagent_tui.core.skills.reading import read_skill
from reactagent_tui.core.tools.agent_task import AgentTask
from reactagent_tui.core.tools.pipeline import pipeline_tool_name
from tests.fakes.pipeline_kit import FakeAgents, PipelineDesk

FOLDER = data_dir("skills") / "demo-pipeline"
TOOL = "run_demo-pipeline_pipeline"


@pytest.fixture
def skill() -> Skill:
    found, problems = read_skill(FOLDER, "bundled")
    assert found is not None
    assert problems == []
    return found


def request(prompt: str | UserMessage, *more: Message, tools: tuple[str, ...] = (TOOL,)) -> ModelRequest:
    message = UserMessage(prompt) if isinstance(prompt, str) else prompt
    specs = tuple(ToolSpec(name, "", {"type": "object", "properties": {}}) for name in tools)
    return ModelRequest(model="demo", system="", messages=(message, *more), tools=specs)


def as_sub_agent(task: AgentTask) -> str:
    """The demo model in the place of a sub-agent, its files written into the prompt."""
    parts = [f"Input file: {name}\n```\n{Path(name).read_text()}\n```" for name in task.input_files]
    prompt = "\n\n".join((task.task, *parts))
    reply: Reply = choose(request(prompt, tools=("write_file",)))
    for call in reply.calls:
        assert call.tool == "write_file"
        Path(call.arguments["path"]).write_text(call.arguments["content"])
    return reply.text


@pytest.mark.parametrize(("topic", "slug", "title"), [("tea", "tea", "A note on tea"), ("绿茶", "lv-cha", "关于绿茶")])
async def test_it_runs_to_its_end(skill: Skill, clean_place: Path, topic: str, slug: str, title: str) -> None:
    desk = PipelineDesk(clean_place, FakeAgents(as_sub_agent))
    outcome = await desk.run(skill, topic)
    folder = clean_place / "skill_run" / "demo-pipeline" / slug
    assert (desk.end.outcome, desk.end.files) == ("DONE", (str(folder / "text.md"),)), outcome.text
    assert desk.titles() == ["Step 1 — gather", "Step 2 — outline", "Step 3 — text"]
    assert desk.questions == []
    assert json.loads((folder / "outline.json").read_text())["title"] == title
    assert f"# {title}" in outcome.text


def next_block(folder: Path, *more: str) -> str:
    command = [sys.executable, str(FOLDER / "scripts" / "run.py"), "next", "--dir", str(folder), *more]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True, timeout=60)
    assert done.stderr == ""
    return done.stdout


def test_next_reads_and_changes_nothing(tmp_path: Path) -> None:
    run = tmp_path / "a run"
    assert next_block(run, "--query", "it's $HOME") == next_block(run, "--query", "it's $HOME")
    assert not run.exists()
    first = parse_emit(next_block(run, "--query", "it's $HOME\nRUN: x"))
    assert first is not None
    subprocess.run(["bash", "-c", first.runs[0]], check=True, timeout=60, capture_output=True)
    assert "# Notes on: it's $HOME RUN: x" in (run / "notes.md").read_text()
    before = tree(run)
    assert next_block(run) == next_block(run)
    assert tree(run) == before
    (run / "outline.json").write_text('{"title": "x"}')  # no points: no plan yet
    assert "outline" in next_block(run)
    (run / "outline.json").write_text('{"title": "x", "points": ["y"]}')
    third = parse_emit(next_block(run))
    assert third is not None
    assert (third.step, len(third.inputs)) == ("Step 3 — text", 2)
    (run / "text.md").write_text("text")
    last = parse_emit(next_block(run))
    assert last is not None
    assert is_terminal(last)


def test_its_settings_are_the_defaults_and_read_without_a_complaint(skill: Skill) -> None:
    spec, problems = read_spec(FOLDER)
    assert problems == ()
    assert spec.bash_timeout_s == 60
    assert (skill.invoke, skill.never_ask, pipeline_tool_name(skill.name)) == ("inline", True, TOOL)


@pytest.mark.parametrize(
    ("prompt", "topic"),
    [
        ("run the demo pipeline about green tea", "green tea"),
        ("演示流水线：绿茶", "绿茶"),
        ("/demo-pipeline tea", "tea"),
        ("/demo-pipeline", "a cup of tea"),
    ],
)
def test_the_demo_model_calls_it_once_and_shows_the_text(skill: Skill, prompt: str, topic: str) -> None:
    asked = UserMessage(prompt)
    if prompt.startswith("/"):
        asked = expand_skill_command(skill, prompt.removeprefix("/demo-pipeline"))
        assert NEVER_ASK in asked.text
    reply = choose(request(asked))
    (call,) = reply.calls
    assert (call.tool, call.arguments) == (TOOL, {"query": topic})
    said = AssistantMessage((TextPart("x"), ToolCall("c", TOOL, "", {"query": topic})))
    result = ToolResult("c", TOOL, "Pipeline demo-pipeline: DONE\nRun: /w/r\n\n--- text.md ---\n# A note\nlines\n")
    told = choose(request(asked, said, result))
    assert told.calls == ()
    assert told.text.endswith("# A note\nlines")
    assert "/w/r" in told.text
