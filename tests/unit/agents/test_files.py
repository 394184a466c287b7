"""Files that go to a sub-agent and come from it, and folders it is confined to."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.agents.child import Child
from reactagent_tui.core.agents.inputs import PLACEHOLDER
from reactagent_tui.core.agents.session_agents import main_port
from reactagent_tui.core.messages import ToolCall, ToolResult
from reactagent_tui.core.reporter import Answer, ApprovalQuestion
from reactagent_tui.core.run_ports import RunGuard
from reactagent_tui.core.tools.agent_task import AgentResult, AgentTask
from reactagent_tui.core.tools.builtin import builtin_tools
from reactagent_tui.core.tools.disk import MAX_EDITED
from tests.fakes.scripted import call, say
from tests.unit.agents.kit import Played, done, play
from tests.unit.agents.test_agents import spawn


async def test_inputs_are_inlined_with_their_paths(tmp_path: Path) -> None:
    task = {"task": "child", "input_files": ["notes.md", "the draft of before", "gone.md", "notes.md (again)"]}
    played = play(tmp_path, {"main task": [spawn(task), done()], "child": [say("x")]})
    notes = played.live.workdir / "notes.md"
    notes.write_text("line of the notes")
    await played.turn()
    text = played.minds.of("child")[0].messages[0].text
    assert text.count(f"Input file: {notes}\n```\nline of the notes\n```") == 2
    assert f"Input file: the draft of before\n{PLACEHOLDER}" in text
    assert "gone.md\n[could not be read: No such file or directory]" in text


async def test_a_file_outside_is_asked_about_and_a_forbidden_one_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("from outside")
    scripts: Any = {"main task": [spawn({"task": "child", "input_files": [str(outside)]}), done()], "child": [say("x")]}
    no = play(tmp_path, dict(scripts), mode="ask", answer=lambda _question: Answer("deny"))
    await no.turn()
    assert no.results[0].is_error
    assert not no.started
    assert "did not allow" in no.results[0].text
    (question,) = no.reporter.questions
    assert isinstance(question, ApprovalQuestion)
    assert (question.tool, question.agent) == ("read_file", "agent-1")
    scripts["main task"] = [spawn({"task": "child", "input_files": [str(outside)]}), done()]
    yes = play(tmp_path, dict(scripts), mode="ask", answer=lambda _question: Answer("once"))
    await yes.turn()
    assert "from outside" in yes.minds.of("child")[0].messages[0].text
    scripts["main task"] = [spawn({"task": "child", "input_files": [str(outside)]}), done()]
    never = play(tmp_path, dict(scripts))
    never.live.permissions.set_rules(deny=[f"read_file(/{outside})"])
    await never.turn()
    assert never.results[0].is_error
    assert not never.started
    assert not never.reporter.questions


async def test_the_answer_becomes_the_file_and_one_line_comes_back(tmp_path: Path) -> None:
    task = {"task": "审计 idea 的可实现性", "output_file": "out/report.md"}
    played = play(tmp_path, {"main task": [spawn(task), done()], "审计": [say("the report")]}, *builtin_tools())
    result = await played.turn()
    path = played.live.workdir / "out" / "report.md"
    assert path.read_text() == "the report\n"
    assert played.results[0].text == f"subagent_done: 写入 {path} (11 字节) | 任务: 审计 idea 的可实现性"
    assert str(path) in (*result.files_created, *result.files_changed)
    assert played.finished[0].output_file == str(path)


async def test_a_fence_around_data_is_no_part_of_the_file(tmp_path: Path) -> None:
    task = {"task": "child", "output_file": "a.json"}
    reply = say('```json\n{"a": 1}\n```\n')
    played = play(tmp_path, {"main task": [spawn(task), done()], "child": [reply]}, *builtin_tools())
    (played.live.workdir / "a.json").write_text("old")
    await played.turn()
    assert json.loads((played.live.workdir / "a.json").read_text()) == {"a": 1}


@pytest.mark.parametrize("before", [None, "by itself"])
async def test_a_file_that_the_agent_wrote_is_left_as_it_is(tmp_path: Path, before: str | None) -> None:
    write = {"path": "own.txt", "content": "by itself"}
    read = call(("read_file", '{"path": "own.txt"}'))
    task = {"task": "child", "output_file": "own.txt", "tools_allowlist": ["write_file", "read_file"]}
    script = [*([read] if before else []), call(("write_file", json.dumps(write))), say("It holds a text.")]
    played = play(tmp_path, {"main task": [spawn(task), done()], "child": script}, *builtin_tools())
    path = played.live.workdir / "own.txt"
    if before is not None:
        path.write_text(before)
    await played.turn()
    assert path.read_text() == "by itself"
    assert f"写入 {path} (9 字节)" in played.results[0].text


async def test_two_agents_do_not_share_an_output_file(tmp_path: Path) -> None:
    tasks = [{"task": f"child {name}", "output_file": file} for name, file in (("a", "x.txt"), ("b", "./x.txt"))]
    scripts: Any = {
        "main task": [spawn(*tasks), spawn(tasks[1]), done()],
        "child a": [say("answer of a")],
        "child b": [say("answer of b")],
    }
    played = play(tmp_path, scripts, *builtin_tools())
    await played.turn()
    first, second, again = played.results
    path = played.live.workdir / "x.txt"
    assert "subagent_done" in first.text
    assert second.is_error
    assert "agent-1" in second.text
    assert again.text.startswith("subagent_done")
    assert path.read_text() == "answer of b\n"


async def test_an_answer_that_cannot_be_written_is_an_end(tmp_path: Path) -> None:
    task = {"task": "child", "output_file": "big.bin"}
    played = play(tmp_path, {"main task": [spawn(task), done()], "child": [say("the answer")]}, *builtin_tools())
    with (played.live.workdir / "big.bin").open("wb") as file:
        file.truncate(MAX_EDITED + 1)
    await played.turn()
    (finished,) = played.finished
    assert finished.reason == "ERROR"
    assert finished.usage.total > 0
    assert "the answer" in played.results[0].text
    assert "was not written" in played.results[0].text


async def test_an_agent_that_has_ended_holds_no_conversation(tmp_path: Path) -> None:
    played = play(tmp_path, {"main task": [spawn({"task": "child"}), done()], "child": [say("x")]})
    await played.turn()
    assert played.live.agents is not None
    (record,) = played.live.agents.all()
    assert record.figures is None
    assert record.now().text == "x"
    assert not played.live.agents.stop(record.run_id)
    played.minds.requests.clear()  # the test's own copies, which know who asked
    gc.collect()
    assert not [each for each in gc.get_objects() if isinstance(each, Child) and each.record is record]


async def test_writing_is_judged_like_write_file(tmp_path: Path) -> None:
    task = {"task": "child", "output_file": "a.txt"}
    played = play(tmp_path, {"main task": [spawn(task), done()], "child": [say("x")]}, *builtin_tools(), mode="ask")
    await played.turn()
    (question,) = played.reporter.questions
    assert isinstance(question, ApprovalQuestion)
    assert (question.tool, question.agent) == ("write_file", "agent-1")
    assert question.blocks
    assert played.results[0].is_error
    assert not (played.live.workdir / "a.txt").exists()
    plan = play(tmp_path, {"main task": [spawn(task), done()], "child": [say("x")]}, *builtin_tools(), mode="plan")
    await plan.turn()
    assert plan.results[0].is_error
    assert not plan.started


async def run_in(played: Played, task: AgentTask) -> AgentResult:
    """An agent as a pipeline would begin it."""
    port = main_port(played.live, RunGuard(played.live.file, played.reporter))
    assert port is not None
    return await port.run(task, played.live._context(ToolCall("c1", "run_x", "{}"), lambda _text: None))


async def test_folders_are_free_inside_and_closed_outside(tmp_path: Path) -> None:
    root, other = tmp_path / "run", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    (other / "secret.txt").write_text("not for you")
    (root / "way").symlink_to(other)
    calls = [
        ("write_file", {"path": "in.txt", "content": "inside"}),
        ("read_file", {"path": "in.txt"}),
        ("read_file", {"path": str(other / "secret.txt")}),
        ("read_file", {"path": "way/secret.txt"}),
        ("write_file", {"path": "../out.txt", "content": "x"}),
        ("write_file", {"path": ".git/hooks/x", "content": "x"}),
        ("run_shell_command", {"command": "ls"}),
    ]
    tools = ("write_file", "read_file", "run_shell_command")
    played = play(
        tmp_path,
        {"child": [call(*((name, json.dumps(args)) for name, args in calls)), say("over")]},
        *builtin_tools(),
        mode="ask",
        answer=lambda _question: Answer("once"),
    )
    task = AgentTask("child", tools_allowlist=tools, roots=(root,), cause="pipeline", output_file=str(root / "o.md"))
    result = await run_in(played, task)
    assert (root / "in.txt").read_text() == "inside"
    assert not played.reporter.questions
    last = [m for m in played.minds.requests[-1].messages if isinstance(m, ToolResult)]
    assert [m.status for m in last] == ["done", "done", *["denied"] * 5]
    assert result.output_file == root.resolve() / "o.md"
    assert (root / "o.md").read_text() == "over\n"
    assert {row.cause for row in played.live.ledger.rows} == {"pipeline"}
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("run_inside", [False, True])
async def test_what_runs_later_is_not_written(tmp_path: Path, run_inside: bool) -> None:
    skill = tmp_path / "skill"
    run = skill / "skill_run" / "x" if run_inside else tmp_path / "run"
    run.mkdir(parents=True)
    (skill / "scripts").mkdir(parents=True)
    (skill / "scripts" / "run.py").write_text("print(1)")
    (run / ".pipeline.jsonl").write_text("{}")
    (run / "way").symlink_to(skill)
    writes = [
        (run / "ok.md", True),
        (skill / "scripts" / "run.py", False),
        (skill / "new.py", False),
        (run / "way" / "new.py", False),
        (run / ".pipeline.jsonl", False),
    ]
    calls = [("read_file", {"path": str(path)}) for path, _ in writes]
    calls += [("write_file", {"path": str(path), "content": "mine"}) for path, _ in writes]
    script = [call(*((name, json.dumps(args)) for name, args in calls)), say("over")]
    played = play(tmp_path, {"child": script}, *builtin_tools())
    task = AgentTask("child", tools_allowlist=("read_file", "write_file"), roots=(run, skill), read_only=(skill,))
    await run_in(played, task)
    assert [path.exists() and path.read_text() == "mine" for path, _ in writes] == [good for _, good in writes]
    results = [m for m in played.minds.requests[-1].messages if isinstance(m, ToolResult)]
    assert [m.status for m in results[len(writes) :]] == ["done" if good else "denied" for _, good in writes]


async def test_a_deny_rule_holds_in_the_folders_too(tmp_path: Path) -> None:
    root = tmp_path / "run"
    root.mkdir()
    (root / ".env").write_text("KEY=1")
    played = play(
        tmp_path,
        {"child": [call(("read_file", '{"path": ".env"}')), say("over")]},
        *builtin_tools(),
    )
    played.live.permissions.set_rules(deny=["read_file(**/.env)"])
    await run_in(played, AgentTask("child", tools_allowlist=("read_file",), roots=(root,)))
    (result,) = [m for m in played.minds.requests[-1].messages if isinstance(m, ToolResult)]
    assert result.status == "denied"
