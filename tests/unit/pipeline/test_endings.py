"""The driver with a state machine in the shape of the public ones, to each of its endings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reactagent_tui.core.skills.models import Skill
from reactagent_tui.core.tools.agent_task import AgentTask
from tests.fakes.pipeline_kit import FakeAgents, PipelineDesk, load_skill

MACHINE = Path(__file__).parents[2] / "fakes" / "idea_machine"
QUERY = 'agents "that" $HOME `id`; rm -rf x\nsecond line | 图'


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    folder = tmp_path / "skills" / "idea_machine"
    shutil.copytree(MACHINE, folder)
    return load_skill(folder)


class Actor:
    """Sub-agents that do their steps; `verdicts` is what the audits say, in order."""

    def __init__(self, state: str = "proceed", verdicts: tuple[str, ...] = ("advance",), queries: str | None = None):
        self.state = state
        self.verdicts = list(verdicts)
        self.queries = queries or json.dumps({"queries": ["a b", "c|d", "e's", 'f "g"'], "named_papers": []})
        self.tasks: list[AgentTask] = []
        self.collided: list[bool] = []

    def __call__(self, task: AgentTask) -> str:
        self.tasks.append(task)
        text = task.task
        if "derive queries" in text:
            return f"Here they are:\n```json\n{self.queries}\n```"
        if "bottleneck" in text:
            return f'Sure.\n{{"state": "{self.state}", "why": "the "old" way\tfails"}}\nDone.'
        if "select and generate" in text:
            for line in text.split("\n"):
                if line.startswith("- /") and line.endswith(".json"):
                    path = Path(line[2:])
                    if path.name in ("selected.json", "candidate.json"):
                        path.parent.mkdir(exist_ok=True)
                        path.write_text('{"ok": true}')
            return "Both written."
        if "audit" in text:
            return json.dumps({"verdict": self.verdicts.pop(0)})
        return "A table or a report."

    def task(self, words: str) -> AgentTask:
        return next(task for task in self.tasks if words in task.task)


async def test_to_done(skill: Skill, clean_place: Path) -> None:
    actor = Actor(verdicts=("revise", "advance"))
    desk = PipelineDesk(clean_place, FakeAgents(actor))
    outcome = await desk.run(skill, QUERY)
    assert (desk.end.outcome, outcome.is_error) == ("DONE", False), outcome.text
    run = Path(desk.end.run_dir)
    assert run.parent == clean_place / "skill_run" / "idea_machine"
    cards = ["idea.std.zh.md", "idea.std.en.md", "idea.detail.en.md"]
    assert [Path(name).name for name in desk.end.files] == cards
    assert "# Card idea.std.en.md" in outcome.text
    assert [status for _, status in desk.statuses()] == ["ok"] * 8
    assert [index for index, _ in desk.statuses()] == list(range(1, 9))
    assert desk.questions == []
    found = json.loads((run / "phase0" / "lit_results.json").read_text())
    # a hostile query reaches the program as it was typed; nothing of it was run
    assert found == {"query": QUERY, "queries": ["a b", "c d", "e's", 'f "g"'], "named": None}
    assert (run / "prepared").exists()
    assert (run / "collision.json").exists()
    assert (run / "phase3" / "rejected_1" / "critique.json").exists()
    assert json.loads((run / "phase1" / "phase1_output.json").read_text())["why"] == 'the "old" way\tfails'


async def test_what_sub_agents_get(skill: Skill, clean_place: Path) -> None:
    actor = Actor()
    desk = PipelineDesk(clean_place, FakeAgents(actor))
    await desk.run(skill, "ideas on retrieval")
    run = Path(desk.end.run_dir)
    map_step = actor.task("Phase 1 — bottleneck")
    assert map_step.system_prompt == "Find what limits the field. REFUSE when there is nothing.\n"
    assert map_step.input_files == (str(run / "lit_table.md"),)
    assert map_step.roots == (run, skill.dir)
    assert map_step.read_only == (skill.dir,)
    assert map_step.cause == "pipeline"
    assert map_step.tools_allowlist == ("read_file", "write_file", "list_dir", "glob")
    assert "Mode: Map mode" in map_step.task
    assert "choose the right file there yourself" in map_step.task
    assert "ideas on retrieval" in map_step.task
    both = actor.task("select and generate")
    assert both.system_prompt == "Select a direction.\n\n\nGenerate a candidate.\n"
    assert both.output_file is None
    assert actor.task("pattern_summary").system_prompt is None


async def test_to_do_not_generate(skill: Skill, clean_place: Path) -> None:
    desk = PipelineDesk(clean_place, FakeAgents(Actor(state="do_not_generate")))
    outcome = await desk.run(skill, "everything")
    assert desk.end.outcome == "do_not_generate"
    assert [Path(name).name for name in desk.end.files] == ["do_not_generate.md"]
    assert not outcome.is_error
    assert "A table or a report." in outcome.text


async def test_to_phase_3_failed(skill: Skill, clean_place: Path) -> None:
    desk = PipelineDesk(clean_place, FakeAgents(Actor(verdicts=("abandon",))))
    outcome = await desk.run(skill, "something")
    assert desk.end.outcome == "phase_3_failed"
    assert [Path(name).name for name in desk.end.files] == ["phase_3_failed.md"]
    assert outcome.is_error
    assert "phase_3_failed" in outcome.text


async def test_queries_that_cannot_be_read_are_made_of_the_users_words(skill: Skill, clean_place: Path) -> None:
    desk = PipelineDesk(clean_place, FakeAgents(Actor(queries="I would search for many things.")))
    await desk.run(skill, "graph | agents")
    found = json.loads((Path(desk.end.run_dir) / "phase0" / "lit_results.json").read_text())
    assert found["queries"][0] == "graph agents"
    assert len(found["queries"]) == 4
    assert desk.end.outcome == "DONE"


async def test_out_of_domain_ends_it_before_anything_is_fetched(skill: Skill, clean_place: Path) -> None:
    verdict = {"ood": True, "trigger_id": 1, "trigger_quote": "everything", "match_evidence": "no field is named"}
    desk = PipelineDesk(clean_place, FakeAgents(Actor(queries=json.dumps(verdict))))
    outcome = await desk.run(skill, "everything")
    assert desk.end.outcome == "ood"
    assert "no field is named" in desk.end.detail
    assert "no field is named" in outcome.text
    assert not (Path(desk.end.run_dir) / "phase0").exists()


async def test_out_of_domain_means_nothing_where_it_is_not_declared(skill: Skill, clean_place: Path) -> None:
    settings = skill.dir / "pipeline.yaml"
    settings.write_text(settings.read_text().replace("ood_detection: true", "ood_detection: false"))
    verdict = {"ood": True, "trigger_id": 1, "queries": ["a b", "c d"], "named_papers": ["A Title", "B's"]}
    desk = PipelineDesk(clean_place, FakeAgents(Actor(queries=json.dumps(verdict))))
    await desk.run(skill, "everything")
    assert desk.end.outcome == "DONE"
    found = json.loads((Path(desk.end.run_dir) / "phase0" / "lit_results.json").read_text())
    assert (found["queries"], found["named"]) == (["a b", "c d"], "A Title|B's")


async def test_the_log_grows_over_runs(skill: Skill, clean_place: Path) -> None:
    for query in ("one", "two"):
        await PipelineDesk(clean_place, FakeAgents(Actor())).run(skill, query)
    log = (clean_place / "skill_run" / "idea_machine" / "pipeline.log").read_text()
    assert "[one] started: idea_machine, query: one" in log
    assert "[two] ended: DONE" in log
    assert "[one] next: a warning" in log
    assert "exit code 10 (handshake)" in log
