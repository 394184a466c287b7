"""Phase 3: collision search, audit by another agent, re-checks, revision; or the end of the attempt."""

from __future__ import annotations

from typing import Any

from idea_spark.citations import references
from idea_spark.emit import Block
from idea_spark.gauntlet import MAX_REJECTED, next_after_abandon
from idea_spark.patching import patch_errors
from idea_spark.rundir import RunDir, read_json
from idea_spark.schema import errors_in
from idea_spark.shapes import CRITIQUE, REAUDIT, RECHECK, REVISE
from idea_spark.steps import ModelStep, bash, due, existing
from idea_spark.verdicts import (
    critique_errors,
    entries,
    evidence_ignored,
    refutation_fails,
    refuted,
    revise_errors,
    touches_falsification,
)


def audit(run: RunDir) -> Block | None:
    """The next step of phase 3; None when a candidate survived."""
    if not run.collision.exists():
        return bash(
            run,
            "The candidate holds together.",
            "Phase 3.1 — search for collisions (deterministic)",
            "phase3_collision",
            notes="Takes minutes: allow 900 s. Two channels: the idea's own terms, and its names in other fields.",
        )
    asked = _critique(run) or _trust(run)
    if asked is not None:
        return asked
    match (read_json(run.critique) or {}).get("verdict"):
        case "abandon":
            return _abandoned(run)
        case "revise":
            return _revision(run)
        case _:
            return None


def _critique(run: RunDir) -> Block | None:
    candidate = run.audited()
    rejected = run.rejected_reports()
    rechecks = [path.with_name(path.name.replace("rejected", "recheck")) for path in rejected]
    note = "Not the agent that wrote the candidate. Routing signal: verdict (advance | revise | abandon)."
    if rejected:
        note += (
            " RE-AUDIT: the last report was set aside because it passed over a blocking finding of the coherence "
            "trace. Every such finding needs an entry in blocking_findings_disposition; refutations that the "
            "re-check refused count as upheld; while one is upheld, advance is not possible."
        )
    return due(
        ModelStep(
            "Phase 3.2 — audit" if not rejected else "Phase 3.2 — audit again",
            "Collision search done.",
            "phase3_audit.md",
            existing(
                [
                    candidate,
                    run.bottleneck,
                    run.lit_table,
                    run.abstracts,
                    run.collision,
                    run.coherence,
                    run.coherence.parent / "blocking_findings.json",
                    *rejected,
                    *rechecks,
                ]
            ),
            run.critique,
            lambda value: errors_in(CRITIQUE, value) or critique_errors(value, read_json(candidate), references(run)),
            note,
        )
    )


def _trust(run: RunDir) -> Block | None:
    """Whether the report weighed what the trace had found by working it through."""
    report, coherence = read_json(run.critique), read_json(run.coherence)
    if report.get("verdict") == "abandon":
        return None
    why = evidence_ignored(report, coherence)
    if why is None and (waved := refuted(report, coherence)):
        asked = due(
            ModelStep(
                "Phase 3.2 — re-check the refutations",
                f"The audit refutes {len(waved)} blocking finding(s) of the trace.",
                "phase3_refutation_recheck.md",
                existing([run.coherence, run.critique, run.audited()]),
                run.recheck,
                lambda value: errors_in(RECHECK, value) or _recheck_errors(value, waved),
                f"Judge the refutations, not the candidate. In doubt the finding stands. Findings: {', '.join(waved)}.",
            )
        )
        if asked is not None:
            return asked
        if bad := refutation_fails(read_json(run.recheck), waved):
            why = f"the refutation of {', '.join(bad)} does not hold"
    if why is None:
        return None
    if len(run.rejected_reports()) >= MAX_REJECTED:
        return _fail(run, f"Three audit reports cannot be trusted: {why}.")
    return bash(
        run,
        f"The audit's verdict cannot be trusted: {why}.",
        "Phase 3.2 — set the report aside (deterministic)",
        "reject_report",
    )


def _recheck_errors(value: Any, names: list[str]) -> list[str]:
    judged = [entry.get("finding_ref") for entry in entries(value, "rechecks")]
    return [f"rechecks: no entry for {name}" for name in names if name not in judged]


def _abandoned(run: RunDir) -> Block:
    action, why = next_after_abandon(run)
    if action == "fail":
        return _fail(run, f"The audit abandoned the candidate: {why}.")
    with_phase1 = " together with phase 1" if action == "rediagnose" else ""
    return bash(
        run,
        f"The audit abandoned the candidate: {why}.",
        f"Phase 3.2 — archive attempt {len(run.attempts()) + 1}{with_phase1} (deterministic)",
        "archive_attempt",
        notes="The next attempt reads the archived audit as binding lessons.",
    )


def _revision(run: RunDir) -> Block | None:
    report = read_json(run.critique)
    base = read_json(run.audited())

    def errors(value: Any) -> list[str]:
        found = errors_in(REVISE, value) or revise_errors(value, report)
        return found or patch_errors(base, entries(value, "applied_revisions"), references(run))

    asked = due(
        ModelStep(
            "Phase 3.3 — revise",
            "The audit asks for a revision.",
            "phase3_revise.md",
            existing([run.audited(), run.critique, run.bottleneck, run.abstracts, run.collision, run.coherence]),
            run.revise,
            errors,
            "A patch, not the whole candidate: one entry or more for every revision target.",
        )
    )
    if asked is not None:
        return asked
    if not run.final.exists():
        return bash(
            run,
            "The revision is written.",
            "Phase 3.3 — merge the revision (deterministic)",
            "phase3_merge_revisions",
            "--kind",
            "revise",
        )
    return _falsification(run) if touches_falsification(read_json(run.revise)) else None


def _falsification(run: RunDir) -> Block | None:
    asked = due(
        ModelStep(
            "Phase 3.4 — audit the rewritten test",
            "The revision rewrote the test that can kill the idea.",
            "phase3_falsification_reaudit.md",
            existing([run.final, run.critique]),
            run.reaudit,
            lambda value: errors_in(REAUDIT, value) or _reaudit_errors(value),
            "Routing signal: verdict (advance | abandon). There is one rewrite: deficient again means abandon.",
        )
    )
    if asked is not None:
        return asked
    if read_json(run.reaudit).get("verdict") == "abandon":
        return _fail(run, "The rewritten test still cannot kill the idea.")
    return None


def _reaudit_errors(value: dict[str, Any]) -> list[str]:
    if value["verdict"] == "advance" and not (value["can_fail"] and value["affordable"]):
        return ["verdict: advance, but can_fail or affordable is false"]
    return []


def _fail(run: RunDir, state: str) -> Block:
    return bash(run, state, "Phase 3 — write phase_3_failed.md (deterministic)", "write_failed")
