"""What the program prints, and the same as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paper_search.processes import SourceResult
from paper_search.rank import Ranked

_SHOWN_AUTHORS = 3


def hits_line(results: Sequence[SourceResult]) -> str:
    """`per-source hits: arxiv 10, dblp 0 (failed), crossref 7 (cached)`"""
    return "per-source hits: " + ", ".join(f"{one.source} {len(one.papers)}{_state(one)}" for one in results)


def _state(result: SourceResult) -> str:
    if result.failed:
        return " (failed)"
    if result.failures:
        return " (incomplete)"
    return " (cached)" if result.from_cache else ""


def error_lines(results: Sequence[SourceResult]) -> list[str]:
    """One line a failure, in the words of the source."""
    return [
        f"ERROR {failure.source}{f' [{failure.query}]' if failure.query else ''}: {failure.type}: {failure.message}"
        for result in results
        for failure in result.failures
    ]


def paper_lines(number: int, item: Ranked, abstract_chars: int = 0) -> list[str]:
    """One paper of the merged list."""
    survey = "[survey] " if item.is_survey else ""
    head = f"[{number}] (score {item.score}) {survey}{item.paper.title}"
    return [head, *_details(item, abstract_chars)]


def _details(item: Ranked, abstract_chars: int) -> list[str]:
    paper = item.paper
    citations = "unknown" if paper.citation_count is None else str(paper.citation_count)
    rows = [
        f"Authors: {_authors(paper.authors)}",
        f"Year: {paper.year or 'unknown'} | Citations: {citations} | Venue: {paper.venue or 'unknown'}",
        f"Sources: {','.join(item.merged.found_in)}",
    ]
    rows += [f"{label}: {value}" for label, value in (("DOI", paper.doi), ("arXiv", paper.arxiv_id)) if value]
    rows.append(f"URL: {paper.url or 'unknown'}")
    if abstract_chars and paper.abstract:
        cut = paper.abstract[:abstract_chars]
        rows.append(f"Abstract: {cut}{'…' if len(paper.abstract) > abstract_chars else ''}")
    return [f"    {row}" for row in rows]


def _authors(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN_AUTHORS])
    return (f"{shown}, et al." if len(names) > _SHOWN_AUTHORS else shown) or "unknown"


def paper_json(item: Ranked) -> dict[str, Any]:
    """One paper of the merged list as data."""
    values = item.paper.as_json()
    del values["source"]
    return values | {"sources": list(item.merged.found_in), "score": item.score, "survey": item.is_survey}


def sources_json(results: Sequence[SourceResult]) -> dict[str, Any]:
    """What each source gave."""
    return {one.source: {"hits": len(one.papers), "failed": one.failed, "cached": one.from_cache} for one in results}


def errors_json(results: Sequence[SourceResult]) -> list[dict[str, str]]:
    """Every failure as data."""
    return [
        {"source": failure.source, "query": failure.query, "type": failure.type, "message": failure.message}
        for result in results
        for failure in result.failures
    ]
