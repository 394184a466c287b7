"""Phases 1 to 3 without a model: merging patches, setting attempts aside, and the two early endings."""

from __future__ import annotations

import shutil
from pathlib import Path

from idea_spark.patching import merged
from idea_spark.rundir import ATTEMPT_PARTS, Refused, RunDir, read_json, write_json, write_text
from idea_spark.verdicts import entries, lessons

MAX_ATTEMPTS = 3
MAX_REJECTED = 2
OOD_NAMES = {1: "too broad", 2: "no anchor", 3: "nothing left to do"}
REMEDIES = {
    1: (
        "Name one object (a model, a system, a disease, a material) and one property of it that disappoints.",
        "Say which budget binds: compute, data, time, people.",
        "Name one paper whose result you would like to beat or explain.",
    ),
    2: (
        "Say what is measured when the problem is solved, and with what.",
        "Name the field or venue whose readers should care.",
        "Describe one concrete case in which today's methods fail.",
    ),
}


def merge(run: RunDir, kind: str) -> str:
    """Applies the patch of the coherence trace or of the revision to the candidate it belongs to."""
    patch, key, base, target = {
        "coherence": (run.coherence, "repairs", run.generate, run.refined),
        "revise": (run.revise, "applied_revisions", run.audited(), run.final),
    }[kind]
    candidate = read_json(base)
    if not isinstance(candidate, dict):
        raise Refused(f"{base.name} cannot be read")
    result, errors = merged(candidate, entries(read_json(patch), key))
    if errors:
        raise Refused("; ".join(errors))
    write_json(target, result)
    return f"{target.name} written"


def route_out_of_scope(run: RunDir) -> str:
    """Phase 1's answer for a question that the first step found out of scope."""
    intent = read_json(run.intent)
    if not isinstance(intent, dict) or intent.get("ood") is not True:
        raise Refused("phase0/intent.json says nothing of out of scope")
    trigger = 2 if intent.get("trigger_id") == 2 else 1
    quote = str(intent.get("trigger_quote") or "")
    evidence = str(intent.get("match_evidence") or "the question gives no hold") + (f' ("{quote}")' if quote else "")
    reason = {"trigger_id": trigger, "trigger_name": OOD_NAMES[trigger], "match_evidence": evidence}
    steps = [str(step) for step in intent.get("remedial_steps") or []] or list(REMEDIES[trigger])
    write_json(run.bottleneck, {"state": "do_not_generate", "ood_reasons": [reason], "remedial_steps": steps})
    return write_do_not_generate(run)


def write_do_not_generate(run: RunDir) -> str:
    """do_not_generate.md from phase 1's reasons."""
    document = read_json(run.bottleneck)
    rows = ["# No idea was generated", ""]
    if run.query():
        rows += ["Question:", "", *(f"> {line}" for line in run.query().splitlines()), ""]
    rows += ["## Why", ""]
    for reason in entries(document, "ood_reasons"):
        rows.append(f"- **{reason.get('trigger_name')}**: {reason.get('match_evidence')}")
    steps = document.get("remedial_steps") if isinstance(document, dict) else None
    rows += ["", "## What would make it answerable", ""]
    rows += [f"{index}. {step}" for index, step in enumerate(steps or [], 1)]
    write_text(run.do_not_generate, "\n".join(rows) + "\n")
    return "do_not_generate.md written"


def reject_report(run: RunDir) -> str:
    """Sets an audit report aside that cannot be trusted, with its re-check."""
    if not run.critique.exists():
        raise Refused("there is no audit report")
    number = len(run.rejected_reports()) + 1
    run.critique.replace(run.critique.parent / f"rejected_{number}.json")
    if run.recheck.exists():
        run.recheck.replace(run.critique.parent / f"recheck_{number}.json")
    return f"rejected_{number}.json"


def next_after_abandon(run: RunDir) -> tuple[str, str]:
    """What follows an abandoned attempt: `retry`, `rediagnose` or `fail`, and why."""
    archived = [read_json(path / "phase3_critique" / run.critique.name) for path in run.attempts()]
    new = lessons(read_json(run.critique))
    seen = set[tuple[str, str]]().union(*(lessons(report) for report in archived))
    if len(archived) + 1 >= MAX_ATTEMPTS:
        return "fail", f"{MAX_ATTEMPTS} attempts were made"
    if run.bottleneck_retry.exists():
        return "fail", "the second diagnosis of the bottleneck had its attempt"
    if not archived or new - seen:
        return "retry", f"{len(new - seen)} new lessons"
    return "rediagnose", "this attempt taught nothing new: the bottleneck itself is in doubt"


def archive(run: RunDir) -> str:
    """Moves the attempt away: to attempt_N, with phase 1 when the bottleneck is to be found anew."""
    if (read_json(run.critique) or {}).get("verdict") != "abandon":
        raise Refused("the audit did not abandon this attempt")
    action, why = next_after_abandon(run)
    if action == "fail":
        raise Refused(f"no attempt is left: {why}")
    number = max((int(path.name[8:]) for path in run.attempts()), default=0) + 1
    target = run.root / f"attempt_{number}"
    target.mkdir()
    parts = (*ATTEMPT_PARTS, "phase1") if action == "rediagnose" else ATTEMPT_PARTS
    for part in parts:
        if (run.root / part).exists():
            shutil.move(run.root / part, target / part)
    (run.bottleneck_retry if action == "rediagnose" else run.root / ".retry_used").touch()
    return f"{target.name} ({why})"


def write_failed(run: RunDir) -> str:
    """phase_3_failed.md: every attempt, what killed it, and what the user can do."""
    rows = ["# The audit let no idea through", ""]
    if run.query():
        rows += ["Question:", "", *(f"> {line}" for line in run.query().splitlines()), ""]
    places = [*run.attempts(), run.root]
    for number, place in enumerate(places, 1):
        rows += _attempt_rows(number, place)
    reaudit = read_json(run.reaudit)
    if isinstance(reaudit, dict) and reaudit.get("verdict") == "abandon":
        rows += ["## The rewritten test", "", str(reaudit.get("reason")), ""]
    rejected = run.rejected_reports()
    if len(rejected) > MAX_REJECTED:
        rows += ["## The audit itself", "", f"{len(rejected)} reports passed over a blocking finding.", ""]
    rows += [
        "## What you can do",
        "",
        "1. Narrow the question to the part that no threatening paper covers, and run again.",
        "2. Change the constraint that made every attempt fail (see the lessons above).",
        "3. Take the strongest threatening paper as a baseline and ask what it does not explain.",
        "4. Drop the direction: an occupied field is a result too.",
    ]
    write_text(run.failed, "\n".join(rows) + "\n")
    return "phase_3_failed.md written"


def _attempt_rows(number: int, place: Path) -> list[str]:
    report = read_json(place / "phase3_critique" / "phase3_critique_output.json")
    candidate = read_json(place / "phase2_generate" / "phase2_generate_output.json")
    if not isinstance(report, dict):
        return []
    title = candidate.get("title") if isinstance(candidate, dict) else None
    rows = [f"## Attempt {number}: {title or 'untitled'}", "", str(report.get("verdict_rationale") or ""), ""]
    for finding in entries(report, "findings"):
        rows.append(f"- {finding.get('severity')} ({finding.get('check')}): {finding.get('argument')}")
    for hit in entries(report, "collisions"):
        if hit.get("subsumes"):
            rows.append(f"- subsumed by [{hit.get('ref')}]: {hit.get('overlap')}")
    rows += [f"- lesson: {lesson}" for lesson in report.get("lessons") or []]
    return [*rows, ""]
