"""DBLP: computer science bibliography. No abstracts; clients without a browser may meet a bot check."""

from __future__ import annotations

import re
from typing import Any

from paper_search.errors import SourceError
from paper_search.papers import Paper, listed, mapping, normalise_arxiv_id, normalise_doi, number, plain
from paper_search.query import Query
from paper_search.transport import Transport


def search(query: Query, web: Transport) -> list[Paper]:
    """Publications by DBLP's own order. Raises SourceError."""
    # A pipe means OR, a dollar sign the exact word, a minus an exclusion: people do not mean that.
    words = " ".join(re.sub(r"[|$\-\"()]+", " ", query.text).split())
    params = {
        "q": f"{words} year:{query.start_year}:{query.end_year}",
        "format": "json",
        "h": min(query.limit, 1000),
        "f": 0,
        "c": 0,
    }
    data = web.get_json("/search/publ/api", params)
    result = mapping(mapping(data).get("result"))
    if "hits" not in result:
        raise SourceError("bad_answer", "the answer holds no result.hits")
    hits = listed(mapping(result["hits"]).get("hit"))
    papers = [_paper(mapping(mapping(hit).get("info"))) for hit in hits]
    return [paper for paper in papers if paper.title]


def _paper(info: dict[str, Any]) -> Paper:
    title = plain(info.get("title"))
    page = next((plain(link) for link in listed(info.get("ee"))), "")
    doi = normalise_doi(info.get("doi")) or normalise_doi(page)
    venue = ", ".join(text for name in listed(info.get("venue")) if (text := plain(name)))
    return Paper(
        title=title[:-1] if title.endswith(".") and not title.endswith("..") else title,
        source="dblp",
        authors=tuple(name for author in listed(mapping(info.get("authors")).get("author")) if (name := _name(author))),
        year=number(info.get("year")),
        url=page or plain(info.get("url")),
        venue=venue,
        publication_date=plain(info.get("year")),
        doi=doi,
        arxiv_id=normalise_arxiv_id(page) or normalise_arxiv_id(doi),
    )


def _name(author: Any) -> str:
    """`Wei Wang 0001` is how DBLP tells namesakes apart."""
    text = plain(author.get("text") if isinstance(author, dict) else author)
    return re.sub(r"\s\d{4}$", "", text)
