"""Crossref: what publishers say when they register a DOI. An e-mail address is sent only when the user set one."""

from __future__ import annotations

from typing import Any

from paper_search.errors import SourceError
from paper_search.papers import Paper, listed, mapping, normalise_arxiv_id, normalise_doi, number, plain, year_of
from paper_search.query import Query
from paper_search.transport import Transport

_FIELDS = (
    "DOI,title,author,URL,container-title,is-referenced-by-count,published,published-print,published-online,issued,"
    "abstract,type"
)
_NOT_PAPERS = frozenset({"component", "grant", "journal", "journal-issue", "peer-review", "proceedings", "book-series"})


def search(query: Query, web: Transport) -> list[Paper]:
    """Works by relevance. Raises SourceError."""
    params = {
        "query.bibliographic": query.text,
        "filter": f"from-pub-date:{query.start_year},until-pub-date:{query.end_year}",
        "rows": min(query.limit, 1000),
        "sort": "relevance",
        "select": _FIELDS,
        "mailto": web.email,
    }
    data = mapping(web.get_json("/works", params))
    message = data.get("message")
    if not isinstance(message, dict) or "items" not in message:
        raise SourceError("bad_answer", "the answer holds no message.items")
    items = [mapping(item) for item in listed(message["items"])]
    papers = [_paper(item) for item in items if item.get("type") not in _NOT_PAPERS]
    return [paper for paper in papers if paper.title]


def _paper(item: dict[str, Any]) -> Paper:
    doi = normalise_doi(item.get("DOI"))
    date = next(
        (
            day
            for name in ("published", "published-print", "published-online", "issued")
            if (day := _day(item.get(name)))
        ),
        "",
    )
    return Paper(
        title=_first(item.get("title")),
        source="crossref",
        authors=tuple(name for author in listed(item.get("author")) if (name := _name(mapping(author)))),
        year=year_of(date),
        abstract=plain(item.get("abstract")),
        url=plain(item.get("URL")) or (f"https://doi.org/{doi}" if doi else ""),
        venue=_first(item.get("container-title")),
        citation_count=number(item.get("is-referenced-by-count")),
        publication_date=date,
        doi=doi,
        arxiv_id=normalise_arxiv_id(doi),
    )


def _first(value: Any) -> str:
    """The first text of a list, which may be empty."""
    return next((text for entry in listed(value) if (text := plain(entry))), "")


def _name(author: dict[str, Any]) -> str:
    parts = (plain(author.get("given")), plain(author.get("family")))
    return " ".join(part for part in parts if part) or plain(author.get("name"))


def _day(date: Any) -> str:
    """`{"date-parts": [[2024, 5]]}` becomes `2024-05`; `[[null]]` becomes ""."""
    parts = listed(next(iter(listed(mapping(date).get("date-parts"))), None))
    known: list[str] = []
    for part, width in zip(parts, (4, 2, 2), strict=False):
        if isinstance(part, bool) or not isinstance(part, int) or part <= 0:
            break
        known.append(f"{part:0{width}d}")
    return "-".join(known)
