"""OpenAlex: an open catalogue of all fields. Paged by cursor; without a key only a small daily allowance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paper_search.errors import SourceError
from paper_search.papers import Paper, listed, mapping, normalise_arxiv_id, normalise_doi, number, plain
from paper_search.query import Query
from paper_search.transport import Transport

_PAGE = 100
_MAX_WORDS = 5000
"""Positions of an abstract that are rebuilt at most."""
_FIELDS = (
    "id,doi,title,display_name,publication_year,publication_date,authorships,primary_location,cited_by_count,"
    "abstract_inverted_index"
)


def search(query: Query, web: Transport) -> Iterator[Paper]:
    """Works by relevance, page after page until there are enough or no more. Raises SourceError."""
    count = 0
    cursor = "*"
    while cursor and count < query.limit:
        params = {
            "search": query.text,
            "filter": f"publication_year:{query.start_year}-{query.end_year}",
            "per_page": min(_PAGE, query.limit),
            "cursor": cursor,
            "select": _FIELDS,
            "api_key": query.key,
        }
        data = mapping(web.get_json("/works", params))
        if "results" not in data:
            raise SourceError("bad_answer", f"the answer holds no results: {plain(data.get('message'))[:200]}")
        works = listed(data["results"])
        if not works:
            break
        papers = [paper for work in works if (paper := _paper(mapping(work))).title]
        yield from papers
        count += len(papers)
        cursor = plain(mapping(data.get("meta")).get("next_cursor"))


def abstract_of(index: Any) -> str:
    """The text of an inverted index: `{"word": [positions]}`."""
    places = [
        (place, word)
        for word, positions in mapping(index).items()
        for place in listed(positions)
        if isinstance(place, int)
    ]
    return plain(" ".join(word for _place, word in sorted(places)[:_MAX_WORDS]))


def _paper(work: dict[str, Any]) -> Paper:
    location = mapping(work.get("primary_location"))
    page = plain(location.get("landing_page_url"))
    doi = normalise_doi(work.get("doi"))
    authors = (mapping(mapping(item).get("author")).get("display_name") for item in listed(work.get("authorships")))
    return Paper(
        title=plain(work.get("title")) or plain(work.get("display_name")),
        source="open_alex",
        authors=tuple(name for author in authors if (name := plain(author))),
        year=number(work.get("publication_year")),
        abstract=abstract_of(work.get("abstract_inverted_index")),
        url=page or (f"https://doi.org/{doi}" if doi else plain(work.get("id"))),
        venue=plain(mapping(location.get("source")).get("display_name")),
        citation_count=number(work.get("cited_by_count")),
        publication_date=plain(work.get("publication_date")),
        doi=doi,
        arxiv_id=normalise_arxiv_id(doi) or normalise_arxiv_id(page),
    )
