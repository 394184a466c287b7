"""Whole runs of idea-spark: every ending, and what an audit does to the card."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.spark_script import PLANTED_FINDING, PLANTED_THRESHOLD, QUESTION, Plan, answer
from tests.unit.skills.idea_spark.conftest import Starter

CARDS = ("idea.std.zh.md", "idea.std.en.md", "idea.detail.en.md")
ARTEFACTS = (
    "phase0/user_query.txt",
    "phase0/user_refs.json",
    "phase0/lit_results.json",
    "phase0/lit_table.md",
    "phase0/host_refs_nominations.json",
    "phase0/.partition_applied",
    "phase0/.coverage_check_done",
    "phase0/.lit_grounding_mode",
    "phase0/.retrieved_at",
    "phase1/phase1_output.json",
    "phase2_select/phase2_select_output.json",
    "phase2_generate/phase2_generate_output.json",
    "phase2_coherence/phase2_coherence_output.json",
    "phase3_collision/collision_hits.json",
    "phase3_critique/phase3_critique_output.json",
    "phase3_critique/falsification_reaudit.json",
    "phase3_revise/final_candidate.json",
    "phase4/phase4_skeleton.json",
    "phase4/fill_map.json",
    "phase4/phase4_expansion.json",
    "phase4/phase4_implementability.json",
    "phase4/derive_map.json",
)


def test_all_five_phases_end_in_three_cards(start: Starter) -> None:
    driver = start(Plan(patched=True))
    end = driver.drive()
    assert end.state == "DONE — all three idea cards rendered."
    assert [name for name in ARTEFACTS if not (driver.run_dir / name).exists()] == []
    assert (driver.run_dir / "phase2_coherence" / "refined_candidate.json").exists()
    for number in range(5):
        assert any(f"Phase {number}" in name for name in driver.names())
    for name in CARDS:
        text = (driver.run_dir / "phase4" / name).read_text("utf-8")
        assert "If the marked step is no better than a random step, the idea is dropped." in text
        assert "[@" not in text
        assert "- [L1] " in text
        headings = [line for line in text.splitlines() if line.startswith("#")]
        assert len(headings) == len(set(headings)) > 5
    detail = (driver.run_dir / "phase4" / CARDS[2]).read_text("utf-8")
    assert "A continuation has 64 tokens" in detail, "the engineer's patch is printed"
    assert "by one fixed prompt" in detail, "the repair of the trace is printed"
    chinese = (driver.run_dir / "phase4" / CARDS[0]).read_text("utf-8")
    assert chinese.startswith("# 分叉续写")
    assert "## 终止条件" not in chinese
    assert "终止条件" in chinese


def test_off_topic_papers_leave_the_pool(start: Starter) -> None:
    driver = start()
    driver.drive(lambda step: step.step.startswith("Phase 1"))
    table = (driver.run_dir / "phase0" / "lit_table.md").read_text("utf-8")
    assert "Wireless" not in table
    assert "Scoring Steps of Long Traces" in table
    assert len(table.splitlines()[0].strip("|").split("|")) == 9
    assert "Wireless" in (driver.run_dir / "phase0" / "off_topic.md").read_text("utf-8")


def test_a_planted_finding_changes_the_card(start: Starter) -> None:
    driver = start(Plan(verdicts=["revise"]))
    driver.drive()
    cards = {name: (driver.run_dir / "phase4" / name).read_text("utf-8") for name in CARDS}
    assert PLANTED_THRESHOLD in cards["idea.detail.en.md"]
    assert "at least 1 point above the majority vote" not in cards["idea.detail.en.md"].split("## What the audit")[0]
    for text in cards.values():
        assert PLANTED_FINDING in text
        assert "four standard errors" in text


def test_an_audit_that_advances_leaves_the_candidate(start: Starter) -> None:
    driver = start(Plan(verdicts=["advance"]))
    driver.drive()
    assert not (driver.run_dir / "phase3_revise").exists()
    text = (driver.run_dir / "phase4" / "idea.std.en.md").read_text("utf-8")
    assert "The audit advanced the idea unchanged." in text


def test_do_not_generate(start: Starter) -> None:
    driver = start(Plan(bottleneck="do_not_generate"))
    end = driver.drive()
    assert end.state == "TERMINAL — Phase 1 routed to do_not_generate."
    assert end.step == "Surface do_not_generate.md to the user"
    text = (driver.run_dir / "do_not_generate.md").read_text("utf-8")
    assert "A paper closes the problem whole." in text
    assert "Ask for the case that the paper excludes." in text
    assert QUESTION in text
    assert not (driver.run_dir / "phase2_select").exists()


@pytest.mark.parametrize("follows_run", [True, False])
def test_out_of_scope_searches_nothing(start: Starter, follows_run: bool) -> None:
    driver = start(Plan(ood=True), query="do AI")
    driver.follows_run = follows_run
    end = driver.drive()
    assert end.state == "TERMINAL — Phase 1 routed to do_not_generate."
    text = (driver.run_dir / "do_not_generate.md").read_text("utf-8")
    assert "too broad" in text
    assert "do AI" in text
    assert not Path(driver.env["SPARK_SEARCH_LOG"]).exists()
    assert json.loads((driver.run_dir / "phase1" / "phase1_output.json").read_text())["state"] == "do_not_generate"


def test_abandoned_three_times(start: Starter) -> None:
    plan = Plan(verdicts=["abandon"] * 5)
    driver = start(plan)
    end = driver.drive()
    assert end.state == "TERMINAL — Phase 3 audit abandoned (retry budget exhausted)."
    assert end.step == "Surface phase_3_failed.md to the user"
    assert plan.attempts == 3
    assert sorted(path.name for path in driver.run_dir.glob("attempt_*")) == ["attempt_1", "attempt_2"]
    assert (driver.run_dir / "attempt_1" / "phase3_critique" / "phase3_critique_output.json").exists()
    text = (driver.run_dir / "phase_3_failed.md").read_text("utf-8")
    assert all(f"## Attempt {number}:" in text for number in (1, 2, 3))
    assert all(f"Lesson {number}:" in text for number in (1, 2, 3))
    second = [step for step in driver.steps if step.step.startswith("Phase 2.1")][1]
    assert any("attempt_1/phase3_critique" in value for value in second.inputs)
    assert "ATTEMPT 2" in second.notes


def test_a_second_attempt_can_survive(start: Starter) -> None:
    driver = start(Plan(verdicts=["abandon", "advance"]))
    end = driver.drive()
    assert end.state.startswith("DONE")
    assert "- 2 attempts" in (driver.run_dir / "phase4" / "idea.std.en.md").read_text("utf-8")


def test_the_same_lesson_twice_sends_back_to_the_bottleneck(start: Starter) -> None:
    same = "No method that needs labels at test time can be used here."
    driver = start(Plan(verdicts=["abandon", "abandon", "advance"], lessons=[same, same]))
    driver.drive()
    diagnoses = [step for step in driver.steps if step.step == "Phase 1 — find the bottleneck"]
    assert len(diagnoses) == 2
    assert "SECOND DIAGNOSIS" in diagnoses[1].notes
    assert any("attempt_2/phase1/phase1_output.json" in value for value in diagnoses[1].inputs)


def test_a_blocking_finding_that_the_audit_ignores_is_audited_again(start: Starter) -> None:
    driver = start(Plan(blocking=True, verdicts=["advance", "advance", "revise"], dispositions=["ignored", "upheld"]))
    driver.drive()
    folder = driver.run_dir / "phase3_critique"
    assert json.loads((folder / "rejected_1.json").read_text())["blocking_findings_disposition"] == []
    assert json.loads((folder / "rejected_2.json").read_text())["verdict"] == "advance"
    again = [step for step in driver.steps if step.step == "Phase 3.2 — audit again"]
    assert len(again) == 2
    assert any("rejected_1.json" in value for value in again[0].inputs)


def test_an_audit_that_never_weighs_the_evidence_ends_the_run(start: Starter) -> None:
    driver = start(Plan(blocking=True, verdicts=["advance"] * 9, dispositions=["ignored"] * 9))
    end = driver.drive()
    assert "Phase 3 audit abandoned" in end.state


@pytest.mark.parametrize("valid", [True, False])
def test_a_refutation_gets_a_second_opinion(start: Starter, valid: bool) -> None:
    plan = Plan(
        blocking=True, verdicts=["advance", "revise"], dispositions=["refuted", "upheld"], refutation_valid=valid
    )
    driver = start(plan)
    driver.drive()
    assert plan.asked.count("refutation_recheck.json") == 1
    assert plan.asked.count("phase3_critique_output.json") == (1 if valid else 2)
    assert (driver.run_dir / "phase3_critique" / "recheck_1.json").exists() is not valid


def test_a_test_rewritten_badly_ends_the_run(start: Starter) -> None:
    plan = Plan(reaudit="abandon")
    driver = start(plan)
    end = driver.drive()
    assert "Phase 3 audit abandoned" in end.state
    assert "The rewritten test" in (driver.run_dir / "phase_3_failed.md").read_text("utf-8")


def test_a_revision_elsewhere_needs_no_second_audit(start: Starter) -> None:
    plan = Plan(revise_falsification=False)
    driver = start(plan)
    driver.drive()
    assert "falsification_reaudit.json" not in plan.asked


def test_without_sources_the_literature_is_recalled_and_marked(start: Starter) -> None:
    plan = Plan()
    driver = start(plan, fails=True)
    end = driver.drive()
    assert end.state.startswith("DONE")
    assert (driver.run_dir / "phase0" / ".lit_grounding_mode").read_text().strip() == "model_knowledge"
    assert "every source failed" in (driver.run_dir / "phase0" / ".connectors_degraded").read_text()
    recall = next(step for step in driver.steps if "recall" in step.step)
    assert "Mode: recall" in recall.notes
    card = (driver.run_dir / "phase4" / "idea.std.zh.md").read_text("utf-8")
    assert "来自模型记忆，未核实" in card
    assert "未能做撞车检索" in card
    assert "- [K1] " in card


def test_without_the_search_program_it_goes_on(start: Starter) -> None:
    driver = start()
    driver.env = {**driver.env, "IDEASPARK_OFFLINE": "1"}
    assert driver.drive().state.startswith("DONE")
    assert not Path(driver.env["SPARK_SEARCH_LOG"]).exists()


BROKEN = {
    "intent.json": '{"queries": ["one"], "named_papers": []}',
    "host_refs_nominations.json": "[]",
    "relevance_partition.json": '[{"paper_id": "L1", "relevance": "great", "reason": "shares it"}]',
    "lit_tags.json": '{"rows": []}',
    "phase1_output.json": '{"state": "proceed"}',
    "phase2_select_output.json": "no JSON at all",
    "phase2_generate_output.json": '{"title": "x"}',
    "phase2_coherence_output.json": '{"verdict": "maybe"}',
    "phase3_critique_output.json": '{"verdict": "great"',
    "phase3_revise_output.json": '{"applied_revisions": []}',
    "falsification_reaudit.json": '{"verdict": 1}',
    "fill_map.json": '{"detail.abstract": ""}',
    "phase4_implementability.json": "{}",
    "derive_map.json": '{"title_zh": "only"}',
}


def test_every_broken_answer_is_repaired_once(start: Starter) -> None:
    driver = start(Plan(spoil={name: [text] for name, text in BROKEN.items()}))
    end = driver.drive()
    assert end.state.startswith("DONE")
    repairs = {Path(step.output).name: step for step in driver.steps if step.step.endswith("(repair)")}
    assert repairs.keys() == BROKEN.keys()
    for name, step in repairs.items():
        assert step.inputs[0] == step.output, name
        assert step.notes.startswith("REPAIR"), name
        assert step.prompt, name
    assert "queries: has 1 entries, at least 3 are needed" in repairs["intent.json"].notes
    assert "[0].relevance: must be one of core | adjacent | off_topic" in repairs["relevance_partition.json"].notes
    assert "not valid JSON" in repairs["phase2_select_output.json"].notes
    assert "mechanism: is missing" in repairs["phase2_generate_output.json"].notes


def test_the_citation_gate_sends_back_invented_ids_and_quotations(start: Starter, tmp_path: Path) -> None:
    plan = Plan()
    driver = start(plan)
    driver.drive(lambda step: step.step.startswith("Phase 2.2"))
    output = driver.run_dir / "phase2_generate" / "phase2_generate_output.json"
    candidate = json.loads(answer(output))
    candidate["grounding"][0]["ref"] = "L99"
    candidate["grounding"][1]["quote"] = "a sentence that the paper never had"
    candidate["core_claim"] += " [@L77]"
    plan.spoil = {output.name: [json.dumps(candidate)]}
    driver.do(driver.next())
    step = driver.next()
    assert step.step.endswith("(repair)")
    for words in ("'L99'", "'L77'", "not in the title or abstract of L2"):
        assert words in step.notes
    assert driver.drive().state.startswith("DONE")
