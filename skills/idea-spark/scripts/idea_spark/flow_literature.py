"""Phases 0 and 1: from the question to a table of literature and the bottleneck in it."""

from __future__ import annotations

import json
from typing import Any

from idea_spark.citations import citation_errors, papers_in, references
from idea_spark.emit import SKILL, Block, command, one_line
from idea_spark.literature import (
    MODEL_KNOWLEDGE,
    NAMES_PLACEHOLDER,
    QUERIES_PLACEHOLDER,
    QUERY_PLACEHOLDER,
    partition_errors,
    pool,
    tags_errors,
)
from idea_spark.rundir import RunDir, read_json
from idea_spark.schema import errors_in
from idea_spark.shapes import LIT_TAGS, NOMINATIONS, PARTITION, bottleneck_shape, intent_shape
from idea_spark.steps import ModelStep, bash, due, existing
from idea_spark.verdicts import entries

PATTERN_GUIDE = SKILL / "references" / "patterns.md"


def literature(run: RunDir, query: str | None) -> Block | None:
    """The next step of phase 0; None when the table is there."""
    if run.lit_table.exists():
        return None
    if not run.lit_results.exists():
        return _retrieval(run, query)
    return _nominations(run) or _relevance(run) or _table(run)


def _retrieval(run: RunDir, query: str | None) -> Block | None:
    question = query or run.query()
    asked = due(
        ModelStep(
            "Phase 0.1 — write the search queries",
            "Fresh run — no literature retrieved yet.",
            "phase0_queries.md",
            (_question(run, question),),
            run.intent,
            lambda value: errors_in(intent_shape(value), value),
            "Queries FIRST, then RUN with them in place of the placeholder. Routing signal: queries, or "
            '{"ood": true, ...} when the question is out of scope: then nothing is searched.',
            run=(_phase0_command(run, question),),
        )
    )
    if asked is not None:
        return asked
    if (read_json(run.intent) or {}).get("ood") is True:
        return bash(
            run,
            "The question is out of scope.",
            "Phase 1 — route to do_not_generate (deterministic)",
            "route_out_of_scope",
            _query_words(question),
        )
    return Block(
        "Search queries written; no literature retrieved yet.",
        "Phase 0.2 — retrieve literature (deterministic)",
        "bash",
        run=(command("phase0", "--dir", run.root, _query_words(question)),),
        notes="Takes minutes: allow 900 s. When no source answers, the run goes on with model knowledge.",
    )


def _nominations(run: RunDir) -> Block | None:
    if (run.phase0 / ".coverage_check_done").exists():
        return None
    remembered = run.grounding() == MODEL_KNOWLEDGE
    asked = due(
        ModelStep(
            "Phase 0.3 — name what the search missed" if not remembered else "Phase 0.3 — recall the literature",
            "Papers retrieved." if not remembered else "No source answered; the literature comes from model knowledge.",
            "phase0_coverage.md",
            (_question(run), *existing([run.lit_results, run.user_refs])),
            run.nominations,
            lambda value: errors_in(NOMINATIONS, value) or _enough(run, value),
            "Mode: recall. Name 6 to 12 papers you are sure exist."
            if remembered
            else "Mode: coverage. Name up to 8 papers that must not be missing; an empty list is a good answer.",
        )
    )
    return asked or bash(
        run, "Nominations written.", "Phase 0.3 — check and admit them (deterministic)", "add_host_refs"
    )


def _enough(run: RunDir, value: Any) -> list[str]:
    """Without a search there must be something to stand on."""
    total = len(entries(value, "nominations")) + len(pool(run))
    return [] if total >= 3 else [f"nominations: the run has {total} papers, at least 3 are needed"]


def _relevance(run: RunDir) -> Block | None:
    if (run.phase0 / ".partition_applied").exists():
        return None
    asked = due(
        ModelStep(
            "Phase 0.4 — sort by relevance",
            "The pool is complete.",
            "phase0_partition.md",
            (_question(run), *existing([run.user_refs, run.host_refs, run.lit_results])),
            run.partition,
            lambda value: errors_in(PARTITION, value) or partition_errors(run, papers_in(value)),
        )
    )
    return asked or bash(run, "Relevance judged.", "Phase 0.4 — apply it (deterministic)", "apply_partition")


def _table(run: RunDir) -> Block | None:
    asked = due(
        ModelStep(
            "Phase 0.5 — tag every paper",
            "Off-topic papers are set aside.",
            "phase0_lit_tags.md",
            (*existing([run.user_refs, run.host_refs, run.lit_results]), str(PATTERN_GUIDE)),
            run.lit_tags,
            lambda value: errors_in(LIT_TAGS, value) or tags_errors(run, entries(value, "rows")),
            "Classification: a fast model will do.",
        )
    )
    return asked or bash(run, "Tags written.", "Phase 0.5 — build lit_table.md (deterministic)", "lit_table")


def bottleneck(run: RunDir) -> Block | None:
    """The next step of phase 1; None when a bottleneck was found."""
    earlier = [path / "phase1" / run.bottleneck.name for path in run.attempts()]
    reports = [path / "phase3_critique" / run.critique.name for path in run.attempts()]
    anew = run.bottleneck_retry.exists()
    asked = due(
        ModelStep(
            "Phase 1 — find the bottleneck",
            "Phase 0 complete." if not anew else "The first diagnosis was exhausted; the bottleneck is found anew.",
            "phase1_bottleneck.md",
            (
                _question(run),
                *existing([run.lit_table, run.user_refs, run.host_refs, run.lit_results]),
                *(existing([*earlier, *reports]) if anew else ()),
            ),
            run.bottleneck,
            lambda value: (
                errors_in(bottleneck_shape(value), value) or citation_errors(value, references(run, with_hits=False))
            ),
            "Routing signal: state (proceed | do_not_generate)."
            + (" SECOND DIAGNOSIS: the archived bottleneck is retired; do not rephrase it." if anew else ""),
        )
    )
    if asked is not None:
        return asked
    if (read_json(run.bottleneck) or {}).get("state") == "do_not_generate":
        return bash(
            run,
            "Phase 1 routed to do_not_generate.",
            "Phase 1 — write do_not_generate.md (deterministic)",
            "write_do_not_generate",
        )
    return None


def _question(run: RunDir, question: str | None = None) -> str:
    """The user's words as an input: the file when it is there, else a JSON string on one line."""
    if run.query_file.exists():
        return str(run.query_file)
    return f"the user query, as a JSON string: {json_line(question or QUERY_PLACEHOLDER)}"


def _query_words(question: str) -> str:
    """The question as one argument that stays on one line, also when it begins with a dash."""
    text = question.strip()
    if one_line(text) == text and text.isprintable():
        return f"--query={text or QUERY_PLACEHOLDER}"
    return f"--query-json={json_line(text)}"


def json_line(text: str) -> str:
    """A JSON string without any character that some reader takes for the end of a line."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in quoted)


def _phase0_command(run: RunDir, question: str) -> str:
    """The command with the placeholders that a driver fills in, between double quotes as it looks for them."""
    head = command("phase0", "--dir", run.root, _query_words(question))
    return f'{head} --queries "{QUERIES_PLACEHOLDER}" --named-papers "{NAMES_PLACEHOLDER}"'
