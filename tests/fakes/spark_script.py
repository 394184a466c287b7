"""Plausible answers for every step of idea-spark, by the name of the step's output file.

`answer(output)` reads the run directory that the output lies in, so ids fit what was found there. `plan` says what goes
differently: other verdicts, a planted finding, an answer that is wrong the first time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PLANTED_THRESHOLD = "at least 8 points above the majority vote on 500 held-out traces, p < 0.01"
PLANTED_FINDING = (
    "The threshold of 1 point lies inside the noise of the metric: with 500 traces the standard error of the accuracy "
    "is about 2 points, so the test would pass by chance and the kill switch could never fire."
)
QUESTION = "Why do long reasoning traces go wrong, and can it be noticed earlier?"
_OUTPUT = re.compile(r"(/[^\s`\"']*?/phase[0-9][\w]*/[\w.]+\.(?:json|md))")


@dataclass
class Plan:
    """How a run is to go. Lists are used up from the front; an empty one means the usual."""

    verdicts: list[str] = field(default_factory=list)
    """Of the audits, in turn: advance, revise, abandon; the usual is revise."""
    lessons: list[str] = field(default_factory=list)
    """Of abandoned attempts; the usual is a new one each time."""
    bottleneck: str = "proceed"
    ood: bool = False
    blocking: bool = False
    """The coherence trace finds something that it cannot repair."""
    dispositions: list[str] = field(default_factory=list)
    """What audits say of it, in turn: upheld, refuted, ignored."""
    refutation_valid: bool = True
    patched: bool = False
    revise_falsification: bool = True
    reaudit: str = "advance"
    spoil: dict[str, list[str]] = field(default_factory=dict)
    """Texts to answer first, by the name of the output file."""
    asked: list[str] = field(default_factory=list)
    """Names of the outputs that were asked for."""
    attempts: int = 0


def output_in(text: str) -> Path | None:
    """The output file that a request to a model names last; None when it names none."""
    found = _OUTPUT.findall(text)
    return Path(found[-1]) if found else None


def answer(output: Path, plan: Plan | None = None) -> str:
    """The content of that file."""
    plan = plan or Plan()
    plan.asked.append(output.name)
    if waiting := plan.spoil.get(output.name):
        return waiting.pop(0)
    value = _ANSWERS[output.name](output.parent.parent, plan)
    return json.dumps(value, ensure_ascii=False)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def papers(root: Path) -> list[dict[str, Any]]:
    """The pool of a run."""
    found: list[dict[str, Any]] = []
    for name, key in (("user_refs.json", "refs"), ("host_refs.json", "refs"), ("lit_results.json", "papers")):
        found += _read(root / "phase0" / name).get(key) or []
    return found


def _quote(paper: dict[str, Any]) -> str:
    return " ".join(str(paper.get("abstract") or "").split()[:9])


def _two(root: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    kept = [
        paper
        for paper in papers(root)
        if paper.get("relevance") != "off_topic" and paper.get("retrieved_via") != "user"
    ]
    return kept[0], kept[1]


def _evidence(root: Path) -> list[dict[str, str]]:
    return [
        {
            "claim": f"Errors appear early and are carried along ({index})",
            "ref": paper["paper_id"],
            "quote": _quote(paper),
        }
        for index, paper in enumerate((*_two(root), _two(root)[0]))
    ]


def _intent(_root: Path, plan: Plan) -> Any:
    if plan.ood:
        return {
            "ood": True,
            "trigger_id": 1,
            "trigger_quote": "do AI",
            "match_evidence": "It names no object and no property of one.",
        }
    return {
        "queries": [
            "long chain of thought failure",
            "step level verification of reasoning",
            "error propagation in program traces",
            "early error detection in reasoning",
        ],
        "named_papers": [],
        "domain_hints": ["language models"],
        "venue_hints": ["ICLR"],
        "intake": {"goal": "a paper", "compute": "one GPU", "data": "public", "time": "3 months", "inferred": ["time"]},
    }


def _nominations(root: Path, _plan: Plan) -> Any:
    if _read(root / "phase0" / "lit_results.json").get("papers"):
        return {"nominations": []}
    titles = (
        "Chain-of-Thought Prompting Elicits Reasoning in Large Language Models",
        "Let's Verify Step by Step",
        "Self-Consistency Improves Chain of Thought Reasoning in Language Models",
    )
    return {
        "nominations": [
            {
                "title": title,
                "authors": [],
                "venue": "",
                "claim": "It showed that intermediate steps can be judged one by one.",
                "why_load_bearing": "Without it the baseline of the diagnosis would be missing.",
                "confidence": "high",
            }
            for title in titles
        ]
    }


def _partition(root: Path, _plan: Plan) -> Any:
    return [
        {
            "paper_id": paper["paper_id"],
            "relevance": "off_topic" if "wireless" in str(paper["title"]).casefold() else "core",
            "reason": "shares the object and the failure",
        }
        for paper in papers(root)
    ]


def _tags(root: Path, _plan: Plan) -> Any:
    return {
        "rows": [
            {
                "paper_id": paper["paper_id"],
                "patterns": ["change_the_signal"],
                "bottleneck": "an early wrong step is built upon by all later ones",
                "open_issue": "needs labels for every step",
                "resolves_problem": "",
            }
            for paper in papers(root)
        ]
    }


def _bottleneck(root: Path, plan: Plan) -> Any:
    if plan.bottleneck == "do_not_generate":
        return {
            "state": "do_not_generate",
            "ood_reasons": [
                {
                    "trigger_id": 3,
                    "trigger_name": "nothing left to do",
                    "match_evidence": "A paper closes the problem whole.",
                }
            ],
            "remedial_steps": ["Ask for the case that the paper excludes."],
        }
    first, second = _two(root)
    return {
        "state": "proceed",
        "bottleneck_statement": "Verifiers score steps after the whole trace is written, when later steps stand on it.",
        "why_load_bearing": f"Most of the table loses accuracy with the length of the trace [@{first['paper_id']}].",
        "why_unsolved": "Labels of steps are dear, and outcomes come too late to say which step was wrong.",
        "evidence": _evidence(root)[:2],
        "closest_adjacent": [
            {
                "paper_id": paper["paper_id"],
                "covers": "scores whole steps with labels",
                "residue": "no signal without labels",
            }
            for paper in (first, second)
        ],
        "rejected_bottlenecks": [
            {"statement": "Context windows are too short.", "why_rejected": "Failures begin far inside the window."},
            {"statement": "Models lack arithmetic.", "why_rejected": "The same failures appear without any numbers."},
        ],
        "intake": {
            "goal": "a paper",
            "compute": "one GPU",
            "data": "public",
            "time": "3 months",
            "inferred": ["time", "compute"],
        },
        "success_test": "Accuracy at twice the trace length rises by 5 points on a public benchmark.",
    }


def _select(root: Path, plan: Plan) -> Any:
    first, _second = _two(root)
    patterns = ("change_the_signal", "move_the_cost", "invert_the_direction")
    return {
        "sketches": [
            {
                "id": f"S{number}",
                "pattern": pattern,
                "sketch": f"Branch two continuations after every step and watch whether they agree, variant {number}.",
                "attacks_residue_of": [first["paper_id"]],
                "fatal_risk": "Continuations may agree on the same wrong answer.",
                "closes_bottleneck": 2,
                "distance_from_prior": 2,
                "cheap_to_refute": 3,
            }
            for number, pattern in enumerate(patterns, 1)
        ],
        "selected_id": "S1",
        "why_selected": "It is the cheapest to refute and needs no labels, the residue of both papers.",
        "why_not_runner_up": "Moving the cost only delays it: the runner-up scores one on closing the bottleneck.",
        "lessons_obeyed": ["the archived lesson: no labels at test time"] if plan.attempts else [],
    }


def _candidate(root: Path, plan: Plan) -> Any:
    first, second = _two(root)
    return {
        "title": f"Forked Continuations Tell a Wrong Step Early{' II' * plan.attempts}",
        "one_line": "Fork the trace after each step and stop where the forks begin to disagree.",
        "pattern": "change_the_signal",
        "core_claim": "Cutting a trace where two forks disagree makes long traces better: a wrong step splits.",
        "bottleneck_link": "The signal comes at the step, before others are built on it, without labels.",
        "mechanism": [
            {
                "step": "Fork",
                "what": "From the prefix of k steps sample two continuations of m tokens.",
                "why": "A wrong step leaves more ways to go on.",
            },
            {
                "step": "Compare",
                "what": "Reduce both to their next claim and compare the two claims.",
                "why": "Disagreement is a signal that needs no label.",
            },
            {
                "step": "Cut",
                "what": "At the first disagreement drop the last step and sample it anew.",
                "why": "Nothing is built on the wrong step any more.",
            },
        ],
        "pseudocode": "prefix = [question]\nwhile not done:\n  step, a, b = fork(prefix)\n  if a == b: keep(step)",
        "grounding": _evidence(root),
        "closest_prior": [
            {
                "ref": paper["paper_id"],
                "what_it_does": "scores finished steps",
                "delta": "treats a fluent but wrong step differently: it is cut",
            }
            for paper in (first, second)
        ],
        "falsification_prediction": {
            "hypothesis": "Disagreement of forks marks wrong steps.",
            "experiment": "On 500 held-out traces with step labels, rank the steps by disagreement of their forks.",
            "metric": "accuracy of the first marked step",
            "threshold": "at least 1 point above the majority vote",
            "kill_switch": "If the marked step is no better than a random step, the idea is dropped.",
            "cheapest_version": "50 traces with one small model on one GPU.",
        },
        "experiment_plan": [
            {
                "name": "marking",
                "data": "public step labels",
                "baseline": "majority vote",
                "metric": "accuracy",
                "expected": "8 points",
                "cost": "2 GPU days",
            },
            {
                "name": "cutting",
                "data": "public tasks",
                "baseline": "self-consistency",
                "metric": "accuracy",
                "expected": "5 points",
                "cost": "5 GPU days",
            },
        ],
        "risks": [
            {
                "risk": "Forks agree on the same wrong claim.",
                "early_sign": "Low disagreement on wrong traces.",
                "mitigation": "Fork at a higher temperature.",
            },
            {
                "risk": "Twice the tokens for each step.",
                "early_sign": "Cost grows with the length.",
                "mitigation": "Fork only at long steps.",
            },
        ],
        "resources": {"compute": "one GPU", "data": "public", "time": "3 months"},
        "assumptions": ["Time and compute were not given and are inferred."],
        "signature_terms": [
            "forked continuation disagreement",
            "step level self verification",
            "early cut of reasoning",
        ],
        "alias_terms": ["branch divergence testing", "speculative consistency check"],
    }


def _coherence(_root: Path, plan: Plan) -> Any:
    repairs = [
        {
            "field": "mechanism[1].what",
            "new_value": "Reduce both to their next claim by one fixed prompt and compare the strings.",
            "why": "It was not said how a claim is taken out.",
        }
    ]
    finding = {
        "id": "B1",
        "finding": "Case 2+2=5: both forks claim 5, so the wrong step stays; expected a cut, got none.",
        "severity": "blocking",
    }
    return {
        "verdict": "patched" if plan.patched else "pass",
        "trace": [
            {
                "step": name,
                "input": "2+2=5",
                "output": "fork a: 5, fork b: 4",
                "ok": not (plan.blocking and name == "Compare"),
            }
            for name in ("Fork", "Compare", "Cut")
        ],
        "repairs": repairs if plan.patched else [],
        "unrepaired": [finding] if plan.blocking else [],
    }


def _critique(root: Path, plan: Plan) -> Any:
    verdict = plan.verdicts.pop(0) if plan.verdicts else "revise"
    disposition = plan.dispositions.pop(0) if plan.dispositions else "upheld"
    hits = _read(root / "phase3_collision" / "collision_hits.json").get("papers") or []
    report: dict[str, Any] = {
        "verdict": verdict,
        "verdict_rationale": "The mechanism is sound in its regime; all rests on the test that could kill it.",
        "checks": [
            {
                "check": name,
                "result": "pass" if verdict == "advance" else "weak",
                "evidence": "See the findings and the table of literature.",
                "refs": [],
            }
            for name in ("novelty", "grounding", "mechanism", "falsifiability", "feasibility")
        ],
        "findings": [],
        "collisions": [
            {
                "ref": hit["paper_id"],
                "overlap": "also branches a trace",
                "what_remains": "cutting before building on it",
                "subsumes": False,
            }
            for hit in hits[:1]
        ],
        "revision_targets": [],
        "blocking_findings_disposition": [],
        "lessons": [],
    }
    if plan.blocking and disposition != "ignored":
        basis = (
            "The case is inside the claimed regime and the values are right."
            if disposition == "upheld"
            else "The trace misread the step: the forks are sampled at different temperatures."
        )
        report["blocking_findings_disposition"] = [{"finding_ref": "B1", "status": disposition, "basis": basis}]
    if verdict != "advance":
        report["findings"] = [
            {
                "id": "F1",
                "check": "falsifiability",
                "severity": "blocking" if verdict == "abandon" else "major",
                "claim_attacked": "at least 1 point above the majority vote",
                "argument": PLANTED_FINDING,
                "refs": [],
            }
        ]
    if verdict == "revise":
        field_name = "falsification_prediction.threshold" if plan.revise_falsification else "core_claim"
        report["revision_targets"] = [
            {
                "target_id": "T1",
                "finding_id": "F1",
                "field": field_name,
                "fix_direction": "Beyond the noise of the metric, with a significance level.",
            }
        ]
    if verdict == "abandon":
        number = plan.attempts + 1
        report["lessons"] = [
            plan.lessons.pop(0)
            if plan.lessons
            else f"Lesson {number}: no method that needs labels at test time, in any form."
        ]
        plan.attempts += 1
    return report


def _recheck(_root: Path, plan: Plan) -> Any:
    return {
        "rechecks": [
            {
                "finding_ref": "B1",
                "refutation_valid": plan.refutation_valid,
                "reason": "The case was computed again by hand.",
            }
        ]
    }


def _revise(root: Path, _plan: Plan) -> Any:
    report = _read(root / "phase3_critique" / "phase3_critique_output.json")
    return {
        "applied_revisions": [
            {
                "target_id": target["target_id"],
                "field": target["field"],
                "new_value": PLANTED_THRESHOLD,
                "what_changed": "The threshold now lies four standard errors above the baseline.",
            }
            for target in report["revision_targets"]
        ]
    }


def _reaudit(_root: Path, plan: Plan) -> Any:
    good = plan.reaudit == "advance"
    return {
        "verdict": plan.reaudit,
        "reason": "The new threshold lies outside the noise, so chance does not pass it.",
        "can_fail": good,
        "affordable": True,
    }


def _fill(root: Path, _plan: Plan) -> Any:
    first, second = _two(root)
    cites = f"[@{first['paper_id']}; @{second['paper_id']}]"
    keys = (
        "abstract",
        "background",
        "bottleneck",
        "mechanism",
        "why_it_should_work",
        "related_work",
        "experiments",
        "risks",
        "first_week",
    )
    return {
        f"detail.{key}": f"Earlier work scores the finished steps of a trace {cites}. This part says it for {key}."
        for key in keys
    }


def _implementable(root: Path, _plan: Plan) -> Any:
    text = _read(root / "phase4" / "fill_map.json")["detail.mechanism"]
    return {
        "verdict": "patched",
        "questions": [
            {
                "question": f"Where does input number {number} come from?",
                "answered": True,
                "where": f"mechanism[{number % 3}]",
            }
            for number in range(5)
        ],
        "patches": [{"key": "detail.mechanism", "text": f"{text} A continuation has 64 tokens; this is a choice."}],
    }


def _derive(root: Path, _plan: Plan) -> Any:
    first, _second = _two(root)
    english = f"A wrong step early in a trace spoils the rest [@{first['paper_id']}]; forks show it in time."
    chinese = f"推理链早期的一步错误会带偏后文[@{first['paper_id']}]；让续写分叉，分歧处即是错处。"
    names = ("hook", "problem", "idea", "test", "stop_when")
    return {
        "title_zh": "分叉续写：尽早发现错误的推理步骤",
        **{f"en.{name}": english for name in names},
        **{f"zh.{name}": chinese for name in names},
    }


_ANSWERS: dict[str, Callable[[Path, Plan], Any]] = {
    "intent.json": _intent,
    "host_refs_nominations.json": _nominations,
    "relevance_partition.json": _partition,
    "lit_tags.json": _tags,
    "phase1_output.json": _bottleneck,
    "phase2_select_output.json": _select,
    "phase2_generate_output.json": _candidate,
    "phase2_coherence_output.json": _coherence,
    "phase3_critique_output.json": _critique,
    "refutation_recheck.json": _recheck,
    "phase3_revise_output.json": _revise,
    "falsification_reaudit.json": _reaudit,
    "fill_map.json": _fill,
    "phase4_implementability.json": _implementable,
    "derive_map.json": _derive,
}
