"""The pure parts: the checker, field paths, the citation gate, verdicts, and the search of papers."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.spark_driver import spark_module
from tests.fakes.spark_script import Plan, answer
from tests.unit.skills.idea_spark.conftest import Starter

schema = spark_module("schema")
shapes = spark_module("shapes")
patching = spark_module("patching")
citations = spark_module("citations")
verdicts = spark_module("verdicts")
emit = spark_module("emit")
papers = spark_module("papers")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
ALL_SHAPES = [
    shapes.INTENT,
    shapes.OOD,
    shapes.NOMINATIONS,
    shapes.PARTITION,
    shapes.LIT_TAGS,
    shapes.PROCEED,
    shapes.DO_NOT_GENERATE,
    shapes.SELECT,
    shapes.CANDIDATE,
    shapes.COHERENCE,
    shapes.CRITIQUE,
    shapes.RECHECK,
    shapes.REVISE,
    shapes.REAUDIT,
    shapes.FILL,
    shapes.DERIVE,
    shapes.IMPLEMENTABLE,
]
KNOWN = citations.References(
    {
        "L1": {"paper_id": "L1", "title": "Late Errors", "abstract": "Long “traces” fail\nearly — and nobody notices."},
        "K1": {"paper_id": "K1", "title": "From Memory", "abstract": ""},
    }
)


@given(JSON, st.sampled_from(ALL_SHAPES))
def test_no_value_breaks_a_check(value: Any, shape: Any) -> None:
    errors = schema.errors_in(shape, value)
    assert errors, "a random value passed"
    assert all(isinstance(error, str) and ":" in error for error in errors)
    assert len(errors) <= schema.MAX_ERRORS


@given(JSON)
def test_no_value_breaks_the_gate(value: Any) -> None:
    citations.citation_errors(value, KNOWN)
    citations.cited(value)


@given(st.text())
def test_a_block_is_never_longer_than_its_fields(text: str) -> None:
    block = emit.Block(text, text, "bash", inputs=(text,), run=("true",), notes=text)
    rows = emit.render(block, Path("/run")).split("\n")
    assert rows[0] == rows[-2] == emit.RULE
    assert len(rows) == 9 - (0 if text else 1)
    assert all(len(row.splitlines()) <= 1 for row in rows)


@given(st.text(), st.text())
def test_a_quotation_is_found_whatever_its_dress(before: str, after: str) -> None:
    paper = {"paper_id": "L1", "title": before, "abstract": f"x Long traces fail early {after}"}
    known = citations.References({"L1": paper})
    assert citations.citation_errors({"ref": "L1", "quote": "“LONG traces—fail  early”"}, known) == []


def test_the_gate_names_field_and_reason() -> None:
    value = {
        "grounding": [
            {"ref": "L1", "quote": "long 'traces' fail early"},
            {"ref": "L1", "quote": "nobody ever noticed it"},
            {"ref": "L1", "quote": ""},
            {"ref": "K1", "quote": ""},
            {"ref": "L9", "quote": "whatever it says there"},
            {"ref": "L1", "quote": "fail early"},
            {"ref": "L1", "quote": "x" * 500},
            {"ref": "L1", "quote": "races fail early"},
        ],
        "text": "As shown [@L1; @K1] and [@L7, L8].",
    }
    errors = citations.citation_errors(value, KNOWN)
    where = [error.split(":")[0] for error in errors]
    assert where == [
        "grounding[4].ref",
        "text",
        "text",
        "grounding[1].quote",
        "grounding[2].quote",
        "grounding[5].quote",
        "grounding[6].quote",
        "grounding[7].quote",
    ]


@given(JSON)
def test_setting_a_field_changes_only_that_field(value: Any) -> None:
    document = {"a": {"b": [1, {"c": 2}]}, "d": 3}
    kept = copy.deepcopy(document)
    result = patching.changed(document, "a.b[1].c", value)
    assert document == kept
    assert patching.value_at(result, "a.b[1].c") == value
    assert patching.changed(result, "a.b[1].c", 2) == kept
    assert patching.changed(document, "a.b[+]", value)["a"]["b"][-1] == value


@pytest.mark.parametrize(
    "field", ["", "x", "a.x", "a.b[9]", "a.b[-1]", "a..b", "a b", "a[0]", "d[+]", "a.b[+].c", "[0]"]
)
def test_fields_that_are_not_there(field: str) -> None:
    with pytest.raises(patching.NoSuchField):
        patching.changed({"a": {"b": [1]}, "d": 3}, field, 1)


@pytest.fixture
def audited(start: Starter) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """A sound report, its candidate and the references of the run."""
    driver = start()
    driver.drive(lambda step: step.step.startswith("Phase 3.2"))
    run = spark_module("rundir").RunDir(driver.run_dir)
    report = json.loads(answer(run.critique, Plan()))
    return report, json.loads(run.generate.read_text()), citations.references(run)


def test_a_sound_report_has_no_errors(audited: tuple[dict[str, Any], dict[str, Any], Any]) -> None:
    report, candidate, known = audited
    assert verdicts.critique_errors(report, candidate, known) == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"verdict": "advance"}, "these findings are blocking or major: F1"),
        ({"verdict": "advance", "findings": []}, "must be empty when the verdict is advance"),
        (
            {"verdict": "advance", "findings": [], "revision_targets": [], "fail": "novelty"},
            "these checks fail: novelty",
        ),
        ({"revision_targets": []}, "no target for the findings F1"),
        ({"field": "nowhere.at_all"}, "revision_targets[0].field"),
        ({"finding_id": "F7"}, "no finding has the id 'F7'"),
        ({"verdict": "abandon"}, "abandon needs a blocking finding"),
        ({"twice": True}, "the id F1 is used twice"),
        ({"subsumes": True, "verdict": "advance", "findings": [], "revision_targets": []}, "C1 subsumes the candidate"),
        ({"same_check": True}, "novelty is judged twice"),
    ],
)
def test_contradictions_in_a_report(
    audited: tuple[dict[str, Any], dict[str, Any], Any], change: dict[str, Any], why: str
) -> None:
    report, candidate, known = audited
    report |= {key: value for key, value in change.items() if key in report}
    if "fail" in change:
        report["checks"][0]["result"] = "fail"
    if "subsumes" in change:
        report["collisions"][0]["subsumes"] = True
    if "same_check" in change:
        report["checks"][1]["check"] = "novelty"
    if "twice" in change:
        report["findings"] *= 2
    for key in ("field", "finding_id"):
        if key in change:
            report["revision_targets"][0][key] = change[key]
    assert any(why in error for error in verdicts.critique_errors(report, candidate, known))


def test_a_revision_that_changes_nothing_or_breaks_the_candidate(
    audited: tuple[dict[str, Any], dict[str, Any], Any],
) -> None:
    _report, candidate, known = audited

    def errors(field: str, value: Any) -> str:
        return "; ".join(patching.patch_errors(candidate, [{"field": field, "new_value": value}], known))

    assert "is what stands there already" in errors("title", candidate["title"])
    assert "after the change, mechanism: must be a list" in errors("mechanism", "text")
    assert "after the change, risks[2]: must be an object" in errors("risks[+]", "a risk")
    assert "cites 'L55'" in errors("core_claim", "A claim that is long enough to be one and cites [@L55].")
    assert errors("risks[+]", candidate["risks"][0] | {"risk": "Another risk, a real one."}) == ""


def test_cards_are_not_rendered_from_another_candidate(start: Starter) -> None:
    driver = start()
    driver.drive(lambda step: step.step.startswith("Phase 4.5"))
    final = driver.run_dir / "phase3_revise" / "final_candidate.json"
    document = json.loads(final.read_text())
    final.write_text(json.dumps(document | {"title": "Another Title Than the Audited"}))
    done = driver.call("phase4_render", "--dir", str(driver.run_dir), check=False)
    assert done.returncode == 1
    assert "another candidate" in done.stderr
    assert not (driver.run_dir / "phase4" / "idea.std.en.md").exists()


def test_plain_cards_bring_no_new_figures(start: Starter) -> None:
    driver = start()
    driver.drive(lambda step: step.step.startswith("Phase 4.4"))
    output = driver.run_dir / "phase4" / "derive_map.json"
    texts = json.loads(answer(output)) | {"en.test": "It must beat the baseline by 37.5 % on the held-out set."}
    texts["zh.hook"] = "This is still English, not Chinese."
    output.write_text(json.dumps(texts))
    notes = driver.next().notes
    assert "en.test: the figure '37.5 %'" in notes
    assert "zh.hook: must be written in Chinese" in notes


def test_nominations_of_a_real_search_are_looked_up(start: Starter) -> None:
    nominations = {
        "nominations": [
            {"title": title, "why_load_bearing": "the baseline of the field", "confidence": "high"}
            for title in ("Branching Traces for Agreement", "A Title That Nobody Wrote", "Late Errors in Reasoning")
        ]
    }
    driver = start(Plan(spoil={"host_refs_nominations.json": [json.dumps(nominations)]}))
    driver.drive(lambda step: step.step.startswith("Phase 0.3 — check"))
    program = Path(driver.env["IDEASPARK_PAPER_SEARCH"])
    program.write_text(program.read_text().replace('"forked" in', '"Branching" in'))
    driver.do(driver.steps[-1])
    found = json.loads((driver.run_dir / "phase0" / "host_refs.json").read_text())
    assert [(ref["paper_id"], ref["title"]) for ref in found["refs"]] == [("H1", "Branching Traces for Agreement")]
    assert found["refs"][0]["verified"] is True
    assert [entry["title"] for entry in found["rejected"]] == ["A Title That Nobody Wrote"]


def search_with(program: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Any:
    path = folder / "search.py"
    path.write_text(program, "utf-8")
    monkeypatch.setenv("IDEASPARK_PAPER_SEARCH", str(path))
    return papers.search(["a | b", ""], **({"years": 2, "limit": 3} | options))


WRITE = "import json, sys\nopen(sys.argv[sys.argv.index('--json') + 1], 'w').write(json.dumps({}))\n"


def test_a_search_that_ends_badly_is_told_and_not_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = search_with("import sys; sys.exit('boom')", tmp_path, monkeypatch)
    assert found.papers == []
    assert "exit 1" in found.problem
    assert "boom" in found.problem
    slow = search_with("import time; time.sleep(60)", tmp_path, monkeypatch, timeout=0.2)
    assert "exit 124" in slow.problem
    nothing = search_with(WRITE.format("[]"), tmp_path, monkeypatch)
    assert (nothing.papers, nothing.problem) == ([], None)


def test_records_of_many_shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "[{'title': 'One\\n Two', 'year': '2024', 'found_in': ['arxiv', 'dblp']}, {'title': None}, 'x', {}]"
    found = search_with(WRITE.format(rows), tmp_path, monkeypatch)
    assert [paper["title"] for paper in found.papers] == ["One Two"]
    assert found.papers[0]["year"] == 2024
    assert found.papers[0]["retrieved_via"] == "arxiv,dblp"


def test_sources_that_failed_are_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "{'papers': [], 'errors': [{'source': 'dblp', 'message': 'blocked by a\\nbot check'}] * 3}"
    found = search_with(WRITE.format(rows), tmp_path, monkeypatch)
    assert (found.warnings, found.problem) == (["dblp: blocked by a bot check"], None)
    failed = search_with(WRITE.format(rows) + "sys.exit(1)", tmp_path, monkeypatch)
    assert failed.problem == "every source failed (exit 1): dblp: blocked by a bot check"


def test_bars_in_queries_do_not_make_more_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert search_with(WRITE.format("[{'title': sys.argv[2]}]"), tmp_path, monkeypatch).papers[0]["title"] == "a b"


def test_the_interpreter_of_the_search_is_this_one() -> None:
    assert emit.command("next").startswith(sys.executable)
