"""A state machine with the quirks of the public ones, small: fresh run in reverse order, RUN beside llm_subagent, two
outputs, exit codes 10 and 11, archive first, three endings. Read-only `next`; the other commands do the bash steps."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

SKILL = Path(__file__).resolve().parent.parent
RULE = "━" * 72
PY = f'"{sys.executable}"'
ME = f'"{Path(__file__).resolve()}"'


def show(state, step, kind, do="", prompt="", inputs=(), output="", runs=(), notes="", then=""):
    rows = [("STATE", state), ("STEP", step), ("TYPE", kind)]
    if kind == "llm_subagent":
        rows += [("DO", do or "Hand this to a fresh sub-agent.")]
        rows += [("PROMPT", prompt)] if prompt else []
        rows += [("INPUT", inputs[0])] if inputs else []
        rows += [("", value) for value in inputs[1:]]
        rows += [("OUTPUT", output)] if output else []
    if runs:
        rows += [("RUN", runs[0])] + [("", value) for value in runs[1:]]
    rows += [("NOTES", notes)] if notes else []
    rows += [("THEN", then)] if then else []
    print(RULE)
    for label, value in rows:
        print(f"{label:<7}: {value}" if label else f"{'':<9}{value}")
    print(RULE)
    return 0


def next_(run, query):
    then = f'{PY} {ME} next --dir "{run}"'
    p1 = run / "phase1" / "phase1_output.json"
    select, generate = run / "phase2_select" / "selected.json", run / "phase2_generate" / "candidate.json"
    critique, cards = run / "phase3" / "critique.json", run / "phase4"
    if not (run / "phase0" / "lit_results.json").exists():
        return show(
            "Fresh run — nothing retrieved yet.",
            "Phase 0 — derive queries, then retrieve",
            "llm_subagent",
            inputs=["the user query"],
            output="(a) 4 search queries (b) named papers, as JSON",
            runs=[
                f'{PY} {ME} phase0 --query "<user research question>" --queries "q1|q2|q3|q4" '
                f'--named-papers "Title A|Title B" --out "{run}"'
            ],
            notes="Queries first, then RUN with them substituted. RUN: is a label, and this is only NOTES.",
            then=then,
        )
    if (run / ".pattern_summary_pending").exists() and not (run / "lit_table.md").exists():
        return show(
            "Phase 0 — waiting for the pattern summary.",
            "Phase 0.4 — pattern_summary",
            "llm_subagent",
            inputs=[str(run / "phase0" / "lit_results.json") + " (all rows)"],
            output=str(run / "lit_table.md"),
            notes="Table with nine columns.",
            then=then,
        )
    if not (run / "lit_table.md").exists():
        return show(
            "Phase 0 — retrieved.",
            "Phase 0.4 — summarise patterns",
            "bash",
            runs=[f'{PY} {ME} summarise --dir "{run}"'],
            then=then,
        )
    if not p1.exists():
        return show(
            "Phase 1",
            "Phase 1 — bottleneck",
            "llm_subagent",
            prompt=f"{SKILL}/prompts/bottleneck.txt (Map mode)",
            inputs=[str(run / "lit_table.md"), f"{run}/rows/<picked C##>.md", f"{run}/rejected_* (earlier tries)"],
            output=str(p1),
            then=then,
        )
    if json.loads(p1.read_text())["state"] == "do_not_generate":
        if not (run / "do_not_generate.md").exists():
            return show(
                "Phase 1 routed to do_not_generate.",
                "do_not_generate.md — tell the user why",
                "llm_subagent",
                inputs=[str(p1)],
                output=str(run / "do_not_generate.md"),
                notes="No prompt: say in 100 words why, and what would help.",
                then=then,
            )
        return show(
            "TERMINAL — Phase 1 routed to do_not_generate.", "Surface do_not_generate.md to the user", "terminal"
        )
    if not generate.exists():
        return show(
            "Phase 2",
            "Phase 2 — select and generate",
            "llm_subagent",
            prompt=f"{SKILL}/prompts/select.txt THEN {SKILL}/prompts/generate.txt",
            inputs=[str(p1)],
            output=f"{select} then {generate}",
            runs=[f'{PY} {ME} prepare --dir "{run}"'],
            notes="Run first.",
            then=then,
        )
    if not critique.exists():
        return show(
            "Phase 3",
            "Phase 3.2 — audit",
            "llm_subagent",
            prompt=f"{SKILL}/prompts/critique.txt (Collision mode)",
            inputs=[str(generate)],
            output=str(critique),
            runs=[f'{PY} {ME} collide --dir "{run}"'],
            notes="Launch RUN in parallel with the audit.",
            then=then,
        )
    verdict = json.loads(critique.read_text())["verdict"]
    if verdict == "revise":
        attempt = run / "phase3" / "rejected_1"
        return show(
            "Phase 3",
            "Phase 3.2 — audit again",
            "llm_subagent",
            prompt=f"{SKILL}/prompts/critique.txt",
            inputs=[str(generate)],
            output=str(critique),
            runs=[f'mkdir -p "{attempt}" && mv "{critique}" "{attempt}/"'],
            notes="Archive the old report first.",
            then=then,
        )
    if verdict == "abandon":
        if not (run / "phase_3_failed.md").exists():
            return show(
                "Phase 3 abandoned.",
                "phase_3_failed.md — write the report",
                "llm_subagent",
                inputs=[str(critique)],
                output=str(run / "phase_3_failed.md"),
                notes="Only from the critique.",
                then=then,
            )
        return show(
            "TERMINAL — Phase 3 audit abandoned (retry budget exhausted).",
            "Surface phase_3_failed.md to the user",
            "terminal",
        )
    if not (cards / "idea.std.en.md").exists():
        return show("Phase 4", "Phase 4 — render", "bash", runs=[f'{PY} {ME} render --dir "{run}"'], then=then)
    return show(
        "DONE — all three idea cards rendered.",
        "Return the cards inline",
        "terminal",
        notes="phase4/idea.std.zh.md, phase4/idea.std.en.md, phase4/idea.detail.en.md",
    )


def main():
    sys.stdout.reconfigure(encoding="utf-8")
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    for name in ("--dir", "--out", "--query", "--queries", "--named-papers"):
        parser.add_argument(name)
    args = parser.parse_args()
    run = Path(args.dir or args.out)
    if args.command == "next":
        print("a warning", file=sys.stderr)
        return next_(run, args.query)
    if args.command == "phase0":
        (run / "phase0").mkdir(parents=True)
        found = {"query": args.query, "queries": args.queries.split("|"), "named": args.named_papers}
        (run / "phase0" / "lit_results.json").write_text(json.dumps(found))
    if args.command == "summarise":
        (run / ".pattern_summary_pending").write_text("{}")
        return int(os.environ.get("HANDSHAKE", "10"))
    if args.command == "prepare":
        (run / "prepared").touch()
    if args.command == "collide":
        (run / "collision.json").write_text("[]")
        return 11
    if args.command == "render":
        (run / "phase4").mkdir()
        for name in ("idea.std.zh.md", "idea.std.en.md", "idea.detail.en.md"):
            (run / "phase4" / name).write_text(f"# Card {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
