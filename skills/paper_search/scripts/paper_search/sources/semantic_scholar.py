"""Semantic Scholar: citations and short summaries. Without a key everybody shares one allowance: 429 is normal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paper_search.errors import SourceError
from paper_search.papers import Paper, listed, mapping, normalise_arxiv_id, normalise_doi, number, plain
from paper_search.query import Query
from paper_search.transport import Transport

_PAGE = 100
_MAX_REACH = 999
"""offset + limit may not go beyond."""
_FIELDS = "title,abstract,tldr,year,publicationDate,venue,citationCount,externalIds,url,authors"


def search(query: Query, web: Transport) -> Iterator[Paper]:
    """Papers by relevance. Raises SourceError."""
    count = 0
    offset = 0
    wanted = min(query.limit, _MAX_REACH)
    while count < wanted and offset < _MAX_REACH:
        params = {
            "query": query.text.replace("-", " "),  # hyphens find less
            "year": f"{query.start_year}-{query.end_year}",
            "offset": offset,
            "limit": min(_PAGE, wanted, _MAX_REACH - offset),
            "fields": _FIELDS,
        }
        data = mapping(web.get_json("/paper/search", params, {"x-api-key": query.key} if query.key else None))
        if "data" not in data and "total" not in data:
            said = plain(data.get("message")) or plain(data.get("error"))
            raise SourceError("bad_answer", f"the answer holds no data: {said[:200]}")
        papers = [paper for item in listed(data.get("data")) if (paper := _paper(mapping(item))).title]
        yield from papers
        count += len(papers)
        following = number(data.get("next"))
        if following is None or following <= offset:
            break
        offset = following


def _paper(item: dict[str, Any]) -> Paper:
    ids = mapping(item.get("externalIds"))
    doi = normalise_doi(ids.get("DOI"))
    authors = (mapping(author).get("name") for author in listed(item.get("authors")))
    return Paper(
        title=plain(item.get("title")),
        source="semantic_scholar",
        authors=tuple(name for author in authors if (name := plain(author))),
        year=number(item.get("year")),
        abstract=plain(item.get("abstract")) or plain(mapping(item.get("tldr")).get("text")),
        url=plain(item.get("url")),
        venue=plain(item.get("venue")),
        citation_count=number(item.get("citationCount")),
        publication_date=plain(item.get("publicationDate")),
        doi=doi,
        arxiv_id=normalise_arxiv_id(ids.get("ArXiv")) or normalise_arxiv_id(doi),
    )
