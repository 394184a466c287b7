"""One paper as every source gives it, and the forms in which identifiers and titles are compared."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

CANONICAL_ORDER = ("arxiv", "dblp", "open_alex", "openreview", "semantic_scholar", "crossref")
"""The order in which sources are shown."""

_ARXIV_ID = r"\d{4}\.\d{4,5}|[a-z][a-z.-]*/\d{7}"
_ARXIV_URL = re.compile(rf"arxiv\.org/(?:abs|pdf|html)/({_ARXIV_ID})", re.IGNORECASE)
_ARXIV_DOI = re.compile(rf"10\.48550/arxiv\.({_ARXIV_ID})", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper as one source describes it; what the source does not say is empty or None."""

    title: str
    source: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    abstract: str = ""
    url: str = ""
    venue: str = ""
    citation_count: int | None = None
    publication_date: str = ""
    """`YYYY-MM-DD`, or the part of it that is known."""
    doi: str = ""
    """Lower case, without `https://doi.org/`."""
    arxiv_id: str = ""
    """Without `arXiv:` and version."""

    def as_json(self) -> dict[str, Any]:
        """The fields as plain data."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"authors": list(self.authors)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Paper:
        """The inverse of `as_json`. Raises TypeError or KeyError for anything else."""
        known = {field.name for field in fields(cls)}
        if unknown := set(values) - known:
            raise KeyError(", ".join(sorted(unknown)))
        given: dict[str, Any] = dict(values) | {"authors": tuple(values.get("authors") or ())}
        return cls(**given)


def clean(value: Any) -> str:
    """Text of a source on one line, without control characters; "" for anything that is not text."""
    if not isinstance(value, str):
        return ""
    kept = (" " if char.isspace() else char for char in value)
    # Cc: control characters; Cf: invisible ones, among them those that reverse the direction of writing.
    return " ".join("".join(char for char in kept if unicodedata.category(char) not in ("Cc", "Cf", "Cs")).split())


def plain(value: Any) -> str:
    """Like `clean`, for text with entities and tags (JATS, HTML)."""
    if not isinstance(value, str):
        return ""
    return clean(html.unescape(_TAG.sub(" ", value)))


def number(value: Any) -> int | None:
    """A whole number, also when the source wrote it as text; None otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        return int(value)
    except ValueError:
        return None


def listed(value: Any) -> list[Any]:
    """A list, where a source writes one thing without the list and none as null."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def mapping(value: Any) -> dict[str, Any]:
    """A mapping; an empty one when the source gives null or something else."""
    return value if isinstance(value, dict) else {}


def normalise_doi(value: Any) -> str:
    """`https://doi.org/10.1/ABC` and `doi:10.1/abc` become `10.1/abc`; "" when it is no DOI."""
    text = clean(value).lower()
    text = re.sub(r"^(?:https?://)?(?:dx\.)?doi\.org/", "", text)
    text = re.sub(r"^doi:\s*", "", text)
    return text if text.startswith("10.") else ""


def normalise_arxiv_id(value: Any) -> str:
    """`arXiv:2301.00001v2` or an arXiv address becomes `2301.00001`; "" when it is no arXiv id."""
    text = clean(value)
    if found := _ARXIV_URL.search(text) or _ARXIV_DOI.search(text):
        return found[1].lower()
    text = re.sub(r"^arxiv:\s*", "", text.lower())
    found = re.fullmatch(rf"({_ARXIV_ID})(?:v\d+)?", text)
    return found[1] if found else ""


def is_arxiv_doi(doi: str) -> bool:
    """A DOI that only repeats an arXiv id."""
    return doi.startswith("10.48550/arxiv.")


def fold(text: str) -> str:
    """Lower case, without accents, wide forms made narrow."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def normalise_title(title: str) -> str:
    """Lower case, letters and digits only, single spaces between words."""
    return " ".join("".join(char if char.isalnum() else " " for char in fold(title)).split())


def year_of(date: str) -> int | None:
    """The year of `YYYY-MM-DD`."""
    return int(date[:4]) if re.match(r"\d{4}", date) else None
