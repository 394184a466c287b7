"""Records of several sources to one list without duplicates: DOI, then arXiv id, then title."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from paper_search.papers import Paper, is_arxiv_doi, normalise_arxiv_id, normalise_doi, normalise_title

PRIORITY = ("semantic_scholar", "open_alex", "arxiv", "openreview", "crossref", "dblp")
"""Whose fields count first."""
MIN_TITLE = 10
"""Shorter titles ("Editorial") say nothing about identity."""
MAX_YEAR_GAP = 2
_GAPS = ("authors", "abstract", "venue", "publication_date", "doi", "arxiv_id", "url", "year")


@dataclass(frozen=True, slots=True)
class Merged:
    """One paper and the sources that know it, sorted."""

    paper: Paper
    found_in: tuple[str, ...]


def merge(papers: Iterable[Paper]) -> list[Merged]:
    """One entry a paper, in the order of the first record of each. Any order of input gives the same groups."""
    records = [_normalised(paper) for paper in papers]
    clusters = _Clusters(len(records))
    for key in (attrgetter("doi"), attrgetter("arxiv_id")):
        for group in _groups(records, key):
            for other in group[1:]:
                clusters.join(group[0], other)
    for group in _groups(records, title_key):
        _join_by_title(clusters, records, group)
    return [_merged([records[index] for index in members]) for members in clusters.members()]


def title_key(paper: Paper) -> str:
    """What two records with one title have in common; "" for titles that are too short to tell."""
    text = normalise_title(paper.title)
    # A Chinese, Japanese or Korean character says as much as two letters.
    weight = sum(2 if ord(char) > 0x2E7F else 1 for char in text)
    return text.replace(" ", "") if weight >= MIN_TITLE else ""


def _normalised(paper: Paper) -> Paper:
    doi = normalise_doi(paper.doi)
    return replace(paper, doi=doi, arxiv_id=normalise_arxiv_id(paper.arxiv_id) or normalise_arxiv_id(doi))


def _groups(records: Sequence[Paper], key: Callable[[Paper], str]) -> list[list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for index, paper in enumerate(records):
        if value := key(paper):
            found[value].append(index)
    # Sorted: joining by one title may settle what another title may join, so the order of input must not decide.
    return [found[value] for value in sorted(found) if len(found[value]) > 1]


class _Clusters:
    """Union-find over record numbers; the smallest number of a cluster is its root."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))
        self._members = {index: [index] for index in range(count)}

    def root(self, index: int) -> int:
        while self._parents[index] != index:
            self._parents[index] = self._parents[self._parents[index]]
            index = self._parents[index]
        return index

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self.root(one), self.root(other)))
        if first != second:
            self._parents[second] = first
            self._members[first] += self._members.pop(second)

    def members_of(self, root: int) -> list[int]:
        return list(self._members[root])

    def members(self) -> list[list[int]]:
        return [self._members[root] for root in sorted(self._members)]


def _join_by_title(clusters: _Clusters, records: Sequence[Paper], group: Sequence[int]) -> None:
    """Joins whole clusters, only those without a contradiction, and each to the one nearest in time."""
    by_root = {root: clusters.members_of(root) for root in {clusters.root(index) for index in group}}
    accepted: list[list[int]] = []
    # Records with identifiers lead: one without must not tie two works together.
    for mine in sorted(by_root.values(), key=lambda members: _precedence([records[index] for index in members])):
        fitting = [
            others
            for others in accepted
            if not any(_contradict(records[one], records[other]) for one in mine for other in others)
        ]
        if not fitting:
            accepted.append(list(mine))
            continue
        nearest = min(fitting, key=lambda others: _distance(records, mine, others))
        clusters.join(mine[0], nearest[0])
        nearest += mine


def _precedence(members: Sequence[Paper]) -> tuple[object, ...]:
    """Known identifiers first, then older, then the rest only so that any order of input gives the same groups."""
    known = any(_own_doi(paper) or paper.arxiv_id for paper in members)
    years = [paper.year or 9999 for paper in members]
    rest = sorted(
        (paper.doi, paper.arxiv_id, paper.year or 9999, title_key(paper), _rank(paper), paper.source)
        for paper in members
    )
    return (not known, min(years), rest)


def _distance(records: Sequence[Paper], mine: Sequence[int], others: Sequence[int]) -> int:
    """Years between the nearest two of both; 0 when one side has none."""
    pairs = [(records[one].year, records[other].year) for one in mine for other in others]
    return min((abs(a - b) for a, b in pairs if a is not None and b is not None), default=0)


def _contradict(one: Paper, other: Paper) -> bool:
    """Same title, but another work: different identifiers and years far apart."""
    if one.year is None or other.year is None or abs(one.year - other.year) <= MAX_YEAR_GAP:
        return False
    pairs = ((_own_doi(one), _own_doi(other)), (one.arxiv_id, other.arxiv_id))
    return any(first and second and first != second for first, second in pairs)


def _own_doi(paper: Paper) -> str:
    return "" if is_arxiv_doi(paper.doi) else paper.doi


def _rank(paper: Paper) -> int:
    return PRIORITY.index(paper.source) if paper.source in PRIORITY else len(PRIORITY)


def _merged(records: list[Paper]) -> Merged:
    ordered = sorted(records, key=_rank)
    best = ordered[0]
    gaps = {
        name: value
        for name in _GAPS
        if not getattr(best, name) and (value := next((v for p in ordered[1:] if (v := getattr(p, name))), None))
    }
    counts = [paper.citation_count for paper in ordered if paper.citation_count is not None]
    paper = replace(best, **gaps, citation_count=max(counts, default=None))
    return Merged(paper, tuple(sorted({record.source for record in records})))
