"""The citation gate: every reference exists, and every quotation stands in what it quotes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from idea_spark.rundir import RunDir, read_json

MENTION = re.compile(r"\[@([^\[\]]+)\]")
MIN_QUOTE = 12
MAX_QUOTE = 400
_REF_KEYS = {"ref", "paper_id"}
_REF_LISTS = {"refs", "attacks_residue_of"}


@dataclass(frozen=True, slots=True)
class References:
    """All papers that may be cited, by id."""

    papers: dict[str, dict[str, Any]]

    def __contains__(self, ref: object) -> bool:
        return ref in self.papers

    def text(self, ref: str) -> str:
        """Title and abstract, folded for comparison."""
        paper = self.papers[ref]
        return fold(f"{paper.get('title') or ''} {paper.get('abstract') or ''}")

    def has_abstract(self, ref: str) -> bool:
        return bool(str(self.papers[ref].get("abstract") or "").strip())


def references(run: RunDir, *, with_hits: bool = True) -> References:
    """What the run knows: literature, the user's papers, nominated papers, and hits of the collision search."""
    sources = [(run.lit_results, "papers"), (run.user_refs, "refs"), (run.host_refs, "refs")]
    if with_hits:
        sources.append((run.collision, "papers"))
    found: dict[str, dict[str, Any]] = {}
    for path, key in sources:
        for paper in papers_in(read_json(path), key):
            if paper_id := str(paper.get("paper_id") or ""):
                found.setdefault(paper_id, paper)
    return References(found)


def papers_in(document: Any, key: str = "papers") -> list[dict[str, Any]]:
    """The records in a list, or under a key of an object."""
    if isinstance(document, dict):
        document = next(
            (document[name] for name in (key, "papers", "refs", "results", "items") if name in document), []
        )
    return [entry for entry in document if isinstance(entry, dict)] if isinstance(document, list) else []


def fold(text: str) -> str:
    """Letters and digits in one case: quotation marks, dashes and line breaks do not count."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(letter if letter.isalnum() else " " for letter in plain).split())


def mentions(text: str) -> list[str]:
    """Ids cited in prose: `[@L3]`, `[@L3; @U1]`."""
    return [
        word
        for match in MENTION.finditer(text)
        for part in re.split(r"[;,\s]+", match[1])
        if (word := part.strip().removeprefix("@"))
    ]


def cited(value: Any) -> list[str]:
    """All ids in a document, in order of first use."""
    return list(dict.fromkeys(ref for _path, ref in _refs(value, "")))


def citation_errors(value: Any, known: References) -> list[str]:
    """Unknown ids and quotations that are not there."""
    errors = [
        f"{path}: cites {ref!r}, which no literature file of this run holds"
        for path, ref in _refs(value, "")
        if ref not in known
    ]
    for path, quoting in _quotes(value, ""):
        if quoting["ref"] in known:
            errors += _quote_errors(path, str(quoting["ref"]), str(quoting["quote"]), known)
    return errors


def _quote_errors(path: str, ref: str, quote: str, known: References) -> list[str]:
    where = f"{path}.quote"
    if not quote.strip():
        if known.has_abstract(ref):
            return [f"{where}: is empty although {ref} has an abstract; quote the words that carry the claim"]
        return []
    if len(quote) > MAX_QUOTE:
        return [f"{where}: longer than {MAX_QUOTE} characters; quote the sentence that counts"]
    folded = fold(quote)
    if len(quote.strip()) < MIN_QUOTE or not folded:
        return [f"{where}: shorter than {MIN_QUOTE} characters; it proves nothing"]
    if f" {folded} " not in f" {known.text(ref)} ":
        return [f"{where}: these words are not in the title or abstract of {ref}; quote exactly or cite another paper"]
    return []


def _refs(value: Any, path: str) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            for ref in mentions(value):
                yield path, ref
        case list():
            for index, entry in enumerate(value):
                yield from _refs(entry, f"{path}[{index}]")
        case dict():
            for name, entry in value.items():
                where = f"{path}.{name}" if path else str(name)
                if name in _REF_KEYS and isinstance(entry, str):
                    yield where, entry
                elif name in _REF_LISTS and isinstance(entry, list):
                    yield from ((where, str(ref)) for ref in entry)
                else:
                    yield from _refs(entry, where)
        case _:
            return


def _quotes(value: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    match value:
        case list():
            for index, entry in enumerate(value):
                yield from _quotes(entry, f"{path}[{index}]")
        case dict():
            if isinstance(value.get("ref"), str) and isinstance(value.get("quote"), str):
                yield path, value
            for name, entry in value.items():
                yield from _quotes(entry, f"{path}.{name}" if path else str(name))
        case _:
            return
