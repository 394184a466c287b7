"""arXiv: the Atom API. One request every three seconds, one connection."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from paper_search.atom import parse_xml
from paper_search.errors import SourceError
from paper_search.papers import Paper, clean, normalise_arxiv_id, normalise_doi, number, year_of
from paper_search.query import Query
from paper_search.transport import Transport

_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_OPENSEARCH = "{http://a9.com/-/spec/opensearch/1.1/}"
_FIELD = re.compile(r"\b(?:ti|au|abs|co|jr|cat|rn|all):\S")
_SMALL = frozenset(
    ("a", "an", "the", "of", "for", "in", "on", "to", "and", "or", "not", "with", "by", "from", "at", "as", "is", "are")
)


def search(query: Query, web: Transport) -> list[Paper]:
    """Papers by relevance; when no paper has all words, those that have some. Raises SourceError."""
    papers = _ask(query, web, terms_of(query.text, "AND"))
    some = terms_of(query.text, "OR")
    if not papers and some != terms_of(query.text, "AND"):
        papers = _ask(query, web, some)
    return papers


def terms_of(text: str, joint: str) -> str:
    """The words as arXiv wants them: bare words next to each other would mean OR. Its own syntax is left alone."""
    if _FIELD.search(text):
        return text
    pieces = re.findall(r'"([^"]+)"|([^\s"]+)', text)
    # Quotes also hold together what contains a hyphen or a colon.
    terms = [" ".join(re.findall(r"\w+", phrase or word)) for phrase, word in pieces]
    terms = [term for term in terms if term]
    content = [term for term in terms if term.lower() not in _SMALL] or terms
    return f" {joint} ".join(f'all:"{term}"' if " " in term else f"all:{term}" for term in content)


def _ask(query: Query, web: Transport, terms: str) -> list[Paper]:
    if not terms:
        return []
    params = {
        "search_query": f"({terms}) AND submittedDate:[{query.start_year}01010000 TO {query.end_year}12312359]",
        "start": 0,
        "max_results": query.limit,
        "sortBy": "relevance",
        "sortOrder": "descending",
    }
    root = parse_xml(web.get("/query", params).body)
    if root.find(f"{_ATOM}entry") is None and number(_text(root, f"{_OPENSEARCH}totalResults")):
        # A page without entries though the total is not 0 is a hiccup: once more.
        root = parse_xml(web.get("/query", params).body)
    return [_paper(entry) for entry in root.findall(f"{_ATOM}entry")]


def _paper(entry: ET.Element) -> Paper:
    address = _text(entry, f"{_ATOM}id")
    title = _text(entry, f"{_ATOM}title")
    if title == "Error" or "/api/errors" in address:
        raise SourceError("refused", f"arXiv says: {_text(entry, f'{_ATOM}summary') or 'error without a text'}")
    published = _text(entry, f"{_ATOM}published")[:10]
    journal = _text(entry, f"{_ARXIV}journal_ref")
    arxiv_id = normalise_arxiv_id(address)
    return Paper(
        title=title,
        source="arxiv",
        authors=tuple(name for author in entry.findall(f"{_ATOM}author") if (name := _text(author, f"{_ATOM}name"))),
        year=year_of(published),
        abstract=_text(entry, f"{_ATOM}summary"),
        url=f"https://arxiv.org/abs/{arxiv_id}" if arxiv_id else address,
        venue=journal or "arXiv",
        publication_date=published,
        doi=normalise_doi(_text(entry, f"{_ARXIV}doi")),
        arxiv_id=arxiv_id,
    )


def _text(element: ET.Element, name: str) -> str:
    return clean(element.findtext(name) or "")
