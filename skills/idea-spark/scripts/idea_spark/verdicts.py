"""What an audit report must say to be believed, and which lessons it leaves."""

from __future__ import annotations

from typing import Any

from idea_spark.citations import References, citation_errors, fold
from idea_spark.patching import NoSuchField, value_at

FALSIFICATION_FIELD = "falsification_prediction"


def entries(document: Any, key: str) -> list[dict[str, Any]]:
    """The objects listed under a key; nothing when it is not so."""
    found = document.get(key) if isinstance(document, dict) else None
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def blocking(coherence: Any) -> list[dict[str, Any]]:
    """Findings of the coherence trace that could not be repaired and stop the mechanism."""
    return [entry for entry in entries(coherence, "unrepaired") if entry.get("severity") == "blocking"]


def critique_errors(report: dict[str, Any], candidate: Any, known: References) -> list[str]:
    """Contradictions inside a report whose form is right."""
    findings = entries(report, "findings")
    targets = entries(report, "revision_targets")
    errors = _names_errors(report, findings, targets)
    for index, target in enumerate(targets):
        try:
            value_at(candidate, str(target.get("field")))
        except NoSuchField as error:
            errors.append(f"revision_targets[{index}].field: {error}")
    errors += _verdict_errors(report, findings, targets)
    return errors + citation_errors(report, known)


def _names_errors(report: dict[str, Any], findings: list[dict[str, Any]], targets: list[dict[str, Any]]) -> list[str]:
    errors: list[str] = []
    judged = [entry.get("check") for entry in entries(report, "checks")]
    errors += [f"checks: {name} is judged twice" for name in dict.fromkeys(judged) if judged.count(name) > 1]
    names = [entry.get("id") for entry in findings]
    errors += [f"findings: the id {name} is used twice" for name in dict.fromkeys(names) if names.count(name) > 1]
    for index, target in enumerate(targets):
        if target.get("finding_id") not in names:
            errors.append(f"revision_targets[{index}].finding_id: no finding has the id {target.get('finding_id')!r}")
    keys = [entry.get("target_id") for entry in targets]
    errors += [f"revision_targets: the id {key} is used twice" for key in dict.fromkeys(keys) if keys.count(key) > 1]
    return errors


def _verdict_errors(report: dict[str, Any], findings: list[dict[str, Any]], targets: list[dict[str, Any]]) -> list[str]:
    failed = [str(entry.get("check")) for entry in entries(report, "checks") if entry.get("result") == "fail"]
    grave = [str(entry.get("id")) for entry in findings if entry.get("severity") in ("blocking", "major")]
    subsumed = [str(entry.get("ref")) for entry in entries(report, "collisions") if entry.get("subsumes") is True]
    errors: list[str] = []
    match report.get("verdict"):
        case "advance":
            if failed:
                errors.append(f"verdict: advance, but these checks fail: {', '.join(failed)}")
            if grave:
                errors.append(f"verdict: advance, but these findings are blocking or major: {', '.join(grave)}")
            if subsumed:
                errors.append(f"verdict: advance, but {', '.join(subsumed)} subsumes the candidate")
            if targets:
                errors.append("revision_targets: must be empty when the verdict is advance")
        case "revise":
            aimed = {str(target.get("finding_id")) for target in targets}
            if not targets:
                errors.append("revision_targets: the verdict is revise, so at least one is needed")
            missed = [name for name in grave if name not in aimed]
            if missed:
                errors.append(f"revision_targets: no target for the findings {', '.join(missed)}")
        case _:
            if not any(entry.get("severity") == "blocking" for entry in findings) and not subsumed:
                errors.append("verdict: abandon needs a blocking finding or a paper that subsumes the candidate")
            if not report.get("lessons"):
                errors.append("lessons: abandon must leave at least one lesson for the next attempt")
    return errors


def evidence_ignored(report: dict[str, Any], coherence: Any) -> str | None:
    """Why the verdict cannot be trusted: a blocking finding was not weighed, or was upheld and passed over."""
    names = [str(entry.get("id")) for entry in blocking(coherence)]
    settled = {str(entry.get("finding_ref")): entry.get("status") for entry in dispositions(report)}
    missed = [name for name in names if name not in settled]
    if missed:
        return f"blocking_findings_disposition has no entry for {', '.join(missed)}"
    upheld = [name for name in names if settled[name] == "upheld"]
    if upheld and report.get("verdict") == "advance":
        return f"the report upholds {', '.join(upheld)} and still says advance"
    return None


def dispositions(report: Any) -> list[dict[str, Any]]:
    """What the report says of each blocking finding."""
    return entries(report, "blocking_findings_disposition")


def refuted(report: Any, coherence: Any) -> list[str]:
    """Blocking findings that the report waves off: each needs a second opinion."""
    names = {str(entry.get("id")) for entry in blocking(coherence)}
    found = [str(entry.get("finding_ref")) for entry in dispositions(report) if entry.get("status") == "refuted"]
    return [name for name in found if name in names]


def refutation_fails(recheck: Any, names: list[str]) -> list[str]:
    """Refutations that the second opinion did not accept."""
    bad = {str(entry.get("finding_ref")) for entry in entries(recheck, "rechecks") if not entry.get("refutation_valid")}
    return [name for name in names if name in bad]


def lessons(report: Any) -> set[tuple[str, str]]:
    """What a failed attempt teaches. Of older runs: the threatening paper and the upheld findings."""
    found = {("lesson", fold(str(text))[:120]) for text in (_list(report, "lessons"))}
    found |= {("threat", str(entry.get("ref"))) for entry in entries(report, "collisions") if entry.get("subsumes")}
    threat = report.get("paper_pointed_threat") if isinstance(report, dict) else None
    if isinstance(threat, dict) and threat.get("addressable_via") == "unaddressable":
        found.add(("threat", str(threat.get("threat_paper_id") or threat.get("subsumption_argument") or "")[:60]))
    for entry in dispositions(report):
        if entry.get("status") == "upheld":
            found.add(("finding", fold(str(entry.get("finding_ref")))[:40]))
    return found


def revise_errors(revision: dict[str, Any], report: Any) -> list[str]:
    """Targets that were passed over, and entries that nobody asked for."""
    targets = {str(entry.get("target_id")): str(entry.get("field")) for entry in entries(report, "revision_targets")}
    answered = entries(revision, "applied_revisions")
    errors = [
        f"applied_revisions: nothing answers the target {name} ({field})"
        for name, field in targets.items()
        if not any(entry.get("target_id") == name for entry in answered)
    ]
    errors += [
        f"applied_revisions[{index}].target_id: the audit has no target {entry.get('target_id')!r}"
        for index, entry in enumerate(answered)
        if entry.get("target_id") not in targets
    ]
    return errors


def touches_falsification(revision: Any) -> bool:
    """Whether the test that can kill the idea was rewritten: that needs an audit of its own."""
    fields = [str(entry.get("field")) for entry in entries(revision, "applied_revisions")]
    return any(field.startswith(FALSIFICATION_FIELD) for field in fields)


def _list(document: Any, key: str) -> list[Any]:
    found = document.get(key) if isinstance(document, dict) else None
    return found if isinstance(found, list) else []
