"""A run directory has one driver, a run that cannot be written has an end, and never_ask holds for its turn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.pipeline.journal import JOURNAL_FILE, Journal, RunRecord, read_run
from reactagent_tui.core.pipeline.resume import take_back
from reactagent_tui.core.pipeline.run_lock import alone_in
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.pipeline_task import PipelineTask
from tests.fakes.pipeline_kit import SPENT, FakeAgents, PipelineDesk, make_skill
from tests.unit.pipeline.test_driver import HEAD, THREE, agent_machine

HOLD = """
import sys
from pathlib import Path
from reactagent_tui.core.pipeline.run_lock import alone_in
with alone_in(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


async def test_two_drivers_do_not_share_a_run(tmp_path: Path, clean_place: Path) -> None:
    skill = make_skill(tmp_path, THREE)
    desk = PipelineDesk(clean_place)
    await desk.run(skill, "x")
    run = read_run(Path(desk.end.run_dir))
    before = (run.folder / JOURNAL_FILE).read_bytes()
    with alone_in(run.folder):
        with pytest.raises(ToolFailure, match="in use"):
            await desk.run(skill, resume=str(run.folder))
        with pytest.raises(SkillError, match="in use"):
            take_back(run.folder, 2)
    assert (run.folder / JOURNAL_FILE).read_bytes() == before
    assert not (await desk.run(skill, resume=str(run.folder))).is_error


@pytest.mark.external
@pytest.mark.skipif(sys.platform == "win32", reason="kill")
def test_a_holder_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"held"
        with pytest.raises(SkillError, match="in use"), alone_in(tmp_path):
            pass
        holder.kill()
        holder.wait()
    with alone_in(tmp_path):
        pass


async def test_the_users_words_are_no_placeholders_of_a_run_line(tmp_path: Path, clean_place: Path) -> None:
    machine = HEAD + (
        "import shlex\n"
        "if command == 'make':\n"
        "    (run / 'q.txt').write_text(sys.argv[-1]); sys.exit(0)\n"
        "if not there('q.txt'):\n"
        "    query = sys.argv[sys.argv.index('--query') + 1]\n"
        "    block(STATE='s', STEP='make', TYPE='bash', OUTPUT='<run>/q.txt',\n"
        '          RUN=f\'"{PY}" "{ME}" make --dir <run> --query {shlex.quote(query)}\')\n'
        "block(STATE='DONE', STEP='over', TYPE='terminal')\n"
    ).replace("OUTPUT='<run>/q.txt'", "OUTPUT=run / 'q.txt'")
    desk = PipelineDesk(clean_place)
    query = "what do <run> and <query> mean in 'it'?"
    await desk.run(make_skill(tmp_path, machine), query)
    assert (Path(desk.end.run_dir) / "q.txt").read_text() == query


async def test_never_ask_holds_until_the_turn_ends(tmp_path: Path, clean_place: Path) -> None:
    desk = PipelineDesk(clean_place)
    for extra, is_quiet in (("never_ask: true\n", True), ("", False)):
        skill = make_skill(tmp_path, THREE, name="quiet" if is_quiet else "loud", extra=extra)
        ctx = desk.context()
        await desk.port().run(PipelineTask(skill, "x", None, "run_x_pipeline"), ctx, desk.left.append)
        assert (ctx.unasked.answer is not None) is is_quiet


@pytest.mark.parametrize("more", [False, True])
async def test_a_journal_that_breaks_off(tmp_path: Path, clean_place: Path, more: bool) -> None:
    def act(_task: object) -> str:
        journal = next(clean_place.glob(f"skill_run/*/*/{JOURNAL_FILE}"))
        journal.unlink()
        journal.mkdir()
        return "text"

    machine = agent_machine("out.md")
    if more:
        last = "block(STATE='DONE'"
        step = "block(STATE='t', STEP='more', TYPE='llm_subagent', OUTPUT=run / 'more.md')\n"
        machine = machine.replace(last, step + last)
    desk = PipelineDesk(clean_place, FakeAgents(act))
    outcome = await desk.run(make_skill(tmp_path, machine), "x")
    assert desk.statuses() == [(1, "ok")]
    assert desk.end.outcome == ("failed" if more else "DONE")
    assert outcome.is_error is more
    assert JOURNAL_FILE in desk.end.detail or not more
    assert desk.end.cost.amount == SPENT.amount


async def test_the_journal_is_read_once(tmp_path: Path, clean_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Journal] = []
    load = Journal.load

    def counted(journal: Journal) -> RunRecord:
        reads.append(journal)
        return load(journal)

    monkeypatch.setattr(Journal, "load", counted)
    desk = PipelineDesk(clean_place)
    await desk.run(make_skill(tmp_path, THREE), "x")
    told = read_run(Path(desk.end.run_dir))
    assert [step.status for step in told.steps] == ["ok"] * 3
    assert len(reads) <= 4  # at the beginning, for the answer, here: not for every step


@pytest.mark.skipif(sys.platform == "win32", reason="links")
async def test_no_link_leads_the_log_or_the_journal_out(tmp_path: Path, clean_place: Path) -> None:
    skill = make_skill(tmp_path, THREE)
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    place = clean_place / "skill_run" / "steps"
    (place / "x").mkdir(parents=True)
    (place / "pipeline.log").symlink_to(mine)
    (place / "x" / JOURNAL_FILE).symlink_to(mine)
    desk = PipelineDesk(clean_place)
    await desk.run(skill, "go")
    assert desk.end.outcome == "DONE"
    with pytest.raises(OSError, match=JOURNAL_FILE):
        await desk.run(skill, "go", str(place / "x"))
    assert mine.read_text() == "mine"
