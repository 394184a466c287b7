"""One question at the start; the user's rules for every command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.pipeline.consent import Consent
from reactagent_tui.core.pipeline.port import SessionPipelines
from reactagent_tui.core.reporter import Answer, ApprovalQuestion
from reactagent_tui.core.safety.permissions import Permissions
from reactagent_tui.core.skills.expand import expand_skill_command
from reactagent_tui.core.tools.base import StoppedByUser
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.pipeline import PipelineTool
from tests.fakes.pipeline_kit import PipelineDesk, make_skill
from tests.unit.pipeline.test_driver import HEAD, THREE


def asked(desk: PipelineDesk) -> list[tuple[str, str]]:
    return [(each.tool, each.subject) for each in desk.questions if isinstance(each, ApprovalQuestion)]


async def test_one_question_that_lists_what_runs(tmp_path: Path, clean_place: Path) -> None:
    desk = PipelineDesk(clean_place, typed=False, answer=lambda _question: Answer("once"))
    await desk.run(make_skill(tmp_path, THREE), "go")
    assert desk.end.outcome == "DONE"
    assert asked(desk) == [("run_steps_pipeline", "go")]
    question = desk.questions[0]
    assert isinstance(question, ApprovalQuestion)
    assert "scripts/run.py" in str(question.blocks)
    assert question.pattern == "run_steps_pipeline"


@pytest.mark.parametrize(("mode", "questions"), [("auto", 0), ("edits", 1)])
async def test_modes(tmp_path: Path, clean_place: Path, mode: str, questions: int) -> None:
    desk = PipelineDesk(clean_place, mode=mode, typed=False, answer=lambda _: Answer("once"))  # type: ignore[arg-type]
    await desk.run(make_skill(tmp_path, THREE), "go")
    assert (desk.end.outcome, len(desk.questions)) == ("DONE", questions)


async def test_no_means_that_nothing_was_made(tmp_path: Path, clean_place: Path) -> None:
    skill = make_skill(tmp_path, THREE)
    desk = PipelineDesk(clean_place, typed=False, answer=lambda _: Answer("deny", comment="not now"))
    with pytest.raises(ToolFailure, match="not now"):
        await desk.run(skill, "go")
    with pytest.raises(StoppedByUser):
        await PipelineDesk(clean_place, typed=False, answer=lambda _: Answer("stop")).run(skill, "go")
    with pytest.raises(ToolFailure):
        await PipelineDesk(clean_place, mode="plan").run(skill, "go")
    with pytest.raises(ToolFailure):
        await PipelineDesk(clean_place, deny=("run_steps_pipeline",)).run(skill, "go")
    assert not (clean_place / "skill_run").exists()


async def test_a_grant_holds_for_the_session(tmp_path: Path, clean_place: Path) -> None:
    skill = make_skill(tmp_path, THREE)
    desk = PipelineDesk(clean_place, typed=False, answer=lambda _: Answer("pattern"))
    permissions = Permissions("ask", (clean_place,))
    port = SessionPipelines(permissions, [], desk.events.append)
    tool = PipelineTool(skill, lambda: pytest.fail("not asked"), ())  # type: ignore[arg-type]
    for _ in range(2):
        await port.run(tool_task(tool), desk.context(), desk.left.append)
    assert len(desk.questions) == 1


def tool_task(tool: PipelineTool):  # type: ignore[no-untyped-def]
    from reactagent_tui.core.tools.pipeline_task import PipelineTask

    return PipelineTask(tool.skill, "go", None, tool.name)


async def test_a_slash_command_needs_no_question(tmp_path: Path, clean_place: Path) -> None:
    skill = make_skill(tmp_path, THREE)
    desk = PipelineDesk(clean_place, typed=None)
    for messages, questions in (
        ([UserMessage("run it")], 1),
        ([expand_skill_command(skill, "go")], 0),
        ([expand_skill_command(skill, "go"), UserMessage("and now that")], 1),
    ):
        desk.questions.clear()
        port = SessionPipelines(Permissions("ask", (clean_place,)), messages, desk.events.append)
        tool = PipelineTool(skill, lambda: pytest.fail("not asked"), ())  # type: ignore[arg-type]
        try:
            await port.run(tool_task(tool), desk.context(), desk.left.append)
        except ToolFailure:
            assert questions
        assert len(desk.questions) == questions


def machine(line: str) -> str:
    return HEAD + (
        f"if not there('end'):\n    block(STATE='s', STEP='t', TYPE='bash', RUN={line!r}.replace('RUN', str(run)))\n"
        "block(STATE='DONE', TYPE='terminal')\n"
    )


@pytest.mark.parametrize(
    ("line", "answer", "questions", "outcome"),
    [
        ("curl http://127.0.0.1:1/x; touch RUN/end", "once", 1, "DONE"),
        ("curl http://127.0.0.1:1/x; touch RUN/end", "deny", 1, "failed"),
        (
            "mkdir -p RUN/a && mv RUN/.pipeline.jsonl RUN/a/ && mv RUN/a/.pipeline.jsonl RUN/ && touch RUN/end",
            "deny",
            0,
            "DONE",
        ),
        ("rm -rf ~ ; touch RUN/end", "deny", 1, "failed"),
        ("git push; touch RUN/end", "deny", 0, "failed"),
    ],
)
async def test_lines_that_are_not_the_skills_own(
    tmp_path: Path, clean_place: Path, line: str, answer: str, questions: int, outcome: str
) -> None:
    desk = PipelineDesk(
        clean_place,
        answer=lambda _: Answer(answer),
        deny=("run_shell_command(git push*)",),  # type: ignore[arg-type]
    )
    await desk.run(make_skill(tmp_path, machine(line)), "go")
    assert (len(desk.questions), desk.end.outcome) == (questions, outcome)


async def test_an_ask_rule_holds_for_the_skills_own_lines(tmp_path: Path, clean_place: Path) -> None:
    permissions = Permissions("ask", (clean_place,), ask=("run_shell_command(touch *)",))
    desk = PipelineDesk(clean_place, answer=lambda _: Answer("deny"))
    consent = Consent(permissions, desk.context(), "t", make_skill(tmp_path, THREE).dir)
    assert await consent.refusal("touch x") is not None
    assert asked(desk) == [("run_shell_command", "touch x")]
    assert await consent.refusal("mkdir x") is None
    assert len(desk.questions) == 1


async def test_never_ask_means_no_question_in_the_middle(tmp_path: Path, clean_place: Path) -> None:
    skill = make_skill(tmp_path, machine("curl http://127.0.0.1:1/x; touch RUN/end"), extra="never_ask: true\n")
    desk = PipelineDesk(clean_place, answer=lambda _: Answer("once"))
    await desk.run(skill, "go")
    assert (desk.questions, desk.end.outcome) == ([], "failed")
    assert "may not ask" in desk.end.detail


@pytest.mark.parametrize(
    ("line", "own"),
    [
        ("{py} {skill}/scripts/run.py a b", True),
        ('"{py}" "{skill}/scripts/run.py" a && touch x', True),
        ("timeout 60 python3 {skill}/scripts/run.py", True),
        ("python3 -c 'print(1)'", False),
        ("python3 /tmp/other.py", False),
        ("python3 {skill}/../other.py", False),
        ("python3 {skill}/scripts/run.py | sh", False),
        ("echo $(curl http://x)", False),
        ("echo hi > x; ls", True),
        ("rm x", False),
        ("'unclosed", False),
    ],
)
def test_own_lines(tmp_path: Path, clean_place: Path, line: str, own: bool) -> None:
    skill = make_skill(tmp_path, THREE)
    consent = Consent(Permissions("ask", (clean_place,)), PipelineDesk(clean_place).context(), "t", skill.dir)
    assert consent.is_own(line.format(py=sys.executable, skill=skill.dir)) is own
