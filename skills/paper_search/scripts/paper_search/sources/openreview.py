"""OpenReview: submissions to conferences, by full-text search. The years are filtered here: the search knows none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from paper_search.errors import SourceError
from paper_search.papers import Paper, listed, mapping, normalise_arxiv_id, normalise_doi, plain, year_of
from paper_search.query import Query
from paper_search.transport import Transport

_PAGE = 50
_MAX_PAGES = 6


def search(query: Query, web: Transport) -> Iterator[Paper]:
    """Papers of the wanted years; replies (reviews, comments) are left out. Raises SourceError."""
    count = 0
    for page in range(_MAX_PAGES):
        scope = {"type": "terms", "content": "all", "group": "all", "source": "forum"}
        params = {"term": query.text, **scope, "limit": _PAGE, "offset": page * _PAGE}
        data = mapping(web.get_json("/notes/search", params))
        if errors := listed(data.get("errors")):
            raise SourceError("refused", "OpenReview says: " + "; ".join(_said(error) for error in errors)[:300])
        if data.get("searchUnavailable"):
            raise SourceError("refused", "OpenReview says that its search is not available now")
        if "notes" not in data:
            raise SourceError("bad_answer", f"the answer holds no notes: {plain(data.get('message'))[:200]}")
        notes = [mapping(note) for note in listed(data["notes"])]
        found = [_paper(note) for note in notes if note.get("id") == note.get("forum")]
        papers = [paper for paper in found if paper.title and query.covers(paper.year)]
        yield from papers
        count += len(papers)
        if len(notes) < _PAGE or count >= query.limit:
            break


def _said(error: Any) -> str:
    return plain(error.get("message") if isinstance(error, dict) else error) or "error without a text"


def _paper(note: dict[str, Any]) -> Paper:
    content = mapping(note.get("content"))
    venue = plain(_value(content, "venue"))
    date = next((day for name in ("pdate", "odate", "cdate", "tcdate") if (day := _day(note.get(name)))), "")
    # The year of the conference is the one that people cite.
    named = re.search(r"\b(?:19|20)\d\d\b", f"{venue} {plain(_value(content, 'venueid'))}")
    page = plain(_value(content, "html")) or plain(_value(content, "ee"))
    doi = normalise_doi(page)
    return Paper(
        title=plain(_value(content, "title")),
        source="openreview",
        authors=tuple(name for author in listed(_value(content, "authors")) if (name := _author(author))),
        year=int(named[0]) if named else year_of(date),
        abstract=plain(_value(content, "abstract")),
        url=f"https://openreview.net/forum?id={plain(note.get('forum'))}",
        venue=venue or "OpenReview",
        publication_date=date,
        doi=doi,
        arxiv_id=normalise_arxiv_id(page) or normalise_arxiv_id(doi),
    )


def _value(content: dict[str, Any], name: str) -> Any:
    """API 2 wraps every field in `{"value": …}`, API 1 does not."""
    field = content.get(name)
    return field.get("value") if isinstance(field, dict) else field


def _author(author: Any) -> str:
    return plain(author.get("fullname") if isinstance(author, dict) else author)


def _day(milliseconds: Any) -> str:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return ""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d")
    except (OverflowError, OSError, ValueError):
        return ""
