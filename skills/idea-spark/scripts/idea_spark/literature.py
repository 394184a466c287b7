"""Phase 0 without a model: retrieval, nominated papers, the relevance filter and the table."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

from idea_spark.citations import fold, papers_in
from idea_spark.emit import one_line
from idea_spark.papers import Found, matching, same_title, search
from idea_spark.rundir import Refused, RunDir, read_json, write_json, write_text
from idea_spark.schema import errors_in
from idea_spark.shapes import intent_shape
from idea_spark.verdicts import entries

QUERIES_PLACEHOLDER = "q1|q2|q3|q4"
NAMES_PLACEHOLDER = "Title A|Title B"
QUERY_PLACEHOLDER = "<user research question>"
NEEDS_QUERIES = 10
"""Exit code: the queries come first. Not a failure."""

MODEL_KNOWLEDGE = "model_knowledge"
REAL = "real"
YEARS = 6
PER_SOURCE = 12
MAX_POOL = 60
TABLE_HEAD = (
    "paper_id",
    "year_month",
    "venue",
    "title",
    "ideation pattern tags",
    "bottleneck this paper targets",
    "open issue / unresolved gap",
    "resolves_problem",
    "retrieved_via",
)


def phase0(run: RunDir, query: str, queries: str, named: str) -> str:
    """Stores the query and the queries, searches, and writes the pool. Says what it did."""
    intent = read_json(run.intent)
    if not isinstance(intent, dict) or errors_in(intent_shape(intent), intent):
        intent = {}
    if intent.get("ood") is True:
        return "out of scope: nothing is searched"
    wanted = [str(entry) for entry in intent.get("queries") or []] or _split(queries, QUERIES_PLACEHOLDER)
    names = [str(entry) for entry in intent.get("named_papers") or []] or _split(named, NAMES_PLACEHOLDER)
    if query and query != QUERY_PLACEHOLDER:
        write_text(run.query_file, query.strip() + "\n")
    if not run.query():
        raise Refused("no research question: pass --query or --query-json")
    if not wanted:
        raise Refused("no search queries yet: phase0/intent.json comes first", NEEDS_QUERIES)
    if not run.intent.exists():
        write_json(run.intent, {"queries": wanted, "named_papers": names})
    found = search([*wanted, *names], years=YEARS, limit=PER_SOURCE)
    return _store_pool(run, wanted, names, found)


def _store_pool(run: RunDir, queries: list[str], names: list[str], found: Found) -> str:
    mode = MODEL_KNOWLEDGE if found.problem or not found.papers else REAL
    user = [_user_ref(index, name, found) for index, name in enumerate(names, 1)]
    pool = [paper for paper in found.papers if not any(same_title(paper["title"], ref["title"]) for ref in user)]
    pool = [{"paper_id": f"L{index}", **paper} for index, paper in enumerate(pool[:MAX_POOL], 1)]
    warnings = ([found.problem] if found.problem else []) + found.warnings
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    write_json(run.user_refs, {"refs": user})
    write_text(run.phase0 / ".retrieved_at", moment + "\n")
    if warnings:
        write_text(run.phase0 / ".connectors_degraded", "\n".join(one_line(row) for row in warnings) + "\n")
    write_text(run.phase0 / ".lit_grounding_mode", mode + "\n")
    document = {
        "query": run.query(),
        "queries_run": queries,
        "retrieved_at": moment,
        "lit_grounding_mode": mode,
        "n_papers": len(pool),
        "papers": pool,
        "warnings": warnings,
    }
    write_json(run.lit_results, document)
    why = f" ({one_line(found.problem)})" if found.problem else ""
    return f"{len(pool)} papers, {len(user)} named by the user; grounding: {mode}{why}"


def _user_ref(index: int, name: str, found: Found) -> dict[str, Any]:
    record = matching(name, found.papers)
    head = {"paper_id": f"U{index}", "raw_match": name, "resolved": record is not None}
    return head | (record or {"title": name, "abstract": "", "authors": [], "verified": False, "retrieved_via": "user"})


def add_host_refs(run: RunDir) -> str:
    """Admits the papers that the model named: found ones, or, without a search, all of them as unverified."""
    nominations = entries(read_json(run.nominations), "nominations")
    known = papers_in(read_json(run.lit_results)) + papers_in(read_json(run.user_refs), "refs")
    fresh = [
        entry
        for entry in nominations
        if not any(same_title(str(entry["title"]), str(paper.get("title") or "")) for paper in known)
    ]
    remembered = run.grounding() == MODEL_KNOWLEDGE
    found = Found() if remembered or not fresh else search([str(entry["title"]) for entry in fresh], years=60, limit=3)
    admitted: list[dict[str, Any]] = []
    rejected: list[dict[str, str]] = []
    for entry in fresh:
        record = matching(str(entry["title"]), found.papers)
        if record is not None:
            admitted.append({"paper_id": f"H{len(admitted) + 1}", **record, "nominated_for": entry["why_load_bearing"]})
        elif remembered:
            admitted.append(_remembered(f"K{len(admitted) + 1}", entry))
        else:
            rejected.append({"title": str(entry["title"]), "reason": found.problem or "no source knows this title"})
    write_json(run.host_refs, {"refs": admitted, "rejected": rejected})
    write_text(run.phase0 / ".coverage_check_done", "")
    return f"{len(admitted)} admitted, {len(rejected)} rejected, {len(nominations) - len(fresh)} known already"


def _remembered(paper_id: str, entry: dict[str, Any]) -> dict[str, Any]:
    """A paper from the model's memory: no year, no link, no abstract is believed without a source."""
    return {
        "paper_id": paper_id,
        "title": one_line(str(entry["title"])),
        "abstract": "",
        "claim": one_line(str(entry.get("claim") or "")),
        "authors": [str(name) for name in entry.get("authors") or []],
        "venue": str(entry.get("venue") or ""),
        "year": None,
        "confidence": entry.get("confidence"),
        "nominated_for": entry["why_load_bearing"],
        "retrieved_via": MODEL_KNOWLEDGE,
        "verified": False,
    }


def pool(run: RunDir) -> list[dict[str, Any]]:
    """All papers of phase 0, the user's first."""
    papers = papers_in(read_json(run.user_refs), "refs") + papers_in(read_json(run.host_refs), "refs")
    return [paper for paper in papers + papers_in(read_json(run.lit_results)) if paper.get("paper_id")]


def partition_errors(run: RunDir, rows: list[dict[str, Any]]) -> list[str]:
    """Papers that were forgotten, judged twice or made up; and a user's paper thrown away."""
    ids = [str(paper["paper_id"]) for paper in pool(run)]
    errors = _coverage_errors("paper_id", ids, [str(row.get("paper_id")) for row in rows])
    users = {str(paper.get("paper_id")) for paper in papers_in(read_json(run.user_refs), "refs")}
    for row in rows:
        if row.get("relevance") == "off_topic" and row.get("paper_id") in users:
            errors.append(f"{row['paper_id']}: the user named this paper; it is core or adjacent, never off_topic")
    if rows and not errors and all(row.get("relevance") == "off_topic" for row in rows):
        errors.append("every paper is off_topic: keep as adjacent those that share the object or the method")
    return errors


def tags_errors(run: RunDir, rows: list[dict[str, Any]]) -> list[str]:
    """Rows that are missing or belong to no paper."""
    ids = [str(paper["paper_id"]) for paper in pool(run)]
    return _coverage_errors("rows", ids, [str(row.get("paper_id")) for row in rows])


def apply_partition(run: RunDir) -> str:
    """Drops what is off topic from the pool, into off_topic.md; stamps the rest."""
    rows = {str(row["paper_id"]): row for row in papers_in(read_json(run.partition)) if row.get("paper_id")}
    dropped: list[dict[str, Any]] = []
    for path, key in ((run.lit_results, "papers"), (run.host_refs, "refs"), (run.user_refs, "refs")):
        document = read_json(path)
        if not isinstance(document, dict):
            continue
        kept: list[dict[str, Any]] = []
        for paper in papers_in(document, key):
            row = rows.get(str(paper.get("paper_id")), {})
            if row.get("relevance") == "off_topic":
                dropped.append(paper | {"reason": row.get("reason", "")})
            else:
                kept.append(paper | {"relevance": row.get("relevance", "adjacent")})
        write_json(path, document | {key: kept} | ({"n_papers": len(kept)} if key == "papers" else {}))
    lines = [f"- {paper['paper_id']} {paper['title']}: {one_line(str(paper['reason']))}" for paper in dropped]
    write_text(run.phase0 / "off_topic.md", "# Set aside as off topic\n\n" + "\n".join(lines) + "\n")
    write_text(run.phase0 / ".partition_applied", "")
    return f"{len(dropped)} papers set aside"


def build_table(run: RunDir) -> str:
    """lit_table.md from the papers and the model's tags: one row a paper, core first."""
    tags = {str(row.get("paper_id")): row for row in entries(read_json(run.lit_tags), "rows")}
    papers = sorted(pool(run), key=lambda paper: paper.get("relevance") != "core")
    rows = ["| " + " | ".join(TABLE_HEAD) + " |", "|" + "---|" * len(TABLE_HEAD)]
    for paper in papers:
        tag = tags.get(str(paper["paper_id"]), {})
        cells = (
            paper["paper_id"],
            paper.get("year_month") or paper.get("year") or "",
            paper.get("venue") or "",
            paper.get("title") or "",
            ", ".join(tag.get("patterns") or []),
            tag.get("bottleneck", ""),
            tag.get("open_issue", ""),
            tag.get("resolves_problem", ""),
            paper.get("retrieved_via") or "",
        )
        rows.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    write_text(run.lit_table, "\n".join(rows) + "\n")
    return f"{len(papers)} rows"


def prepare(run: RunDir) -> str:
    """closest_abstracts.json: only the papers that phase 1 leans on, with their abstracts."""
    document = read_json(run.bottleneck)
    wanted = {str(entry.get("paper_id")) for entry in entries(document, "closest_adjacent")}
    wanted |= {str(entry.get("ref")) for entry in entries(document, "evidence")}
    papers = [paper for paper in pool(run) if paper["paper_id"] in wanted or str(paper["paper_id"]).startswith("U")]
    missing = sorted(wanted - {str(paper["paper_id"]) for paper in papers})
    write_json(run.abstracts, {"papers": papers, "unmatched": missing})
    return f"{len(papers)} abstracts" + (f"; unmatched: {', '.join(missing)}" if missing else "")


def collide(run: RunDir) -> str:
    """Searches for work that did the same, under the idea's own terms and under the names other fields use."""
    candidate = read_json(run.canonical())
    if not isinstance(candidate, dict):
        raise Refused("there is no candidate yet")
    signature = [str(term) for term in candidate.get("signature_terms") or []]
    alias = [str(term) for term in candidate.get("alias_terms") or []]
    remembered = run.grounding() == MODEL_KNOWLEDGE and not os.environ.get("IDEASPARK_RETRY_SEARCH")
    channels = (("signature", signature, 2), ("alias", alias, 5))
    hits: list[dict[str, Any]] = []
    problems: list[str] = []
    known = {fold(str(paper.get("title") or "")) for paper in pool(run)}
    for channel, terms, years in channels:
        found = (
            Found(problem="the literature comes from model knowledge")
            if remembered
            else search([" ".join(terms), *terms[:3]], years=years, limit=6)
        )
        problems += [f"{channel}: {found.problem}"] if found.problem else []
        for paper in found.papers[:20]:
            if fold(paper["title"]) not in known:
                known.add(fold(paper["title"]))
                hits.append({"paper_id": f"C{len(hits) + 1}", **paper, "channel": channel})
    write_json(run.collision.parent / ".collision_terms.json", {"signature_terms": signature, "alias_terms": alias})
    document = {"n_papers": len(hits), "papers": hits, "searched": len(problems) < len(channels), "problems": problems}
    write_json(run.collision, document)
    return f"{len(hits)} possible collisions" + (f"; {'; '.join(map(one_line, problems))}" if problems else "")


def _coverage_errors(field: str, wanted: list[str], given: list[str]) -> list[str]:
    missing = [name for name in wanted if name not in given]
    unknown = [name for name in dict.fromkeys(given) if name not in wanted]
    twice = [name for name in dict.fromkeys(given) if given.count(name) > 1]
    errors = [f"{field}: no entry for {', '.join(missing)}"] if missing else []
    errors += [f"{field}: unknown {', '.join(unknown)}"] if unknown else []
    return errors + ([f"{field}: twice {', '.join(twice)}"] if twice else [])


def _split(text: str, placeholder: str) -> list[str]:
    """The parts between bars; nothing when the placeholder was left in."""
    if text.strip() == placeholder:
        return []
    return [part for piece in text.split("|") if (part := one_line(piece))]


def _cell(value: object) -> str:
    return one_line(str(value)).replace("|", "\\|")
