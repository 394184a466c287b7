"""The shape of every JSON artefact that a model writes. The prompts state the same in words."""

from __future__ import annotations

from typing import Any

from idea_spark.schema import Check, Record, any_text, anything, boolean, items, one_of, text

PATTERNS = (
    "change_the_object",
    "change_the_signal",
    "move_the_cost",
    "relax_the_constraint",
    "enforce_the_structure",
    "split_by_regime",
    "unify_two_lines",
    "invert_the_direction",
    "measure_before_mending",
    "borrow_a_theorem",
)
CHECKS = ("novelty", "grounding", "mechanism", "falsifiability", "feasibility")

_IDS = items(text())
_PROSE = text(40)
_LINE = text(10)

INTENT = Record(
    {"queries": items(text(3), 3, 5), "named_papers": items(text(3))},
    {"domain_hints": _IDS, "venue_hints": _IDS, "intake": Record({})},
)
OOD = Record(
    {"ood": boolean, "trigger_id": one_of(1, 2), "trigger_quote": text(), "match_evidence": _LINE},
    {"remedial_steps": items(_LINE)},
)
NOMINATIONS = Record(
    {
        "nominations": items(
            Record(
                {"title": text(8), "why_load_bearing": text(20), "confidence": one_of("high", "medium", "low")},
                {"authors": items(text()), "claim": any_text, "venue": any_text},
            ),
            0,
            12,
        )
    }
)
PARTITION = items(
    Record({"paper_id": text(), "relevance": one_of("core", "adjacent", "off_topic"), "reason": text(5)}), 1
)
LIT_TAGS = Record(
    {
        "rows": items(
            Record(
                {
                    "paper_id": text(),
                    "patterns": items(one_of(*PATTERNS, "outside_taxonomy"), 1, 3),
                    "bottleneck": _LINE,
                    "open_issue": _LINE,
                    "resolves_problem": any_text,
                }
            ),
            1,
        )
    }
)

EVIDENCE = Record({"claim": _LINE, "ref": text(), "quote": any_text})
STOP = Record({"trigger_id": one_of(1, 2, 3), "trigger_name": text(), "match_evidence": _LINE})

PROCEED = Record(
    {
        "state": one_of("proceed"),
        "bottleneck_statement": _PROSE,
        "why_load_bearing": _PROSE,
        "why_unsolved": _PROSE,
        "evidence": items(EVIDENCE, 2),
        "closest_adjacent": items(Record({"paper_id": text(), "covers": _LINE, "residue": _LINE}), 2),
        "rejected_bottlenecks": items(Record({"statement": _LINE, "why_rejected": _LINE}), 2),
        "intake": Record({"goal": text(), "compute": text(), "data": text(), "time": text(), "inferred": _IDS}),
        "success_test": _PROSE,
    }
)
DO_NOT_GENERATE = Record(
    {
        "state": one_of("do_not_generate"),
        "ood_reasons": items(STOP, 1),
        "remedial_steps": items(_LINE, 1),
    }
)

SELECT = Record(
    {
        "sketches": items(
            Record(
                {
                    "id": text(),
                    "pattern": one_of(*PATTERNS),
                    "sketch": _PROSE,
                    "attacks_residue_of": _IDS,
                    "fatal_risk": _LINE,
                    "closes_bottleneck": one_of(0, 1, 2, 3),
                    "distance_from_prior": one_of(0, 1, 2, 3),
                    "cheap_to_refute": one_of(0, 1, 2, 3),
                }
            ),
            3,
            6,
        ),
        "selected_id": text(),
        "why_selected": _PROSE,
        "why_not_runner_up": _PROSE,
        "lessons_obeyed": items(text()),
    }
)

FALSIFICATION = Record(
    {
        "hypothesis": _LINE,
        "experiment": _PROSE,
        "metric": text(),
        "threshold": text(),
        "kill_switch": text(20),
        "cheapest_version": _LINE,
    }
)
CANDIDATE = Record(
    {
        "title": text(8),
        "one_line": text(20),
        "pattern": one_of(*PATTERNS),
        "core_claim": _PROSE,
        "bottleneck_link": _PROSE,
        "mechanism": items(Record({"step": text(), "what": text(20), "why": text(20)}), 3),
        "pseudocode": text(40),
        "grounding": items(EVIDENCE, 3),
        "closest_prior": items(Record({"ref": text(), "what_it_does": _LINE, "delta": text(20)}), 2),
        "falsification_prediction": FALSIFICATION,
        "experiment_plan": items(
            Record(
                {
                    "name": text(),
                    "data": text(),
                    "baseline": text(),
                    "metric": text(),
                    "expected": text(),
                    "cost": text(),
                }
            ),
            2,
        ),
        "risks": items(Record({"risk": _LINE, "early_sign": _LINE, "mitigation": _LINE}), 2),
        "resources": Record({"compute": text(), "data": text(), "time": text()}),
        "assumptions": items(text(), 1),
        "signature_terms": items(text(3), 3, 5),
        "alias_terms": items(text(3), 2, 4),
    }
)

COHERENCE = Record(
    {
        "verdict": one_of("pass", "patched"),
        "trace": items(Record({"step": text(), "input": text(), "output": text(), "ok": boolean}), 3),
        "repairs": items(Record({"field": text(), "new_value": anything, "why": _LINE})),
        "unrepaired": items(
            Record({"id": text(), "finding": text(20), "severity": one_of("blocking", "major", "minor")})
        ),
    }
)

CRITIQUE = Record(
    {
        "verdict": one_of("advance", "revise", "abandon"),
        "verdict_rationale": _PROSE,
        "checks": items(
            Record(
                {"check": one_of(*CHECKS), "result": one_of("pass", "weak", "fail"), "evidence": text(20), "refs": _IDS}
            ),
            len(CHECKS),
            len(CHECKS),
        ),
        "findings": items(
            Record(
                {
                    "id": text(),
                    "check": one_of(*CHECKS),
                    "severity": one_of("blocking", "major", "minor"),
                    "claim_attacked": text(),
                    "argument": _PROSE,
                    "refs": _IDS,
                }
            )
        ),
        "collisions": items(Record({"ref": text(), "overlap": _LINE, "what_remains": any_text, "subsumes": boolean})),
        "revision_targets": items(
            Record({"target_id": text(), "finding_id": text(), "field": text(), "fix_direction": text(20)})
        ),
        "blocking_findings_disposition": items(
            Record({"finding_ref": text(), "status": one_of("upheld", "refuted"), "basis": text(20)})
        ),
        "lessons": items(text(20)),
    }
)
RECHECK = Record(
    {"rechecks": items(Record({"finding_ref": text(), "refutation_valid": boolean, "reason": text(20)}), 1)}
)
REVISE = Record(
    {
        "applied_revisions": items(
            Record(
                {
                    "target_id": text(),
                    "field": text(),
                    "new_value": anything,
                    "what_changed": text(20),
                }
            ),
            1,
        )
    }
)
REAUDIT = Record(
    {"verdict": one_of("advance", "abandon"), "reason": _PROSE, "can_fail": boolean, "affordable": boolean}
)

FILL_KEYS = (
    "detail.abstract",
    "detail.background",
    "detail.bottleneck",
    "detail.mechanism",
    "detail.why_it_should_work",
    "detail.related_work",
    "detail.experiments",
    "detail.risks",
    "detail.first_week",
)
_PLAIN = ("hook", "problem", "idea", "test", "stop_when")
DERIVE_KEYS = ("title_zh", *(f"en.{name}" for name in _PLAIN), *(f"zh.{name}" for name in _PLAIN))
FILL = Record({key: text(60) for key in FILL_KEYS})
DERIVE = Record({key: text(4 if key == "title_zh" else 12) for key in DERIVE_KEYS})
IMPLEMENTABLE = Record(
    {
        "verdict": one_of("implementable", "patched"),
        "questions": items(Record({"question": _LINE, "answered": boolean, "where": text()}), 5),
        "patches": items(Record({"key": one_of(*FILL_KEYS), "text": text(60)})),
    }
)


def intent_shape(value: Any) -> Check:
    """Which of the two answers to the first question this is."""
    return OOD if isinstance(value, dict) and value.get("ood") is True else INTENT


def bottleneck_shape(value: Any) -> Check:
    """Which of the two endings of phase 1 this is."""
    stopped = isinstance(value, dict) and value.get("state") == "do_not_generate"
    return DO_NOT_GENERATE if stopped else PROCEED
