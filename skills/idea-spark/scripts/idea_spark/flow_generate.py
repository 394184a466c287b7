"""Phase 2: several sketches, one choice, one candidate, and a trace of whether it holds together."""

from __future__ import annotations

from typing import Any

from idea_spark.citations import citation_errors, references
from idea_spark.emit import Block
from idea_spark.flow_literature import PATTERN_GUIDE
from idea_spark.patching import patch_errors
from idea_spark.rundir import RunDir, read_json
from idea_spark.schema import errors_in
from idea_spark.shapes import CANDIDATE, COHERENCE, SELECT
from idea_spark.steps import ModelStep, bash, due, existing
from idea_spark.verdicts import entries


def generate(run: RunDir) -> Block | None:
    """The next step of phase 2; None when a coherent candidate is there."""
    if not run.abstracts.exists() and not run.generate.exists():
        return bash(
            run,
            "Phase 1 complete: there is a bottleneck.",
            "Phase 2.0 — gather the closest abstracts (deterministic)",
            "phase2_prepare",
        )
    return _select(run) or _candidate(run) or _coherence(run)


def _lessons(run: RunDir) -> tuple[tuple[str, ...], str]:
    """Inputs and notes for an attempt after the first: what killed the ones before."""
    attempts = run.attempts()
    if not attempts:
        return (), ""
    paths = [
        path / part
        for path in attempts
        for part in (f"phase3_critique/{run.critique.name}", f"phase2_select/{run.select.name}")
    ]
    note = (
        f"ATTEMPT {len(attempts) + 1}: the archived audits say what killed the attempts before. Their lessons are "
        "binding; their sketches may not come back under another name; papers that subsumed them are occupied ground."
    )
    return existing(paths), note


def _select(run: RunDir) -> Block | None:
    inputs, note = _lessons(run)
    return due(
        ModelStep(
            "Phase 2.1 — sketch several ideas and choose one",
            "The closest abstracts are gathered.",
            "phase2_select.md",
            (*existing([run.query_file, run.bottleneck, run.lit_table, run.abstracts]), str(PATTERN_GUIDE), *inputs),
            run.select,
            lambda value: errors_in(SELECT, value) or _select_errors(run, value),
            note,
        )
    )


def _select_errors(run: RunDir, value: dict[str, Any]) -> list[str]:
    sketches = entries(value, "sketches")
    names = [entry.get("id") for entry in sketches]
    errors = [f"sketches: the id {name} is used twice" for name in dict.fromkeys(names) if names.count(name) > 1]
    if value["selected_id"] not in names:
        errors.append(f"selected_id: no sketch has the id {value['selected_id']!r}")
    if len({entry.get("pattern") for entry in sketches}) < 2:
        errors.append("sketches: all use one pattern; at least two patterns are needed for a choice to be one")
    if run.attempts() and not value["lessons_obeyed"]:
        errors.append("lessons_obeyed: earlier attempts left lessons; say how this choice obeys each of them")
    return errors + citation_errors(value, references(run, with_hits=False))


def _candidate(run: RunDir) -> Block | None:
    inputs, note = _lessons(run)
    return due(
        ModelStep(
            "Phase 2.2 — work the chosen idea out",
            "A sketch is chosen.",
            "phase2_generate.md",
            (*existing([run.query_file, run.select, run.bottleneck, run.abstracts, run.lit_table]), *inputs),
            run.generate,
            lambda value: candidate_errors(run, value),
            ("The citation gate checks every id and every quotation of this file. " + note).strip(),
        )
    )


def candidate_errors(run: RunDir, value: Any) -> list[str]:
    """Errors of form, and the citation gate: ids exist, quotations are exact, the ground is more than one paper."""
    errors = errors_in(CANDIDATE, value)
    if errors:
        return errors
    known = references(run)
    errors = citation_errors(value, known)
    if len({entry.get("ref") for entry in entries(value, "grounding")}) < 2:
        errors.append("grounding: rests on one paper; at least two different papers are needed")
    return errors


def _coherence(run: RunDir) -> Block | None:
    def errors(value: Any) -> list[str]:
        found = errors_in(COHERENCE, value)
        return found or _coherence_errors(run, value)

    asked = due(
        ModelStep(
            "Phase 2.3 — trace it with a worked example",
            "The candidate passed the citation gate.",
            "phase2_coherence.md",
            existing([run.generate, run.select, run.bottleneck]),
            run.coherence,
            errors,
            "A fresh context, never that of phase 2.2. Routing signal: verdict (pass | patched), unrepaired[].",
        )
    )
    if asked is not None:
        return asked
    if (read_json(run.coherence) or {}).get("verdict") == "patched" and not run.refined.exists():
        return bash(
            run,
            "The trace repaired the candidate.",
            "Phase 2.3 — merge the repairs (deterministic)",
            "phase3_merge_revisions",
            "--kind",
            "coherence",
        )
    return None


def _coherence_errors(run: RunDir, value: dict[str, Any]) -> list[str]:
    repairs = entries(value, "repairs")
    names = [entry.get("id") for entry in entries(value, "unrepaired")]
    errors = [f"unrepaired: the id {name} is used twice" for name in dict.fromkeys(names) if names.count(name) > 1]
    if value["verdict"] == "pass" and repairs:
        errors.append("verdict: pass, but repairs[] is not empty; say patched")
    if value["verdict"] == "patched" and not repairs:
        errors.append("verdict: patched, but repairs[] is empty")
    broken = [entry.get("step") for entry in value["trace"] if entry.get("ok") is False]
    if broken and not repairs and not names:
        errors.append(f"trace: {broken[0]!r} is not ok, yet nothing is repaired and nothing is listed as unrepaired")
    return errors or patch_errors(read_json(run.generate), repairs, references(run))
