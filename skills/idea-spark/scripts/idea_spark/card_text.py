"""The three cards as Markdown. Facts are printed word for word; only the prose was written for the card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from idea_spark.citations import MENTION, cited
from idea_spark.emit import one_line

WORDS = {
    "en": {
        "question": "Question",
        "problem": "The problem",
        "idea": "The idea",
        "steps": "How it works",
        "test": "How you will know",
        "kill": "Kill switch",
        "first": "Cheapest first test",
        "prior": "What is new against the closest work",
        "work": "work",
        "does": "what it does",
        "delta": "what differs here",
        "audit": "What the audit changed",
        "unchanged": "The audit advanced the idea unchanged.",
        "risks": "Risks",
        "references": "References",
        "unverified": "from model memory, not verified",
        "assumed": "Assumed, because the question did not say",
        "provenance": "Provenance",
        "real": "papers found by search",
        "memory": "no paper source could be reached: the literature comes from a model's memory; check it before use",
        "collision": "possible collisions looked at",
        "no_collision": "no collision search was possible",
        "attempts": "attempts",
    },
    "zh": {
        "question": "问题",
        "problem": "痛点",
        "idea": "想法",
        "steps": "做法",
        "test": "怎样验证",
        "kill": "终止条件",
        "first": "最便宜的第一步",
        "prior": "与最接近工作的区别",
        "work": "工作",
        "does": "它做了什么",
        "delta": "这里的不同",
        "audit": "审计改了什么",
        "unchanged": "审计未要求修改。",
        "risks": "风险",
        "references": "参考文献",
        "unverified": "来自模型记忆，未核实",
        "assumed": "提问未说明、由本流程推断",
        "provenance": "来源说明",
        "real": "篇检索到的论文",
        "memory": "所有论文源均不可用：文献来自模型记忆，使用前请核对",
        "collision": "篇可能撞车的工作已比对",
        "no_collision": "未能做撞车检索",
        "attempts": "次尝试",
    },
}
DETAIL_PARTS = (
    ("Abstract", "detail.abstract"),
    ("Background", "detail.background"),
    ("The bottleneck", "detail.bottleneck"),
    ("Mechanism", "detail.mechanism"),
    ("Why it should work", "detail.why_it_should_work"),
    ("Related work", "detail.related_work"),
    ("Experiments", "detail.experiments"),
    ("Risks", "detail.risks"),
    ("The first week", "detail.first_week"),
)


def standard_card(facts: dict[str, Any], language: str) -> str:
    """The card for everybody, in English or Chinese."""
    word, texts, candidate = WORDS[language], facts["texts"], facts["candidate"]
    title = texts["title_zh"] if language == "zh" else candidate["title"]
    test = candidate["falsification_prediction"]
    rows = [f"# {one_line(title)}", ""]
    if language == "zh":
        rows += [f"*{one_line(candidate['title'])}*", ""]
    rows += [_prose(texts[f"{language}.hook"]), "", *_question(facts, word["question"])]
    rows += _part(word["problem"], texts[f"{language}.problem"])
    rows += _part(word["idea"], texts[f"{language}.idea"])
    rows += [f"## {word['steps']}", ""]
    rows += [
        f"{number}. **{one_line(step['step'])}** — {_prose(one_line(step['what']))}"
        for number, step in enumerate(candidate["mechanism"], 1)
    ]
    rows += ["", *_part(word["test"], texts[f"{language}.test"])]
    rows += [f"- **{word['first']}**: {_prose(one_line(test['cheapest_version']))}"]
    rows += [f"- **{word['kill']}**: {_prose(one_line(test['kill_switch']))}"]
    rows += [f"  {_prose(one_line(texts[f'{language}.stop_when']))}", ""]
    rows += [*_prior(candidate, word), *_audit(facts, word), *_risks(candidate, word)]
    return "\n".join([*rows, *_provenance(facts, word), *_references(facts, rows, word)]) + "\n"


def detail_card(facts: dict[str, Any]) -> str:
    """The card for a reviewer: all of it, with the mechanism, the plan and the audit word for word."""
    word, texts, candidate = WORDS["en"], facts["texts"], facts["candidate"]
    rows = [f"# {one_line(candidate['title'])}", "", f"> {_prose(one_line(candidate['one_line']))}", ""]
    rows += [*_question(facts, word["question"]), "**Claim.** " + _prose(candidate["core_claim"]), ""]
    for heading, key in DETAIL_PARTS:
        rows += _part(heading, texts[key])
        if key == "detail.mechanism":
            rows += _mechanism(candidate)
        if key == "detail.experiments":
            rows += _experiments(candidate)
        if key == "detail.risks":
            rows += _risk_rows(candidate)
    rows += [*_grounding(candidate), *_prior(candidate, word), *_audit(facts, word), *_checks(facts)]
    rows += _not_chosen(facts)
    return "\n".join([*rows, *_provenance(facts, word), *_references(facts, rows, word)]) + "\n"


def _prose(text: str) -> str:
    """Citations as a reader sees them: [@L3; @U1] becomes [L3, U1]."""
    return MENTION.sub(lambda match: "[" + ", ".join(cited(match[0])) + "]", text.strip())


def _part(heading: str, text: str) -> list[str]:
    return [f"## {heading}", "", _prose(text), ""]


def _cell(text: object) -> str:
    return _prose(one_line(str(text))).replace("|", "\\|")


def _table(head: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows), ""]


def _question(facts: dict[str, Any], heading: str) -> list[str]:
    query = facts.get("query") or ""
    return [f"**{heading}**: {one_line(query)}", ""] if query else []


def _mechanism(candidate: dict[str, Any]) -> list[str]:
    rows = _table(
        ("step", "what", "why"), [(step["step"], step["what"], step["why"]) for step in candidate["mechanism"]]
    )
    return [*rows, "```text", candidate["pseudocode"].strip().replace("```", "'''"), "```", ""]


def _experiments(candidate: dict[str, Any]) -> list[str]:
    head = ("name", "data", "baseline", "metric", "expected", "cost")
    test = candidate["falsification_prediction"]
    rows = _table(head, [tuple(entry[key] for key in head) for entry in candidate["experiment_plan"]])
    rows += ["**The test that can kill it**", ""]
    rows += [
        f"- {key.replace('_', ' ')}: {_prose(one_line(str(test[key])))}"
        for key in ("hypothesis", "experiment", "metric", "threshold", "cheapest_version", "kill_switch")
    ]
    return [*rows, ""]


def _grounding(candidate: dict[str, Any]) -> list[str]:
    rows = ["## What it stands on", ""]
    for entry in candidate["grounding"]:
        quote = f" — “{one_line(entry['quote'])}”" if entry["quote"].strip() else ""
        rows.append(f"- {_prose(one_line(entry['claim']))} [{entry['ref']}]{quote}")
    return [*rows, ""]


def _prior(candidate: dict[str, Any], word: dict[str, str]) -> list[str]:
    rows = [(f"[{entry['ref']}]", entry["what_it_does"], entry["delta"]) for entry in candidate["closest_prior"]]
    return [f"## {word['prior']}", "", *_table((word["work"], word["does"], word["delta"]), rows)]


def _audit(facts: dict[str, Any], word: dict[str, str]) -> list[str]:
    changes = facts["audit"]["changes"]
    rows = [f"## {word['audit']}", ""]
    if not changes:
        return [*rows, word["unchanged"], ""]
    for change in changes:
        rows.append(f"- `{change['field']}`: {_prose(one_line(str(change['finding'])))}")
        rows.append(f"  → {_prose(one_line(str(change['what_changed'])))}")
    return [*rows, ""]


def _checks(facts: dict[str, Any]) -> list[str]:
    rows: list[tuple[object, ...]] = [
        (entry.get("check"), entry.get("result"), entry.get("evidence")) for entry in facts["audit"]["checks"]
    ]
    lines = ["## The audit's five checks", "", *_table(("check", "result", "evidence"), rows)]
    minor = facts["audit"]["minor_findings"]
    if minor:
        lines += ["Left open as minor:", "", *(f"- {_prose(one_line(str(entry['argument'])))}" for entry in minor), ""]
    return lines


def _risks(candidate: dict[str, Any], word: dict[str, str]) -> list[str]:
    return [f"## {word['risks']}", "", *_risk_rows(candidate)]


def _risk_rows(candidate: dict[str, Any]) -> list[str]:
    rows = [
        f"- {_prose(one_line(entry['risk']))} → {_prose(one_line(entry['early_sign']))} → "
        f"{_prose(one_line(entry['mitigation']))}"
        for entry in candidate["risks"]
    ]
    return [*rows, ""]


def _not_chosen(facts: dict[str, Any]) -> list[str]:
    sketches = facts["not_chosen"]
    if not sketches:
        return []
    lines = [f"- {_prose(one_line(str(entry['sketch'])))} ({one_line(str(entry['fatal_risk']))})" for entry in sketches]
    return ["## Sketched and not chosen", "", *lines, ""]


def _provenance(facts: dict[str, Any], word: dict[str, str]) -> list[str]:
    origin = facts["provenance"]
    found = f"{origin['papers']} {word['real']}" if origin["grounding"] == "real" else word["memory"]
    hits = f"{origin['collision_hits']} {word['collision']}" if origin["collision_searched"] else word["no_collision"]
    rows = [f"## {word['provenance']}", "", f"- {found}", f"- {hits}", f"- {origin['attempts']} {word['attempts']}"]
    inferred = ((facts["bottleneck"].get("intake") or {}).get("inferred")) or []
    if inferred:
        rows.append(f"- {word['assumed']}: {'; '.join(one_line(str(entry)) for entry in inferred)}")
    return [*rows, ""]


def _references(facts: dict[str, Any], rows: list[str], word: dict[str, str]) -> list[str]:
    """Those that this card cites, in the order of their ids."""
    text = "\n".join(rows)
    known = [(ref, paper) for ref, paper in facts["references"].items() if _names(text, ref)]
    lines = [f"## {word['references']}", ""]
    for ref, paper in sorted(known, key=lambda pair: (pair[0].rstrip("0123456789"), len(pair[0]), pair[0])):
        authors = paper.get("authors") or []
        names = ", ".join(str(name) for name in authors[:3]) + (" et al." if len(authors) > 3 else "")
        parts = [names, str(paper.get("title") or ""), str(paper.get("venue") or ""), str(paper.get("year") or "")]
        parts.append(str(paper.get("paper_url") or paper.get("doi") or ""))
        mark = "" if paper.get("verified", True) else f" — {word['unverified']}"
        lines.append(f"- [{ref}] {'. '.join(one_line(part) for part in parts if part)}{mark}")
    return lines


def _names(text: str, ref: str) -> bool:
    return any(mark in text for mark in (f"[{ref}]", f"[{ref},", f" {ref}]", f" {ref},"))
