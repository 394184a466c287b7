"""The driver itself: retries, limits, stops, resumed runs, what it tells and writes."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

import pytest

from reactagent_tui.core.agent_events import PipelineStarted, PipelineStepStarted
from reactagent_tui.core.pipeline.estimate import estimate_rest, estimate_run
from reactagent_tui.core.pipeline.journal import JOURNAL_FILE, read_run
from reactagent_tui.core.pipeline.resume import runs_of, take_back
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.pipeline_task import PipelineTask
from reactagent_tui.core.tools.process import running_children
from tests.fakes.pipeline_kit import FakeAgents, PipelineDesk, make_skill

HEAD = """
import json, os, sys
from pathlib import Path
command = sys.argv[1]
run = Path(sys.argv[sys.argv.index("--dir") + 1])
PY, ME = sys.executable, os.path.abspath(__file__)
def block(**fields):
    for label, value in fields.items():
        print(f"{label:<7}: {value}")
    sys.exit(0)
def there(name):
    return (run / name).exists()
"""
THREE = (
    HEAD
    + """
if command == "make":
    name = sys.argv[-1]
    with (run / "made.log").open("a") as log:
        log.write(name + "\\n")
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).write_text(name)
    sys.exit(0)
for name in ("one.md", "two/two.md", "three.md"):
    if not there(name):
        block(STATE=name, STEP=f"make {name}", TYPE="bash", OUTPUT=run / name,
              RUN=f'"{PY}" "{ME}" make --dir "{run}" {name}')
block(STATE="DONE", STEP="show three.md", TYPE="terminal")
"""
)


def agent_machine(output: str, **more: str) -> str:
    """One sub-agent step for `output`, then DONE."""
    fields = ", ".join(f"{label}={value!r}" for label, value in more.items())
    name = output.split(" ")[0]
    return HEAD + (
        f"if not there({name!r}) or json_broken():\n"
        f"    block(STATE='s', STEP='write', TYPE='llm_subagent', OUTPUT=f'{{run}}/{output}', {fields})\n"
        "block(STATE='DONE', STEP='over', TYPE='terminal')\n"
    ).replace("json_broken()", "False")


def desk_with(place: Path, *replies: str) -> PipelineDesk:
    left = list(replies)
    return PipelineDesk(place, FakeAgents(lambda _task: left.pop(0)))


async def test_bash_steps_to_the_end(tmp_path: Path, clean_place: Path) -> None:
    desk = PipelineDesk(clean_place)
    outcome = await desk.run(make_skill(tmp_path / "s", THREE), "go")
    assert desk.statuses() == [(1, "ok"), (2, "ok"), (3, "ok")]
    assert desk.titles() == ["make one.md", "make two/two.md", "make three.md"]
    assert desk.end.outcome == "DONE"
    assert desk.end.files == (str(Path(desk.end.run_dir) / "three.md"),)
    assert "2. [ok] make two/two.md" in outcome.text
    assert {event.tool_call_id for event in desk.events} == {"call_1"}
    run = read_run(Path(desk.end.run_dir))
    assert [step.files for step in run.steps] == [
        ("made.log", "one.md"), ("made.log", "two/two.md"), ("made.log", "three.md"),
    ]  # fmt: skip


async def test_the_same_block_three_times_is_stuck(tmp_path: Path, clean_place: Path) -> None:
    program = HEAD + "block(STATE='s', STEP='spin', TYPE='bash', RUN='true')\n"
    desk = PipelineDesk(clean_place)
    outcome = await desk.run(make_skill(tmp_path, program), "go")
    assert desk.end.outcome == "stuck"
    assert "stuck at STEP spin" in desk.end.detail
    assert desk.statuses() == [(1, "ok"), (2, "ok")]
    assert outcome.is_error


async def test_steps_have_a_limit(tmp_path: Path, clean_place: Path) -> None:
    desk = PipelineDesk(clean_place)
    await desk.run(make_skill(tmp_path, THREE, settings="max_steps: 2"), "go")
    assert (desk.end.outcome, desk.end.detail) == ("failed", "more than 2 steps")


async def test_an_output_that_is_not_written_is_asked_for_once_more(tmp_path: Path, clean_place: Path) -> None:
    skill = make_skill(tmp_path, agent_machine("out.json"))
    desk = desk_with(clean_place, 'Sorry: {"a": ', 'Here:\n```json\n{"a": "b "c" d"}\n```')
    await desk.run(skill, "go")
    assert desk.end.outcome == "DONE"
    assert json.loads((Path(desk.end.run_dir) / "out.json").read_text()) == {"a": 'b "c" d'}
    assert desk.agents is not None
    first, second = desk.agents.tasks
    assert "not accepted" not in first.task
    assert "not accepted: out.json was not written, and the reply is not valid JSON" in second.task
    assert desk.end.usage.total == 240


async def test_it_fails_with_the_name_of_the_step(tmp_path: Path, clean_place: Path) -> None:
    desk = desk_with(clean_place, "", "")
    outcome = await desk.run(make_skill(tmp_path, agent_machine("out.md")), "go")
    assert desk.end.outcome == "failed"
    assert desk.end.detail.startswith("write: ")
    assert "out.md was not written" in outcome.text
    assert desk.statuses() == [(1, "failed")]


async def test_no_reply_takes_the_place_of_a_file_edited_in_place(tmp_path: Path, clean_place: Path) -> None:
    program = HEAD + (
        "if not there('x.md'):\n    block(STATE='s', STEP='make', TYPE='bash', RUN=f'echo old > \"{run}/x.md\"')\n"
        "if (run / 'x.md').read_text() == 'old\\n':\n"
        "    block(STATE='s', STEP='edit', TYPE='llm_subagent', OUTPUT=f'{run}/x.md (edited in place)')\n"
        "block(STATE='DONE', TYPE='terminal')\n"
    )
    desk = desk_with(clean_place, "I changed it.", "I changed it again.")
    await desk.run(make_skill(tmp_path, program), "go")
    assert desk.end.outcome == "failed"
    assert (Path(desk.end.run_dir) / "x.md").read_text() == "old\n"


async def test_a_reply_lands_nowhere_but_in_the_run(tmp_path: Path, clean_place: Path) -> None:
    program = HEAD + f"block(STATE='s', STEP='w', TYPE='llm_subagent', OUTPUT='{clean_place}/outside.md')\n"
    desk = desk_with(clean_place, "text", "text")
    await desk.run(make_skill(tmp_path, program), "go")
    assert desk.end.outcome == "failed"
    assert not (clean_place / "outside.md").exists()
    assert desk.agents is not None
    assert desk.agents.tasks[0].output_file is None


@pytest.mark.parametrize(
    ("code", "outcome", "tries"), [(3, "failed", 2), (1, "failed", 1), (10, "DONE", 1), (11, "DONE", 1)]
)
async def test_exit_codes(tmp_path: Path, clean_place: Path, code: int, outcome: str, tries: int) -> None:
    program = HEAD + (
        f"if command == 'go':\n    open(run / 'tries', 'a').write('x')\n    print('said this')\n    sys.exit({code})\n"
        "if not there('tries'):\n"
        "    block(STATE='s', STEP='t', TYPE='bash', RUN=f'\"{PY}\" \"{ME}\" go --dir \"{run}\"')\n"
        "block(STATE='DONE', TYPE='terminal')\n"
    )
    desk = PipelineDesk(clean_place)
    result = await desk.run(make_skill(tmp_path, program), "go")
    assert desk.end.outcome == outcome
    assert (Path(desk.end.run_dir) / "tries").read_text() == "x" * tries
    assert ("said this" in result.text) is (outcome == "failed")


async def test_a_command_has_a_time_limit(tmp_path: Path, clean_place: Path) -> None:
    program = HEAD + "block(STATE='s', STEP='t', TYPE='bash', RUN='sleep 60')\n"
    desk = PipelineDesk(clean_place, mode="auto")
    await desk.run(make_skill(tmp_path, program, settings="bash_timeout_s: 0.2"), "go")
    assert desk.end.outcome == "failed"
    assert "timed out" in desk.end.detail
    assert not running_children()


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import sys; sys.exit('no such thing')", "no such thing"),
        ("", "printed no step"),
        (HEAD + "block(STATE='s', STEP='x', TYPE='human')", "TYPE"),
        (HEAD + "block(STATE='s', STEP='x', TYPE='bash')", "without RUN"),
        (
            HEAD + "block(STATE='s', STEP='x', TYPE='llm_subagent', PROMPT='/nowhere/p.txt', OUTPUT='o.md')",
            "/nowhere/p.txt",
        ),
        (HEAD + "block(STATE='s', STEP='x', TYPE='bash', RUN='echo $(echo <query>)')", "command substitution"),
    ],
)
async def test_a_machine_that_is_no_use(tmp_path: Path, clean_place: Path, program: str, said: str) -> None:
    desk = desk_with(clean_place)
    await desk.run(make_skill(tmp_path, program), "go")
    assert desk.end.outcome == "failed"
    assert said in desk.end.detail


async def test_without_sub_agents_it_says_so(tmp_path: Path, clean_place: Path) -> None:
    desk = PipelineDesk(clean_place)
    await desk.run(make_skill(tmp_path, agent_machine("out.md")), "go")
    assert "none can be had here" in desk.end.detail


async def test_a_log_that_cannot_be_written_stops_nothing(
    tmp_path: Path, clean_place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (clean_place / "skill_run" / "steps" / "pipeline.log").mkdir(parents=True)
    desk = PipelineDesk(clean_place)
    with caplog.at_level(logging.INFO, logger="reactagent_tui.core.pipeline"):
        await desk.run(make_skill(tmp_path, THREE), "go")
    assert desk.end.outcome == "DONE"
    assert "ended: DONE" in caplog.text


# -- stopping and going on ------------------------------------------------------------------


async def test_a_stop_ends_the_step_and_the_run_goes_on_later(tmp_path: Path, clean_place: Path) -> None:
    skill = make_skill(tmp_path, agent_machine("out.md"))
    held = PipelineDesk(clean_place, FakeAgents(lambda _task: "", hold=lambda _task: True))
    assert held.agents is not None
    call = asyncio.create_task(held.run(skill, "go"))
    await held.agents.holding.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert held.end.outcome == "interrupted"
    assert held.statuses() == [(1, "interrupted")]
    folder = held.end.run_dir
    assert f'resume_dir="{folder}"' in held.left[0].text
    assert read_run(Path(folder)).outcome == "interrupted"

    desk = desk_with(clean_place, "the text")
    outcome = await desk.run(skill, resume=folder)
    assert desk.end.outcome == "DONE"
    begun = [(event.index, event.attempt) for event in desk.events if isinstance(event, PipelineStepStarted)]
    assert begun == [(1, 1), (1, 2)]  # as it was, and the second attempt
    started = next(event for event in desk.events if isinstance(event, PipelineStarted))
    assert (started.resumed, started.query) == (True, "go")
    assert not outcome.is_error


async def test_a_stop_kills_the_command(tmp_path: Path, clean_place: Path) -> None:
    program = HEAD + "block(STATE='s', STEP='t', TYPE='bash', RUN='echo begun; sleep 60')\n"
    desk = PipelineDesk(clean_place, mode="auto")
    call = asyncio.create_task(desk.run(make_skill(tmp_path, program), "go"))
    while not any("begun" in text for text in desk.shown):
        await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not running_children()


async def test_steps_that_are_done_are_not_done_again(tmp_path: Path, clean_place: Path) -> None:
    """As after SIGKILL in step 3: the journal ends in the middle of a line."""
    skill = make_skill(tmp_path, THREE)
    desk = PipelineDesk(clean_place)
    await desk.run(skill, "go")
    folder = Path(desk.end.run_dir)
    lines = (folder / JOURNAL_FILE).read_text().split("\n")
    third = next(number for number, line in enumerate(lines) if '"index": 3' in line)
    (folder / JOURNAL_FILE).write_text("\n".join([*lines[: third + 1], '{"kind": "step_fini']))
    (folder / "three.md").unlink()
    (folder / "made.log").write_text("")

    again = PipelineDesk(clean_place)
    await again.run(skill, resume=str(folder.relative_to(clean_place)))
    assert (folder / "made.log").read_text() == "three.md\n"
    run = read_run(folder)
    assert [(step.index, step.status, step.attempt) for step in run.steps] == [(1, "ok", 1), (2, "ok", 1), (3, "ok", 2)]
    assert run.outcome == "DONE"


async def test_from_a_step_on_once_more(tmp_path: Path, clean_place: Path) -> None:
    skill = make_skill(tmp_path, THREE)
    desk = PipelineDesk(clean_place)
    await desk.run(skill, "go")
    folder = Path(desk.end.run_dir)
    assert estimate_rest(read_run(folder), 2).titles == ("make two/two.md", "make three.md")
    (folder / "made.log").unlink()
    moved = take_back(folder, 2)
    assert sorted(path.name for path in moved) == ["three.md", "two.md"]
    assert (folder / "one.md").exists()
    assert not (folder / "two").exists()  # an empty folder must not look like a step that was done
    assert all(path.is_relative_to(folder / ".archive") and path.exists() for path in moved)
    assert [step.index for step in read_run(folder).steps] == [1]
    await PipelineDesk(clean_place).run(skill, resume=folder.name)
    assert (folder / "made.log").read_text() == "two/two.md\nthree.md\n"
    assert [step.index for step in read_run(folder).steps] == [1, 2, 3]


async def test_a_second_run_has_a_folder_of_its_own(tmp_path: Path, clean_place: Path) -> None:
    skill = make_skill(tmp_path, THREE)
    folders = []
    for _ in range(2):
        desk = PipelineDesk(clean_place)
        await desk.run(skill, "平安夜的烟花")
        folders.append(Path(desk.end.run_dir).name)
    assert folders == ["ping-an-ye-de-yan-hua", "ping-an-ye-de-yan-hua_2"]
    assert len(runs_of(clean_place)) == 2
    assert (clean_place / "skill_run" / ".gitignore").read_text() == "*\n"


async def test_what_it_will_take_is_told_from_earlier_runs(tmp_path: Path, clean_place: Path) -> None:
    skill = make_skill(tmp_path, agent_machine("out.md"))
    assert estimate_run(runs_of(clean_place, "steps")).runs == 0
    for _ in range(2):
        await desk_with(clean_place, "text").run(skill, "go")
    await desk_with(clean_place, "", "").run(skill, "fails")
    found = estimate_run(runs_of(clean_place, "steps"))
    assert (found.runs, found.steps, found.tokens, found.titles) == (2, 1, 120, ("write",))
    assert str(found.cost.amount) == "0.01"


@pytest.mark.parametrize(
    "place", ["..", "/", "skill_run/steps", "src", "skill_run/other/x", "skill_run/steps/a/phase1", "nowhere"]
)
async def test_folders_that_are_no_run_are_refused(tmp_path: Path, clean_place: Path, place: str) -> None:
    (clean_place / "src").mkdir()
    (clean_place / "skill_run" / "other" / "x").mkdir(parents=True)
    (clean_place / "skill_run" / "steps" / "a" / "phase1").mkdir(parents=True)
    with pytest.raises(ToolFailure):
        await PipelineDesk(clean_place).run(make_skill(tmp_path, THREE), "go", place)


async def test_a_run_elsewhere_in_the_workspace_is_taken_when_it_looks_like_one(
    tmp_path: Path, clean_place: Path
) -> None:
    skill = make_skill(tmp_path, THREE, settings='run_dir_template: "out/{skill}-{slug}"\nlog_file: "out/{skill}.log"')
    desk = PipelineDesk(clean_place)
    await desk.run(skill, "go")
    assert Path(desk.end.run_dir) == clean_place / "out" / "steps-go"
    assert (clean_place / "out" / "steps.log").exists()
    again = PipelineDesk(clean_place)
    await again.run(skill, resume="out/steps-go")
    assert again.end.outcome == "DONE"
    other = make_skill(tmp_path, THREE, name="other")
    with pytest.raises(ToolFailure, match="is a run of steps"):
        await PipelineDesk(clean_place).run(other, resume="out/steps-go")


async def test_the_environment_of_its_programs(
    tmp_path: Path, clean_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    program = HEAD + (
        "if not there('env'):\n"
        "    block(STATE='s', STEP='t', TYPE='bash', RUN='env > \"$RUN_DIR/env\"')\n"
        "block(STATE='DONE', TYPE='terminal')\n"
    )
    desk = PipelineDesk(clean_place, mode="auto")
    skill = make_skill(tmp_path, program, settings="env: {COLOUR: red}")
    task_secrets = ("OPENAI_API_KEY",)
    task = PipelineTask(skill, "go", None, "run_steps_pipeline", task_secrets)
    await desk.port().run(task, desk.context(), desk.left.append)
    rows = (Path(desk.end.run_dir) / "env").read_text().split("\n")
    assert "COLOUR=red" in rows
    assert f"SKILL_DIR={skill.dir}" in rows
    assert not any("secret" in row for row in rows)
