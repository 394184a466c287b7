"""Phase 4 without a model: the skeleton of facts, the expansion, and the three cards."""

from __future__ import annotations

import json
import re
from typing import Any

from idea_spark.card_text import detail_card, standard_card
from idea_spark.citations import citation_errors, cited, references
from idea_spark.patching import NoSuchField, value_at
from idea_spark.rundir import CARDS, Refused, RunDir, read_json, write_json, write_text
from idea_spark.shapes import DERIVE_KEYS, FILL_KEYS
from idea_spark.verdicts import entries

_FIGURE = re.compile(r"\d+(?:\.\d+)?\s?%|\d+\.\d+")


def skeleton(run: RunDir) -> str:
    """phase4_skeleton.json: everything the cards state as fact, taken from the artefacts word for word."""
    candidate = read_json(run.canonical())
    if not isinstance(candidate, dict):
        raise Refused("there is no candidate")
    report, collision, literature = read_json(run.critique), read_json(run.collision), read_json(run.lit_results)
    phase1 = read_json(run.bottleneck)
    document = {
        "query": run.query(),
        "candidate": candidate,
        "bottleneck": {
            key: phase1.get(key)
            for key in (
                "bottleneck_statement",
                "why_load_bearing",
                "why_unsolved",
                "evidence",
                "success_test",
                "intake",
            )
        },
        "not_chosen": [
            {"id": entry.get("id"), "sketch": entry.get("sketch"), "fatal_risk": entry.get("fatal_risk")}
            for entry in entries(read_json(run.select), "sketches")
            if entry.get("id") != read_json(run.select).get("selected_id")
        ],
        "audit": {
            "verdict": report.get("verdict"),
            "rationale": report.get("verdict_rationale"),
            "checks": report.get("checks") or [],
            "minor_findings": [entry for entry in entries(report, "findings") if entry.get("severity") == "minor"],
            "collisions": report.get("collisions") or [],
            "changes": _changes(run, report),
        },
        "provenance": {
            "grounding": run.grounding(),
            "papers": len((literature or {}).get("papers") or []),
            "collision_searched": bool((collision or {}).get("searched", True)),
            "collision_hits": len((collision or {}).get("papers") or []),
            "attempts": len(run.attempts()) + 1,
        },
        "references": {},
        "fill": list(FILL_KEYS),
    }
    known = references(run)
    document["references"] = {ref: known.papers[ref] for ref in cited(document) if ref in known}
    write_json(run.phase4 / "phase4_skeleton.json", document)
    return f"{len(document['references'])} references"


def _changes(run: RunDir, report: Any) -> list[dict[str, Any]]:
    """What the audit's findings did to the candidate: the finding, the field, before and after."""
    before, after = read_json(run.audited()), read_json(run.final)
    if not isinstance(after, dict):
        return []
    targets = {entry.get("target_id"): entry for entry in entries(report, "revision_targets")}
    findings = {entry.get("id"): entry for entry in entries(report, "findings")}
    rows: list[dict[str, Any]] = []
    for entry in entries(read_json(run.revise), "applied_revisions"):
        target = targets.get(entry.get("target_id"), {})
        finding = findings.get(target.get("finding_id"), {})
        field = str(entry.get("field"))
        rows.append(
            {
                "field": field,
                "finding": finding.get("argument") or target.get("fix_direction"),
                "severity": finding.get("severity"),
                "what_changed": entry.get("what_changed"),
                "before": _at(before, field),
                "after": entry.get("new_value"),
            }
        )
    return rows


def _at(document: Any, field: str) -> Any:
    try:
        return value_at(document, field)
    except NoSuchField:
        return None


def prose(run: RunDir) -> dict[str, str]:
    """Text of the cards by key: the fill, then the patches of the engineer's audit, then the plain words."""
    texts: dict[str, str] = dict(read_json(run.phase4 / "fill_map.json") or {})
    for patch in entries(read_json(run.phase4 / "phase4_implementability.json"), "patches"):
        texts[str(patch.get("key"))] = str(patch.get("text"))
    return texts | dict(read_json(run.phase4 / "derive_map.json") or {})


def assemble(run: RunDir) -> str:
    """phase4_expansion.json, and method_view.json: what an engineer would get to see."""
    facts = read_json(run.phase4 / "phase4_skeleton.json")
    if not isinstance(facts, dict):
        raise Refused("there is no skeleton")
    texts = prose(run)
    known = references(run)
    facts["references"] = {ref: known.papers[ref] for ref in cited({"facts": facts, "texts": texts}) if ref in known}
    write_json(run.phase4 / "phase4_expansion.json", {**facts, "texts": texts})
    candidate = facts["candidate"]
    view = {
        key: candidate.get(key)
        for key in ("title", "core_claim", "mechanism", "pseudocode", "experiment_plan", "falsification_prediction")
    }
    view |= {"resources": candidate.get("resources"), "texts": {key: texts.get(key, "") for key in FILL_KEYS}}
    write_json(run.phase4 / "method_view.json", view)
    return f"{len(texts)} texts"


def fill_errors(run: RunDir, texts: dict[str, str]) -> list[str]:
    """Citations that lead nowhere, and a survey of related work that cites nothing."""
    errors = citation_errors(texts, references(run))
    if len(cited(texts.get("detail.related_work", ""))) < 2:
        errors.append("detail.related_work: cites fewer than two papers; write [@ID] after each claim about a paper")
    return errors


def derive_errors(run: RunDir, texts: dict[str, str]) -> list[str]:
    """Plain words may not bring new figures; Chinese fields must be Chinese."""
    facts = read_json(run.phase4 / "phase4_expansion.json") or read_json(run.phase4 / "phase4_skeleton.json")
    ground = json.dumps(facts, ensure_ascii=False).replace(" ", "")
    errors = citation_errors(texts, references(run))
    for key in DERIVE_KEYS:
        text = texts[key]
        errors += [
            f"{key}: the figure {figure!r} is nowhere in the candidate or the detailed text"
            for figure in _FIGURE.findall(text)
            if figure.replace(" ", "") not in ground
        ]
        if (key == "title_zh" or key.startswith("zh.")) and not re.search(r"[\u4e00-\u9fff]{2}", text):
            errors.append(f"{key}: must be written in Chinese")
    return errors


def implementability_errors(run: RunDir, value: dict[str, Any]) -> list[str]:
    """An audit that leaves a question open, or patches that cite what is not there."""
    open_questions = [entry.get("question") for entry in entries(value, "questions") if entry.get("answered") is False]
    patches = entries(value, "patches")
    errors = citation_errors(patches, references(run))
    if value["verdict"] == "implementable" and (open_questions or patches):
        errors.append("verdict: implementable, but questions are open or patches[] is not empty; say patched")
    if value["verdict"] == "patched" and not patches:
        errors.append("verdict: patched, but patches[] is empty")
    return errors


def validate(run: RunDir) -> list[str]:
    """What would make the cards untrue; empty when they may be rendered."""
    expansion = read_json(run.phase4 / "phase4_expansion.json")
    if not isinstance(expansion, dict):
        return ["phase4_expansion.json is missing"]
    errors = [f"{key}: the text is missing" for key in (*FILL_KEYS, *DERIVE_KEYS) if not expansion["texts"].get(key)]
    candidate = read_json(run.canonical())
    if expansion.get("candidate") != candidate:
        errors.append("candidate: the expansion holds another candidate than the one that was audited")
    for change in expansion["audit"]["changes"]:
        if "[+]" not in change["field"] and _at(candidate, change["field"]) == change["before"]:
            errors.append(f"{change['field']}: the audit's revision is not in the candidate")
    return errors + citation_errors({"candidate": candidate, "texts": expansion["texts"]}, references(run))


def render(run: RunDir) -> str:
    """Assembles, validates, and writes the three cards."""
    assemble(run)
    errors = validate(run)
    if errors:
        raise Refused("the cards cannot be rendered: " + "; ".join(errors), 1)
    expansion = read_json(run.phase4 / "phase4_expansion.json")
    makers = (
        lambda: standard_card(expansion, "zh"),
        lambda: standard_card(expansion, "en"),
        lambda: detail_card(expansion),
    )
    for name, make in zip(CARDS, makers, strict=True):
        write_text(run.phase4 / name, make())
    return f"{len(CARDS)} cards"
